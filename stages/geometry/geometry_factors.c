/* Structure factors that bragg-geometry makes: random ones (--wilson), and those with phases of
 * anomalous scatterers and excited states (--sites, --light). */
#include "geometry.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "io/structure_factors/anomalous.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "io/structure_factors/sfcalc.h"
#include "physics/crystal/cell.h"
#include "physics/crystal/structure_factors.h"

/* --- Wilson statistics ---------------------------------------------------------------- */

/* Stores the cell of *c and the operators in *rows. */
static void describe_lattice(const struct crystal_request *c, const struct symmetry *y,
                             struct mtz_rows *rows)
{
    memcpy(rows->cell_A, c->cell_A, sizeof rows->cell_A);
    memcpy(rows->cell_rad, c->cell_rad, sizeof rows->cell_rad);
    rows->noperators = y->count;
    rows->operators = mem_array(y->count, sizeof *rows->operators);
    for (size_t i = 0; i < y->count; i++) {
        memcpy(rows->operators[i].R, y->operators[i], sizeof rows->operators[i].R);
        memcpy(rows->operators[i].t, y->translations[i], sizeof rows->operators[i].t);
    }
}

/* Returns the number of operators that leave the indices as they are.  F^2 of such a reflection has
 * a mean that is as many times that of a general reflection. */
static int count_fixing(const int hkl[3], const struct symmetry *y)
{
    int count = 0;
    for (size_t i = 0; i < y->count; i++) {
        bool same = true;
        for (int k = 0; k < 3; k++)
            same = same && hkl[k] == hkl[0] * y->operators[i][k] + hkl[1] * y->operators[i][3 + k] +
                                         hkl[2] * y->operators[i][6 + k];
        count += same;
    }
    return count;
}

/* Draws F of all rows. */
static void draw_factors(const struct geometry_options *o, const struct symmetry *y,
                         struct mtz_rows *rows)
{
    const double volume_A3 = cell_volume(rows->cell_A, rows->cell_rad);
    const double atoms =
        geometry_given(o, "wilson-atoms") ? o->wilson_atoms : volume_A3 / WILSON_ATOM_A3;
    size_t centric = 0;
    for (struct mtz_row *r = rows->list; r < rows->list + rows->count; r++) {
        const bool real = hkl_is_centric(r->hkl, (const int(*)[9])y->operators, y->count);
        const double mean = wilson_mean_sqr(atoms, o->wilson_B_A2, unique_spacing_A(rows, r->hkl));
        r->value[0] =
            wilson_F(mean * count_fixing(r->hkl, y), real, (uint64_t)o->wilson_seed, r->hkl);
        centric += real;
    }
    log_line(LOG_INFO, "--wilson: %.0f atoms in the cell, %zu unique reflections, %zu centric",
             atoms, rows->count, centric);
}

enum status geometry_draw_wilson(const struct geometry_options *o, const struct symmetry *y,
                                 double dmin_A, struct crystal_request *c, struct error *e)
{
    struct mtz_rows rows = {0};
    enum status s = cell_check(c->cell_A, c->cell_rad, e);
    if (s)
        return s;
    describe_lattice(c, y, &rows);
    s = unique_list(&rows, dmin_A, "--wilson", e);
    if (!s && !rows.count)
        s = error_set(e, STATUS_INPUT,
                      "--wilson: no reflection has a d spacing of %.4g A or more; expected a "
                      "smaller --dmin or a larger cell",
                      dmin_A);
    if (!s) {
        draw_factors(o, y, &rows);
        s = mtz_expand(&rows, "--wilson", o->crystal.table.default_F, &c->table, e);
    }
    mtz_rows_free(&rows);
    return s;
}

/* --- phases ---------------------------------------------------------------------------- */

/* The lightest element of a model that gets f' and f'': sodium.  f'' of carbon, nitrogen and oxygen
 * is below 0.1 electrons from 5 keV on. */
enum { LEAST_ELEMENT = 11 };

/* Largest difference between equal cells: relative for edges, in rad for angles. */
static const double CELL_TOLERANCE = 1e-4;

/* Change of f' and f'' that gives a warning, in electrons: a tenth of the change at an edge. */
static const double LARGE_CHANGE = 0.4;

/* --- atoms --------------------------------------------------------------------------- */

