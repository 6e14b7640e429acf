/*
 * Derivatives of the reference engine against sixth-order central differences of its own image
 * in double precision: every parameter, with every factor at work, as the user's options make
 * the experiment; then identities that need no differences, and sums against planes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "engine/derive.h"
#include "engine/engine.h"
#include "near.h"
#include "physics/detector.h"
#include "physics/mosaic.h"
#include "physics/setup.h"
#include "physics/shape_slopes.h"
#include "physics_request.h"

enum { EDGE = 4, PIXELS = EDGE * EDGE };

/* What a test begins with. */
struct variant {
    const char *name;
    enum crystal_shape shape;
    double cells[3], fudge;
    bool each, point_pixel, water;
    enum convention convention;
    bool tetragonal, table;
    bool extended;  // the crystal has a size
    bool perfect;   // one domain
    bool nearest;   // F of the table without interpolation
};

/* A change of one parameter by `change` of its units. */
struct change {
    const char *name;
    double by;
};

struct scene {
    struct experiment x;
    struct recipe recipe;
};

static struct hkl_table smooth_table(void)
{
    struct hkl_table t = {.default_F = 100.0};
    for (int i = 0; i < 3; i++) {
        t.min[i] = -40;
        t.count[i] = 81;
    }
    t.F = mem_array(81 * 81 * 81, sizeof *t.F);
    for (int i = 0; i < 81 * 81 * 81; i++)
        t.F[i] = 100.0 + 20.0 * sin(0.9 * i / 6561) * cos(1.1 * (i / 81 % 81)) + i % 81;
    return t;
}

static void make_request(const struct variant *v, struct request *r, struct crystal_request *c,
                         struct orientation_request *o)
{
    plain_request(r, c, PHYSICS_PHYSICAL);
    r->detector.convention = v->convention;
    r->detector.pixels[0] = EDGE;
    r->detector.pixels[1] = EDGE;
    r->detector.pixel_m = 2.1e-3;
    r->detector.has_distance = true;
    r->detector.distance_m = 0.07;
    set3(r->detector.rotation_rad, 2 * M_PI / 180, -3 * M_PI / 180, 1 * M_PI / 180);
    r->detector.twotheta_rad = 5 * M_PI / 180;
    r->detector.has_beam_x = r->detector.has_beam_y = true;
    r->detector.beam_x_m = 7e-3;
    r->detector.beam_y_m = 4e-3;
    r->detector.point_pixel = v->point_pixel;
    r->detector.has_absorption = true;
    r->detector.absorption_1_m = 1 / 235e-6;
    r->detector.thickness =
        (struct steps_request){.has_count = true, .has_range = true, .count = 2, .range = 320e-6};
    r->beam.kahn = 0.8;
    r->beam.fluence_ph_m2 = 1e26;
    r->beam.size_m = 1e-4;
    r->beam.horizontal = r->beam.vertical =
        (struct steps_request){true, true, false, 2, 0.002, 0.0};
    r->beam.dispersion = (struct steps_request){true, true, false, 2, 0.01, 0.0};
    r->oversample = 2;
    r->each_thickness = r->each_polarization = r->each_solid_angle = v->each;
    r->water_m = v->water ? 1e-7 : 0.0;
    set_cell(c, 70, 80, 90, 75, 85, 95);
    if (v->tetragonal)
        set_cell(c, 70, 70, 90, 90, 90, 90);
    c->has_cells = true;
    set3(c->cells, v->cells[0], v->cells[1], v->cells[2]);
    for (int i = 0; i < 3 && v->extended; i++)
        c->size_m[i] = 6e-4;
    c->shape = v->shape;
    c->fudge = v->fudge;
    c->interpolate = v->table && !v->nearest ? INTERPOLATE_ON : INTERPOLATE_OFF;
    if (v->table)
        c->table = smooth_table();
    *o = (struct orientation_request){.has_misset = true, .misset_rad = {0.17, 0.35, 0.52}};
    o->has_mosaic_spread = o->has_mosaic_domains = !v->perfect;
    o->mosaic_rad = 0.6 * M_PI / 180;
    o->mosaic_domains = 3;
    o->mosaic_seed = -12345;
    o->phi_rad = 0.1;
    o->phi = (struct steps_request){true, true, false, 2, 0.01, 0.0};
}

