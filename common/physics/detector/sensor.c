#include "physics/detector/sensor.h"

#include <math.h>
#include <string.h>

#include "base/portable_math.h"
#include "base/units.h"
#include "physics/beam/beam.h"
#include "physics/request.h"

/* Mass attenuation of silicon, cm^2/g; the edge has two rows. */
static const double keV[] = {1,  1.5, 1.8389, 1.8389, 2,  3,  4,  5,   6,   8,  10,
                             15, 20,  30,     40,     50, 60, 80, 100, 150, 200};
static const double cm2_g[] = {1570,   535.5,  309.2,  3192,   2777,   978.4,  452.9,
                               245.0,  147.0,  64.68,  33.89,  10.34,  4.464,  1.436,
                               0.7012, 0.4385, 0.3207, 0.2228, 0.1835, 0.1448, 0.1275};
enum { ROWS = sizeof keV / sizeof *keV };

/* Returns the last row at or below x. */
static enum status find_row(double x, int *row, struct error *e)
{
    int i = 0;
    if (!(x >= keV[0] && x <= keV[ROWS - 1]))
        return error_set(e, STATUS_INPUT,
                         "the sensor: the absorption of silicon is not known at this energy (got "
                         "%.6g keV); expected %g to %g keV",
                         x, keV[0], keV[ROWS - 1]);
    while (i < ROWS - 2 && x > keV[i + 1])
        i++;
    *row = i;
    return STATUS_OK;
}

enum status silicon_absorption(double energy_eV, double *absorption_1_m, struct error *e)
{
    const double x = energy_eV / 1e3;
    int i = 0;
    const enum status s = find_row(x, &i, e);
    if (s)
        return s;
    const double part = log(x / keV[i]) / log(keV[i + 1] / keV[i]);
    *absorption_1_m = 2.33 * 100.0 * cm2_g[i] * pow(cm2_g[i + 1] / cm2_g[i], part);
    return STATUS_OK;
}

/* Returns the attenuation in cm^2/g, from functions that give the same bits on all machines. */
static enum status silicon_cm2_g(double energy_eV, double *value, struct error *e)
{
    const double x = energy_eV / 1e3;
    int i = 0;
    const enum status s = find_row(x, &i, e);
    if (s)
        return s;
    const double part = portable_log(x / keV[i]) / portable_log(keV[i + 1] / keV[i]);
    *value = cm2_g[i] * portable_exp(part * portable_log(cm2_g[i + 1] / cm2_g[i]));
    return STATUS_OK;
}

/* Absorption edges of sensor materials other than silicon, in eV. */
static const struct {
    const char *material;
    double edges_eV[6];
} edges[] = {{"CdTe", {26711, 31814, 4018, 4939}},
             {"CdZnTe", {26711, 31814, 9659, 4018, 4939}},
             {"CZT", {26711, 31814, 9659, 4018, 4939}},
             {"GaAs", {10367, 11867}},
             {"Ge", {11103}}};

/* Returns true if absorption follows the third power of the energy between two energies. For a
 * panel without a material the user gave the absorption, and its edges are not known. */
static enum status check_edges(const struct panel *p, double from_eV, double to_eV, struct error *e)
{
    const size_t count = sizeof edges / sizeof *edges;
    size_t i = 0;
    while (i < count && strcmp(edges[i].material, p->material) != 0)
        i++;
    if (i == count && *p->material)
        return error_set(
            e, STATUS_INPUT,
            "the sensor: the absorption of %s is known at one energy only (got %.6g and %.6g keV); "
            "expected the same energy, or Si, CdTe, CdZnTe, CZT, GaAs or Ge",
            p->material, from_eV / 1e3, to_eV / 1e3);
    for (int k = 0; i < count && k < 6; k++) {
        const double edge = edges[i].edges_eV[k];
        if (edge > 0.0 && (from_eV < edge) != (to_eV < edge))
            return error_set(e, STATUS_INPUT,
                             "the sensor: the absorption of %s is not known across its edge at %g "
                             "keV (got %.6g and %.6g keV); expected energies on one side of it",
                             p->material, edge / 1e3, from_eV / 1e3, to_eV / 1e3);
    }
    return STATUS_OK;
}

