/* Images of a smeared sensor, their reflections and derivatives, compared with those of 64 layers.
 * The CUDA engine has the bytes of the CPU engine.  Some experiments are refused.
 * smear_kernel.c verifies the kernel. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>

#include "base/vec.h"
#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "engine_case.h"
#include "engine_run.h"
#include "near.h"
#include "smear_panel.h"

enum { OVERSAMPLE = 5, LAYERS = 64, SIDE = 40, NEAR = 5 };

/* ---- images --------------------------------------------------------------------------------- */

/* Name of a scene whose mosaic spread is in closed form. */
#define CLOSED "closed form"

static const struct engine_case scenes[] = {
    {.name = "spots of 4 pixels", .twotheta_deg = 40},
    {.name = "about the beam"},
    {.name = "tilted two ways", .twotheta_deg = -20, .tilt_deg = {20, 15, 30}},
    {.name = "Gaussian spots", .twotheta_deg = 40, .shape = SHAPE_GAUSS, .fudge = 0.5},
    {.name = "round crystals, two panels", .twotheta_deg = 30, .shape = SHAPE_ROUND, .panels = 2},
    {.name = "point pixels", .twotheta_deg = 40, .point_pixel = true},
    {.name = "divergent beam, structure factors",
     .twotheta_deg = 25,
     .divergence = 2,
     .table = TABLE_BOX,
     .shape = SHAPE_GAUSS,
     .fudge = 0.5},
    {.name = CLOSED, .twotheta_deg = 40, .shape = SHAPE_GAUSS, .fudge = 0.5},
};

/* A scene with common sizes, in layers or smeared. */
static struct engine_case case_of(const struct engine_case *scene, bool smears)
{
    struct engine_case c = *scene;
    c.pixels = SIDE;
    c.pixel_mm = 0.1;
    c.oversample = OVERSAMPLE;
    c.mosaic_deg = 1.0;
    c.domains = 6;
    c.each = true;
    for (int i = 0; i < 3; i++)
        c.cells[i] = 10.0;
    c.layers = smears ? 0 : LAYERS;
    c.smears = smears;
    return c;
}

static void build(const struct engine_case *scene, bool smears, struct experiment *x,
                  struct recipe *r)
{
    struct error e = {0};
    struct engine_case c = case_of(scene, smears);
    const bool closed = !strcmp(scene->name, CLOSED);
    if (closed)
        c.mosaic_deg = c.domains = 0;
    if (case_build(&c, x, r, &e))
        fail_msg("%s: %s", scene->name, e.text);
    x->crystals[0].has_ensemble = closed;
    for (int i = 0; i < 3; i++)
        x->crystals[0].mosaic_rms_rad[i] = closed ? 0.01 : 0.0;
}

static float *image_of(const struct engine_case *scene, bool smears, const struct engine *engine)
{
    struct experiment x;
    struct recipe r;
    build(scene, smears, &x, &r);
    float *image = run_engine(engine, &x, &r, NULL, 2);
    recipe_free(&r);
    experiment_free(&x);
    return image;
}

/* The brightest pixel around a pixel. */
static double brightest(const float *image, int fast, int slow)
{
    double most = 0.0;
    for (int s = slow - NEAR; s <= slow + NEAR; s++)
        for (int f = fast - NEAR; f <= fast + NEAR; f++)
            if (f >= 0 && f < SIDE && s >= 0 && s < SIDE)
                most = fmax(most, (double)image[s * SIDE + f]);
    return most;
}

/* Sums of a panel: photons, and photons times places. */
struct sums {
    double photons, fast, slow;
};

static struct sums sums_of(const float *image)
{
    struct sums s = {0};
    for (int i = 0; i < SIDE * SIDE; i++) {
        s.photons += (double)image[i];
        s.fast += (double)image[i] * (i % SIDE);
        s.slow += (double)image[i] * (double)(i / SIDE);
    }
    return s;
}

