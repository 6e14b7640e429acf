/* Converts the options of --psf to a point spread in pixels, and reads these options from a
 * history. */
#include "point_spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/history.h"
#include "base/units.h"
#include "physics/detector/sensor.h"

struct psf point_spread_on(const struct point_spread *p, const struct panel *panel)
{
    const double fwhm_m =
        p->kind == PSF_CHARGE ? sqrt(8.0 * log(2.0)) * sensor_cloud_m(panel, p->bias_V) : p->fwhm_m;
    return (struct psf){.kind = (enum psf_kind)p->kind,
                        .fwhm_px = fwhm_m / panel->pixel_m,
                        .radius_px = p->radius_px};
}

/* Returns the value of a numerical option in a line of the history. Returns `usual` if the line
 * does not have the option. */
static double number(const char *line, const char *name, double usual)
{
    char value[64];
    return history_value(line, name, value, sizeof value) && *value ? strtod(value, NULL) : usual;
}

struct point_spread point_spread_told(const char *history)
{
    static const char *const kinds[] = {"none", "gauss", "fiber", "charge"};
    static const char name[] = "bragg-noise\t";
    struct point_spread p = {.kind = PSF_NONE};
    for (const char *line = history; line && *line; line = strchr(line, '\n')) {
        char kind[16];
        line += *line == '\n';
        if (strncmp(line, name, sizeof name - 1) != 0 ||
            !history_value(line, "psf", kind, sizeof kind))
            continue;
        p = (struct point_spread){.fwhm_m = um_to_m(number(line, "psf-fwhm", POINT_SPREAD_FWHM_UM)),
                                  .bias_V = number(line, "bias", POINT_SPREAD_BIAS_V),
                                  .radius_px = (int64_t)number(line, "psf-radius", 0.0)};
        for (int k = PSF_GAUSS; k <= PSF_CHARGE; k++)
            if (strcmp(kind, kinds[k]) == 0)
                p.kind = k;
    }
    return p;
}
