#include "physics/crystal/sampling.h"

#include <math.h>

#include "base/vec.h"
#include "physics/crystal/shape.h"
#include "physics/detector/sensor.h"

/* Mean distance in rad of `domains` orientations that fill a cap of half-width
 * `spread_rad`, as seen along a reflection (which two of the three rotations
 * move): each owns an area pi spread^2 / domains. */
static double sampling_domain_spacing(double spread_rad, double domains)
{
    return spread_rad * sqrt(M_PI / domains);
}

/* Returns N a of the longest axis in m, which determines the narrowest spots. */
static double largest_edge_m(const struct crystal *c, bool faithful, const double cell_m[9])
{
    double largest = 0.0;
    if (faithful && shape_is_bounded(c->shape))
        return c->cells[0] * c->cells[1] * c->cells[2] * 1e-10;
    for (int i = 0; i < 3; i++)
        largest = fmax(largest, c->cells[i] * vec_length(cell_m + 3 * i));
    return largest;
}

static const double BLOCK_RMS = 0.3968626966596886;  // sqrt(0.63/4): rms of GAUSS, in 1/N

/* Returns the width in the rotation of a crystal whose blocks have the width `rocking_rad`. */
static double widen(const struct crystal *c, double rocking_rad)
{
    const double block_rad = BLOCK_RMS / sqrt(c->fudge) * rocking_rad;
    const double *rms = c->mosaic_rms_rad, least_rad = fmin(rms[0], fmin(rms[1], rms[2]));
    return c->has_ensemble && least_rad > 0.0 ? rocking_rad * hypot(1.0, least_rad / block_rad)
                                              : rocking_rad;
}

/* Returns the largest distance of neighbouring points that is fine enough, in units of the width
 * of a spot. */
static double widths_apart(const struct crystal *c, double ripple)
{
    switch (c->shape) {
    case SHAPE_SQUARE:
        return 0.7;
    case SHAPE_ROUND:
        return 0.9 / sqrt(c->fudge);
    case SHAPE_GAUSS:
        return M_PI * M_SQRT2 * BLOCK_RMS / sqrt(log(2.0 / ripple)) / sqrt(c->fudge);
    case SHAPE_TOPHAT:
        return 0.35 / sqrt(c->fudge);
    }
    return 0.35;
}

/* Returns the smallest d spacing at a corner of a panel in m. */
static double smallest_spacing_m(const struct experiment *x)
{
    double farthest = 1.0;  // cosine of 2 theta
    for (size_t i = 0; i < x->npanels; i++)
        for (int corner = 0; corner < 4; corner++) {
            const struct panel *p = &x->panels[i];
            const double fast = corner % 2 ? (double)p->fast_pixels : 0.0;
            const double slow = corner / 2 ? (double)p->slow_pixels : 0.0;
            double at[3];
            for (int k = 0; k < 3; k++)
                at[k] = p->origin_m[k] + p->pixel_m * (fast * p->fast[k] + slow * p->slow[k]);
            if (vec_unit(at, at) > 0.0)
                farthest = fmin(farthest, vec_dot(at, x->beam.direction));
        }
    return x->beam.wavelength_m / fmax(sqrt(2.0 * (1.0 - farthest)), 1e-6);
}

/* Returns the distance of v from the range [0, end]; 0: v is in the range. */
static double outside(double v, double end)
{
    return v < 0.0 ? -v : v > end ? v - end : 0.0;
}

/* Returns the largest angle of a pixel edge as seen from the sample, at the nearest point of a
 * panel. */
static double pixel_angle(const struct experiment *x)
{
    double largest = 0.0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const double to_closest[3] = {
            p->close_distance_m, outside(p->close_fast_m, p->pixel_m * (double)p->fast_pixels),
            outside(p->close_slow_m, p->pixel_m * (double)p->slow_pixels)};
        largest = fmax(largest, p->pixel_m / fmax(p->pixel_m, vec_length(to_closest)));
    }
    return largest;
}

/* Returns the largest distance on the panel of photons of neighbouring layers that is fine
 * enough, along the slant of the rays: one pixel, or the width of a spot if it is larger. */
static double layers_apart_m(const struct panel *p, double slant, double spot_share_rad)
{
    return fmax(p->pixel_m, spot_share_rad * p->close_distance_m * (1.0 + slant * slant));
}

/* Returns the depth at which a slanted ray has lost 95 % of its photons. */
static double depth_m(const struct panel *p, double slant)
{
    const double stopped_m = 3.0 / (p->absorption_1_m * sqrt(1.0 + slant * slant));
    return p->thickness_m > 0.0 ? fmin(p->thickness_m, stopped_m) : 0.0;
}

/* Sets the numbers of layers for the panel that needs most layers. */
static void check_layers(const struct experiment *x, struct sampling_report *r)
{
    const bool divided = x->physics == PHYSICS_PHYSICAL && !x->sampling.smears;
    for (size_t i = 0; i < x->npanels && divided; i++) {
        const struct panel *p = &x->panels[i];
        const double slant = sensor_slant(p), apart_m = layers_apart_m(p, slant, r->spot_share_rad);
        const double needed = ceil(p->thickness_m * slant / apart_m);
        if (p->curved || !(depth_m(p, slant) * slant > apart_m) || !(needed > r->layers))
            continue;
        r->layers = needed;
        r->layer_px = p->layer_m * slant / p->pixel_m;
        r->layers_coarse = p->layers < needed;
    }
}

struct sampling_report sampling_check(const struct experiment *x, const struct lattice *l,
                                      double osc_rad, double spread_rad, double ripple)
{
    struct crystal own;
    const struct crystal *c = lattice_crystal(x, l, &own);
    const double edge_m = largest_edge_m(c, x->physics == PHYSICS_FAITHFUL, l->cells_m);
    const double widths = widths_apart(c, ripple);
    struct sampling_report r = {.phi_steps = 1, .domains = 1, .oversample = 1, .layers = 1};
    r.spot_rad = x->beam.wavelength_m / edge_m;
    r.rocking_rad = smallest_spacing_m(x) / edge_m;
    r.widened_rad = widen(c, r.rocking_rad);
    r.spot_share_rad = widths * r.spot_rad;
    r.rocking_share_rad = widths * r.widened_rad;
    if (osc_rad != 0.0) {
        r.phi_step_rad = fabs(osc_rad) / (double)l->nphi;
        r.phi_steps = ceil(fabs(osc_rad) / r.rocking_share_rad);
    }
    if (spread_rad > 0.0) {
        r.domain_rad = sampling_domain_spacing(spread_rad, (double)l->ndomains);
        r.domains = ceil(M_PI * pow(spread_rad / r.rocking_share_rad, 2));
    }
    const double pixel_rad = pixel_angle(x);
    r.subpixel_rad = pixel_rad / x->sampling.oversample;
    r.oversample = fmax(1.0, ceil(pixel_rad / r.spot_share_rad));
    check_layers(x, &r);
    r.phi_coarse = r.phi_step_rad > r.rocking_share_rad;
    r.domains_coarse = r.domain_rad > r.rocking_share_rad;
    r.pixels_coarse = r.subpixel_rad > r.spot_share_rad;
    return r;
}