static void check_panel(const char *name, const float *smeared, const float *layers)
{
    const struct sums a = sums_of(smeared), b = sums_of(layers);
    double worst = 0.0, most = 0.0;
    for (int i = 0; i < SIDE * SIDE; i++)
        most = fmax(most, (double)layers[i]);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double around = fmax(brightest(layers, i % SIDE, i / SIDE), 1e-3 * most);
        worst = fmax(worst, fabs((double)smeared[i] - (double)layers[i]) / around);
    }
    const double fast = a.fast / a.photons - b.fast / b.photons;
    const double slow = a.slow / a.photons - b.slow / b.photons;
    print_message("# %-36s worst %.4f, sum 1%+.1e, place %+.4f %+.4f\n", name, worst,
                  a.photons / b.photons - 1.0, fast, slow);
    assert_true(most > 0.0);
    assert_true(worst <= 0.03);
    assert_near(a.photons / b.photons, 1.0, 1e-4);
    assert_true(hypot(fast, slow) <= 0.01);
}

static void the_smear_is_as_right_as_64_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        float *layers = image_of(&scenes[i], false, &engine_cpu);
        float *smeared = image_of(&scenes[i], true, &engine_cpu);
        check_panel(scenes[i].name, smeared, layers);
        if (scenes[i].panels == 2)
            check_panel("its second panel", smeared + SIDE * SIDE, layers + SIDE * SIDE);
        mem_free(layers);
        mem_free(smeared);
    }
}

static void the_reference_engine_smears_alike(void **state)
{
    (void)state;
    float *a = image_of(&scenes[0], true, &engine_reference);
    float *b = image_of(&scenes[0], true, &engine_cpu);
    double most = 0.0;
    for (int i = 0; i < SIDE * SIDE; i++)
        most = fmax(most, (double)a[i]);
    for (int i = 0; i < SIDE * SIDE; i++)
        assert_true(fabs((double)a[i] - (double)b[i]) <= 1e-5 * most);
    mem_free(a);
    mem_free(b);
}

/* Photons that meet the plane of a panel outside the panel can stop in the panel. */
static void a_part_of_a_panel_has_the_pixels_of_the_whole(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    build(&scenes[2], true, &x, &r);
    float *whole = run_engine(&engine_cpu, &x, &r, NULL, 1);
    x.panels[0].roi = (struct roi){17, 36, 20, 30};
    float *part = run_engine(&engine_cpu, &x, &r, NULL, 2);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int fast = i % SIDE, slow = i / SIDE;
        const bool inside = fast >= 17 && fast <= 36 && slow >= 20 && slow <= 30;
        assert_true(part[i] == (inside ? whole[i] : 0.0f));
    }
    mem_free(part);
    x.panels[0].roi = (struct roi){0, 65535, 0, 65535};
    x.panels[0].mask = case_mask(SIDE);
    part = run_engine(&engine_cpu, &x, &r, NULL, 2);
    for (int i = 0; i < SIDE * SIDE; i++)
        assert_true(part[i] == (x.panels[0].mask[i] ? whole[i] : 0.0f));
    mem_free(part);
    mem_free(whole);
    recipe_free(&r);
    experiment_free(&x);
}

