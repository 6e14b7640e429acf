/* The loops of a smeared sensor, compared with plain loops: every instruction set has their bytes,
 * also where rows and columns are dark, and reads no sum outside its room. */
#include "unit.h"

#include <string.h>

#include "engine/prepared.h"
#include "engine/smear/smear_loop.h"
#include "physics/detector/smear.h"

enum { COLUMNS = 61, OVERSAMPLE = 7, WIDTH = (COLUMNS + 1) * OVERSAMPLE, TAPS = 37, SUMS = 4096 };

/* A number from 0 to 1. */
static double draw(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (double)state * 0x1p-32;
}

/* ---- squares -------------------------------------------------------------------------------- */

static float thin[OVERSAMPLE][WIDTH];

/* Sums the square that begins at a column as the GPU does (gpu/smear.h). */
static float sum_plainly(const struct smear_squares *s, int64_t column)
{
    float across = 0.0f;
    for (int64_t i = column; i < column + s->oversample; i++) {
        float down = 0.0f;
        for (int k = s->first; k < s->first + s->rows; k++)
            if (i >= s->begin && i < s->end)
                down += s->from[k * s->stride + i];
        across += down;
    }
    return across;
}

static void compare_squares(const struct smear_squares *like)
{
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        float room[2][WIDTH], to[OVERSAMPLE * COLUMNS];
        struct smear_squares s = *like;
        if (!isa_present(isa))
            continue;
        s.down = room[0];
        s.phase = room[1];
        s.to = to;
        smear_loops_of(isa)->squares(&s);
        for (int64_t i = 0; i < s.oversample * s.columns; i++) {
            const float want = sum_plainly(&s, i % s.columns * s.oversample + i / s.columns);
            if (memcmp(&to[i], &want, sizeof want) != 0)
                fail_msg("%s, oversample %d: square %lld is %.9g, not %.9g", isa_name(isa),
                         s.oversample, (long long)i, (double)to[i], (double)want);
        }
    }
}

static void squares_are_sums(void **state)
{
    (void)state;
    for (int i = 0; i < OVERSAMPLE * WIDTH; i++)
        thin[i / WIDTH][i % WIDTH] = (float)draw();
    for (int n = 1; n <= OVERSAMPLE; n++)
        for (int64_t columns = 1; columns <= COLUMNS; columns += columns < 20 ? 1 : 7) {
            struct smear_squares s = {.oversample = n,
                                      .from = thin[0],
                                      .stride = WIDTH,
                                      .rows = n,
                                      .end = (columns + 1) * n,
                                      .columns = columns};
            compare_squares(&s);
            s.begin = columns / 3;
            s.end -= columns / 2;
            compare_squares(&s);
            s.first = n / 2;
            s.rows = n - n / 2;
            compare_squares(&s);
            s.rows = 0;
            compare_squares(&s);
        }
}

/* ---- pixels --------------------------------------------------------------------------------- */

static struct smear_tap taps[TAPS];
static double weight[4][TAPS];
static int64_t place[TAPS];
static float sums[SUMS];

static void make_taps(void)
{
    for (int i = 0; i < SUMS; i++)
        sums[i] = (float)draw();
    for (int i = 0; i < TAPS; i++) {
        double *w = taps[i].weight;
        for (int k = 0; k < 4; k++)
            w[k] = draw() - 0.25;
        weight[0][i] = w[0];
        weight[1][i] = w[2] - w[0];
        weight[2][i] = w[1];
        weight[3][i] = w[3] - w[1];
        place[i] = (int64_t)(draw() * (SUMS - SMEAR_NODE - SMEAR_ROOM));
    }
}

/* Computes a pixel as the GPU does. */
static float add_plainly(const struct smear_row *r, int pixel)
{
    float photons = 0.0f;
    for (size_t i = 0; i < r->taps; i++) {
        float first, slope;
        smear_tap_weight(taps[i].weight, r->down, r->across, r->step, &first, &slope);
        photons += (first + slope * (float)pixel) * sums[place[i] + pixel];
    }
    return photons;
}

static void rows_are_weighted_sums(void **state)
{
    (void)state;
    make_taps();
    for (int node = 1; node <= SMEAR_NODE; node *= 2)
        for (size_t count = 0; count <= TAPS; count++)
            for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
                float line[2][TAPS], photons[SMEAR_NODE + SMEAR_ROOM];
                const struct smear_row r = {.taps = count,
                                            .left = {weight[0], weight[1]},
                                            .right = {weight[2], weight[3]},
                                            .place = place,
                                            .sums = sums,
                                            .down = 0.3,
                                            .across = 0.7 / node,
                                            .step = 1.0 / node,
                                            .weight = line[0],
                                            .slope = line[1]};
                if (!isa_present(isa))
                    continue;
                smear_loops_of(isa)->row(&r, node, photons);
                for (int i = 0; i < node; i++) {
                    const float want = add_plainly(&r, i);
                    if (memcmp(&photons[i], &want, sizeof want) != 0)
                        fail_msg("%s, %d pixels, %zu taps: pixel %d is %.9g, not %.9g",
                                 isa_name(isa), node, count, i, (double)photons[i], (double)want);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_are_sums),
        cmocka_unit_test(rows_are_weighted_sums),
    };
    return unit_run(tests);
}