/* Options that users type. */
static void change_request(const struct change *d, struct request *r, struct crystal_request *c,
                           struct orientation_request *o)
{
    const double deg = d->by * M_PI / 180;
    const struct {
        const char *name;
        double *value, change;
    } options[] = {
        {"cell_a", &c->cell_A[0], d->by},
        {"cell_b", &c->cell_A[1], d->by},
        {"cell_c", &c->cell_A[2], d->by},
        {"cell_ab", &c->cell_A[0], d->by},
        {"cell_ab", &c->cell_A[1], d->by},
        {"cell_alpha", &c->cell_rad[0], deg},
        {"cell_beta", &c->cell_rad[1], deg},
        {"cell_gamma", &c->cell_rad[2], deg},
        {"ncells_a", &c->cells[0], d->by},
        {"ncells_b", &c->cells[1], d->by},
        {"ncells_c", &c->cells[2], d->by},
        {"fudge", &c->fudge, d->by},
        {"mosaic", &o->mosaic_rad, d->by * o->mosaic_rad},
        {"scale", &r->beam.fluence_ph_m2, d->by * r->beam.fluence_ph_m2},
        {"phi0", &o->phi_rad, deg},
        {"osc", &o->phi.range, deg},
        {"wavelength", &r->beam.wavelength_m, d->by * 1e-10},
        {"dispersion", &r->beam.dispersion.range, d->by * 0.01},
        {"divergence_h", &r->beam.horizontal.range, d->by * 1e-3},
        {"divergence_v", &r->beam.vertical.range, d->by * 1e-3},
        {"polarization", &r->beam.kahn, d->by},
        {"distance", &r->detector.distance_m, d->by * 1e-3},
        {"beam_x", &r->detector.beam_x_m, d->by * 1e-3},
        {"beam_y", &r->detector.beam_y_m, d->by * 1e-3},
        {"thickness", &r->detector.thickness.range, d->by * 1e-6},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(d->name, options[i].name) == 0)
            *options[i].value += options[i].change;
    if (strcmp(d->name, "absorption") == 0)
        r->detector.absorption_1_m = 1 / (1 / r->detector.absorption_1_m + d->by * 1e-6);
}

/* Parameters that no option has: moves of a panel. */
static void change_panel(const struct change *d, struct experiment *x)
{
    if (strncmp(d->name, "panel.", 6) != 0)
        return;
    struct panel *p = &x->panels[0];
    const char axis = d->name[strlen(d->name) - 1];
    double along[3], centre[3], *turned[] = {p->fast, p->slow, p->normal, p->origin_m};
    vec_copy(along, axis == 'f' ? p->fast : axis == 's' ? p->slow : p->normal);
    if (strncmp(d->name, "panel.0.shift", 13) == 0)
        for (int i = 0; i < 3; i++)
            p->origin_m[i] += d->by * 1e-3 * along[i];
    if (strncmp(d->name, "panel.0.tilt", 12) == 0) {
        for (int i = 0; i < 3; i++) {
            centre[i] = p->origin_m[i] + 0.5 * EDGE * p->pixel_m * (p->fast[i] + p->slow[i]);
            p->origin_m[i] -= centre[i];
        }
        for (int k = 0; k < 4; k++)
            vec_rotate_axis(turned[k], along, d->by * M_PI / 180);
        for (int i = 0; i < 3; i++)
            p->origin_m[i] += centre[i];
    }
    detector_derive(p, x->beam.direction, detector_ratio(p, x->beam.direction));
}