/* Nodes are counted from the foot of the normal, not from the corner of a panel. */
static void an_image_does_not_depend_on_the_corner_of_the_plane(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct experiment x;
        struct recipe r;
        build(&scenes[i], true, &x, &r);
        float *one = run_engine(&engine_cpu, &x, &r, NULL, 2);
        struct panel *p = &x.panels[0];
        if (p->grid_fast == 0 && p->grid_slow == 0)
            vec_copy(p->grid_m, p->origin_m);
        *p = described(p, (int64_t[2]){p->grid_fast + 37, p->grid_slow + 11}, 0.0);
        float *other = run_engine(&engine_cpu, &x, &r, NULL, 2);
        double most = 0.0, worst = 0.0;
        for (int k = 0; k < SIDE * SIDE; k++) {
            most = fmax(most, (double)one[k]);
            worst = fmax(worst, fabs((double)other[k] - (double)one[k]));
        }
        print_message("# %-36s worst %.1e of %.1e\n", scenes[i].name, worst, most);
        assert_true(most > 0.0 && worst <= 1e-6 * most);
        mem_free(one);
        mem_free(other);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* ---- tables of reflections ------------------------------------------------------------------ */

static void table_of(const struct engine *engine, const struct engine_case *scene, bool smears,
                     struct reflection_table *t, double *photons)
{
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    struct error e = {0};
    const struct engine_options options = {.threads = 2, .reflections = true};
    const struct reflections_wanted all = {.labels = true};
    build(scene, smears, &x, &r);
    x.beam.fluence_ph_m2 *= 1e6;
    const int64_t count = experiment_pixels(&x);
    float *image = mem_array((size_t)count, sizeof *image);
    if (engine->create(&plan, &x, &options, &e) || engine->run(plan, &r, image, NULL, &e) ||
        engine->reflections(plan, &r, image, &all, t, &e))
        fail_msg("%s: %s", scene->name, e.text);
    *photons = 0.0;
    for (int64_t i = 0; i < count; i++)
        *photons += (double)image[i];
    engine->destroy(&plan);
    mem_free(image);
    recipe_free(&r);
    experiment_free(&x);
}

static const struct reflection_row *row_of(const struct reflection_table *t,
                                           const struct reflection_row *like)
{
    for (size_t i = 0; i < t->count; i++)
        if (!memcmp(t->rows[i].hkl, like->hkl, sizeof like->hkl))
            return &t->rows[i];
    return NULL;
}

static void reflections_are_as_right_as_64_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const struct engine_case scene = scenes[i];
        struct reflection_table smeared = {0}, layers = {0};
        double sums[2], total = 0.0, most = 0.0, worst = 0.0, place = 0.0;
        size_t compared = 0;
        if (scene.point_pixel)  // photons of unit steradian: their number is another one
            continue;
        table_of(&engine_cpu, &scene, true, &smeared, &sums[0]);
        table_of(&engine_cpu, &scene, false, &layers, &sums[1]);
        for (size_t k = 0; k < smeared.count; k++)
            total += smeared.rows[k].photons;
        assert_near((total + smeared.rest_photons) / sums[0], 1.0, 1e-4);
        for (size_t k = 0; k < layers.count; k++)
            most = fmax(most, layers.rows[k].photons);
        for (size_t k = 0; k < layers.count; k++) {
            const struct reflection_row *a = &layers.rows[k], *b = row_of(&smeared, a);
            if (a->photons < 0.02 * most)
                continue;
            assert_non_null(b);
            compared++;
            worst = fmax(worst, fabs(b->photons / a->photons - 1.0));
            place = fmax(place, hypot(b->fast - a->fast, b->slow - a->slow));
            assert_near((double)b->peak / (double)a->peak, 1.0, 5e-3);
            assert_true(abs(b->pixels - a->pixels) <= 1);
            assert_int_equal(b->panel, a->panel);
        }
        print_message("# %-36s %zu reflections, %.4f of the photons, place %.4f\n", scene.name,
                      compared, worst, place);
        assert_true(compared > 1 && worst <= 1e-3 && place <= 2e-3);
        reflection_table_free(&smeared);
        reflection_table_free(&layers);
    }
}

/* Compares the rows above 10 photons. */
static void check_rows(const char *name, const struct reflection_table *a,
                       const struct reflection_table *b)
{
    size_t compared = 0;
    double worst = 0.0;
    for (size_t k = 0; k < b->count; k++) {
        const struct reflection_row *is = row_of(a, &b->rows[k]), *want = &b->rows[k];
        if (want->photons <= 10.0)
            continue;
        assert_non_null(is);
        compared++;
        worst = fmax(worst, fabs(is->photons / want->photons - 1.0));
        assert_true(hypot(is->fast - want->fast, is->slow - want->slow) < 1e-3);
        assert_int_equal(is->panel, want->panel);
    }
    print_message("# %-36s %zu reflections, worst %.1e\n", name, compared, worst);
    assert_true(compared > 1 && worst <= 1e-4);
}

static void all_engines_have_the_same_reflections(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct reflection_table tables[3] = {{0}, {0}, {0}};
        double photons;
        table_of(&engine_cpu, &scenes[i], true, &tables[0], &photons);
        table_of(&engine_cuda_host, &scenes[i], true, &tables[1], &photons);
        check_rows(scenes[i].name, &tables[1], &tables[0]);
        if (strcmp(scenes[i].name, CLOSED) != 0) {
            table_of(&engine_reference, &scenes[i], true, &tables[2], &photons);
            check_rows("... and by the reference", &tables[0], &tables[2]);
        }
        for (int k = 0; k < 3; k++)
            reflection_table_free(&tables[k]);
    }
}

/* ---- derivatives ---------------------------------------------------------------------------- */

#define PLACES "distance,beam_x,beam_y,panel.0.shift_s,panel.0.shift_o"
#define NAMES                                                                                   \
    "rot,cell_a,cell_c,scale,wavelength,polarization," PLACES ",panel.0.tilt_f,panel.0.tilt_s," \
    "panel.0.tilt_o,thickness,absorption"
