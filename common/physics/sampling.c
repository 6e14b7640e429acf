#include "physics/sampling.h"

#include <math.h>

#include "physics/vec.h"

double sampling_domain_spacing(double spread_rad, double domains)
{
    return spread_rad * sqrt(M_PI / domains);
}

/* N a of the widest axis, m: the narrowest spots. */
static double largest_edge_m(const struct crystal *crystal, const double cell_m[9])
{
    double largest = 0.0;
    for (int i = 0; i < 3; i++)
        largest = fmax(largest, crystal->cells[i] * vec_length(cell_m + 3 * i));
    return largest;
}

/* How far v lies outside [0, end]. */
static double outside(double v, double end)
{
    return v < 0.0 ? -v : v > end ? v - end : 0.0;
}

/* The largest angle of a pixel edge, as seen from the sample: where a panel is closest. */
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

struct sampling_report sampling_check(const struct experiment *x, const struct lattice *l,
                                      double osc_rad, double spread_rad)
{
    struct sampling_report r = {.phi_steps = 1, .domains = 1, .oversample = 1};
    r.spot_rad = x->beam.wavelength_m / largest_edge_m(&x->crystals[l->crystal], l->cells_m);
    if (osc_rad != 0.0) {
        r.phi_step_rad = fabs(osc_rad) / (double)l->nphi;
        r.phi_steps = ceil(fabs(osc_rad) / r.spot_rad);
    }
    if (spread_rad > 0.0) {
        r.domain_rad = sampling_domain_spacing(spread_rad, (double)l->ndomains);
        r.domains = ceil(M_PI * pow(spread_rad / r.spot_rad, 2));
    }
    const double pixel_rad = pixel_angle(x);
    r.subpixel_rad = pixel_rad / x->sampling.oversample;
    r.oversample = fmax(1.0, ceil(pixel_rad / r.spot_rad));
    r.phi_coarse = r.phi_step_rad > r.spot_rad;
    r.domains_coarse = r.domain_rad > r.spot_rad;
    r.pixels_coarse = r.subpixel_rad > r.spot_rad;
    return r;
}
