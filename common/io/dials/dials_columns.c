/* The columns of reflection tables of DIALS. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "io/dials/dials.h"

/* Of DIALS: predicted, observed, indexed, strong; integrated by summation, scaled. */
enum { SEEN = 1 | 2 | 4 | 32, INTEGRATED = 256, SCALED = 1 << 26 };

static void put_real(void *to, double value)
{
    memcpy(to, &value, sizeof value);
}

static void put_size_t(void *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

static void put_vector(void *to, double x, double y, double z)
{
    const double v[3] = {x, y, z};
    memcpy(to, v, sizeof v);
}

static void put_id(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    memcpy(to, &s->id, 4);
}

static void put_hkl(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    memcpy(to, s->hkl, 12);
}

static void put_panel(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_size_t(to, (uint64_t)s->panel);
}

static void put_flags(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_size_t(to, (uint64_t)(SEEN | (s->cut ? 0 : INTEGRATED) | (s->scaled ? SCALED : 0)));
}

static void put_photons(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->photons);
}

static void put_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->photons + s->background);
}

static void put_partiality(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x, (void)s;
    put_real(to, 1.0);
}

static void put_d(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->d_A);
}

static void put_px(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_vector(to, s->fast, s->slow, s->image);
}

static void put_mm(const struct experiment *x, const struct dials_spot *s, void *to)
{
    const double pixel_mm = m_to_mm(x->panels[s->panel].pixel_m);
    put_vector(to, s->fast * pixel_mm, s->slow * pixel_mm, s->phi_rad);
}

/* Of the centroid: that of so many photons spread over so many pixels of an image. */
static double variance_px(const struct dials_spot *s)
{
    return s->pixels / (12.0 * s->photons * (s->box[5] - s->box[4]));
}

static void put_px_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_vector(to, variance_px(s), variance_px(s), 1.0 / 12.0);
}

static void put_mm_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    const double pixel_mm = m_to_mm(x->panels[s->panel].pixel_m);
    const double variance = variance_px(s) * pixel_mm * pixel_mm;
    put_vector(to, variance, variance, s->osc_rad * s->osc_rad / 12.0);
}

/* Where it goes, in our lab, of length 1. */
static void direction_of(const struct experiment *x, const struct dials_spot *s, double out[3])
{
    const struct panel *p = &x->panels[s->panel];
    double at[3];
    for (int i = 0; i < 3; i++)
        at[i] = s->shift_m[i] + p->origin_m[i] +
                p->pixel_m * (s->fast * p->fast[i] + s->slow * p->slow[i]);
    (void)vec_unit(at, out);
}

static void put_s1(const struct experiment *x, const struct dials_spot *s, void *to)
{
    double at[3], turned[3];
    direction_of(x, s, at);
    dials_turn(x, at, turned);
    put_vector(to, turned[0] / s->wavelength_A, turned[1] / s->wavelength_A,
               turned[2] / s->wavelength_A);
}

static void put_box(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    memcpy(to, s->box, sizeof s->box);
}

/* Lorentz factor of a rotation over that of polarization, which DIALS multiplies with: Kabsch,
 * Acta Cryst. D66 (2010) 133. */
static double lp_of(const struct experiment *x, const struct dials_spot *s)
{
    double at[3], across[3], normal[3];
    const double fraction = dials_polarization(x, normal);
    direction_of(x, s, at);
    vec_cross(x->spindle, x->beam.direction, across);
    const double n = vec_dot(normal, at), forward = vec_dot(x->beam.direction, at);
    const double polarization =
        (1.0 - 2.0 * fraction) * (1.0 - n * n) + fraction * (1.0 + forward * forward);
    return (s->osc_rad != 0.0 ? fabs(vec_dot(at, across)) : 1.0) / polarization;
}

/* The share of photons that the sensor stops; 1 where nobody knows. */
static double qe_of(const struct experiment *x, const struct dials_spot *s)
{
    const struct panel *p = &x->panels[s->panel];
    const double depth_m = panel_depth_m(p);
    double at[3], normal[3];
    if (!(depth_m > 0.0 && p->absorption_1_m > 0.0))
        return 1.0;
    direction_of(x, s, at);
    vec_cross(p->fast, p->slow, normal);
    return -expm1(-p->absorption_1_m * depth_m / fabs(vec_dot(at, normal)));
}

static void put_lp(const struct experiment *x, const struct dials_spot *s, void *to)
{
    put_real(to, lp_of(x, s));
}

static void put_qe(const struct experiment *x, const struct dials_spot *s, void *to)
{
    put_real(to, qe_of(x, s));
}

static void put_scaled(const struct experiment *x, const struct dials_spot *s, void *to)
{
    put_real(to, s->photons * lp_of(x, s) / qe_of(x, s));
}

static void put_scaled_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    const double factor = lp_of(x, s) / qe_of(x, s);
    put_real(to, (s->photons + s->background) * factor * factor);
}

static void put_scale(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->scaled ? 1.0 : 0.0);
}

const struct dials_column dials_columns[] = {
    {"bbox", "int6", 24, put_box, false},
    {"d", "double", 8, put_d, false},
    {"flags", "std::size_t", 8, put_flags, false},
    {"id", "int", 4, put_id, false},
    {"intensity.scale.value", "double", 8, put_scaled, true},
    {"intensity.scale.variance", "double", 8, put_scaled_variance, true},
    {"intensity.sum.value", "double", 8, put_photons, false},
    {"intensity.sum.variance", "double", 8, put_variance, false},
    {"inverse_scale_factor", "double", 8, put_scale, true},
    {"lp", "double", 8, put_lp, false},
    {"miller_index", "cctbx::miller::index<>", 12, put_hkl, false},
    {"panel", "std::size_t", 8, put_panel, false},
    {"partiality", "double", 8, put_partiality, false},
    {"qe", "double", 8, put_qe, false},
    {"s1", "vec3<double>", 24, put_s1, false},
    {"xyzcal.mm", "vec3<double>", 24, put_mm, false},
    {"xyzcal.px", "vec3<double>", 24, put_px, false},
    {"xyzobs.mm.value", "vec3<double>", 24, put_mm, false},
    {"xyzobs.mm.variance", "vec3<double>", 24, put_mm_variance, false},
    {"xyzobs.px.value", "vec3<double>", 24, put_px, false},
    {"xyzobs.px.variance", "vec3<double>", 24, put_px_variance, false},
    {.name = NULL},
};
