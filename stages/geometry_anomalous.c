#include "geometry_anomalous.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "io/fprime.h"
#include "io/mtz.h"
#include "io/sites.h"
#include "physics/anomalous.h"

/* Sodium: f'' of carbon, nitrogen and oxygen is below 0.1 electrons from 5 keV on. */
enum { LEAST_ELEMENT = 11 };

/* In electrons: a tenth of what an edge changes. */
static const double LARGE_CHANGE = 0.4;

/* All sources have the factors of one energy. */
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
                 "f' and f'' of %s change by %.2g electrons within the beam's energies: all its "
                 "wavelengths get those of its mean",
                 symbol, most);
}

/* f' and f'' of all atoms, a line for each element. */
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
        warn_of_change(x, measured, element, symbol, f);
    }
    return s;
}

static enum status read_atoms(const struct geometry_options *o, const struct experiment *x,
                              struct atoms *atoms, struct error *e)
{
    struct fprime_curves measured = {0};
    enum status s = o->has_sites ? sites_read(o->sites, atoms, e)
                                 : sites_of_model(o->model, LEAST_ELEMENT, atoms, e);
    if (!s && o->has_fprime)
        s = fprime_read(o->fprime, &measured, e);
    if (!s)
        s = find_factors(atoms, &measured, x, e);
    fprime_free(&measured);
    return s;
}

/* F(+) and F(-) of each row. */
static enum status add_atoms(const struct mtz_rows *rows, const struct atoms *atoms, double (*F)[2],
                             struct error *e)
{
    struct anomalous_cell cell = {.noperators = rows->noperators, .operators = rows->operators};
    memcpy(cell.cell_A, rows->cell_A, sizeof cell.cell_A);
    memcpy(cell.cell_rad, rows->cell_rad, sizeof cell.cell_rad);
    int(*hkl)[3] = mem_array(rows->count, sizeof *hkl);
    struct anomalous_sum *sums = mem_array(rows->count, sizeof *sums);
    enum status s = hkl && sums ? STATUS_OK : error_memory(e, "the structure factors");
    for (size_t i = 0; i < rows->count && !s; i++)
        memcpy(hkl[i], rows->list[i].hkl, sizeof hkl[i]);
    if (!s)
        s = anomalous_add(atoms, &cell, (const int(*)[3])hkl, rows->count, sums, e);
    for (size_t i = 0; i < rows->count && !s; i++) {
        const double *value = rows->list[i].value;
        anomalous_amplitudes(value[0], deg_to_rad(value[1]), &sums[i], F[i]);
    }
    mem_free(sums);
    mem_free(hkl);
    return s;
}

enum status geometry_anomalous(const struct geometry_options *o, const struct experiment *x,
                               const struct mtz_rows *rows, struct hkl_table *t, struct error *e)
{
    struct atoms atoms = {0};
    size_t split;
    double(*F)[2] = mem_array(rows->count, sizeof *F);
    enum status s = F ? read_atoms(o, x, &atoms, e) : error_memory(e, "the structure factors");
    if (!s)
        s = add_atoms(rows, &atoms, F, e);
    if (!s)
        s = mtz_expand_hands(rows, (const double(*)[2])F, o->has_mtz ? o->mtz : o->model,
                             o->default_F, t, &split, e);
    atoms_free(&atoms);
    mem_free(F);
    return s;
}