static void open_scene(struct scene *s, const struct variant *v, const struct change *d)
{
    struct request r;
    struct crystal_request c;
    struct orientation_request o;
    struct error e = {0};
    double rotation[9], turned[9], lab[3] = {0};
    make_request(v, &r, &c, &o);
    change_request(d, &r, &c, &o);
    misset_to_rotation(o.misset_rad, rotation);
    if (strncmp(d->name, "rot_", 4) == 0)
        lab[d->name[4] - 'x'] = d->by * M_PI / 180;
    for (int j = 0; j < 3; j++) {
        double column[3] = {rotation[j], rotation[3 + j], rotation[6 + j]};
        vec_rotate(column, lab);
        for (int i = 0; i < 3; i++)
            turned[3 * i + j] = column[i];
    }
    s->recipe = (struct recipe){.nlattices = 2, .lattices = mem_array(2, sizeof(struct lattice))};
    if (setup_experiment(&r, &s->x, &e) ||
        setup_lattice_rotated(&s->x, 0, turned, &o, &s->recipe.lattices[0], &e))
        fail_msg("%s", e.text);
    /* a second one, with more domains and its own turn */
    misset_to_rotation((double[3]){0.4, -0.2, 0.3}, rotation);
    for (int j = 0; j < 3; j++) {
        double column[3] = {rotation[j], rotation[3 + j], rotation[6 + j]};
        vec_rotate(column, lab);
        for (int i = 0; i < 3; i++)
            turned[3 * i + j] = column[i];
    }
    o.mosaic_domains = 4;
    if (setup_lattice_rotated(&s->x, 0, turned, &o, &s->recipe.lattices[1], &e))
        fail_msg("%s", e.text);
    s->recipe.lattices[0].weight = 0.7;
    s->recipe.lattices[1].weight = 0.3 + (strcmp(d->name, "share.1") == 0 ? d->by : 0.0);
    change_panel(d, &s->x);
}

static void close_scene(struct scene *s)
{
    recipe_free(&s->recipe);
    experiment_free(&s->x);
}

static void serve(const struct scene *s, const struct derive_request *q, int threads)
{
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = threads};
    if (engine_reference.create(&plan, &s->x, &options, &e) ||
        engine_reference.derive(plan, &s->recipe, q, &e))
        fail_msg("%s", e.text);
    engine_reference.destroy(&plan);
}

/* Photons of the changed scene. */
static void photons_of(const struct variant *v, const struct change *d, double *photons)
{
    static const struct parameters none = {0};
    struct scene s;
    open_scene(&s, v, d);
    serve(&s, &(struct derive_request){.set = &none, .npixels = PIXELS, .photons = photons}, 1);
    close_scene(&s);
}

static float planes[PARAMETERS_MAX * PIXELS];

/* Planes of the unchanged scene. */
static void planes_of(const struct variant *v, const char *names, struct parameters *set)
{
    struct error e = {0};
    struct scene s;
    open_scene(&s, v, &(struct change){"", 0});
    if (parameters_parse(names, &s.x, set, &e))
        fail_msg("%s", e.text);
    serve(&s, &(struct derive_request){.set = set, .npixels = PIXELS, .planes = planes}, 2);
    close_scene(&s);
}

/* Sixth-order central difference. */
static void difference(const struct variant *v, const char *name, double step, double *out)
{
    static const double weight[3] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    double one[PIXELS];
    memset(out, 0, PIXELS * sizeof *out);
    for (int k = 1; k <= 3; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            photons_of(v, &(struct change){name, sign * k * step}, one);
            for (int i = 0; i < PIXELS; i++)
                out[i] += sign * weight[k - 1] * one[i] / step;
        }
}

/* rms of the error over rms of the plane, of pixels where the two differences agree within
 * `kink` of the rms (in others an index switches); *share: how many these are. */
static double error_of(const float *plane, const double *wide, const double *narrow, double kink,
                       double *share)
{
    double sum = 0, wrong[2] = {0}, counted = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += wide[i] * wide[i];
    const double rms = sqrt(sum / PIXELS);
    assert_true(rms > 0);
    for (int i = 0; i < PIXELS; i++) {
        if (!(fabs(wide[i] - narrow[i]) <= kink * rms))
            continue;
        counted++;
        wrong[0] += pow((double)plane[i] - wide[i], 2);
        wrong[1] += pow((double)plane[i] - narrow[i], 2);
    }
    *share = counted / PIXELS;
    return sqrt(fmin(wrong[0], wrong[1]) / counted) / rms;
}

