/* Refined crystals as an experiment list of DIALS. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/derivatives/parameter.h"
#include "io/dials/dials.h"
#include "model/incident.h"
#include "physics/crystal/cell.h"
#include "refine.h"

/* Good frames, as dials_write_expt reads them. */
struct good_frames {
    const struct refine *f;
    const struct refine_result **results;  // owned
    struct dials_frame *frame;             // owned: the one that was read last
};

/* How many cells a block has along an edge. */
static double cells_of(const struct refine *f, const struct refine_result *r,
                       const struct lattice *l, int axis)
{
    for (size_t k = 0; k < f->free.set.count; k++) {
        const struct parameter *p = &f->free.set.items[k];
        if (p->kind == PARAMETER_CELLS && p->axis == axis)
            return r->value[free_parameters_place(&f->free, k)];
    }
    return f->model.crystals[l->crystal].cells[axis];
}

/* The mean edge of its blocks, and the root mean square of what turns them. */
static struct dials_mosaic mosaic_of(const struct refine *f, const struct refine_result *r,
                                     const struct lattice *l)
{
    double reciprocal_A[9], direct_A[9], vector[3], edges = 0.0, turns = 0.0;
    memcpy(reciprocal_A, l->reciprocal_A, sizeof reciprocal_A);
    cell_direct(&f->model.crystals[l->crystal], false, reciprocal_A, direct_A);
    for (int i = 0; i < 3; i++)
        edges += cells_of(f, r, l, i) * vec_length(direct_A + 3 * i);
    for (size_t k = 0; k < l->ndomains && l->mosaic; k++) {
        rotation_vector(l->domains + 9 * k, vector);
        turns += vec_dot(vector, vector);
    }
    const double spread_rad = l->ndomains ? sqrt(turns / (double)l->ndomains) : 0.0;
    return (struct dials_mosaic){edges / 3.0, rad_to_deg(spread_rad)};
}

static enum status read_good(void *state, size_t i, const void **bytes, size_t *size,
                             struct error *e)
{
    struct good_frames *g = state;
    const struct refine_result *r = g->results[i];
    const struct recipe *recipe = &r->recipe;
    const size_t n = recipe->nlattices;
    *size = sizeof *g->frame + n * (9 * sizeof(double) + sizeof(struct dials_mosaic));
    mem_free(g->frame);
    struct dials_frame *at = g->frame = mem_array(1, *size);
    if (!at)
        return error_memory(e, "the experiments");
    *at = (struct dials_frame){.id = r->id,
                               .phi_rad = recipe->phi_rad,
                               .osc_rad = recipe->osc_rad,
                               .wavelength_A =
                                   m_to_angstrom(incident_beam(&g->f->model, recipe).mean_m),
                               .nlattices = n,
                               .has_mosaic = true};
    memcpy(at->shift_m, recipe->shift_m, sizeof at->shift_m);
    double *matrix = (double *)(at + 1);
    struct dials_mosaic *mosaic = (struct dials_mosaic *)(matrix + 9 * n);
    for (size_t k = 0; k < n; k++, matrix += 9) {
        memcpy(matrix, recipe->lattices[k].reciprocal_A, 9 * sizeof *matrix);
        mosaic[k] = mosaic_of(g->f, r, &recipe->lattices[k]);
    }
    *bytes = at;
    return STATUS_OK;
}

enum status refine_write_expt(const struct refine *f, FILE *out, struct error *e)
{
    struct good_frames g = {.f = f, .results = mem_array(f->nresults + 1, sizeof *g.results)};
    struct records all = {.state = &g, .read = read_good};
    if (!g.results)
        return error_memory(e, "the experiments");
    for (size_t i = 0; i < f->nresults; i++)
        if (f->results[i].verdict == REFINE_GOOD)
            g.results[all.count++] = &f->results[i];
    const enum status s =
        dials_write_expt(out, &f->model, (struct dials_images){0}, &all, f->options->expt, e);
    mem_free(g.frame);
    mem_free(g.results);
    return s;
}