#define CLOSED_NAMES "rot,cell_a,cell_c,scale," PLACES

/* Returns derivative images by these parameters, and in sums->gradient those of a sum. */
static float *planes_of(const struct engine *engine, const struct engine_case *scene, bool smears,
                        struct parameters *set, struct derive_sums *sums)
{
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    struct error e = {0};
    build(scene, smears, &x, &r);
    const size_t count = (size_t)experiment_pixels(&x);
    if (parameters_parse(x.crystals[0].has_ensemble ? CLOSED_NAMES : NAMES, &x, set, &e))
        fail_msg("%s: %s", scene->name, e.text);
    float *planes = mem_array(count * set->count, sizeof *planes);
    const struct derive_data expected = {.scale = 1.0, .variance = 1e-3};
    sums->fisher = mem_array(set->count * set->count, sizeof *sums->fisher);
    sums->gradient = mem_array(set->count, sizeof *sums->gradient);
    const struct derive_request request = {
        .set = set, .npixels = count, .planes = planes, .data = &expected, .sums = sums};
    if (engine->create(&plan, &x, &(struct engine_options){.threads = 2}, &e) ||
        engine->derive(plan, &r, &request, &e))
        fail_msg("%s: %s", scene->name, e.text);
    engine->destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
    return planes;
}

static void derivatives_are_as_right_as_64_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct parameters set;
        struct derive_sums sums[2] = {{0}, {0}};
        float *smeared = planes_of(&engine_cpu, &scenes[i], true, &set, &sums[0]);
        float *layers = planes_of(&engine_cpu, &scenes[i], false, &set, &sums[1]);
        for (size_t k = 0; k < set.count; k++) {
            const float *a = smeared + k * SIDE * SIDE, *b = layers + k * SIDE * SIDE;
            const double information =
                sums[0].fisher[k * (set.count + 1)] / sums[1].fisher[k * (set.count + 1)];
            double most = 0.0, worst = 0.0;
            if (scenes[i].panels == 2)
                break;
            for (int at = 0; at < SIDE * SIDE; at++) {
                most = fmax(most, fabs((double)b[at]));
                worst = fmax(worst, fabs((double)a[at] - (double)b[at]));
            }
            print_message("# %-36s by %-12s worst %.4f, information %.5f\n", scenes[i].name,
                          set.items[k].name, worst / most, information);
            assert_true(most > 0.0 && worst <= 0.03 * most);
            /* next to the beam, tilts change little but the smear */
            assert_near(information, 1.0, set.items[k].kind == PARAMETER_TILT ? 0.02 : 0.01);
        }
        for (int way = 0; way < 2; way++) {
            mem_free(sums[way].fisher);
            mem_free(sums[way].gradient);
        }
        mem_free(smeared);
        mem_free(layers);
    }
}

/* The derivatives by parameters of the detector are those of differences of smeared images. */
static void derivatives_by_the_detector_are_differences(void **state)
{
    (void)state;
    static const char *const names[] = {"distance", "beam_x", "panel.0.shift_s", "thickness",
                                        "absorption"};
    for (size_t at = 0; at < 2 * sizeof names / sizeof *names; at++) {
        const size_t i = at / 2;
        struct experiment x;
        struct recipe r;
        struct parameters set;
        struct plan *plan;
        struct error e = {0};
        float *images[2];
        build(&scenes[at % 2 ? 2 : 4], true, &x, &r);  // one panel, two panels
        const size_t count = (size_t)experiment_pixels(&x);
        assert_int_equal(parameters_parse(names[i], &x, &set, &e), STATUS_OK);
        float *plane = mem_array(count, sizeof *plane);
        const struct derive_request request = {.set = &set, .npixels = count, .planes = plane};
        assert_int_equal(engine_cpu.create(&plan, &x, &(struct engine_options){.threads = 2}, &e),
                         STATUS_OK);
        assert_int_equal(engine_cpu.derive(plan, &r, &request, &e), STATUS_OK);
        engine_cpu.destroy(&plan);
        const double sensor[2] = {x.panels[0].thickness_m, x.panels[0].absorption_1_m};
        const double step = i < 3 ? 5e-3 : 2.0;  // mm or um
        for (int way = 0; way < 2; way++) {
            const double by = way ? step : -step, twice = way ? 2.0 * step : -step;
            if (i < 3)  // the second step begins where the first one ended
                parameter_step_take(&set, way ? &twice : &by, &x, &r);
            for (size_t k = 0; k < x.npanels && i == 3; k++)
                x.panels[k].thickness_m = sensor[0] + by * 1e-6;
            for (size_t k = 0; k < x.npanels && i == 4; k++)
                x.panels[k].absorption_1_m = 1.0 / (1.0 / sensor[1] + by * 1e-6);
            images[way] = run_engine(&engine_cpu, &x, &r, NULL, 2);
        }
        double most = 0.0, worst = 0.0;
        for (size_t k = 0; k < count; k++) {
            const double by = ((double)images[1][k] - (double)images[0][k]) / (2.0 * step);
            most = fmax(most, fabs(by));
            worst = fmax(worst, fabs(by - (double)plane[k]));
        }
        print_message("# by %-20s worst %.5f\n", names[i], worst / most);
        assert_true(most > 0.0 && worst <= 0.01 * most);
        for (int way = 0; way < 2; way++)
            mem_free(images[way]);
        mem_free(plane);
        recipe_free(&r);
        experiment_free(&x);
    }
}