struct step {
    const char *name;
    double step, tolerance;
};

static const struct step STEPS[] = {
    {"rot_x", 6e-4, 1e-6},
    {"rot_y", 6e-4, 1e-6},
    {"rot_z", 6e-4, 1e-6},
    {"cell_a", 2e-3, 1e-6},
    {"cell_b", 2e-3, 1e-6},
    {"cell_c", 2e-3, 1e-6},
    {"cell_alpha", 2e-3, 1e-6},
    {"cell_beta", 2e-3, 1e-6},
    {"cell_gamma", 2e-3, 1e-6},
    {"ncells_a", 1e-3, 1e-6},
    {"ncells_b", 1e-3, 1e-6},
    {"ncells_c", 1e-3, 1e-6},
    {"mosaic", 1e-2, 1e-5},
    {"scale", 1e-2, 1e-6},
    {"phi0", 1e-3, 1e-6},
    {"osc", 2e-3, 1e-6},
    {"wavelength", 2e-5, 1e-6},
    {"dispersion", 5e-3, 1e-6},
    {"divergence_h", 3e-2, 1e-6},
    {"divergence_v", 3e-2, 1e-6},
    {"polarization", 1e-2, 1e-6},
    {"distance", 2e-3, 1e-6},
    {"beam_x", 1e-3, 1e-6},
    {"beam_y", 1e-3, 1e-6},
    {"thickness", 0.2, 1e-6},
    {"absorption", 0.5, 1e-6},
    {"share.1", 1e-2, 1e-6},
    {"panel.0.shift_f", 1e-3, 1e-6},
    {"panel.0.shift_s", 1e-3, 1e-6},
    {"panel.0.shift_o", 2e-3, 1e-6},
    {"panel.0.tilt_f", 5e-3, 1e-6},
    {"panel.0.tilt_s", 5e-3, 1e-6},
    {"panel.0.tilt_o", 5e-3, 1e-6},
    {"fudge", 1e-4, 1e-6},
    {"cell_ab", 2e-3, 1e-6},
};

/* `kink`: infinite where no index can switch within a step. */
static void compare(const struct variant *v, const char *name, double kink, double least_share)
{
    const struct step *s = STEPS;
    double wide[PIXELS], narrow[PIXELS], share;
    struct parameters set;
    while (strcmp(s->name, name) != 0)
        s++;
    planes_of(v, name, &set);
    const double step = kink < HUGE_VAL ? s->step / 30 : s->step;  // few switches on the way
    difference(v, name, step, wide);
    memcpy(narrow, wide, sizeof wide);
    if (kink < HUGE_VAL)
        difference(v, name, step / 3, narrow);
    const double error = error_of(planes, wide, narrow, kink, &share);
    if (!(error < s->tolerance) || !(share >= least_share))
        fail_msg("%s: %s is wrong by %.3g, %.3f of the pixels", v->name, name, error, share);
}

static const struct variant SQUARE = {.name = "square",
                                      .shape = SHAPE_SQUARE,
                                      .cells = {7, 6, 8},
                                      .fudge = 1,
                                      .convention = CONVENTION_MOSFLM};

static void test_square(void **state)
{
    (void)state;
    for (size_t i = 0; i + 2 < sizeof STEPS / sizeof *STEPS; i++)
        compare(&SQUARE, STEPS[i].name, HUGE_VAL, 1.0);
}

static void compare_all(const struct variant *v, const char *const *names, double kink,
                        double least_share)
{
    for (; *names; names++)
        compare(v, *names, kink, least_share);
}

/* Factors of every term instead of every pixel, and water. */
static void test_each(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "each";
    v.each = v.water = true;
    v.convention = CONVENTION_ADXV;
    compare_all(&v,
                (const char *[]){"rot_x", "cell_beta", "divergence_h", "polarization", "distance",
                                 "beam_x", "beam_y", "thickness", "absorption", "panel.0.tilt_f",
                                 "share.1", NULL},
                HUGE_VAL, 1.0);
}

static void test_point_pixels(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "point";
    v.point_pixel = true;
    compare_all(&v, (const char *[]){"distance", "beam_y", "panel.0.tilt_s", NULL}, HUGE_VAL, 1.0);
}