/* Returns the mean depth within a layer at which photons along the normal are absorbed. */
static double mean_depth_m(double layer_m, double absorption_1_m)
{
    const double x = layer_m * absorption_1_m;
    return layer_m * (x < 1e-3 ? 0.5 - x / 12.0 : 1.0 / x - 1.0 / expm1(x));
}

static const double CUBE = HARMONIC_ORDER * HARMONIC_ORDER * HARMONIC_ORDER;

static bool is_silicon(const struct panel *p)
{
    return strcmp(p->material, "Si") == 0;
}

enum status sensor_harmonic(const struct panel *p, double energy_eV, double *absorption_1_m,
                            struct error *e)
{
    if (is_silicon(p))
        return silicon_absorption(HARMONIC_ORDER * energy_eV, absorption_1_m, e);
    const enum status s = check_edges(p, energy_eV, HARMONIC_ORDER * energy_eV, e);
    if (!s)
        *absorption_1_m = p->absorption_1_m / CUBE;
    return s;
}

double sensor_harmonic_depths(const struct panel *p)
{
    return !is_silicon(p) && p->harmonic_absorption_1_m == p->absorption_1_m / CUBE ? CUBE : 0.0;
}

enum status sensor_ratio(const struct panel *p, double beam_m, double wavelength_m, double *ratio,
                         struct error *e)
{
    const double part = wavelength_m / beam_m, energy_eV = m_to_ev(wavelength_m);
    double at_beam, here;
    *ratio = 1.0;
    if (fabs(part - 1.0) < 1e-9)
        return STATUS_OK;
    if (!is_silicon(p)) {
        *ratio = part * part * part;
        return check_edges(p, m_to_ev(beam_m), energy_eV, e);
    }
    enum status s = silicon_cm2_g(m_to_ev(beam_m), &at_beam, e);
    if (!s && !(s = silicon_cm2_g(energy_eV, &here, e)))
        *ratio = here / at_beam;
    return s;
}

const struct panel *sensor_of(const struct experiment *x)
{
    /* the depth of other particles than X-rays is that of --absorption at all wavelengths */
    for (size_t i = 0; i < x->npanels && x->physics != PHYSICS_FAITHFUL && !x->has_probe; i++)
        if (x->panels[i].thickness_m > 0.0 && x->panels[i].absorption_1_m > 0.0)
            return &x->panels[i];
    return NULL;
}

static enum status check_alike(const struct experiment *x, const struct panel *p, struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].thickness_m > 0.0 && strcmp(x->panels[i].material, p->material) != 0)
            return error_set(
                e, STATUS_INPUT,
                "panels have sensors of '%s' and '%s'; expected one material for a beam of "
                "several wavelengths",
                p->material, x->panels[i].material);
    return STATUS_OK;
}

enum status sensor_ratios(const struct experiment *x, const struct source *sources, size_t n,
                          double *ratios, bool *differ, struct error *e)
{
    const struct panel *p = sensor_of(x);
    const double beam_m = x->beam.wavelength_m;
    enum status s = STATUS_OK;
    *differ = false;
    for (size_t i = 0; i < n; i++)
        *differ = *differ || fabs(sources[i].wavelength_m / beam_m - 1.0) > SENSOR_WAVE_NEAR;
    *differ = *differ && p;
    for (size_t i = 0; i < n && ratios; i++)
        ratios[i] = 1.0;
    for (size_t i = 0; i < n && *differ && !s; i++) {
        double ratio;
        const double part = sources[i].wavelength_m / beam_m;
        const double steps = floor((part - 1.0) / SENSOR_WAVE_STEP + 0.5);
        const double rounded = part > 0.5 ? 1.0 + SENSOR_WAVE_STEP * steps : part;
        s = sensor_ratio(p, beam_m, beam_m * rounded, &ratio, e);
        if (!s && ratios)
            ratios[i] = ratio;
    }
    return !s && *differ ? check_alike(x, p, e) : s;
}

