/* The loops of a smeared sensor, compared with plain loops: every instruction set has their bytes,
 * also where rows and columns are dark, and reads no sum outside its room. */
#include "unit.h"

#include <limits.h>
#include <string.h>

#include "engine/prepared.h"
#include "engine/smear/smear_loop.h"
#include "engine/smear/smear_nodes.h"
#include "physics/detector/smear.h"

enum { COLUMNS = 61, OVERSAMPLE = 11, WIDTH = (COLUMNS + 1) * OVERSAMPLE, TAPS = 37, SUMS = 4096 };

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

/* ---- taps ----------------------------------------------------------------------------------- */

enum { ROWS = 9, WIDEST = 40, FASTS = 80, MOST = ROWS * 2 * FASTS };

/* A kernel and its memory. */
struct held {
    struct smear_kernel kernel;
    struct smear_span row[ROWS + 1];
    double weight[SMEAR_NODES_PAD + ROWS * WIDEST + SMEAR_NODES_PAD];
};

static void make_kernel(struct held *h)
{
    int begin = 0;
    for (int i = 0; i < (int)(sizeof h->weight / sizeof *h->weight); i++)
        h->weight[i] = draw() - 0.25;
    h->kernel = (struct smear_kernel){.slow = (int)(4 * draw()) - 2,
                                      .rows = 1 + (int)((ROWS - 1) * draw()),
                                      .row = h->row,
                                      .weight = h->weight + SMEAR_NODES_PAD};
    for (int j = 0; j < h->kernel.rows; j++) {  // some rows have no weights
        const int width = draw() < 0.1 ? 0 : (int)(WIDEST * draw());
        h->row[j] = (struct smear_span){width ? (int)(30 * draw()) - 20 : INT_MAX, begin};
        begin += width;
    }
    h->row[h->kernel.rows].begin = begin;
}

/* Returns the weight that a kernel gives to a subpixel, and counts it if there is one. */
static double weight_at(const struct smear_kernel *k, int fast, int slow, int *count)
{
    const int j = slow - k->slow;
    if (j < 0 || j >= k->rows || k->row[j].fast == INT_MAX || fast < k->row[j].fast)
        return 0.0;
    const int item = k->row[j].begin + fast - k->row[j].fast;
    *count += item < k->row[j + 1].begin;
    return item < k->row[j + 1].begin ? k->weight[item] : 0.0;
}

/* Compares the taps that are listed with all subpixels that have a weight.  A list can also have
 * subpixels between these, without a weight. */
static void compare_taps(const struct held held[4], enum isa isa)
{
    static double listed[4][MOST + SMEAR_ROOM];
    static int64_t at[MOST + SMEAR_ROOM];
    int64_t column[FASTS + SMEAR_ROOM];
    const int top = -3, left = -25;
    for (int i = 0; i < FASTS + SMEAR_ROOM; i++)
        column[i] = i;
    struct smear_taps t = {
        .top = top, .left = left, .stride = FASTS, .column = column, .place = at};
    for (int k = 0; k < 4; k++) {
        t.around[k] = &held[k].kernel;
        t.weight[k] = listed[k];
    }
    const size_t count = smear_loops_of(isa)->taps(&t);
    size_t next = 0;
    for (int64_t place = 0; place < (int64_t)MOST; place++) {
        double w[4];
        int given = 0;
        for (int k = 0; k < 4; k++)
            w[k] = weight_at(&held[k].kernel, left + (int)(place % FASTS),
                             top + (int)(place / FASTS), &given);
        assert_true(next == count || at[next] >= place);
        if (next == count || at[next] > place) {
            assert_int_equal(given, 0);
            continue;
        }
        const double wanted[4] = {w[0], w[2] - w[0], w[1], w[3] - w[1]};
        for (int k = 0; k < 4; k++)
            assert_memory_equal(&listed[k][next], &wanted[k], sizeof wanted[k]);
        next++;
    }
    assert_int_equal(next, count);
}

static void taps_are_those_of_four_kernels(void **state)
{
    (void)state;
    static struct held held[4];
    for (int i = 0; i < 500; i++) {
        for (int k = 0; k < 4; k++)
            make_kernel(&held[k]);
        for (enum isa isa = 0; isa < ISA_COUNT; isa++)
            if (isa_present(isa))
                compare_taps(held, isa);
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

static void two_rows_are_two_times_one_row(void **state)
{
    (void)state;
    make_taps();
    for (int node = 2; node <= SMEAR_NODE; node *= 2)
        for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
            float line[4][TAPS], photons[3][SMEAR_NODE + SMEAR_ROOM];
            float *const to[2] = {photons[0], photons[1]};
            struct smear_row r[2];
            if (!isa_present(isa))
                continue;
            for (int i = 0; i < 2; i++)
                r[i] = (struct smear_row){.taps = TAPS,
                                          .left = {weight[0], weight[1]},
                                          .right = {weight[2], weight[3]},
                                          .place = place,
                                          .sums = sums + 5 * i,
                                          .down = 0.3 + 0.5 * i,
                                          .across = 0.7 / node,
                                          .step = 1.0 / node,
                                          .weight = line[2 * i],
                                          .slope = line[2 * i + 1]};
            for (int i = 0; i < TAPS; i++)
                place[i] = smaller(place[i], SUMS - SMEAR_NODE - SMEAR_ROOM - 5);
            smear_loops_of(isa)->two_rows(r, node, to);
            for (int i = 0; i < 2; i++) {
                smear_loops_of(isa)->row(&r[i], node, photons[2]);
                assert_memory_equal(photons[i], photons[2], (size_t)node * sizeof **photons);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_are_sums),
        cmocka_unit_test(taps_are_those_of_four_kernels),
        cmocka_unit_test(rows_are_weighted_sums),
        cmocka_unit_test(two_rows_are_two_times_one_row),
    };
    return unit_run(tests);
}