/* Tails of these have kinks where the nearest index switches. */
static void test_smooth_shapes(void **state)
{
    (void)state;
    const char *const names[] = {"rot_y", "cell_b",     "cell_gamma",      "ncells_b",
                                 "fudge", "wavelength", "panel.0.shift_s", NULL};
    struct variant v = SQUARE;
    v.name = "round";
    v.shape = SHAPE_ROUND;
    v.fudge = 1.3;
    compare_all(&v, names, 1e-6, 0.75);
    v.name = "gauss";
    v.shape = SHAPE_GAUSS;
    v.fudge = 0.7;
    compare_all(&v, names, 1e-6, 0.75);
}

static void test_interpolated(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "tricubic";
    v.table = true;
    set3(v.cells, 2, 3, 2);
    compare_all(&v, (const char *[]){"rot_z", "cell_a", "wavelength", "ncells_c", NULL}, 1e-6,
                0.75);
}

/* F of the nearest index jumps, so that only pixels count in which no index switches. */
static void test_table(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "table";
    v.table = v.nearest = true;
    compare_all(&v, (const char *[]){"rot_z", "cell_a", "ncells_b", "distance", NULL}, 1e-6, 0.75);
}

/* Edges that are equal by symmetry change together. */
static void test_tied_cell(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    struct parameters set;
    v.name = "tetragonal";
    v.tetragonal = true;
    planes_of(&v, "cell", &set);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.items[0].name, "cell_ab");
    assert_string_equal(set.items[1].name, "cell_c");
    double wide[PIXELS], share;
    difference(&v, "cell_ab", 2e-3, wide);
    assert_true(error_of(planes, wide, wide, HUGE_VAL, &share) < 1e-6);
}

/* Against long double, at spots and far from them. */
static void test_sincg(void **state)
{
    (void)state;
    static const double N[] = {1, 2, 3, 20, 1000};
    static const double d[] = {0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.31, 0.4999};
    for (size_t i = 0; i < sizeof N / sizeof *N; i++)
        for (size_t k = 0; k < sizeof d / sizeof *d; k++) {
            double s, by_d, by_N;
            const long double pi = 3.14159265358979323846264338327950288L;
            const long double n = (long double)N[i], x = pi * (long double)d[k];
            sincg_slopes(d[k], N[i], &s, &by_d, &by_N);
            if (d[k] == 0) {
                assert_near(s, N[i], 0);
                assert_near(by_d, 0, 0);
                continue;
            }
            const long double want = sinl(n * x) / sinl(x);
            const long double by_N_want = pi * (long double)d[k] * cosl(n * x) / sinl(x);
            /* by its series where the difference of products has no digits left */
            const long double by_x =
                n * x < 1e-4L
                    ? -n * (n * n - 1) * x / 3 * (1 - x * x * (3 * n * n - 7) / 30)
                    : (n * cosl(n * x) * sinl(x) - sinl(n * x) * cosl(x)) / (sinl(x) * sinl(x));
            assert_near(s, (double)want, 1e-12 * N[i]);
            assert_near(by_N, (double)by_N_want, 1e-12 * N[i]);
            assert_near(by_d, (double)(pi * by_x),
                        1e-9 * fabs((double)(pi * by_x)) + 1e-12 * N[i] * N[i]);
        }
}

/* rms of a - b over rms of b. */
static double apart(const double *a, const double *b)
{
    double wrong = 0, sum = 0;
    for (int i = 0; i < PIXELS; i++) {
        wrong += pow(a[i] - b[i], 2);
        sum += b[i] * b[i];
    }
    return sqrt(wrong / sum);
}

/* Adds `factor` times a plane. */
static void add_plane(double *to, const float *plane, double factor)
{
    for (int i = 0; i < PIXELS; i++)
        to[i] += factor * (double)plane[i];
}

/* What needs no differences: scaling cell and wavelength leaves SQUARE alone; a rotation about
 * the spindle is phi; a shift along the beam is the distance; d/d ln scale is the image. */
