/*
 * The goniometer: omega carries kappa, which carries chi, which carries phi, which carries the
 * crystal.  One of these axes can rotate in a series.  The axes that carry it give it another
 * direction.  All axes that do not rotate turn the crystal once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "eiger.h"

enum { AXES = 4 };

/* From the one that carries all others to the one that carries the crystal. */
static const char *const names[AXES] = {"omega", "kappa", "chi", "phi"};

/* Differences of directions and angles below these have no effect on an image. */
static const double SAME_DIRECTION = 1e-9, SAME_DEG = 1e-9;

static double angle_key(const struct eiger_keys *keys, int axis, const char *ending)
{
    char key[32];
    (void)snprintf(key, sizeof key, "%s_%s", names[axis], ending);
    return keys_real(keys, key);
}

/* Sets v to the direction of an axis where all axes are at 0, in the laboratory frame of
 * bragg-geometry.  x and y of SIMPLON have the opposite directions. */
static void take_direction(const struct eiger_keys *keys, int axis, double v[3])
{
    char key[32];
    (void)snprintf(key, sizeof key, "%s_axis", names[axis]);
    keys_reals(keys, key, v, 3);
    vec_set(v, 0.0 - v[0], 0.0 - v[1], v[2]);
    (void)vec_unit(v, v);
}

/* Sets m to m times the rotation about an axis. */
static void carry(double m[9], const double axis[3], double angle_deg)
{
    double turn[9], before[9];
    for (int i = 0; i < 3; i++) {
        double column[3] = {i == 0, i == 1, i == 2};
        vec_rotate_axis(column, axis, deg_to_rad(angle_deg));
        for (int j = 0; j < 3; j++)
            turn[3 * j + i] = column[j];
    }
    memcpy(before, m, sizeof before);
    mat_multiply(before, turn, m);
}

/* Sets angles to the rotations about x, then y, then z, in degrees, that give the matrix. */
static void take_angles(const double m[9], double angles_deg[3])
{
    const double across = sqrt(m[7] * m[7] + m[8] * m[8]);
    const bool upright =
        across < SAME_DIRECTION;  // y is at 90 degrees: x and z have the same effect
    const double rad[3] = {upright ? 0.0 : atan2(m[7], m[8]), atan2(-m[6], across),
                           upright ? atan2(-m[1], m[4]) : atan2(m[3], m[0])};
    for (int i = 0; i < 3; i++) {
        angles_deg[i] = rad_to_deg(rad[i]);
        angles_deg[i] = fabs(angles_deg[i]) < SAME_DEG ? 0.0 : angles_deg[i];
    }
}

/* Finds the axis that rotates in a series: omega if none does. */
static enum status find_rotating(const struct eiger_keys *keys, int *rotating, struct error *e)
{
    *rotating = -1;
    for (int i = 0; i < AXES; i++) {
        const double step_deg = angle_key(keys, i, "increment");
        if (step_deg == 0)
            continue;
        if (*rotating >= 0)
            return error_set(e, STATUS_INPUT,
                             "arm: two axes rotate at once (got %s_increment %g deg and "
                             "%s_increment %g deg); expected one. Set the other increment to 0",
                             names[*rotating], angle_key(keys, *rotating, "increment"), names[i],
                             step_deg);
        *rotating = i;
    }
    *rotating = *rotating < 0 ? 0 : *rotating;
    return STATUS_OK;
}

enum status axes_take(const struct eiger_keys *keys, struct eiger_axes *a, struct error *e)
{
    double turned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    int rotating;
    const enum status s = find_rotating(keys, &rotating, e);
    if (s)
        return s;
    *a = (struct eiger_axes){.rotating = names[rotating],
                             .start_deg = angle_key(keys, rotating, "start"),
                             .step_deg = angle_key(keys, rotating, "increment"),
                             .motor_deg = keys_real(keys, "braggpipe:config:omega")};
    for (int i = 0; i < AXES; i++) {
        double direction[3];
        take_direction(keys, i, direction);
        if (i == rotating)
            mat_apply(turned, direction, a->spindle);
        else
            carry(turned, direction, angle_key(keys, i, "start") + (i == 0 ? a->motor_deg : 0.0));
    }
    take_angles(turned, a->mount_deg);
    static const double usual[3] = {1, 0, 0};
    double apart[3];
    for (int i = 0; i < 3; i++) {
        a->spindle[i] = fabs(a->spindle[i]) < SAME_DIRECTION ? 0.0 : a->spindle[i];
        apart[i] = a->spindle[i] - usual[i];
    }
    a->usual = vec_length(apart) < SAME_DIRECTION;
    a->mounted = a->mount_deg[0] != 0 || a->mount_deg[1] != 0 || a->mount_deg[2] != 0;
    return STATUS_OK;
}

bool axes_move_omega(const struct eiger_axes *a)
{
    return strcmp(a->rotating, names[0]) == 0;
}
