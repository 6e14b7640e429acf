/* Experiments and frames as messages: round trips, corrupt messages, and experiments that are
 * refused.  wire_frame.c has what is refused in frames. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "wire_attack.h"
#include "wire_random.h"

/* Two messages hold the same bytes. */
static void assert_same(const struct message *a, const struct message *b)
{
    assert_int_equal(a->nparts, b->nparts);
    for (size_t i = 1; i < a->nparts; i++) {
        assert_int_equal(a->parts[i].size, b->parts[i].size);
        assert_memory_equal(a->parts[i].data, b->parts[i].data, a->parts[i].size);
    }
}

static void experiments_survive(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct experiment x, y;
        struct message a = {0}, b = {0};
        struct error e = {0};
        random_experiment(&x);
        assert_int_equal(codec_experiment_encode(&x, &a, &e), 0);
        if (codec_experiment_decode(&y, &a, &e))
            fail_msg("%s", e.text);
        assert_int_equal(codec_experiment_encode(&y, &b, &e), 0);
        assert_same(&a, &b);
        assert_int_equal(y.npanels, x.npanels);
        assert_int_equal(y.ncrystals, x.ncrystals);
        assert_memory_equal(y.panels[0].fast, x.panels[0].fast, sizeof x.panels[0].fast);
        assert_string_equal(y.lineage, x.lineage);
        message_free(&a);
        message_free(&b);
        experiment_free(&x);
        experiment_free(&y);
    }
}

static void panels_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct experiment x;
        struct error e = {0};
        random_experiment(&x);
        assert_int_equal(codec_check_panels(&x, &e), STATUS_OK);
        struct panel *p = &x.panels[x.npanels - 1];
        p->first_pixel += i == 0;
        p->fast_pixels = i == 1 ? 0 : p->fast_pixels;
        p->roi.slow_max = i == 2 ? p->slow_pixels : p->roi.slow_max;
        p->grid_fast = i == 3 ? -1 : p->grid_fast;
        assert_int_equal(codec_check_panels(&x, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "the experiment is corrupt: "));
        experiment_free(&x);
    }
}

/* Gives *x true panels, 1 mm away from its panels. */
static void misalign(struct experiment *x)
{
    x->is_misaligned = true;
    x->ntrue_panels = x->npanels;
    x->true_panels = mem_copy(x->panels, x->npanels, sizeof *x->panels);
    for (size_t i = 0; i < x->npanels; i++) {
        struct panel *p = &x->true_panels[i];
        x->panels[i].curved = false;
        p->close_distance_m = fabs(p->close_distance_m) + 0.1;
        p->origin_m[0] += 1e-3;
        p->layers++;
        p->mask = NULL;
    }
}

static void true_panels_survive(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct experiment x, y, view;
        struct message a = {0};
        struct error e = {0};
        random_experiment(&x);
        misalign(&x);
        assert_int_equal(codec_experiment_encode(&x, &a, &e), 0);
        if (codec_experiment_decode(&y, &a, &e))
            fail_msg("%s", e.text);
        assert_true(y.is_misaligned && y.ntrue_panels == y.npanels);
        experiment_view_true(&view, &y);
        for (size_t k = 0; k < y.npanels; k++) {
            assert_true(y.panels[k].origin_m[0] == x.panels[k].origin_m[0]);
            assert_true(view.panels[k].origin_m[0] == x.true_panels[k].origin_m[0]);
            assert_int_equal(view.panels[k].layers, x.panels[k].layers + 1);
            assert_int_equal(view.panels[k].fast_pixels, x.panels[k].fast_pixels);
            assert_ptr_equal(view.panels[k].mask, y.panels[k].mask);
        }
        assert_false(view.is_misaligned);
        experiment_view_close(&view);
        message_free(&a);
        experiment_free(&x);
        experiment_free(&y);
    }
}

static void true_panels_that_contradict_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct experiment x, y;
        struct message a = {0};
        struct error e = {0};
        random_experiment(&x);
        misalign(&x);
        struct panel *p = &x.true_panels[x.npanels - 1];
        x.ntrue_panels -= i == 0;
        p->close_distance_m = i == 1 ? 0.0 : p->close_distance_m;
        p->layers = i == 2 ? -1 : p->layers;
        x.panels[0].curved = i == 3;
        x.ntrue_panels = i == 4 ? 0 : x.ntrue_panels;
        assert_int_equal(codec_experiment_encode(&x, &a, &e), 0);
        assert_int_equal(codec_experiment_decode(&y, &a, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "the experiment is corrupt: "));
        message_free(&a);
        experiment_free(&x);
        experiment_free(&y);
    }
}

/* Makes the beam of *x one of electrons. */
static void use_electrons(struct experiment *x)
{
    x->has_probe = true;
    x->probe = PROBE_ELECTRON;
    x->physics = PHYSICS_PHYSICAL;
    x->beam.no_polarization = true;
    x->beam.harmonic_share = 0.0;
    x->beam.adds_energy = false;
    x->water_m = 0.0;
}

