/* Set-up of the detector, compared with values that nanoBragg prints; and the rules of physical
 * mode. */
#include "unit.h"

#include "base/vec.h"
#include "model/experiment.h"
#include "near.h"
#include "physics/detector/detector.h"
#include "physics/detector/pixel.h"
#include "physics_request.h"

static struct panel build(const struct request *r)
{
    struct frame_axes axes;
    struct panel p = {0};
    struct error e = {0};
    if (detector_axes(r, &axes, &e) || detector_panel(r, &axes, &p, &e))
        fail_msg("%s", e.text);
    return p;
}

static void refuse(const struct request *r)
{
    struct frame_axes axes;
    struct panel p;
    struct error e = {0};
    enum status s = detector_axes(r, &axes, &e);
    if (!s)
        s = detector_panel(r, &axes, &p, &e);
    assert_int_equal(s, STATUS_INPUT);
    assert_true(e.text[0] != 0);
}

/* Bit for bit: the values come from nanoBragg with 17 digits. */
static void expect(const struct panel *p, double x, double y, double z, double close,
                   double distance)
{
    assert_true(p->origin_m[0] == x && p->origin_m[1] == y && p->origin_m[2] == z);
    assert_true(p->close_distance_m == close && p->distance_m == distance);
}

static void rotate_by(struct detector_request *d, double x, double y, double z, double twotheta)
{
    set3(d->rotation_rad, deg_to_rad(x), deg_to_rad(y), deg_to_rad(z));
    d->twotheta_rad = deg_to_rad(twotheta);
}

static void test_mosflm_denzo(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    struct panel p = build(&r);
    expect(&p, 0.10000000000000001, 0.0064999999999999997, -0.0064999999999999997,
           0.10000000000000001, 0.10000000000000001);
    assert_near(p.beam_x_mm, 6.45, 1e-12);
    r.detector.convention = CONVENTION_DENZO;
    p = build(&r);
    expect(&p, 0.10000000000000001, 0.00645, -0.00645, 0.10000000000000001, 0.10000000000000001);
}

static void test_tilted(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    struct detector_request *d = &r.detector;
    d->beam_m[0] = mm_to_m(6.2);
    d->beam_m[1] = mm_to_m(6.9);
    rotate_by(d, 5, 3, 2, 15);
    struct panel p = build(&r);
    expect(&p, 0.10121156839030461, 0.0067319450026481452, -0.0063700877950727958,
           0.097303472447526351, 0.097496398650316771);
    /* physical: the same place, and the distance along the beam as asked for */
    r.physics = PHYSICS_PHYSICAL;
    const struct panel q = build(&r);
    for (int i = 0; i < 3; i++)
        assert_near(q.origin_m[i], p.origin_m[i], 1e-15);
    assert_near(q.distance_m, 0.1, 1e-15);
    assert_near(q.beam_fast_m, mm_to_m(6.95), 1e-15);
    assert_near(q.beam_slow_m, mm_to_m(6.25), 1e-15);
}

static void test_xds_dials_adxv(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    struct detector_request *d = &r.detector;
    d->convention = CONVENTION_XDS;
    d->org_px[0] = 60.5;
    d->org_px[1] = 70.25;
    rotate_by(d, 4, -3, 2, 8);
    struct panel p = build(&r);
    expect(&p, -0.01067515006573086, -0.027849665131600358, 0.095494350880171552,
           0.099619692339885657, 0.10000000000000001);
    d->convention = CONVENTION_DIALS;
    rotate_by(d, 0, 0, 0, 0);
    d->org_px[0] = 70;
    d->org_px[1] = 60;
    d->close_distance_m = mm_to_m(95);
    p = build(&r);
    expect(&p, -0.0069500000000000004, -0.0059500000000000004, 0.095000000000000001,
           0.095000000000000001, 0.095000000000000001);
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    d->convention = CONVENTION_ADXV;
    rotate_by(d, 3, 0, 0, 0);
    d->beam_m[0] = mm_to_m(6.0);
    d->beam_m[1] = mm_to_m(6.5);
    p = build(&r);
    expect(&p, -0.0060000000000000001, 0.0062913660689538162, 0.10032971652433055,
           0.0998629534754574, 0.10000000000000002);
}

static void custom(struct request *r)
{
    struct detector_request *d = &r->detector;
    struct beam_request *b = &r->beam;
    d->convention = CONVENTION_CUSTOM;
    set3(b->direction, 0, 0, 1);
    set3(b->polarization, 1, 0, 0);
    set3(b->spindle, 1, 0, 0);
    set3(d->fast, 1, 0, 0);
    set3(d->slow, 0, -1, 0);
    set3(d->normal, 0, 0, 1);
    set3(d->twotheta_axis, 1, 0, 0);
    d->beam_m[0] = mm_to_m(6);
    d->beam_m[1] = mm_to_m(7);
}