/* Warns if f' and f'' change over the sources, because all of them get those of the mean energy. */
static void warn_of_change(const struct experiment *x, const struct fprime_curves *measured,
                           int element, const char *symbol, const double f[2])
{
    double most = 0.0;
    for (size_t i = 0; i < x->beam.nsources; i++) {
        double other[2];
        if (!fprime_at(measured, element, m_to_ev(x->beam.sources[i].wavelength_m), other, NULL))
            most = fmax(most, hypot(other[0] - f[0], other[1] - f[1]));
    }
    if (most > LARGE_CHANGE)
        log_line(LOG_WARNING,
                 "f' and f'' of %s change by %.2g electrons over the wavelengths of the beam; all "
                 "wavelengths get the values of the mean",
                 symbol, most);
}

/* Warns if a measured curve does not cover the energy of the beam and is therefore not used. */
static void warn_of_range(const struct fprime_curves *measured, int element, const char *symbol,
                          double energy_eV)
{
    double range_eV[2];
    if (measured && fprime_range(measured, element, range_eV) > 1 &&
        !(energy_eV >= range_eV[0] && energy_eV <= range_eV[1]))
        log_line(LOG_WARNING,
                 "--fprime has %s from %.6g to %.6g eV, but the beam has %.6g eV; f' and f'' of "
                 "bare atoms are used",
                 symbol, range_eV[0], range_eV[1], energy_eV);
}

/* Sets f' and f'' of all atoms, and prints a line per element with --verbose. */
static enum status find_factors(struct atoms *atoms, const struct fprime_curves *measured,
                                const struct experiment *x, struct error *e)
{
    const double energy_eV = m_to_ev(x->beam.wavelength_m);
    bool done[ELEMENTS_MAX + 1] = {false};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < atoms->count && !s; i++) {
        const int element = atoms->list[i].element;
        char symbol[ELEMENT_SYMBOL_SIZE];
        double f[2];
        size_t same = 0;
        if (done[element] || (s = fprime_at(measured, element, energy_eV, f, e)))
            continue;
        for (struct atom *a = atoms->list + i; a < atoms->list + atoms->count; a++)
            if (a->element == element) {
                memcpy(a->f, f, sizeof f);
                same++;
            }
        done[element] = true;
        element_symbol(element, symbol);
        log_line(LOG_INFO, "%zu %s at %.6g eV: f' = %.5g, f'' = %.5g electrons", same, symbol,
                 energy_eV, f[0], f[1]);
        warn_of_range(measured, element, symbol, energy_eV);
        warn_of_change(x, measured, element, symbol, f);
    }
    return s;
}

/* --- states of the crystal ------------------------------------------------------- */

/* One state of the crystal, the ground or the excited state: the rows that were read or
 * computed, with F(h) and F(-h) of each row. */
struct state {
    const char *path;  // path of the model or the MTZ file; not owned
    struct mtz_rows rows;
    struct friedel_pair *pairs;  // owned
};

static void state_close(struct state *s)
{
    mtz_rows_free(&s->rows);
    mem_free(s->pairs);
}

/* Adds the anomalous scattering of `atoms` to the pairs of the state. */
static enum status add_atoms(struct state *state, const struct atoms *atoms, struct error *e)
{
    const struct mtz_rows *rows = &state->rows;
    struct anomalous_cell cell = {.noperators = rows->noperators, .operators = rows->operators};
    memcpy(cell.cell_A, rows->cell_A, sizeof cell.cell_A);
    memcpy(cell.cell_rad, rows->cell_rad, sizeof cell.cell_rad);
    int(*hkl)[3] = mem_array(rows->count, sizeof *hkl);
    for (size_t i = 0; i < rows->count && hkl; i++)
        memcpy(hkl[i], rows->list[i].hkl, sizeof hkl[i]);
    const enum status s =
        anomalous_add(atoms, &cell, (const int(*)[3])hkl, rows->count, state->pairs, e);
    mem_free(hkl);
    return s;
}

/* Adds f' and f'' of the atoms of --sites, or of the model of the state. */
static enum status scatter_anomalously(const struct geometry_options *o, const struct experiment *x,
                                       struct state *state, struct error *e)
{
    struct fprime_curves measured = {0};
    struct atoms atoms;
    enum status s = geometry_given(o, "sites")
                        ? sites_read(o->sites, &atoms, e)
                        : sites_of_model(state->path, LEAST_ELEMENT, &atoms, e);
    if (!s && geometry_given(o, "fprime"))
        s = fprime_read(o->fprime, &measured, e);
    if (!s)
        s = find_factors(&atoms, &measured, x, e);
    if (!s)
        s = add_atoms(state, &atoms, e);
    fprime_free(&measured);
    atoms_free(&atoms);
    return s;
}