static void a_probe_survives(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct experiment x, y;
        struct message a = {0};
        struct error e = {0};
        random_experiment(&x);
        if (i % 2)
            use_electrons(&x);
        assert_int_equal(codec_experiment_encode(&x, &a, &e), 0);
        if (codec_experiment_decode(&y, &a, &e))
            fail_msg("%s", e.text);
        assert_int_equal(y.has_probe, i % 2);
        assert_int_equal(y.probe, i % 2 ? PROBE_ELECTRON : PROBE_XRAY);
        message_free(&a);
        experiment_free(&x);
        experiment_free(&y);
    }
}

static void a_probe_that_contradicts_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct experiment x, y;
        struct message a = {0};
        struct error e = {0};
        random_experiment(&x);
        use_electrons(&x);
        x.beam.adds_energy = i == 5;
        x.probe = i == 0 ? PROBE_XRAY : x.probe;
        x.physics = i == 1 ? PHYSICS_FAITHFUL : x.physics;
        x.beam.no_polarization = i != 2;
        x.beam.harmonic_share = i == 3 ? 0.01 : 0.0;
        x.water_m = i == 4 ? 1e-6 : 0.0;
        assert_int_equal(codec_experiment_encode(&x, &a, &e), 0);
        assert_int_equal(codec_experiment_decode(&y, &a, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "the experiment is corrupt: its beam of "));
        message_free(&a);
        experiment_free(&x);
        experiment_free(&y);
    }
}

static void frames_survive(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct experiment x;
        struct frame f, g;
        struct message a = {0}, b = {0};
        struct error e = {0};
        random_experiment(&x);
        const struct codec_expected expected = codec_expect(&x);
        random_frame(&f, &x, i % 2);
        const uint64_t id = f.recipe.id;
        const void *pixels = f.image.pixels;
        assert_int_equal(codec_frame_encode(&f, x.lineage, &a, &e), 0);
        assert_null(f.image.pixels);
        if (codec_frame_decode(&g, &expected, &a, &e))
            fail_msg("%s", e.text);
        assert_true(g.recipe.id == id && g.image.pixels == pixels);
        assert_int_equal(codec_frame_encode(&g, x.lineage, &b, &e), 0);
        assert_int_equal(a.nparts, b.nparts);
        for (size_t k = 1; k < a.nparts; k++) {
            assert_int_equal(a.parts[k].size, b.parts[k].size);
            if (k != 2)  // the pixels are in b
                assert_memory_equal(a.parts[k].data, b.parts[k].data, a.parts[k].size);
        }
        message_free(&a);
        message_free(&b);
        experiment_free(&x);
    }
}

/* Every member of the structs is in a table: a struct of random bytes in which
 * one is forgotten would come back with a zero there. */
static void nothing_is_forgotten(void **state)
{
    (void)state;
    /* static: padding is zero, so that whole structs can be compared */
    static struct panel panel = {.fast_pixels = 2,
                                 .slow_pixels = 3,
                                 .layers = 4,
                                 .roi = {0, 1, 1, 2},
                                 .curved = true,
                                 .point_pixel = true,
                                 .thickness_m = 2,
                                 .layer_m = 3,
                                 .absorption_1_m = 4,
                                 .harmonic_absorption_1_m = 17,
                                 .beam_fast_m = 5,
                                 .beam_slow_m = 6,
                                 .close_fast_m = 7,
                                 .close_slow_m = 8,
                                 .beam_x_mm = 9,
                                 .beam_y_mm = 10,
                                 .twotheta_rad = 11,
                                 .grid_fast = 12,
                                 .grid_slow = 13,
                                 .grid_m = {14, 15, 16}};
    fill(&panel.pixel_m,
         (offsetof(struct panel, curved) - offsetof(struct panel, pixel_m)) / sizeof(double));
    static struct crystal crystal = {.name = "n",
                                     .cell_A = {1, 2, 3},
                                     .cell_rad = {1, 1, 2},
                                     .has_cell = true,
                                     .reciprocal_A = {1, 2, 3, 4, 5, 6, 7, 8, 9},
                                     .cells = {1, 2, 3},
                                     .has_size = true,
                                     .size_m = {4, 5, 6},
                                     .has_blocks = true,
                                     .blocks = 9e7,
                                     .shape = SHAPE_GAUSS,
                                     .fudge = 2,
                                     .interpolate = true,
                                     .table.default_F = 3};
    static struct experiment a = {.physics = PHYSICS_FAITHFUL,
                                  .convention = CONVENTION_XDS,
                                  .spindle = {1, 0, 0},
                                  .dmin_m = 1,
                                  .water_m = 2,
                                  .sampling = {3, true, true, true, false},
                                  .beam = {{1, 2, 3},
                                           {4, 5, 6},
                                           7,
                                           true,
                                           8,
                                           9,
                                           true,
                                           0.25,
                                           0.5,
                                           3,
                                           false,
                                           10,
                                           true,
                                           11,
                                           0,
                                           NULL},
                                  .npanels = 1,
                                  .panels = &panel,
                                  .ncrystals = 1,
                                  .crystals = &crystal,
                                  .adc_offset = 4,
                                  .gain = 5,
                                  .saturation = 6,
                                  .counts_photons = true,
                                  .gain_switches = true,
                                  .lineage = "0123456789abcdef"},
                             b;
    struct message m = {0};
    assert_int_equal(codec_experiment_encode(&a, &m, NULL), 0);
    assert_int_equal(codec_experiment_decode(&b, &m, NULL), 0);
    assert_memory_equal(b.panels, &panel, sizeof panel);
    assert_memory_equal(b.crystals, &crystal, sizeof crystal);
    struct panel *panels = b.panels;
    struct crystal *crystals = b.crystals;
    b.panels = a.panels;
    b.crystals = a.crystals;
    assert_memory_equal(&b, &a, sizeof a);
    mem_free(panels);
    mem_free(crystals);
    message_free(&m);
}

