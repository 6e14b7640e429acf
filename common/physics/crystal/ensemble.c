#include "physics/crystal/ensemble.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

/* Returns the second moment of r along each axis for the square of exp(-r^2 fudge/0.63). */
static const double BLOCK_MOMENT = 0.63 / 4.0;

static double sqr(double x)
{
    return x * x;
}

static void cells_matrix(const double cells[3], const double across[3], double N[9])
{
    const double d = across[0], e = across[1], f = across[2];
    memcpy(N, (const double[9]){cells[0], d, f, d, cells[1], e, f, e, cells[2]}, 9 * sizeof *N);
}

/* Sets the inverse of a matrix and returns its determinant. The inverse is not set if the
 * determinant is not above 0. */
static double invert(const double m[9], double inverse[9])
{
    const double determinant = mat_determinant(m);
    if (!(determinant > 0.0))
        return 0.0;
    double cofactors[9];
    for (int i = 0; i < 3; i++) {
        vec_cross(m + 3 * ((i + 1) % 3), m + 3 * ((i + 2) % 3), cofactors + 3 * i);
        for (int k = 0; k < 3; k++)
            inverse[3 * k + i] = cofactors[3 * i + k] / determinant;
    }
    return determinant;
}

bool ensemble_cells_fit(const double cells[3], const double across[3])
{
    double N[9];
    cells_matrix(cells, across, N);
    return N[0] > 0.0 && N[0] * N[4] > N[1] * N[1] && mat_determinant(N) > 0.0;
}

/* Adds factor v v^T. */
static void add_direction(double moments[9], const double v[3], double factor)
{
    for (int i = 0; i < 9; i++)
        moments[i] += factor * v[i / 3] * v[i % 3];
}

/* Moments of a block: B (N^T N)^-1 B^T, of which row i of N^-1 times B is one direction. */
static void set_block(struct ensemble *s, const double inverse_N[9])
{
    for (int i = 0; i < 3; i++) {
        double v[3] = {0};
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                v[k] += inverse_N[3 * j + i] * s->star[3 * j + k];
        add_direction(s->block, v, BLOCK_MOMENT / s->crystal->fudge);
    }
    s->block_determinant = mat_determinant(s->block);
}

bool ensemble_open(struct ensemble *s, const struct crystal *crystal, const double cell_m[9],
                   const double incident[3], double per_A)
{
    *s = (struct ensemble){.crystal = crystal, .per_A = per_A};
    const double volume = mat_determinant(cell_m);
    double N[9], inverse_N[9];
    cells_matrix(crystal->cells, crystal->cells_across, N);
    const double cells = invert(N, inverse_N);
    if (!(fabs(volume) > 0.0) || !ensemble_cells_fit(crystal->cells, crystal->cells_across))
        return false;
    for (int i = 0; i < 3; i++) {
        vec_cross(cell_m + 3 * ((i + 1) % 3), cell_m + 3 * ((i + 2) % 3), s->star + 3 * i);
        vec_scale(s->star + 3 * i, 1e-10 / volume, s->star + 3 * i);
    }
    vec_unit(cell_m, s->axes);
    vec_unit(s->star + 6, s->axes + 6);
    vec_cross(s->axes + 6, s->axes, s->axes + 3);
    vec_copy(s->incident, incident);
    set_block(s, inverse_N);
    s->peak = cells * cells;
    return s->block_determinant > 0.0;
}

static void lattice_point(const struct ensemble *s, const int hkl[3], double centre[3])
{
    for (int k = 0; k < 3; k++)
        centre[k] = hkl[0] * s->star[k] + hkl[1] * s->star[3 + k] + hkl[2] * s->star[6 + k];
}

void ensemble_moments(const struct ensemble *s, const int hkl[3], double moments[9])
{
    const struct crystal *c = s->crystal;
    double centre[3], moved[3];
    lattice_point(s, hkl, centre);
    memcpy(moments, s->block, sizeof s->block);
    for (int i = 0; i < 3; i++) {
        vec_cross(s->axes + 3 * i, centre, moved);
        add_direction(moments, moved, sqr(c->mosaic_rms_rad[i]));
        add_direction(moments, s->star + 3 * i, sqr(hkl[i] * c->strain_rms[i]));
    }
    const double turn = sqr(c->divergence_rms_rad * s->per_A);
    for (int i = 0; i < 3; i++)
        moments[4 * i] += turn;
    add_direction(moments, s->incident, -turn);
}

