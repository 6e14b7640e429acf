#include "physics/detector/misalign.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "base/vec.h"
#include "physics/detector/detector.h"

static void middle_of(const struct panel *p, double out[3])
{
    const double fast_m = 0.5 * p->pixel_m * (double)p->fast_pixels,
                 slow_m = 0.5 * p->pixel_m * (double)p->slow_pixels;
    for (int i = 0; i < 3; i++)
        out[i] = p->origin_m[i] + fast_m * p->fast[i] + slow_m * p->slow[i];
}

static bool belongs(const struct misalign_level *l, size_t panel, size_t member)
{
    return l->member ? l->member[panel] == (int32_t)member : panel == member;
}

/* Sets axes[3] to fast, slow and normal of the first panel of a member, and middle[] to the mean of
 * the middles of its panels.  Returns false if it has no panel. */
static bool find_member(const struct misalign_level *l, size_t member, const struct experiment *x,
                        double axes[3][3], double middle[3])
{
    size_t count = 0;
    vec_set(middle, 0.0, 0.0, 0.0);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        double of_panel[3];
        if (!belongs(l, i, member))
            continue;
        if (!count++) {
            vec_copy(axes[0], p->fast);
            vec_copy(axes[1], p->slow);
            vec_copy(axes[2], p->normal);
        }
        middle_of(p, of_panel);
        for (int k = 0; k < 3; k++)
            middle[k] += of_panel[k];
    }
    vec_scale(middle, 1.0 / (double)(count ? count : 1), middle);
    return count;
}

/* Moves a panel: rotates it by the vector `turn` (rad) about `middle`, then shifts it. */
static void move_panel(struct panel *p, const double middle[3], const double shift_m[3],
                       const double turn[3], const double beam[3])
{
    double axis[3];
    const double rad = vec_unit(turn, axis);
    for (int i = 0; i < 3; i++)
        p->origin_m[i] -= middle[i];
    double *const vectors[] = {p->origin_m, p->fast, p->slow, p->normal};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors && rad > 0.0; i++)
        vec_rotate_axis(vectors[i], axis, rad);
    for (int i = 0; i < 3; i++)
        p->origin_m[i] += middle[i] + shift_m[i];
    p->grid_fast = p->grid_slow = 0;
    detector_derive(p, beam, detector_ratio(p, beam));
}

static void move_member(const struct misalign_level *l, size_t member, uint64_t seed,
                        struct experiment *x)
{
    const uint64_t level = hash_finish(hash_text(HASH_START, l->name));
    struct rng random = rng_stream(seed, RNG_MISALIGN, level, (uint32_t)member);
    double axes[3][3], middle[3], shift_m[3] = {0.0, 0.0, 0.0}, turn[3] = {0.0, 0.0, 0.0};
    if (!find_member(l, member, x, axes, middle))
        return;
    for (int k = 0; k < 3; k++) {
        const double by_m = l->shift_m[k] * rng_normal(&random);
        for (int i = 0; i < 3; i++)
            shift_m[i] += by_m * axes[k][i];
    }
    for (int k = 0; k < 3; k++) {
        const double by_rad = l->tilt_rad[k] * rng_normal(&random);
        for (int i = 0; i < 3; i++)
            turn[i] += by_rad * axes[k][i];
    }
    for (size_t i = 0; i < x->npanels; i++)
        if (belongs(l, i, member))
            move_panel(&x->panels[i], middle, shift_m, turn, x->beam.direction);
}

void misalign_move(const struct misalign_level *levels, size_t nlevels, uint64_t seed,
                   struct experiment *x)
{
    for (const struct misalign_level *l = levels; l < levels + nlevels; l++)
        for (size_t member = 0; member < l->nmembers; member++)
            move_member(l, member, seed, x);
}

/* Writes the axes of a panel, made exactly orthonormal, as the rows of axes[9]. */
static void axes_of(const struct panel *p, double axes[9])
{
    vec_unit(p->fast, axes);
    vec_cross(axes, p->slow, axes + 6);
    vec_unit(axes + 6, axes + 6);
    vec_cross(axes + 6, axes, axes + 3);
    if (vec_dot(axes + 6, p->normal) < 0.0)
        vec_scale(axes + 6, -1.0, axes + 6);
}

void misalign_between(const struct panel *from, const struct panel *to, double shift_m[3],
                      double tilt_rad[3])
{
    double before[9], after[9], a[3], b[3], by[3], turn[9];
    axes_of(from, before);
    axes_of(to, after);
    middle_of(from, a);
    middle_of(to, b);
    vec_set(by, b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    /* turn[3 i + j]: component i, in the axes of *from, of axis j of *to */
    for (int i = 0; i < 3; i++) {
        shift_m[i] = vec_dot(before + 3 * i, by);
        for (int j = 0; j < 3; j++)
            turn[3 * i + j] = vec_dot(before + 3 * i, after + 3 * j);
    }
    /* A panel whose normal is not fast x slow has left-handed axes, in which the vector of a
     * rotation has the other sign. */
    double cross[3];
    vec_cross(before, before + 3, cross);
    const double hand = vec_dot(cross, before + 6) < 0.0 ? -1.0 : 1.0;
    double w[3] = {0.5 * (turn[7] - turn[5]), 0.5 * (turn[2] - turn[6]), 0.5 * (turn[3] - turn[1])};
    const double sine = vec_length(w), cosine = 0.5 * (turn[0] + turn[4] + turn[8] - 1.0);
    const double factor = sine > 0.0 ? atan2(sine, cosine) / sine : 1.0;
    vec_scale(w, hand * factor, tilt_rad);
}
