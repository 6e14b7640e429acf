/* Resolution rings that a user chooses. */
#include "rings.h"

#include <math.h>

#include "base/log.h"
#include "base/opt.h"
#include "physics/detector/panels.h"

enum { AZIMUTHS = 720 };

#define RING_MIN_A 0.1
#define RING_MAX_A 1000.0

enum status rings_parse(const char *text, struct rings *r, struct error *e)
{
    *r = (struct rings){0};
    return text ? parse_list(text, RINGS_MAX, RING_MIN_A, RING_MAX_A, "A", "--rings", r->d_A,
                             &r->count, e)
                : STATUS_OK;
}

/* Returns true if a ray of the cone with half-angle twotheta_rad about `beam` meets a pixel of
 * the panel. */
static bool crosses(const struct panel *p, const double beam[3], double twotheta_rad)
{
    for (int i = 0; i < AZIMUTHS; i++) {
        double direction[3], fast, slow;
        ray_on_cone(beam, twotheta_rad, 2.0 * M_PI * i / AZIMUTHS, direction);
        if (ray_to_pixel(p, beam, direction, &fast, &slow) && fast >= 0.0 && slow >= 0.0 &&
            fast < (double)p->fast_pixels && slow < (double)p->slow_pixels)
            return true;
    }
    return false;
}

void rings_warn(const struct rings *r, const struct experiment *x, const struct panel *panel)
{
    const double half_A = 0.5e10 * x->beam.wavelength_m;
    for (int i = 0; i < r->count; i++) {
        const double d_A = r->d_A[i];
        if (d_A < half_A)
            log_line(LOG_WARNING,
                     "--rings: there is no ring of %.6g A: at a wavelength of %.6g A the "
                     "smallest d spacing is %.6g A",
                     d_A, 2.0 * half_A, half_A);
        else if (!crosses(panel, x->beam.direction, 2.0 * asin(half_A / d_A)))
            log_line(LOG_WARNING, "--rings: the ring of %.6g A is not on the detector", d_A);
    }
}
