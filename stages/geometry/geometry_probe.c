/*
 * --probe: a beam of electrons or neutrons.
 *
 * Such a beam has defaults of its own, no polarization, and no sensor of silicon, whose table is
 * that of X-rays.  Structure factors are converted to equivalent electrons (model/probe.h).  The
 * theory stays kinematic: a warning says if a crystal is too thick for it.
 */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "geometry.h"
#include "io/structure_factors/anomalous.h"
#include "io/structure_factors/molecule.h"
#include "physics/beam/electrons.h"
#include "physics/crystal/cell.h"
#include "stages/shared/probe_rules.h"

/* --- options ---------------------------------------------------------------------- */

static const struct probe_rule RULES[] = {
    {"energy", "is the energy of a photon"},
    {"third-harmonic", "only an undulator has harmonics"},
    {"signal", "energies of a band belong to X-rays"},
    {"polarization", "only X-rays are polarized"},
    {"polarization-fraction", "only X-rays are polarized"},
    {"anomalous", "f' and f'' belong to X-rays"},
    {"sites", "f' and f'' belong to X-rays"},
    {"wilson", "its mean F belong to X-rays"},
    {NULL, NULL},
};

static enum status check_probe(const struct geometry_options *o, struct error *e)
{
    return probe_refuse(o->request.probe, RULES, geometry_table, o, e);
}

enum status geometry_check_factors(const struct geometry_options *o, struct error *e)
{
    const enum probe probe = o->request.probe;
    const enum status s = check_probe(o, e);
    if (s || probe == PROBE_XRAY || geometry_given(o, "cell|matrix|hkl|mtz|model"))
        return s;
    return error_set(e, STATUS_USAGE,
                     "--probe=%s needs --model, --mtz or --hkl, because the structure factors of "
                     "the built-in lysozyme are those of X-rays",
                     probe_nexus(probe));
}

enum status geometry_set_probe(const struct geometry_options *o, struct request *r, struct error *e)
{
    static const double VOLTAGE_V = 2e5, ELECTRONS_1_M2 = 1e18, NEUTRONS_1_M2 = 1e16;
    const enum status s = check_probe(o, e);
    if (s || r->probe == PROBE_XRAY)
        return s;
    r->beam.no_polarization = true;
    if (!geometry_given(o, "fluence"))
        r->beam.fluence_ph_m2 = r->probe == PROBE_ELECTRON ? ELECTRONS_1_M2 : NEUTRONS_1_M2;
    if (r->probe == PROBE_ELECTRON && !geometry_given(o, GEOMETRY_WAVELENGTH))
        r->beam.wavelength_m = volt_to_m(VOLTAGE_V);
    return STATUS_OK;
}

/* --- detector --------------------------------------------------------------------- */

enum status geometry_compare_probe(const struct request *r, const char *path, enum probe probe,
                                   struct error *e)
{
    return probe == r->probe
               ? STATUS_OK
               : error_set(e, STATUS_INPUT, "%s: the beam consists of %s, not of %s. %s --probe=%s",
                           path, probe_particles(probe), probe_particles(r->probe),
                           probe == PROBE_XRAY ? "Remove" : "Give",
                           probe == PROBE_XRAY       ? probe_nexus(r->probe)
                           : probe == PROBE_ELECTRON ? "electron"
                                                     : "neutron");
}

/* Checks that the wavelength of electrons, which a file may have, is that of an electron
 * microscope.  Files of X-rays would otherwise make electrons of a few volts. */
static enum status check_voltage(const struct request *r, struct error *e)
{
    const double V = m_to_volt(r->beam.wavelength_m);
    return V >= 0.999 * GEOMETRY_LEAST_V && V <= 1.001 * GEOMETRY_MOST_V
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "electrons with a wavelength of %.6g A have %.4g kV; expected %g to %g "
                           "kV. Give --voltage=200kV",
                           m_to_angstrom(r->beam.wavelength_m), V / 1e3, GEOMETRY_LEAST_V / 1e3,
                           GEOMETRY_MOST_V / 1e3);
}