static void all_engines_have_the_same_derivatives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const struct engine *const others[] = {&engine_cuda_host, &engine_reference};
        if (!strcmp(scenes[i].name, CLOSED))
            continue;
        for (size_t n = 0; n < 2; n++) {
            struct parameters set;
            struct derive_sums sums[2] = {{0}, {0}};
            float *cpu = planes_of(&engine_cpu, &scenes[i], true, &set, &sums[0]);
            float *other = planes_of(others[n], &scenes[i], true, &set, &sums[1]);
            double worst = 0.0;
            for (size_t k = 0; k < set.count; k++) {
                double most = 0.0, off = 0.0;
                for (size_t at = k * SIDE * SIDE; at < (k + 1) * SIDE * SIDE; at++) {
                    most = fmax(most, fabs((double)cpu[at]));
                    off = fmax(off, fabs((double)cpu[at] - (double)other[at]));
                }
                assert_true(most > 0.0);
                worst = fmax(worst, off / most);
                assert_near(sums[1].fisher[k * (set.count + 1)],
                            sums[0].fisher[k * (set.count + 1)],
                            1e-4 * sums[0].fisher[k * (set.count + 1)]);
            }
            print_message("# %-36s %-9s worst %.1e\n", scenes[i].name, others[n]->name, worst);
            assert_true(worst <= 1e-4);
            for (int way = 0; way < 2; way++) {
                mem_free(sums[way].fisher);
                mem_free(sums[way].gradient);
            }
            mem_free(cpu);
            mem_free(other);
        }
    }
}

/* ---- the CUDA engine ------------------------------------------------------------------------- */

/* Compares two frames of one plan of the CUDA engine, on this CPU, with those of the CPU engine. */
static void check_gpu(const char *name, const struct experiment *x, const struct recipe *r,
                      bool same_bytes)
{
    const size_t count = (size_t)experiment_pixels(x);
    const struct engine_options options = {.threads = 2};
    struct recipe moved = *r;
    struct plan *plan;
    struct error e = {0};
    float *gpu = mem_array(count, sizeof *gpu);
    if (engine_cuda_host.create(&plan, x, &options, &e))
        fail_msg("%s: %s", name, e.text);
    for (int i = 0; i < 4; i++) {  // the second frame has another place of the detector
        moved.has_shift = i == 1 || i == 2;
        moved.shift_m[0] = 3.3e-4;
        moved.shift_m[2] = -1e-4;
        float *cpu = run_engine(&engine_cpu, x, &moved, NULL, 1);
        memset(gpu, 0xff, count * sizeof *gpu);
        if (engine_cuda_host.run(plan, &moved, gpu, NULL, &e))
            fail_msg("%s: %s", name, e.text);
        double most = 0.0, worst = 0.0;
        for (size_t k = 0; k < count; k++) {
            most = fmax(most, (double)cpu[k]);
            worst = fmax(worst, fabs((double)gpu[k] - (double)cpu[k]));
        }
        print_message("# %-36s worst %.1e of %.1e\n", name, worst, most);
        assert_true(most > 0.0);
        assert_true(worst <= (same_bytes ? 0.0 : 2e-6 * most));
        mem_free(cpu);
    }
    engine_cuda_host.destroy(&plan);
    mem_free(gpu);
}