/* Returns an upper bound of the largest eigenvalue of a symmetric matrix, from Gershgorin's
 * circles. */
static double largest(const double m[9])
{
    double most = 0.0;
    for (int i = 0; i < 3; i++)
        most = fmax(most, fabs(m[3 * i]) + fabs(m[3 * i + 1]) + fabs(m[3 * i + 2]));
    return most;
}

bool ensemble_spot_open(const struct ensemble *s, const int hkl[3], struct ensemble_spot *spot)
{
    double moments[9];
    ensemble_moments(s, hkl, moments);
    const double determinant = invert(moments, spot->inverse);
    if (!(determinant > 0.0))
        return false;
    lattice_point(s, hkl, spot->centre);
    mat_apply(spot->inverse, spot->centre, spot->pull);
    spot->self = vec_dot(spot->centre, spot->pull);
    spot->peak = s->peak * sqrt(s->block_determinant / determinant);
    spot->reach = sqrt(2.0 * ENSEMBLE_LIMIT * largest(moments));
    return true;
}

double ensemble_reach(const struct ensemble *s, const int hkl[3], double length)
{
    const struct crystal *c = s->crystal;
    const double *turn = c->mosaic_rms_rad;
    double moment = s->block[0] + s->block[4] + s->block[8];
    moment += sqr(length) * fmax(sqr(turn[0]), fmax(sqr(turn[1]), sqr(turn[2])));
    moment += sqr(c->divergence_rms_rad * s->per_A);
    for (int i = 0; i < 3; i++)
        moment += sqr(hkl[i] * c->strain_rms[i]) * vec_dot(s->star + 3 * i, s->star + 3 * i);
    return sqrt(2.0 * ENSEMBLE_LIMIT * moment);
}

/* --- wavelengths in groups -------------------------------------------------------- */

/* Cost of a term of a group, relative to a term of a channel. */
static const double COST = 1.8;

/* Makes a group of the channels first .. end - 1. */
static struct ensemble_group group_channels(const struct ensemble_channel *channels, size_t first,
                                            size_t end)
{
    struct ensemble_group g = {0};
    for (size_t i = first; i < end; i++) {
        g.moment[0] += channels[i].weight;
        g.per_A += channels[i].weight * (channels[i].per_A - channels[first].per_A);
    }
    g.per_A = channels[first].per_A + (g.moment[0] > 0.0 ? g.per_A / g.moment[0] : 0.0);
    for (size_t i = first; i < end; i++) {
        const double off = channels[i].per_A - g.per_A;
        double term = 0.5 * channels[i].weight * off * off;
        for (int k = 2; k < ENSEMBLE_MOMENTS; k++, term *= off / k)
            g.moment[k] += term;
    }
    return g;
}

/* Appends the groups of the level that cuts the range into `parts` parts. */
static void add_level(struct ensemble_waves *w, size_t parts)
{
    const double part = w->range / (double)parts, least = w->channels[0].per_A;
    size_t at = w->begin[w->levels];
    for (size_t first = 0, end; first < w->count; first = end) {
        size_t number = (size_t)((w->channels[first].per_A - least) / part);
        const double limit = least + part * (double)(number + 1);
        end = first + 1;
        while (end < w->count && (number + 1 >= parts || w->channels[end].per_A < limit))
            end++;
        w->groups[at++] = group_channels(w->channels, first, end);
    }
    w->begin[++w->levels] = at;
}

void ensemble_waves_open(struct ensemble_waves *w, const struct ensemble_channel *channels,
                         size_t count)
{
    *w = (struct ensemble_waves){.channels = channels, .count = count};
    w->range = count ? channels[count - 1].per_A - channels[0].per_A : 0.0;
    if (!(w->range > 0.0))
        return;
    w->groups = mem_array(2 * count, sizeof *w->groups);
    for (size_t parts = 1; w->levels < ENSEMBLE_LEVELS; parts *= 2) {
        if (!(COST * (double)parts < (double)count))
            break;
        add_level(w, parts);
    }
}

void ensemble_waves_close(struct ensemble_waves *w)
{
    mem_free(w->groups);
    *w = (struct ensemble_waves){0};
}
