#include "io/structure_factors/anomalous.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "io/structure_factors/molecule.h"
#include "io/text/textfile.h"

static const char symbols[][ELEMENT_SYMBOL_SIZE] = {
    "",   "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",
    "S",  "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga",
    "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag",
    "Cd", "In", "Sn", "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu",
    "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au",
    "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U"};
_Static_assert(sizeof symbols / sizeof *symbols == ELEMENTS_MAX + 1, "symbols of all elements");
enum { FIRST_SHIPPED = 11 };

/* A row of the built-in table of f' and f'' (electrons).  The assembler includes the table in the
 * program.  The rows of an element are in ascending order of energy.  The first element has the
 * atomic number FIRST_SHIPPED.  Where the energy decreases from one row to the next, the rows of
 * the next element begin. */
struct shipped {
    float energy_eV, f[2];
};
__asm__(".pushsection .rodata\n"
        ".global fprime_begin, fprime_end\n"
        ".hidden fprime_begin, fprime_end\n"
        ".balign 4\n"
        "fprime_begin: .incbin \"common/io/structure_factors/fprime.f32\"\n"
        "fprime_end:\n"
        ".popsection\n");
extern const struct shipped fprime_begin[], fprime_end[];

int element_number(const char *symbol)
{
    for (int i = 1; i <= ELEMENTS_MAX; i++)
        if (strcasecmp(symbols[i], symbol) == 0)
            return i;
    return 0;
}

void element_symbol(int number, char symbol[ELEMENT_SYMBOL_SIZE])
{
    memcpy(symbol, symbols[number], ELEMENT_SYMBOL_SIZE);
}

/* --- curves that were measured
 * ------------------------------------------------------------------------ */

static int by_energy(const void *a, const void *b)
{
    const struct fprime_row *left = a, *right = b;
    if (left->element != right->element)
        return left->element - right->element;
    return (left->energy_eV > right->energy_eV) - (left->energy_eV < right->energy_eV);
}

static enum status read_fprime_row(const struct text_file *t, struct fprime_row *row,
                                   struct error *e)
{
    enum status s;
    if (t->nwords != 4)
        return text_error(t, e, "%d columns; expected four: element, energy in eV, f' and f''",
                          t->nwords);
    if (!(row->element = element_number(t->word[0])))
        return text_error(t, e, "'%.20s' is not an element; expected a symbol such as Se",
                          t->word[0]);
    if ((s = text_real(t, 1, "energy in eV", 1.0, 1e6, &row->energy_eV, e)) ||
        (s = text_real(t, 2, "f'", -1000.0, 1000.0, &row->f[0], e)))
        return s;
    return text_real(t, 3, "f''", 0.0, 1000.0, &row->f[1], e);
}

enum status fprime_read(const char *path, struct fprime_curves *c, struct error *e)
{
    struct text_file t;
    size_t room = 0;
    *c = (struct fprime_curves){0};
    enum status s = text_open(&t, path, FILETYPE_FPRIME, TEXT_BYTES_MAX, e);
    while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords) {
        c->rows = mem_grow(c->rows, c->count, 1, sizeof *c->rows, &room);
        s = read_fprime_row(&t, &c->rows[c->count], e);
        c->count += !s;
    }
    text_close(&t);
    if (!s && !c->count)
        return error_set(
            e, STATUS_INPUT,
            "%s: no f' and f'' found; expected lines of element, energy in eV, f' and f''", path);
    if (!s)
        qsort(c->rows, c->count, sizeof *c->rows, by_energy);
    for (size_t i = 1; i < c->count && !s; i++)
        if (by_energy(&c->rows[i - 1], &c->rows[i]) == 0)
            s = error_set(e, STATUS_INPUT,
                          "%s: %s at %.10g eV is listed twice; expected each energy once", path,
                          symbols[c->rows[i].element], c->rows[i].energy_eV);
    return s;
}

void fprime_free(struct fprime_curves *c)
{
    mem_free(c->rows);
    *c = (struct fprime_curves){0};
}

/* --- values -------------------------------------------------------------------------- */

static void interpolate_rows(const struct fprime_row *a, const struct fprime_row *b,
                             double energy_eV, double f[2])
{
    const double span_eV = b->energy_eV - a->energy_eV;
    const double part = span_eV > 0.0 ? (energy_eV - a->energy_eV) / span_eV : 0.0;
    for (int i = 0; i < 2; i++)
        f[i] = a->f[i] + part * (b->f[i] - a->f[i]);
}

/* Returns true if the energy is within 1 % of the energy of a row.  The only measured row of an
 * element is used within this range. */
static bool is_near(double line_eV, double energy_eV)
{
    static const double NEAR = 0.01;
    return fabs(energy_eV - line_eV) <= NEAR * line_eV;
}