/* The most panels that bragg-geometry makes, each with a mask, fit into a message. */
static void a_thousand_panels_fit(void **state)
{
    (void)state;
    enum { PANELS = 1000 };
    static struct panel panels[PANELS];
    static uint8_t mask[4] = {1, 0, 0, 1};
    for (int i = 0; i < PANELS; i++)
        panels[i] = (struct panel){.fast_pixels = 2,
                                   .slow_pixels = 2,
                                   .first_pixel = 4 * (int64_t)i,
                                   .grid_fast = INT32_MAX - 2 - i,
                                   .roi = {0, 1, 0, 1},
                                   .mask = mask};
    struct experiment a = {.npanels = PANELS, .panels = panels}, b;
    struct message m = {0};
    struct error e = {0};
    if (codec_experiment_encode(&a, &m, &e) || codec_experiment_decode(&b, &m, &e))
        fail_msg("%s", e.text);
    assert_int_equal(b.npanels, PANELS);
    assert_int_equal(b.panels[PANELS - 1].grid_fast, INT32_MAX - 1 - PANELS);
    assert_memory_equal(b.panels[PANELS - 1].mask, mask, sizeof mask);
    experiment_free(&b);
    message_free(&m);
    panels[7].grid_slow = INT32_MAX;
    assert_int_equal(codec_experiment_encode(&a, &m, &e), STATUS_OK);
    assert_int_equal(codec_experiment_decode(&b, &m, &e), STATUS_INPUT);
    experiment_free(&b);
    message_free(&m);
}

static void mutations_do_not_crash(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct experiment x;
        struct frame f;
        struct message m = {0};
        random_experiment(&x);
        const struct codec_expected expected = codec_expect(&x);
        assert_int_equal(codec_experiment_encode(&x, &m, NULL), 0);
        seal(&m, MESSAGE_EXPERIMENT);
        assert_true(receive(&m, &expected));
        attack(&m, &expected);
        message_free(&m);
        random_frame(&f, &x, i % 2);
        assert_int_equal(codec_frame_encode(&f, x.lineage, &m, NULL), 0);
        seal(&m, MESSAGE_FRAME);
        struct message copy = copy_of(&m);
        assert_true(receive(&copy, &expected));
        message_free(&copy);
        attack(&m, &expected);
        message_free(&m);
        experiment_free(&x);
    }
}

static void bad_numbers_are_named(void **state)
{
    (void)state;
    struct experiment x;
    struct message m = {0};
    struct error e = {0};
    random_experiment(&x);
    x.panels[0].distance_m = NAN;
    assert_int_equal(codec_experiment_encode(&x, &m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "distance_m"));
    message_free(&m);
    x.panels[0].distance_m = 1;
    x.panels[0].roi.fast_max = x.panels[0].fast_pixels;
    struct experiment y;
    assert_int_equal(codec_experiment_encode(&x, &m, &e), 0);
    assert_int_equal(codec_experiment_decode(&y, &m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "region of interest"));
    experiment_free(&y);
    message_free(&m);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiments_survive),
        cmocka_unit_test(panels_that_do_not_fit_are_refused),
        cmocka_unit_test(true_panels_survive),
        cmocka_unit_test(true_panels_that_contradict_are_refused),
        cmocka_unit_test(a_probe_survives),
        cmocka_unit_test(a_probe_that_contradicts_is_refused),
        cmocka_unit_test(frames_survive),
        cmocka_unit_test(nothing_is_forgotten),
        cmocka_unit_test(a_thousand_panels_fit),
        cmocka_unit_test(mutations_do_not_crash),
        cmocka_unit_test(bad_numbers_are_named),
    };
    return unit_run(tests);
}
