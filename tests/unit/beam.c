/* Sources of the beam: divergence, dispersion, lists and their weights; fluence. */
#include "unit.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "near.h"
#include "physics/beam/beam.h"
#include "physics_request.h"

static enum status build(const struct beam_request *b, struct beam *beam, struct error *e)
{
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    struct frame_axes axes;
    const enum status s = detector_axes(&r, &axes, e);
    return s ? s : beam_setup(b, &axes, beam, e);
}

static struct beam_request plain(void)
{
    return (struct beam_request){.wavelength_m = 1e-10, .fluence_ph_m2 = 1e24, .size_m = -1};
}

static struct steps_request steps(int64_t count, double range, double step)
{
    return (struct steps_request){count, range >= 0 ? range : (double)NAN, step > 0 ? step : 0.0};
}

static size_t count_sources(const struct beam_request *b)
{
    struct beam beam;
    struct error e = {0};
    assert_int_equal(build(b, &beam, &e), STATUS_OK);
    const size_t n = beam.nsources;
    mem_free(beam.sources);
    return n;
}

/* Round divergence cuts the corners. */
static void test_divergence_counts(void **state)
{
    (void)state;
    const struct {
        int64_t h, v;
        size_t round;
    } rows[] = {{2, 2, 4}, {3, 3, 5}, {4, 4, 12}, {4, 3, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct beam_request b = plain();
        b.horizontal = steps(rows[i].h, 0.004, 0);
        b.vertical = steps(rows[i].v, 0.003, 0);
        assert_int_equal(count_sources(&b), rows[i].round);
        b.square_divergence = true;
        assert_int_equal(count_sources(&b), rows[i].h * rows[i].v);
    }
}

/* Along one axis only the other quotient is 0/0, and nothing is cut, not even
 * beyond the range. */
static void test_no_range_cuts_nothing(void **state)
{
    (void)state;
    struct beam_request b = plain();
    b.vertical = steps(3, 0.004, 0.004);
    assert_int_equal(count_sources(&b), 3);
}

static void test_dispersion(void **state)
{
    (void)state;
    struct beam_request b = plain();
    b.dispersion = steps(3, 0.02, 0);
    struct beam beam;
    assert_int_equal(build(&b, &beam, NULL), STATUS_OK);
    assert_int_equal(beam.nsources, 3);
    const double want[3] = {0.99e-10, 1e-10, 1.01e-10};
    for (int i = 0; i < 3; i++) {
        assert_near(beam.sources[i].wavelength_m, want[i], 1e-25);
        assert_true(beam.sources[i].direction[0] == -1 && beam.sources[i].weight == 1);
    }
    mem_free(beam.sources);
}

/* v about the polarization first, then h about the vertical. */
static void test_directions(void **state)
{
    (void)state;
    struct beam_request b = plain();
    b.horizontal = steps(2, 0.2, 0);
    b.vertical = steps(2, 0.1, 0);
    struct beam beam;
    assert_int_equal(build(&b, &beam, NULL), STATUS_OK);
    assert_int_equal(beam.nsources, 4);
    double q[3] = {-1, 0, 0};
    const double polar[3] = {0, 0, 1}, vertical[3] = {0, -1, 0};
    vec_rotate_axis(q, polar, 0.05);
    vec_rotate_axis(q, vertical, -0.1);
    for (int i = 0; i < 3; i++)
        assert_near(beam.sources[1].direction[i], q[i], 1e-15);
    mem_free(beam.sources);
}

static void test_listed(void **state)
{
    (void)state;
    struct source list[2] = {{{-10, 0, 0}, 1.1e-10, 1}, {{-3, 4, 0}, 0.9e-10, 3}};
    const double weights[3][2] = {{1, 1}, {0.5, 1.5}, {1, 1}};
    for (int mode = WEIGHTS_IGNORE; mode <= WEIGHTS_OVERRIDE; mode++) {
        struct beam_request b = plain();
        b.listed = list;
        b.nlisted = 2;
        b.weights = (enum source_weights)mode;
        struct beam beam;
        assert_int_equal(build(&b, &beam, NULL), STATUS_OK);
        for (int i = 0; i < 2; i++) {
            assert_near(beam.sources[i].weight, weights[mode][i], 1e-15);
            assert_true(beam.sources[i].wavelength_m ==
                        (mode == WEIGHTS_OVERRIDE ? 1e-10 : list[i].wavelength_m));
        }
        assert_near(beam.sources[1].direction[1], 0.8, 1e-16);
        mem_free(beam.sources);
    }
}

static void test_fluence(void **state)
{
    (void)state;
    struct beam_request b = plain();
    b.flux_ph_s = 1e12;
    b.exposure_s = 0.1;
    b.size_m = 4e-8;
    struct beam beam;
    assert_int_equal(build(&b, &beam, NULL), STATUS_OK);
    assert_true(beam.fluence_ph_m2 == 1e12 * 0.1 / 4e-8 / 4e-8);
    mem_free(beam.sources);
}

static void test_refusals(void **state)
{
    (void)state;
    struct source list[1] = {{{0, 0, 0}, 1e-10, 1}};
    struct beam beam;
#define BAD(change)                                           \
    do {                                                      \
        struct beam_request b = plain();                      \
        change;                                               \
        struct error e = {0};                                 \
        assert_int_equal(build(&b, &beam, &e), STATUS_INPUT); \
        assert_true(e.text[0] != 0);                          \
        mem_free(beam.sources);                               \
    } while (0)
    BAD(b.wavelength_m = 0);
    BAD(b.wavelength_m = NAN);
    BAD(b.kahn = 1.5);
    BAD(b.fluence_ph_m2 = -1);
    BAD(b.fluence_ph_m2 = INFINITY);
    BAD((b.flux_ph_s = 1e12, b.exposure_s = 1, b.size_m = 0));
    BAD((b.nlisted = 1, b.listed = list));
    BAD((set3(list[0].direction, 1, 0, 0), list[0].wavelength_m = 0, b.nlisted = 1,
         b.listed = list));
    BAD((list[0].wavelength_m = 1e-10, list[0].weight = 0, b.weights = WEIGHTS_APPLY, b.nlisted = 1,
         b.listed = list));
    BAD(b.dispersion = steps(3, 2.5, 0));
    BAD((b.horizontal = steps(2000, 0.01, 0), b.vertical = steps(2000, 0.01, 0)));
#undef BAD
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divergence_counts),
        cmocka_unit_test(test_no_range_cuts_nothing),
        cmocka_unit_test(test_dispersion),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_fluence),
        cmocka_unit_test(test_refusals),
    };
    return unit_run(tests);
}