static void test_identities(void **state)
{
    (void)state;
    struct parameters set;
    double one[PIXELS] = {0}, two[PIXELS] = {0};
    planes_of(&SQUARE, "cell_a,cell_b,cell_c,wavelength", &set);
    add_plane(one, planes, 70);
    add_plane(one, planes + PIXELS, 80);
    add_plane(one, planes + 2 * PIXELS, 90);
    add_plane(two, planes + 3 * PIXELS, -1.0);
    assert_true(apart(one, two) < 1e-6);
    /* the spindle of mosflm is z; turns about it commute */
    struct variant perfect = SQUARE;
    perfect.perfect = true;
    memset(one, 0, sizeof one);
    memset(two, 0, sizeof two);
    planes_of(&perfect, "rot_z,phi0", &set);
    add_plane(one, planes, 1);
    add_plane(two, planes + PIXELS, 1);
    assert_true(apart(one, two) < 1e-6);
    /* the beam's components along the axes of the panel */
    struct scene s;
    open_scene(&s, &SQUARE, &(struct change){"", 0});
    const struct panel *p = s.x.panels;
    memset(one, 0, sizeof one);
    memset(two, 0, sizeof two);
    planes_of(&SQUARE, "distance,panel.0.shift_f,panel.0.shift_s,panel.0.shift_o", &set);
    add_plane(one, planes, 1);
    add_plane(two, planes + PIXELS, vec_dot(p->fast, s.x.beam.direction));
    add_plane(two, planes + 2 * PIXELS, vec_dot(p->slow, s.x.beam.direction));
    add_plane(two, planes + 3 * PIXELS, vec_dot(p->normal, s.x.beam.direction));
    close_scene(&s);
    assert_true(apart(one, two) < 1e-6);
    memset(one, 0, sizeof one);
    photons_of(&SQUARE, &(struct change){"", 0}, two);
    planes_of(&SQUARE, "scale", &set);
    add_plane(one, planes, 1);
    assert_true(apart(one, two) < 1e-7);
}

/* Sums are those of the planes, lists are parts of images, the image is that of run; with the
 * footprint of a crystal, too; on any number of threads. */
static void test_sums(void **state)
{
    (void)state;
    enum { COUNT = 3, LISTED = 9 };
    for (int extended = 0; extended < 2; extended++) {
        struct variant v = SQUARE;
        v.extended = extended;
        struct scene s;
        struct error e = {0};
        struct parameters set;
        open_scene(&s, &v, &(struct change){"", 0});
        if (parameters_parse("rot_x,scale,ncells_b", &s.x, &set, &e))
            fail_msg("%s", e.text);
        double photons[PIXELS], product[COUNT], gradient[COUNT], fisher[COUNT * COUNT];
        float image[PIXELS], weights[PIXELS], counts[PIXELS], background[PIXELS];
        struct plan *plan;
        const struct engine_options one = {.threads = 1};
        if (engine_reference.create(&plan, &s.x, &one, &e) ||
            engine_reference.run(plan, &s.recipe, image, NULL, &e))
            fail_msg("%s", e.text);
        engine_reference.destroy(&plan);
        for (int i = 0; i < PIXELS; i++) {
            weights[i] = (float)(i % 7 - 3);
            background[i] = (float)(1 + i % 3);
            counts[i] = i % 11 == 5 ? NAN : roundf(0.7f * image[i] + background[i]);
        }
        struct derive_sums sums = {.gradient = gradient, .fisher = fisher};
        const struct derive_data data = {counts, background, 0.8, 1.5};
        struct derive_request q = {.set = &set,
                                   .npixels = PIXELS,
                                   .photons = photons,
                                   .planes = planes,
                                   .weights = weights,
                                   .product = product,
                                   .data = &data,
                                   .sums = &sums};
        serve(&s, &q, 3);
        double likelihood = 0, want[COUNT] = {0}, want_g[COUNT] = {0}, want_f = 0;
        int64_t pixels = 0;
        for (int i = 0; i < PIXELS; i++) {
            assert_true((float)photons[i] == image[i]);
            const double m = 0.8 * photons[i] + (double)background[i] + 1.5;
            for (int k = 0; k < COUNT; k++)
                want[k] += (double)weights[i] * (double)planes[k * PIXELS + i];
            if (isnan(counts[i]))
                continue;
            pixels++;
            likelihood += m - ((double)counts[i] + 1.5) * log(m);
            for (int k = 0; k < COUNT; k++)
                want_g[k] +=
                    0.8 * (double)planes[k * PIXELS + i] * (((double)counts[i] + 1.5) / m - 1);
            want_f += 0.64 * (double)planes[i] * (double)planes[2 * PIXELS + i] / m;
        }
        assert_int_equal(sums.pixels, pixels);
        assert_near(sums.likelihood, likelihood, 1e-9 * fabs(likelihood));
        for (int k = 0; k < COUNT; k++) {
            assert_near(product[k], want[k], 1e-5 * fabs(want[k]));
            assert_near(gradient[k], want_g[k], 1e-5 * fabs(want_g[k]));
        }
        assert_near(fisher[2], want_f, 1e-5 * fabs(want_f));
        assert_true(fisher[2] == fisher[2 * COUNT]);
        /* fewer pixels, another number of threads, no planes */
        int64_t listed[LISTED];
        double some[LISTED], again[COUNT];
        for (int i = 0; i < LISTED; i++)
            listed[i] = (i * 29 + 3) % PIXELS;
        serve(&s,
              &(struct derive_request){
                  .set = &set, .listed = listed, .npixels = LISTED, .photons = some},
              1);
        for (int i = 0; i < LISTED; i++)
            assert_true(some[i] == photons[listed[i]]);
        q.planes = NULL;
        q.product = again;
        serve(&s, &q, 1);
        assert_memory_equal(again, product, sizeof again);
        close_scene(&s);
    }
}

