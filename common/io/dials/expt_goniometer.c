/* Goniometers of an experiment list. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "io/dials/expt_models.h"

enum { AXES_MAX = 16 };

/* out = a b, row by row; out may be a or b. */
static void multiply(const double a[9], const double b[9], double out[9])
{
    double product[9];
    for (int i = 0; i < 9; i++)
        product[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] +
                     a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, product, sizeof product);
}

/* Rotation about the unit vector n, right-handed. */
static void rotation(const double n[3], double angle_rad, double out[9])
{
    const double c = cos(angle_rad), s = sin(angle_rad);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = (1 - c) * n[i] * n[j] + (i == j ? c : 0);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[3 * k + j] += s * n[i];
        out[3 * j + k] -= s * n[i];
    }
}

static enum status read_rotation(const struct json_at *of, const char *key, double out[9],
                                 struct error *e)
{
    struct json_at member;
    if (!json_at_optional(of, key, &member))
        return STATUS_OK;
    const enum status s = json_at_reals(&member, 9, -2, 2, out, e);
    double across[3];
    bool good = !s;
    for (int i = 0; i < 9 && good; i++)
        good = fabs(vec_dot(out + i / 3 * 3, out + i % 3 * 3) - (i / 3 == i % 3)) < 1e-6;
    vec_cross(out, out + 3, across);
    if (s || (good && vec_dot(across, out + 6) > 0))
        return s;
    return json_at_error(&member, e, "is no rotation");
}

/* Axis i of several, at its angle: those before the scan's are fixed on the crystal's side,
 * those behind it set how its axis lies. */
static void add_axis(const double axis[3], double angle_deg, int64_t i, int64_t scan,
                     struct expt_goniometer *g)
{
    double turned[9];
    double *of = i < scan ? g->fixed : g->setting;
    if (i == scan) {
        memcpy(g->axis, axis, sizeof g->axis);
        return;
    }
    rotation(axis, deg_to_rad(angle_deg), turned);
    multiply(turned, of, of);
}

/* One axis after the other, the first next to the crystal. */
static enum status read_axes(const struct json_at *at, const struct json_at *axes,
                             struct expt_goniometer *g, struct error *e)
{
    double angles_deg[AXES_MAX], axis[3];
    struct json_at member, item;
    size_t count;
    int64_t scan = 0;
    enum status s = json_at_list(axes, 1, &count, e);
    if (!s && count > AXES_MAX)
        return json_at_error(axes, e, "has %zu items, must have at most %d", count, AXES_MAX);
    s = s ? s : json_at_member_reals(at, "angles", count, -1e6, 1e6, angles_deg, e);
    s = s ? s : json_at_member(at, "scan_axis", &member, e);
    s = s ? s : json_at_whole(&member, 0, (int64_t)count - 1, &scan, e);
    for (size_t i = 0; i < count && !s; i++) {
        json_at_item(axes, i, &item);
        s = expt_read_direction(&item, axis, e);
        if (!s)
            add_axis(axis, angles_deg[i], (int64_t)i, scan, g);
    }
    return s;
}

enum status expt_goniometer(const struct json_at *experiment, const struct json_at *root,
                            struct expt_goniometer *g, struct error *e)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct json_at at, axes;
    memset(g, 0, sizeof *g);
    memcpy(g->fixed, one, sizeof one);
    memcpy(g->setting, one, sizeof one);
    enum status s = expt_model(experiment, root, "goniometer", &at, e);
    if (s || !at.value)
        return s;
    g->present = true;
    if (json_at_optional(&at, "axes", &axes))
        return read_axes(&at, &axes, g, e);
    s = expt_direction(&at, "rotation_axis", g->axis, e);
    s = s ? s : read_rotation(&at, "fixed_rotation", g->fixed, e);
    return s ? s : read_rotation(&at, "setting_rotation", g->setting, e);
}
