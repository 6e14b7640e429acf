#include "model/beam.h"

#include "base/vec.h"

struct incident incident_beam(const struct experiment *x, const struct recipe *r)
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    struct incident b = {.sources = r->nsources ? r->nsources : x->beam.nsources,
                         .mean_m = x->beam.wavelength_m,
                         .share = 1.0};
    double weights = 0.0, sum_m = 0.0;
    for (size_t i = 0; i < r->nsources; i++) {
        weights += r->sources[i].weight;
        sum_m += r->sources[i].weight * r->sources[i].wavelength_m;
    }
    if (r->nsources)
        b.share = weights / (double)r->nsources;
    if (weights > 0.0)
        b.mean_m = sum_m / weights;
    b.shortest_m = b.longest_m = b.sources ? sources[0].wavelength_m : b.mean_m;
    for (size_t i = 1; i < b.sources; i++) {
        const double wavelength_m = sources[i].wavelength_m;
        b.shortest_m = wavelength_m < b.shortest_m ? wavelength_m : b.shortest_m;
        b.longest_m = wavelength_m > b.longest_m ? wavelength_m : b.longest_m;
    }
    b.fluence_ph_m2 = x->beam.fluence_ph_m2 * b.share;
    return b;
}

/* Computes the part of v that is perpendicular to the unit vector z. */
static void across(const double v[3], const double z[3], double out[3])
{
    const double along = vec_dot(v, z);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] - along * z[i];
}

void beam_stokes(const struct beam *b, const double horizontal[3], const double vertical[3],
                 double stokes[4])
{
    double field[3];
    across(b->polarization, b->direction, field);
    const double h = vec_dot(field, horizontal), v = vec_dot(field, vertical),
                 length = vec_dot(field, field);
    stokes[0] = 1.0;
    stokes[1] = length > 0.0 ? b->kahn * (h * h - v * v) / length : 0.0;
    stokes[2] = length > 0.0 ? b->kahn * 2.0 * h * v / length : 0.0;
    stokes[3] = 0.0;
}

double beam_fraction_along(const struct beam *b, const double horizontal[3])
{
    double h[3], field[3];
    across(horizontal, b->direction, h);
    across(b->polarization, b->direction, field);
    const double lengths = vec_dot(h, h) * vec_dot(field, field), along = vec_dot(h, field);
    /* with cos(2 a) = 2 cos(a)^2 - 1, where a is the angle between h and the field */
    const double q = lengths > 0.0 ? b->kahn * (2.0 * along * along / lengths - 1.0) : 0.0;
    return (1.0 + q) / 2.0;
}