enum status geometry_probe_sensor(const struct geometry_options *o, struct request *r,
                                  struct error *e)
{
    struct detector_request *d = &r->detector;
    if (r->probe == PROBE_XRAY)
        return STATUS_OK;
    const enum status s = r->probe == PROBE_ELECTRON ? check_voltage(r, e) : STATUS_OK;
    if (s || geometry_given(o, "absorption"))
        return s;
    if (geometry_given(o, "thickness") && d->thickness.range > 0.0)
        return error_set(e, STATUS_USAGE,
                         "--thickness needs --absorption=UM with --probe=%s, because the table of "
                         "silicon is that of X-rays",
                         probe_nexus(r->probe));
    if (!isnan(d->thickness.range))
        log_line(LOG_INFO, "the sensor detects all %s. Give --absorption for a depth",
                 probe_particles(r->probe));
    d->thickness.range = NAN;
    d->absorption_1_m = NAN;
    return STATUS_OK;
}

/* --- structure factors ------------------------------------------------------------ */

void geometry_scale_factors(const struct experiment *x, struct hkl_table *t)
{
    const double unit = probe_unit_electrons(x->probe, x->beam.wavelength_m);
    if (!x->has_probe)
        return;
    const size_t count = (size_t)t->count[0] * (size_t)t->count[1] * (size_t)t->count[2];
    for (size_t i = 0; i < count; i++)
        t->F[i] *= unit;
    t->default_F *= unit;
}

/* --- thickness --------------------------------------------------------------------- */

/* Molecules of water in A^-3, and the volume of a protein in A^3 per atom that is not hydrogen. */
static const double WATER_1_A3 = 0.0334, ATOM_A3 = 17.0;

static double water_A2(double wavelength_m)
{
    return electron_elastic_A2(8.0, wavelength_m) + 2.0 * electron_elastic_A2(1.0, wavelength_m);
}

/* Returns 1/(n sigma) in A of a crystal of the atoms of a model.  What a macromolecule leaves of
 * the cell is filled with water. */
static double model_path_A(const struct molecule *m, double wavelength_m)
{
    const double volume_A3 = cell_volume(m->cell_A, m->cell_rad);
    double sum_A2 = 0.0, filled_A3 = 0.0;
    for (const struct molecule_atom *a = m->atoms; a < m->atoms + m->count; a++) {
        const double times = a->occupancy * (double)m->operators.count;
        const int Z = element_number(a->symbol);
        sum_A2 += times * electron_elastic_A2(Z ? Z : 6, wavelength_m);
        filled_A3 += Z > 1 ? times * ATOM_A3 : 0.0;
    }
    if (!m->small)
        sum_A2 += fmax(0.0, volume_A3 - filled_A3) * WATER_1_A3 * water_A2(wavelength_m);
    return volume_A3 / sum_A2;
}

/* Returns the elastic mean free path in a crystal, in A.  Without a model it is that in water,
 * about as in a protein. */
static enum status find_path(const struct geometry_options *o, double wavelength_m, double *path_A,
                             struct error *e)
{
    struct molecule m = {0};
    *path_A = 1.0 / (WATER_1_A3 * water_A2(wavelength_m));
    if (!geometry_given(o, "model"))
        return STATUS_OK;
    const enum status s = molecule_read(o->model, &m, e);
    if (!s)
        *path_A = model_path_A(&m, wavelength_m);
    molecule_free(&m);
    return s;
}

/* Returns the shortest edge of the crystal, in A. */
static double thickness_A(const struct crystal *c)
{
    double least_A = INFINITY;
    for (int i = 0; i < 3; i++)
        least_A =
            fmin(least_A, c->has_size ? m_to_angstrom(c->size_m[i]) : c->cells[i] * c->cell_A[i]);
    return least_A;
}

enum status geometry_warn_thickness(const struct geometry_options *o, const struct experiment *x,
                                    const struct crystal *c, struct error *e)
{
    static const double KINEMATIC = 0.2;  // of the elastic mean free path
    double path_A;
    if (x->probe != PROBE_ELECTRON || !(thickness_A(c) > 0.0))
        return STATUS_OK;
    const enum status s = find_path(o, x->beam.wavelength_m, &path_A, e);
    if (!s && thickness_A(c) > KINEMATIC * path_A)
        log_line(LOG_WARNING,
                 "the crystal%s%s is %.3g nm thick or more, over a fifth of the elastic mean free "
                 "path of its electrons (%.3g nm). Images are kinematic, as of a thin crystal: "
                 "multiple scattering is not computed. See --crystal-size and --ncells",
                 *c->name ? " " : "", c->name, thickness_A(c) / 10.0, path_A / 10.0);
    return s;
}
