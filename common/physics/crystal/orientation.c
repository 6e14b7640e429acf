#include "physics/crystal/orientation.h"

#include <string.h>

#include "base/vec.h"

static const double IDENTITY[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

void mosaic_domains(struct ran1 *random, int64_t seed, double spread_rad, size_t count,
                    double *domains)
{
    long state = (long)seed;
    for (size_t k = 0; k < count; k++)
        ran1_rotation(random, (float)spread_rad, &state, domains + 9 * k);
    /* There is always one domain that is not rotated. */
    memcpy(domains, IDENTITY, sizeof IDENTITY);
}

void rotation_to_misset(const double rotation[9], double misset_rad[3])
{
    double x[3], y[3], z[3];
    vec_unit(rotation, x);
    vec_unit(rotation + 3, y);
    vec_unit(rotation + 6, z);
    /* nanoBragg normalises once more, which can change the last bit. */
    vec_unit(x, x);
    vec_unit(y, y);
    vec_unit(z, z);
    if (z[0] * z[0] < 1.0) {
        misset_rad[0] = atan2(z[1], z[2]);
        misset_rad[1] = atan2(-z[0], sqrt(z[1] * z[1] + z[2] * z[2]));
        misset_rad[2] = atan2(y[0], x[0]);
    } else {
        misset_rad[0] = 4.0 * atan2(1.0, 1.0);
        misset_rad[1] = 2.0 * atan2(1.0, 1.0);
        misset_rad[2] = atan2(x[1], -y[1]);
    }
}

void misset_to_rotation(const double misset_rad[3], double rotation[9])
{
    for (int column = 0; column < 3; column++) {
        double v[3] = {0, 0, 0};
        v[column] = 1.0;
        vec_rotate(v, misset_rad);
        for (int row = 0; row < 3; row++)
            rotation[3 * row + column] = v[row];
    }
}

void misset_random(struct ran1 *random, int64_t seed, double misset_rad[3])
{
    long state = (long)seed;
    double rotation[9];
    ran1_rotation(random, 90.0f, &state, rotation);
    rotation_to_misset(rotation, misset_rad);
}