static bool find_measured(const struct fprime_curves *c, int element, double energy_eV, double f[2])
{
    const struct fprime_row *first = c->rows, *end = c->rows + c->count;
    while (first < end && first->element < element)
        first++;
    const struct fprime_row *last = first;
    while (last < end && last->element == element)
        last++;
    if (last - first == 1 && is_near(first->energy_eV, energy_eV)) {
        memcpy(f, first->f, sizeof first->f);
        return true;
    }
    for (; first + 1 < last; first++)
        if (energy_eV >= first[0].energy_eV && energy_eV <= first[1].energy_eV) {
            interpolate_rows(&first[0], &first[1], energy_eV, f);
            return true;
        }
    return false;
}

static bool find_shipped(int element, double energy_eV, double f[2])
{
    int at = FIRST_SHIPPED;
    for (const struct shipped *row = fprime_begin; row + 1 < fprime_end && at <= element; row++) {
        const struct fprime_row a = {
            at, (double)row[0].energy_eV, {(double)row[0].f[0], (double)row[0].f[1]}};
        const struct fprime_row b = {
            at, (double)row[1].energy_eV, {(double)row[1].f[0], (double)row[1].f[1]}};
        if (b.energy_eV < a.energy_eV) {
            at++;
        } else if (at == element && energy_eV >= a.energy_eV && energy_eV <= b.energy_eV) {
            interpolate_rows(&a, &b, energy_eV, f);
            return true;
        }
    }
    return false;
}

size_t fprime_range(const struct fprime_curves *c, int element, double range_eV[2])
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i].element == element) {
            range_eV[count > 0] = c->rows[i].energy_eV;
            range_eV[1] = c->rows[i].energy_eV;
            count++;
        }
    return count;
}

enum status fprime_at(const struct fprime_curves *measured, int element, double energy_eV,
                      double f[2], struct error *e)
{
    double range_eV[2];
    if (measured && fprime_range(measured, element, range_eV) == 1 &&
        !is_near(range_eV[0], energy_eV))
        return error_set(e, STATUS_USAGE,
                         "--fprime: the only line of %s is for %.6g eV, and f' and f'' are needed "
                         "at %.6g eV; expected within 1 %%. Give two lines or more around that "
                         "energy",
                         symbols[element], range_eV[0], energy_eV);
    if (measured && measured->count && find_measured(measured, element, energy_eV, f))
        return STATUS_OK;
    if (find_shipped(element, energy_eV, f))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "f' and f'' of %s at %.6g eV are not known: the built-in table has Na to U "
                     "from 3 to 30 keV. Give others with --fprime",
                     symbols[element], energy_eV);
}

static const double X_MAX = 1000.0, OCCUPANCY_MAX = 1000.0, B_MAX_A2 = 10000.0;

/* --- atoms: a list --------------------------------------------------------------------- */

static void add_atom(struct atoms *atoms, const struct atom *atom)
{
    atoms->list = mem_grow(atoms->list, atoms->count, 1, sizeof *atoms->list, &atoms->room);
    atoms->list[atoms->count++] = *atom;
}

static enum status read_atom(const struct text_file *t, struct atom *atom, struct error *e)
{
    enum status s = STATUS_OK;
    *atom = (struct atom){.occupancy = 1.0};
    if (t->nwords < 4 || t->nwords > 6)
        return text_error(
            t, e, "%d columns; expected four to six: element, x, y, z, occupancy and B", t->nwords);
    if (!(atom->element = element_number(t->word[0])))
        return text_error(t, e, "'%.20s' is not an element; expected a symbol such as Se",
                          t->word[0]);
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
        if (!(s = read_atom(&t, &atom, e)))
            add_atom(atoms, &atom);
    }
    text_close(&t);
    return s || atoms->count
               ? s
               : error_set(e, STATUS_INPUT,
                           "%s: no atoms found; expected lines of element, x, y, z", path);
}

/* --- atoms: of a model -------------------------------------------------------------------------
 */

enum status sites_of_model(const char *path, int least, struct atoms *atoms, struct error *e)
{
    char symbol[ELEMENT_SYMBOL_SIZE];
    struct molecule m;
    *atoms = (struct atoms){0};
    const enum status s = molecule_read(path, &m, e);
    for (size_t i = 0; i < m.count && !s; i++) {
        const struct molecule_atom *from = &m.atoms[i];
        struct atom atom = {.element = element_number(from->symbol),
                            .occupancy = from->occupancy,
                            .B_A2 = from->B_A2};
        molecule_position(&m, from, atom.x);
        if (atom.element >= least)
            add_atom(atoms, &atom);
    }
    molecule_free(&m);
    element_symbol(least, symbol);
    return s || atoms->count
               ? s
               : error_set(e, STATUS_INPUT,
                           "%s: no atom scatters anomalously; expected %s or a heavier element",
                           path, symbol);
}
