#include "physics/sensor.h"

#include <math.h>
#include <string.h>

#include "physics/check.h"
#include "physics/harmonic.h"
#include "physics/steps.h"

enum status silicon_absorption(double energy_eV, double *absorption_1_m, struct error *e)
{
    static const double keV[] = {1,  1.5, 1.8389, 1.8389, 2,  3,  4,  5,   6,   8,  10,
                                 15, 20,  30,     40,     50, 60, 80, 100, 150, 200};
    static const double cm2_g[] = {1570,   535.5,  309.2,  3192,   2777,   978.4,  452.9,
                                   245.0,  147.0,  64.68,  33.89,  10.34,  4.464,  1.436,
                                   0.7012, 0.4385, 0.3207, 0.2228, 0.1835, 0.1448, 0.1275};
    enum { ROWS = sizeof keV / sizeof *keV };
    const double x = energy_eV / 1e3;
    int i = 0;
    if (!(x >= keV[0] && x <= keV[ROWS - 1]))
        return error_set(e, STATUS_INPUT,
                         "the sensor: the table of what silicon absorbs does not have this energy "
                         "(got %.6g keV); expected %g to %g keV",
                         x, keV[0], keV[ROWS - 1]);
    while (i < ROWS - 2 && x > keV[i + 1])
        i++;
    const double part = log(x / keV[i]) / log(keV[i + 1] / keV[i]);
    *absorption_1_m = 2.33 * 100.0 * cm2_g[i] * pow(cm2_g[i + 1] / cm2_g[i], part);
    return STATUS_OK;
}

/* Mean depth within a layer at which photons stop that come along the normal. */
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
    *absorption_1_m = p->absorption_1_m / CUBE;
    return is_silicon(p) ? silicon_absorption(HARMONIC_ORDER * energy_eV, absorption_1_m, e)
                         : STATUS_OK;
}

double sensor_harmonic_depths(const struct panel *p)
{
    return !is_silicon(p) && p->harmonic_absorption_1_m == p->absorption_1_m / CUBE ? CUBE : 0.0;
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

/* Layers that share the thickness. */
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
    /* without an attenuation depth the sensor is one depth thick */
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
    if (x->physics == PHYSICS_FAITHFUL || is_divided(&d->thickness))
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