static void the_gpu_smears_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct experiment x;
        struct recipe r;
        build(&scenes[i], true, &x, &r);
        const bool square = scenes[i].shape == SHAPE_SQUARE;
        check_gpu(scenes[i].name, &x, &r, square);
        x.panels[0].roi = (struct roi){17, 36, 20, 30};
        x.panels[0].mask = case_mask(SIDE);
        check_gpu("a part of it", &x, &r, square);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* The GPU computes the pixels before the host knows whether the thin image is finite.  Nevertheless
 * the error is that of the CPU engine, each time. */
static void the_gpu_refuses_what_is_not_finite(void **state)
{
    (void)state;
    const struct engine_options options = {.threads = 2};
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    struct error cpu = {0}, gpu = {0};
    build(&scenes[0], true, &x, &r);
    const size_t count = (size_t)experiment_pixels(&x);
    float *pixels = mem_array(count, sizeof *pixels);
    const double fluence = x.beam.fluence_ph_m2;
    x.beam.fluence_ph_m2 = 1e80;
    assert_int_equal(engine_cpu.create(&plan, &x, &options, &cpu), STATUS_OK);
    assert_int_equal(engine_cpu.run(plan, &r, pixels, NULL, &cpu), STATUS_INPUT);
    engine_cpu.destroy(&plan);
    assert_int_equal(engine_cuda_host.create(&plan, &x, &options, &gpu), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        gpu = (struct error){0};
        assert_int_equal(engine_cuda_host.run(plan, &r, pixels, NULL, &gpu), STATUS_INPUT);
        assert_string_equal(gpu.text, cpu.text);
    }
    engine_cuda_host.destroy(&plan);
    x.beam.fluence_ph_m2 = fluence;
    check_gpu("a usual fluence", &x, &r, true);
    mem_free(pixels);
    recipe_free(&r);
    experiment_free(&x);
}

/* The sizes have cells of 1 to 32 pixels, and panels of several blocks and warps.  The kernels have
 * separate code for 3 x 3 subpixels, and for more than 64 x 64. */
