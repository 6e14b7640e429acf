/* Pixels of diffuse halos that are interpolated between the nodes of a mesh. */
#include "engine/crystal/diffuse.h"

#include <math.h>

#include "near.h"
#include "unit.h"

enum { FAST = 37, SLOW = 23 };

/* A polynomial of the third order along each axis, in pixels of the plane. */
static double cubic(const void *context, const struct panel *p, int64_t fast, int64_t slow)
{
    const double x = (double)(fast + p->grid_fast) / 10.0, y = (double)(slow + p->grid_slow) / 10.0;
    (void)context;
    return 100.0 + x * x * x - 3.0 * x * x * y * y * y + 2.0 * x * y + y * y;
}

static double negative(const void *context, const struct panel *p, int64_t fast, int64_t slow)
{
    return -fabs(cubic(context, p, fast, slow));
}

static void take(const struct panel *p, int step, mesh_value *value, double pixels[SLOW][FAST])
{
    struct mesh m;
    double room[FAST + 8];
    mesh_open(&m, p, step, value, NULL, 2);
    assert_true(m.count[0] <= FAST + 8);
    for (int64_t slow = p->roi.slow_min; slow <= p->roi.slow_max; slow++)
        mesh_row(&m, slow, room, pixels[slow]);
    mesh_close(&m);
}

static struct panel panel_at(int64_t fast, int64_t slow)
{
    return (struct panel){.fast_pixels = FAST,
                          .slow_pixels = SLOW,
                          .grid_fast = fast,
                          .grid_slow = slow,
                          .roi = {0, FAST - 1, 0, SLOW - 1}};
}

static void test_cubic(void **state)
{
    (void)state;
    for (int step = 1; step <= MESH_MOST; step++)
        for (int64_t corner = 0; corner < 12; corner += 5) {
            double got[SLOW][FAST];
            const struct panel p = panel_at(corner, 2 * corner);
            take(&p, step, cubic, got);
            for (int64_t s = 0; s < SLOW; s++)
                for (int64_t f = 0; f < FAST; f++) {
                    const double want = fmax(cubic(NULL, &p, f, s), 0.0);
                    if (step == 1)
                        assert_true(got[s][f] == want);
                    assert_near(got[s][f], want, 1e-9);
                }
        }
}

/* The same bits for a region, and for a panel that is cut from the plane. */
static void test_pieces(void **state)
{
    (void)state;
    for (int step = 2; step <= MESH_MOST; step += 3) {
        double all[SLOW][FAST], got[SLOW][FAST];
        const struct panel plane = panel_at(0, 0);
        take(&plane, step, cubic, all);
        struct panel p = plane;
        p.roi = (struct roi){7, 30, 5, 19};
        take(&p, step, cubic, got);
        for (int64_t s = 5; s <= 19; s++)
            for (int64_t f = 7; f <= 30; f++)
                assert_true(got[s][f - 7] == all[s][f]);
        p = panel_at(9, 4);
        p.roi = (struct roi){0, FAST - 10, 0, SLOW - 5};
        take(&p, step, cubic, got);
        for (int64_t s = 0; s <= SLOW - 5; s++)
            for (int64_t f = 0; f <= FAST - 10; f++)
                assert_true(got[s][f] == all[s + 4][f + 9]);
    }
}

static void test_no_photons(void **state)
{
    (void)state;
    double got[SLOW][FAST];
    const struct panel p = panel_at(0, 0);
    take(&p, 4, negative, got);
    for (int64_t s = 0; s < SLOW; s++)
        for (int64_t f = 0; f < FAST; f++)
            assert_true(got[s][f] == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cubic), cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_no_photons)};
    return unit_run(tests);
}