static void test_custom(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    custom(&r);
    rotate_by(&r.detector, 0, 0, 0, 10);
    r.detector.pivot = PIVOT_BEAM;
    struct panel p = build(&r);
    expect(&p, -0.0060000000000000001, 0.0068936542710854561, 0.10121553724366852,
           0.098480775301220819, 0.098480775301220819);
    rotate_by(&r.detector, 0, 4, 0, 10);
    r.detector.pivot = PIVOT_SAMPLE;
    p = build(&r);
    expect(&p, 0.00097327074644432739, -0.010459345396474098, 0.099629288774131186,
           0.099756405025982403, 0.099999999999999978);
}

/* A normal that is not a unit vector is dropped for fast x slow (faithful); physical
 * mode keeps its direction. */
static void test_long_normal(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    custom(&r);
    set3(r.detector.normal, 0, 0, 2);
    struct frame_axes axes;
    assert_int_equal(detector_axes(&r, &axes, NULL), STATUS_OK);
    assert_true(axes.normal[2] == -1);
    r.physics = PHYSICS_PHYSICAL;
    assert_int_equal(detector_axes(&r, &axes, NULL), STATUS_OK);
    assert_true(axes.normal[2] == 1);
    r.detector.normal[0] = NAN;
    set3(r.detector.fast, 0, 1, 0);
    set3(r.detector.slow, 3, 0, 0);
    assert_int_equal(detector_axes(&r, &axes, NULL), STATUS_OK);
    assert_true(axes.normal[2] == 1 && axes.slow[0] == 1);
}

/* Size over pixel, halves down: 10.05 mm are 100 pixels of 0.1 mm. */
static void test_counts(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    r.detector.pixels[0] = r.detector.pixels[1] = 0;
    r.detector.size_m[0] = mm_to_m(102.4);
    r.detector.size_m[1] = mm_to_m(10.03);
    const struct panel p = build(&r);
    assert_int_equal(p.fast_pixels, 1024);
    assert_int_equal(p.slow_pixels, 100);
    assert_int_equal(p.roi.fast_max, 1023);
    assert_int_equal(p.roi.slow_max, 99);
}

/* Faithful: ORGX moves nothing in MOSFLM, Xbeam nothing in XDS, -pivot nothing in
 * either.  Physical: what was given stands in for the other. */
static void test_stand_in(void **state)
{
    (void)state;
    for (int physical = 0; physical < 2; physical++) {
        struct request r;
        struct crystal_request c;
        plain_request(&r, &c, physical ? PHYSICS_PHYSICAL : PHYSICS_FAITHFUL);
        struct detector_request *d = &r.detector;
        const struct panel mosflm = build(&r);
        d->org_px[0] = 30.5;
        struct panel p = build(&r);
        assert_near(p.origin_m[2], physical ? -0.003 : mosflm.origin_m[2], 1e-15);
        assert_near(p.origin_m[1], mosflm.origin_m[1], 0);
        assert_near(p.beam_y_mm, physical ? 2.95 : mosflm.beam_y_mm, 1e-12);
        plain_request(&r, &c, r.physics);
        d->convention = CONVENTION_XDS;
        d->beam_m[0] = mm_to_m(3);
        p = build(&r);
        assert_near(p.origin_m[0], physical ? -0.003 : -0.0064, 1e-15);
        d->pivot = PIVOT_BEAM;
        rotate_by(d, 0, 0, 0, 10);
        const struct panel beam = build(&r);
        d->pivot = PIVOT_SAMPLE;
        const struct panel sample = build(&r);
        assert_int_equal(beam.origin_m[1] != sample.origin_m[1], physical);
    }
}

/* Faithful: N layers of thickness/(N-1).  Physical: they fill the sensor. */
static void test_layers(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_FAITHFUL);
    r.detector.thickness = (struct steps_request){.count = 5, .range = 450e-6};
    struct panel p = build(&r);
    assert_int_equal(p.layers, 5);
    assert_near(p.layer_m, 112.5e-6, 1e-18);
    assert_near(p.absorption_1_m, 1 / 450e-6, 1e-9);
    r.physics = PHYSICS_PHYSICAL;
    p = build(&r);
    assert_int_equal(p.layers, 5);
    assert_near(p.layers * p.layer_m, 450e-6, 1e-18);
    r.detector.thickness.count = 1;
    p = build(&r);
    assert_int_equal(p.layers, 1);
    assert_near(p.layer_m, 450e-6, 1e-18);
}

/* Photons stop where they do on average: the sum of z exp(-mu z) over that of exp(-mu z), by
 * ten thousand slices; nanoBragg's at the front. */
