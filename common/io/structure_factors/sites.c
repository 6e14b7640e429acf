#include "io/structure_factors/sites.h"

#include "base/alloc.h"
#include "io/structure_factors/fprime.h"
#include "io/structure_factors/molecule.h"
#include "io/text/textfile.h"

static const double X_MAX = 1000.0, OCCUPANCY_MAX = 1000.0, B_MAX_A2 = 10000.0;

static enum status add(struct atoms *atoms, const struct atom *atom, const char *path,
                       struct error *e)
{
    struct atom *list = mem_grow(atoms->list, atoms->count, 1, sizeof *list, &atoms->room);
    if (!list)
        return error_memory(e, path);
    atoms->list = list;
    list[atoms->count++] = *atom;
    return STATUS_OK;
}

/* --- a list -------------------------------------------------------------------------- */

static enum status read_line(const struct text_file *t, struct atom *atom, struct error *e)
{
    enum status s = STATUS_OK;
    *atom = (struct atom){.occupancy = 1.0};
    if (t->nwords < 4 || t->nwords > 6)
        return text_error(
            t, e, "%d columns, must be four to six: element, x, y, z, occupancy and B", t->nwords);
    if (!(atom->element = element_number(t->word[0])))
        return text_error(t, e, "'%.20s' is no element, must be as Se", t->word[0]);
    for (int i = 0; i < 3 && !s; i++)
        s = text_real(t, 1 + i, "x, y and z of the cell's edges", -X_MAX, X_MAX, &atom->x[i], e);
    if (!s && t->nwords > 4)
        s = text_real(t, 4, "occupancy", 0.0, OCCUPANCY_MAX, &atom->occupancy, e);
    if (!s && t->nwords > 5)
        s = text_real(t, 5, "B in A^2", 0.0, B_MAX_A2, &atom->B_A2, e);
    return s;
}

enum status sites_read(const char *path, struct atoms *atoms, struct error *e)
{
    struct text_file t;
    *atoms = (struct atoms){0};
    enum status s = text_open(&t, path, FILETYPE_SITES, TEXT_BYTES_MAX, e);
    while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords) {
        struct atom atom;
        if (!(s = read_line(&t, &atom, e)))
            s = add(atoms, &atom, path, e);
    }
    text_close(&t);
    return s || atoms->count ? s
                             : error_set(e, STATUS_INPUT, "%s: no line of element, x, y, z", path);
}

/* --- a model ------------------------------------------------------------------------- */

enum status sites_of_model(const char *path, int least, struct atoms *atoms, struct error *e)
{
    char symbol[ELEMENT_SYMBOL_SIZE];
    struct molecule m;
    *atoms = (struct atoms){0};
    enum status s = molecule_read(path, &m, e);
    for (size_t i = 0; i < m.count && !s; i++) {
        const struct molecule_atom *from = &m.atoms[i];
        struct atom atom = {.element = element_number(from->symbol),
                            .occupancy = from->occupancy,
                            .B_A2 = from->B_A2};
        molecule_position(&m, from, atom.x);
        if (atom.element >= least)
            s = add(atoms, &atom, path, e);
    }
    molecule_free(&m);
    element_symbol(least, symbol);
    return s || atoms->count
               ? s
               : error_set(e, STATUS_INPUT,
                           "%s: no atom scatters anomalously: none is %s or heavier", path, symbol);
}