static void the_gpu_sums_any_number_of_subpixels(void **state)
{
    (void)state;
    static const struct {
        int oversample, pixels;
        double pixel_mm;
    } sizes[] = {{1, 150, 0.1}, {2, 70, 0.1}, {3, 150, 0.05},
                 {4, 60, 0.1},  {64, 5, 0.8}, {66, 5, 0.8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct engine_case c = case_of(&scenes[0], true);
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        char name[32];
        c.oversample = sizes[i].oversample;
        c.pixels = sizes[i].pixels;
        c.pixel_mm = sizes[i].pixel_mm;
        (void)snprintf(name, sizeof name, "%d x %d subpixels", c.oversample, c.oversample);
        if (case_build(&c, &x, &r, &e))
            fail_msg("%s: %s", name, e.text);
        check_gpu(name, &x, &r, true);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* If GPU memory is short, the thin image is computed in several parts, or an error says so. */
static void a_small_gpu_smears_in_parts(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    int small = 0, enough = 0;
    build(&scenes[0], true, &x, &r);
    float *cpu = run_engine(&engine_cpu, &x, &r, NULL, 2), gpu[SIDE * SIDE];
    for (gpu_host_memory = 1 << 15; gpu_host_memory < 1 << 22; gpu_host_memory += 1 << 16) {
        const struct engine_options options = {.threads = 2};
        struct plan *plan;
        struct error e = {0};
        enum status s = engine_cuda_host.create(&plan, &x, &options, &e);
        for (int i = 0; i < 2 && !s; i++) {
            s = engine_cuda_host.run(plan, &r, gpu, NULL, &e);
            if (!s)
                assert_memory_equal(gpu, cpu, sizeof gpu);
        }
        assert_true(!s || strstr(e.text, "memory"));
        small += s != 0;
        enough += s == 0;
        engine_cuda_host.destroy(&plan);
    }
    gpu_host_memory = SIZE_MAX;
    print_message("# %d sizes too small, %d large enough\n", small, enough);
    assert_true(small > 0 && enough > 10);
    mem_free(cpu);
    recipe_free(&r);
    experiment_free(&x);
}

/* ---- layers of a smeared sensor -------------------------------------------------------------- */

/* A frame whose wavelengths the sensor absorbs differently has the bytes of the layers, if there
 * are any, and so have its derivatives.  A trace shows the layers. */
static void a_wide_band_is_computed_in_layers(void **state)
{
    (void)state;
    const struct engine *const engines[] = {&engine_cpu, &engine_reference, &engine_cuda_host};
    const struct engine_case scene = {.name = "a wide band", .twotheta_deg = 40};
    struct experiment x;
    struct recipe r;
    build(&scene, false, &x, &r);
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        float *images[4];
        for (int n = 0; n < 4; n++) {  // narrow and wide, in layers and smeared
            x.sampling.smears = n % 2;
            x.beam.sources[0].wavelength_m = x.beam.wavelength_m * (n < 2 ? 1.0 : 1.02);
            images[n] = run_engine(engines[i], &x, &r, NULL, 2);
        }
        assert_memory_not_equal(images[0], images[1], SIDE * SIDE * sizeof(float));
        assert_memory_equal(images[2], images[3], SIDE * SIDE * sizeof(float));
        struct plan *plan;
        struct error e = {0};
        struct parameters set;
        float planes[2][SIDE * SIDE];
        assert_int_equal(parameters_parse("distance", &x, &set, &e), STATUS_OK);
        for (int n = 0; n < 2; n++) {
            x.sampling.smears = n;
            const struct derive_request request = {
                .set = &set, .npixels = SIDE * SIDE, .planes = planes[n]};
            assert_int_equal(
                engines[i]->create(&plan, &x, &(struct engine_options){.threads = 2}, &e),
                STATUS_OK);
            assert_int_equal(engines[i]->derive(plan, &r, &request, &e), STATUS_OK);
            engines[i]->destroy(&plan);
        }
        assert_memory_equal(planes[0], planes[1], sizeof planes[0]);
        for (int n = 0; n < 4; n++)
            mem_free(images[n]);
    }
    recipe_free(&r);
    experiment_free(&x);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void refused(const struct engine_case *c, const char *text)
{
    struct experiment x;
    struct recipe r = {0};
    struct error e = {0};
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, text));
    recipe_free(&r);
    experiment_free(&x);
}

static void what_the_smear_cannot_do_is_refused(void **state)
{
    (void)state;
    refused(&(struct engine_case){.smears = true, .curved = true}, "--curved");
    refused(&(struct engine_case){.smears = true, .shape = SHAPE_TOPHAT}, "--shape=tophat");
    const struct engine *const engines[] = {&engine_cpu, &engine_reference, &engine_cuda_host};
    struct experiment x;
    struct recipe r;
    build(&scenes[0], true, &x, &r);
    for (int i = 0; i < 3; i++) {
        struct error e = {0};
        struct plan *plan;
        assert_int_equal(engines[i]->create(&plan, &x, &(struct engine_options){.threads = 1}, &e),
                         STATUS_OK);
        const struct pixel_trace trace = {.fast = 3, .slow = 3};
        assert_int_equal(engines[i]->trace(plan, &r, &trace, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "--trace-pixel does not support --sensor=smear"));
        x.beam.sources[0].wavelength_m *= 1.02;
        float pixel[SIDE * SIDE];
        assert_int_equal(engines[i]->run(plan, &r, pixel, NULL, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "absorbs each wavelength differently"));
        x.beam.sources[0].wavelength_m /= 1.02;
        engines[i]->destroy(&plan);
    }
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smear_is_as_right_as_64_layers),
        cmocka_unit_test(the_reference_engine_smears_alike),
        cmocka_unit_test(a_part_of_a_panel_has_the_pixels_of_the_whole),
        cmocka_unit_test(an_image_does_not_depend_on_the_corner_of_the_plane),
        cmocka_unit_test(reflections_are_as_right_as_64_layers),
        cmocka_unit_test(all_engines_have_the_same_reflections),
        cmocka_unit_test(derivatives_are_as_right_as_64_layers),
        cmocka_unit_test(derivatives_by_the_detector_are_differences),
        cmocka_unit_test(all_engines_have_the_same_derivatives),
        cmocka_unit_test(the_gpu_smears_alike),
        cmocka_unit_test(the_gpu_refuses_what_is_not_finite),
        cmocka_unit_test(the_gpu_sums_any_number_of_subpixels),
        cmocka_unit_test(a_small_gpu_smears_in_parts),
        cmocka_unit_test(a_wide_band_is_computed_in_layers),
        cmocka_unit_test(what_the_smear_cannot_do_is_refused),
    };
    return unit_run(tests);
}
