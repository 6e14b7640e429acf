#include "model/recipe.h"

#include <string.h>

#include "base/alloc.h"

void recipe_free(struct recipe *r)
{
    for (size_t i = 0; i < r->nlattices; i++) {
        mem_free(r->lattices[i].phi_rad);
        mem_free(r->lattices[i].cells_m);
        mem_free(r->lattices[i].domains);
    }
    mem_free(r->lattices);
    mem_free(r->sources);
    memset(r, 0, sizeof *r);
}

bool lattice_reserve(struct lattice *l, size_t nphi, size_t ndomains)
{
    l->phi_rad = mem_array(nphi, sizeof(double));
    l->cells_m = mem_array(nphi, 9 * sizeof(double));
    l->domains = mem_array(ndomains, 9 * sizeof(double));
    l->nphi = nphi;
    l->ndomains = ndomains;
    return l->phi_rad && l->cells_m && l->domains;
}