enum status sensor_waves_differ(const struct experiment *x, const struct recipe *r, bool *differ,
                                struct error *e)
{
    return r->nsources ? sensor_ratios(x, r->sources, r->nsources, NULL, differ, e)
                       : sensor_ratios(x, x->beam.sources, x->beam.nsources, NULL, differ, e);
}

void sensor_absorb(struct panel *p, double absorption_1_m)
{
    p->absorption_1_m = absorption_1_m;
    if (p->thickness_m > 0.0)
        p->layer_depth_m = mean_depth_m(p->layer_m, absorption_1_m);
}

double sensor_cloud_m(const struct panel *p, double bias_V)
{
    const double thermal_V = 0.02525, d = p->thickness_m;
    return sqrt(2.0 * thermal_V * (d - mean_depth_m(d, p->absorption_1_m)) * d / bias_V);
}

/* Divides the thickness into layers. */
static void divide(struct panel *p, int layers)
{
    p->layers = layers;
    p->layer_m = p->thickness_m / layers;
    p->layer_depth_m = mean_depth_m(p->layer_m, p->absorption_1_m);
}

static bool is_divided(const struct steps_request *t)
{
    return t->step != 0.0 || t->count > 0;
}

enum status sensor_setup(const struct detector_request *d, bool faithful, struct panel *p,
                         struct error *e)
{
    struct steps t;
    enum status s = steps_resolve(&d->thickness, STEPS_THICKNESS, "sensor thickness", &t, e);
    if (s ||
        (s = check_range("number of sensor layers", (double)t.count, 1.0, "", 1.0, LIMIT_LAYERS,
                         e)) ||
        (s = check_range("sensor thickness", t.range, 1e-6, "um", 0.0, 1e6, e)))
        return s;
    if (!isnan(d->absorption_1_m) &&
        (s = check_range("sensor absorption", d->absorption_1_m, 1.0, "1/m", 0.0, 1e12, e)))
        return s;
    p->layers = (int)t.count;
    p->thickness_m = t.range;
    p->layer_m = t.step;
    /* Without an attenuation depth, the sensor has a thickness of one depth. */
    p->absorption_1_m = !isnan(d->absorption_1_m) ? d->absorption_1_m
                        : t.range > 0.0           ? 1.0 / t.range
                                                  : 0.0;
    memcpy(p->material, d->material, sizeof p->material);
    if (faithful || !(t.range > 0.0))
        return STATUS_OK;
    if (!is_divided(&d->thickness))
        divide(p, 1);
    else
        divide(p, d->thickness.step != 0.0 ? (int)t.count : (int)d->thickness.count);
    return STATUS_OK;
}

double sensor_slant(const struct panel *p)
{
    const double fast_m = p->pixel_m * (double)p->fast_pixels;
    const double slow_m = p->pixel_m * (double)p->slow_pixels;
    return hypot(fmax(fabs(p->close_fast_m), fabs(fast_m - p->close_fast_m)),
                 fmax(fabs(p->close_slow_m), fabs(slow_m - p->close_slow_m))) /
           p->close_distance_m;
}

void sensor_divide(const struct detector_request *d, struct experiment *x)
{
    double needed = 1.0;
    if (x->physics == PHYSICS_FAITHFUL || d->smears || is_divided(&d->thickness))
        return;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        if (!p->curved)
            needed = fmax(needed, ceil(p->thickness_m * sensor_slant(p) / p->pixel_m));
    }
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].thickness_m > 0.0)
            divide(&x->panels[i], (int)fmin(needed, SENSOR_LAYERS_MAX));
}