/* Reads a state from `model`, or from --mtz if `model` is NULL. */
static enum status read_state(const struct geometry_options *o, const struct experiment *x,
                              const char *model, double dmin_A, struct state *state,
                              struct error *e)
{
    struct mtz_rows *rows = &state->rows;
    *state = (struct state){.path = model ? model : o->mtz};
    enum status s = model ? sfcalc_rows(model, x->probe, dmin_A,
                                        fmax(dmin_A, m_to_angstrom(o->request.dmin_m)), rows, e)
                          : mtz_read_phases(o->mtz, o->column, rows, e);
    if (!s)
        state->pairs = mem_array(rows->count, sizeof *state->pairs);
    for (size_t i = 0; i < rows->count && !s; i++) {
        const double *value = rows->list[i].value;
        state->pairs[i] = friedel_pair_of(value[0], deg_to_rad(value[1]));
    }
    return s || !(o->anomalous || geometry_given(o, "sites")) ? s
                                                              : scatter_anomalously(o, x, state, e);
}

/* --- two states, coherently -------------------------------------------------------- */

/* Returns true if the cells, the numbers of symmetry operators and the lists of indices are the
 * same. */
static bool is_same_lattice(const struct mtz_rows *a, const struct mtz_rows *b)
{
    bool same = a->count == b->count && a->noperators == b->noperators;
    for (int i = 0; i < 3; i++)
        same = same && fabs(a->cell_A[i] - b->cell_A[i]) < CELL_TOLERANCE * a->cell_A[i] &&
               fabs(a->cell_rad[i] - b->cell_rad[i]) < CELL_TOLERANCE;
    for (size_t i = 0; i < a->count && same; i++)
        same = memcmp(a->list[i].hkl, b->list[i].hkl, sizeof a->list[i].hkl) == 0;
    return same;
}

/* Sets a to (1 - part) a + part b. */
static void mix_states(double a[2], const double b[2], double part)
{
    for (int i = 0; i < 2; i++)
        a[i] += part * (b[i] - a[i]);
}

/* Mixes the structure factors of the excited state into *dark.  Molecules are excited at random and
 * scatter coherently, so F is the mean of both states. */
static enum status add_light(const struct geometry_options *o, const struct experiment *x,
                             double dmin_A, struct state *dark, struct error *e)
{
    struct state light;
    enum status s = read_state(o, x, o->light, dmin_A, &light, e);
    if (!s && !is_same_lattice(&dark->rows, &light.rows))
        s = error_set(e, STATUS_INPUT,
                      "%s: the cell or space group is another one; expected those of %s", o->light,
                      dark->path);
    for (size_t i = 0; i < dark->rows.count && !s; i++) {
        mix_states(dark->pairs[i].plus, light.pairs[i].plus, o->light_occupancy);
        mix_states(dark->pairs[i].minus, light.pairs[i].minus, o->light_occupancy);
    }
    state_close(&light);
    return s;
}

/* --- structure factors with phases ------------------------------------------------- */

bool geometry_needs_phases(const struct geometry_options *o)
{
    return geometry_given(o, "sites") || geometry_given(o, "light") ||
           (geometry_given(o, "model") && o->anomalous);
}

enum status geometry_read_phases(const struct geometry_options *o, const struct experiment *x,
                                 double dmin_A, struct hkl_table *t, double cell_A[3],
                                 double cell_rad[3], struct error *e)
{
    struct state dark;
    double(*F)[2] = NULL;
    size_t split;
    enum status s = read_state(o, x, geometry_given(o, "mtz") ? NULL : o->model, dmin_A, &dark, e);
    const size_t count = dark.rows.count;
    memcpy(cell_A, dark.rows.cell_A, sizeof dark.rows.cell_A);
    memcpy(cell_rad, dark.rows.cell_rad, sizeof dark.rows.cell_rad);
    if (!s && geometry_given(o, "light"))
        s = add_light(o, x, dmin_A, &dark, e);
    if (!s)
        F = mem_array(count, sizeof *F);
    for (size_t i = 0; i < count && !s; i++) {
        F[i][0] = hypot(dark.pairs[i].plus[0], dark.pairs[i].plus[1]);
        F[i][1] = hypot(dark.pairs[i].minus[0], dark.pairs[i].minus[1]);
    }
    if (!s)
        s = mtz_expand_hands(&dark.rows, (const double(*)[2])F, dark.path,
                             o->crystal.table.default_F, t, &split, e);
    mem_free(F);
    state_close(&dark);
    return s;
}