static void refuse(const struct experiment *x, const char *names, const char *why)
{
    struct parameters set;
    struct error e = {0};
    assert_true(parameters_parse(names, x, &set, &e) != STATUS_OK);
    if (!strstr(e.text, why))
        fail_msg("'%s' was expected to say '%s'", e.text, why);
}

static void test_refusals(void **state)
{
    (void)state;
    struct scene s;
    struct parameters set;
    struct error e = {0};
    open_scene(&s, &SQUARE, &(struct change){"", 0});
    refuse(&s.x, "rot_w", "no parameter 'rot_w'");
    refuse(&s.x, "rot,,cell", "no parameter ''");
    refuse(&s.x, "rot,rot_x", "twice");
    refuse(&s.x, "panel.1.tilt_f", "no panel 1");
    refuse(&s.x, "panel.99999999999.tilt_f", "no panel");
    refuse(&s.x, "fudge", "square");
    s.x.panels[0].curved = true;
    refuse(&s.x, "distance", "curved");
    s.x.panels[0].curved = false;
    s.x.crystals[0].shape = SHAPE_TOPHAT;
    refuse(&s.x, "rot", "gauss");
    s.x.crystals[0].shape = SHAPE_SQUARE;
    s.x.physics = PHYSICS_FAITHFUL;
    refuse(&s.x, "rot", "faithful");
    s.x.physics = PHYSICS_PHYSICAL;
    assert_int_equal(parameters_parse("share.2", &s.x, &set, &e), STATUS_OK);
    const struct derive_request q = {.set = &set, .npixels = PIXELS, .planes = planes};
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "no lattice 2"));
    assert_int_equal(parameters_parse("mosaic", &s.x, &set, &e), STATUS_OK);
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_OK);
    s.recipe.lattices[1].ndomains = 1;
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_INPUT);
    assert_int_equal(parameters_parse("dispersion", &s.x, &set, &e), STATUS_OK);
    s.x.beam.nsources = 1;
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_INPUT);
    close_scene(&s);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_sincg),
        cmocka_unit_test(test_identities),   cmocka_unit_test(test_sums),
        cmocka_unit_test(test_square),       cmocka_unit_test(test_each),
        cmocka_unit_test(test_point_pixels), cmocka_unit_test(test_smooth_shapes),
        cmocka_unit_test(test_interpolated), cmocka_unit_test(test_tied_cell),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