static void test_depth(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_PHYSICAL);
    for (double absorption_1_m = 1e-3; absorption_1_m < 1e6; absorption_1_m *= 30) {
        r.detector.thickness = (struct steps_request){.count = 2, .range = 450e-6};
        r.detector.absorption_1_m = absorption_1_m;
        double depth = 0.0, weight = 0.0;
        for (int i = 0; i < 10000; i++) {
            const double z = 225e-6 * (i + 0.5) / 10000, w = exp(-absorption_1_m * z);
            depth += z * w;
            weight += w;
        }
        const struct panel p = build(&r);
        assert_near(pixel_layer_depth(&p, 0), depth / weight, 1e-4 * depth / weight);
        assert_near(pixel_layer_depth(&p, 1), 225e-6 + depth / weight,
                    1e-9 * 225e-6 + 1e-4 * depth / weight);
    }
    r.physics = PHYSICS_FAITHFUL;
    const struct panel p = build(&r);
    assert_true(pixel_layer_depth(&p, 0) == 0.0);
}

static void test_refusals(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
#define BAD(change)                          \
    plain_request(&r, &c, PHYSICS_PHYSICAL); \
    change;                                  \
    refuse(&r)
    BAD(r.detector.pixel_m = 0);
    BAD(r.detector.pixel_m = NAN);
    BAD(r.detector.pixels[0] = 65537);
    BAD(r.detector.pixels[0] = INT64_MAX);
    BAD(r.detector.pixels[1] = -4);
    BAD(r.detector.pixels[0] = r.detector.pixels[1] = 65536);
    BAD(r.detector.distance_m = 0);
    BAD(r.detector.distance_m = INFINITY);
    BAD(r.detector.rotation_rad[1] = NAN);
    BAD(r.detector.twotheta_rad = 1e9);
    BAD(r.detector.roi = ((struct roi){200, 210, 0, 5}));
    BAD(r.detector.roi = ((struct roi){9, 8, 0, 5}));
    BAD(r.detector.thickness.range = -1e300);
    BAD(r.detector.beam_m[0] = INFINITY);
    BAD((custom(&r), set3(r.beam.direction, 0, 0, 0)));
    BAD((custom(&r), set3(r.detector.slow, 2, 0, 0)));
    BAD((custom(&r), set3(r.beam.polarization, 0, 0, -1)));
    BAD((custom(&r), set3(r.detector.normal, 0, NAN, 0)));
#undef BAD
}

/* Curved, physical: constant distance; near the beam the flat position to second order; far
 * from it the arcs keep their lengths on the axes. */
static void test_curved_panel(void **state)
{
    (void)state;
    for (enum convention c = CONVENTION_MOSFLM; c <= CONVENTION_CUSTOM; c++) {
        struct request r;
        struct crystal_request crystal;
        struct frame_axes axes;
        struct panel p;
        struct error e = {0};
        plain_request(&r, &crystal, PHYSICS_PHYSICAL);
        r.detector.convention = c;
        r.detector.curved = true;
        assert_int_equal(detector_axes(&r, &axes, &e), STATUS_OK);
        assert_int_equal(detector_panel(&r, &axes, &p, &e), STATUS_OK);
        for (int64_t f = 0; f < 128; f += 3)
            for (int64_t s = 0; s < 128; s += 5) {
                double flat[3], at[3], off[3];
                pixel_flat_position(&p, f, s, 0, 0, 0, 1, flat);
                pixel_position(&p, PHYSICS_PHYSICAL, axes.beam, f, s, 0, 0, 0, 1, at);
                assert_near(vec_length(at), p.distance_m, 1e-15);
                for (int i = 0; i < 3; i++) {
                    flat[i] -= p.distance_m * axes.beam[i];
                    off[i] = at[i] - flat[i] - p.distance_m * axes.beam[i];
                }
                const double angle = vec_length(flat) / p.distance_m;
                assert_true(vec_length(off) <= 0.51 * p.distance_m * angle * angle);
                assert_true(fabs(vec_dot(off, p.fast)) + fabs(vec_dot(off, p.slow)) <=
                            p.distance_m * angle * angle * angle);
            }
        double at[3];
        const double arc = 0.5 * M_PI * p.distance_m;
        pixel_curve(&p, axes.beam, arc, 0.0, at);
        assert_near(vec_dot(at, p.fast), p.distance_m, 1e-15);
        pixel_curve(&p, axes.beam, 0.0, -arc, at);
        assert_near(vec_dot(at, p.slow), -p.distance_m, 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mosflm_denzo),   cmocka_unit_test(test_tilted),
        cmocka_unit_test(test_xds_dials_adxv), cmocka_unit_test(test_custom),
        cmocka_unit_test(test_long_normal),    cmocka_unit_test(test_counts),
        cmocka_unit_test(test_stand_in),       cmocka_unit_test(test_layers),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_curved_panel),
        cmocka_unit_test(test_depth),
    };
    return unit_run(tests);
}
