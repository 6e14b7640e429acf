/* Experiments and frames as messages: round trips, and what is refused. */
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

/* A random frame with reflections and planes, one that fits. */
static void draw_frame(struct experiment *x, struct frame *f, bool (*fits)(const struct frame *))
{
    *x = (struct experiment){0};
    *f = (struct frame){0};
    do {
        frame_free(f);
        experiment_free(x);
        random_experiment(x);
        random_frame(f, x, true);
    } while (!fits(f));
}

/* Whether a reader takes it; one that does not says of what it is.  Frees both. */
static void send_frame(struct experiment *x, struct frame *f, bool good, const char *what)
{
    const struct codec_expected expected = codec_expect(x);
    struct frame g;
    struct message m = {0};
    struct error e = {0};
    assert_int_equal(codec_frame_encode(f, x->lineage, &m, &e), STATUS_OK);
    assert_int_equal(codec_frame_decode(&g, &expected, &m, &e), good ? STATUS_OK : STATUS_INPUT);
    assert_true(good || strstr(e.text, what));
    frame_free(&g);
    message_free(&m);
    experiment_free(x);
}

static bool has_labels(const struct frame *f)
{
    return f->recipe.nlattices && f->reflections.nlabels;
}

static bool has_planes(const struct frame *f)
{
    return f->planes.count >= 3 && !f->planes.pixels.listed;
}

static bool has_listed_planes(const struct frame *f)
{
    return f->planes.count >= 3 && f->planes.pixels.count >= 3;
}

/* What rows, pixels and labels name must be there. */
static void reflections_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 11; wrong++) {
        struct experiment x;
        struct frame f;
        draw_frame(&x, &f, has_labels);
        struct reflection_table *t = &f.reflections;
        struct reflection_row *row = t->rows;
        switch (wrong) {
        case 1:
            row->lattice = (int32_t)f.recipe.nlattices;
            break;
        case 2:
            row->panel = -1;
            break;
        case 3:
            row->panel = (int32_t)x.npanels;
            break;
        case 4:
            row->pixels++;
            break;
        case 5:
            row->slow = NAN;
            break;
        case 6:
            row->background = INFINITY;
            break;
        case 7:
            t->pixels[t->npixels - 1] = (uint32_t)experiment_pixels(&x);
            break;
        case 8:
            t->labels[t->nlabels - 1] = (uint32_t)t->count + 1;
            break;
        case 9:
            row->wavelength_A = -1.0f;
            break;
        case 10:
            row->orders = -1;
            break;
        default:
            break;
        }
        send_frame(&x, &f, !wrong, "reflections");
    }
}

/* Sets the number that a message has for the size of a row, which has one byte. */
static void set_row_bytes(struct message *m, uint8_t bytes)
{
    static const char key[] = "\xa9row_bytes";
    char *map = m->parts[1].data;
    for (size_t i = 0; i + sizeof key <= m->parts[1].size; i++)
        if (memcmp(map + i, key, sizeof key - 1) == 0)
            map[i + sizeof key - 1] = (char)bytes;
}

/* Shortens each row of a message to what previous versions have. */
static void shorten_rows(struct message *m, const struct reflection_row *first, size_t count)
{
    for (size_t i = 2; i < m->nparts; i++) {
        char *rows = m->parts[i].data;
        if (m->parts[i].size != count * sizeof *first || memcmp(rows, first, sizeof *first) != 0)
            continue;
        for (size_t k = 0; k < count; k++)
            memmove(rows + k * REFLECTION_ROW_BEFORE, rows + k * sizeof *first,
                    REFLECTION_ROW_BEFORE);
        m->parts[i].size = count * REFLECTION_ROW_BEFORE;
    }
}

/* Rows of previous versions have no wavelengths and orders, and those of other sizes are refused.
 */
static void shorter_rows_are_read(void **state)
{
    (void)state;
    for (int size = 72; size <= 96; size += 8) {
        struct experiment x;
        struct frame f, g;
        struct message m = {0};
        struct error e = {0};
        draw_frame(&x, &f, has_labels);
        const struct codec_expected expected = codec_expect(&x);
        const size_t count = f.reflections.count;
        struct reflection_row *rows = mem_copy(f.reflections.rows, count, sizeof *rows);
        assert_int_equal(codec_frame_encode(&f, x.lineage, &m, &e), STATUS_OK);
        set_row_bytes(&m, (uint8_t)size);
        if (size == REFLECTION_ROW_BEFORE)
            shorten_rows(&m, rows, count);
        const bool good = size == REFLECTION_ROW_BEFORE || size == (int)sizeof *rows;
        assert_int_equal(codec_frame_decode(&g, &expected, &m, &e),
                         good ? STATUS_OK : STATUS_INPUT);
        for (size_t i = 0; i < count && good; i++) {
            if (size == REFLECTION_ROW_BEFORE) {
                rows[i].wavelength_A = 0.0f;
                rows[i].orders = 0;
            }
            assert_memory_equal(&g.reflections.rows[i], &rows[i], sizeof *rows);
        }
        mem_free(rows);
        frame_free(&g);
        message_free(&m);
        experiment_free(&x);
    }
}

/* Planes are of the image, and their names can be names of files. */
static void planes_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"rot_x", "", "../x", ".x", "a/b", "A", "a b", "share.1"};
    enum { NAMES = sizeof names / sizeof *names, SIZES = 3 };
    for (int wrong = 0; wrong < NAMES + SIZES; wrong++) {
        struct experiment x;
        struct frame f;
        draw_frame(&x, &f, has_planes);
        struct plane *p = &f.planes.items[1];
        if (wrong < NAMES)  // the first is fine but for its twin, the last is the third one's
            (void)snprintf(p->name, sizeof p->name, "%s", names[wrong]);
        else if (wrong == NAMES)
            p->count--;
        else if (wrong == NAMES + 1)
            f.planes.items[2].count = 0;
        send_frame(&x, &f, wrong == NAMES + SIZES - 1, "derivative images");
    }
}

/* Numbers of pixels ascend within the image, and all planes have finite values for each. */
static void lists_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char *const said[] = {NULL,     "ascend", "ascend",     "ascend",
                                       "finite", "finite", "their list", "ascend"};
    for (int wrong = 0; wrong < 8; wrong++) {
        struct experiment x;
        struct frame f;
        draw_frame(&x, &f, has_listed_planes);
        struct planes_pixels *l = &f.planes.pixels;
        uint32_t *last = &l->numbers[l->count - 1];
        float *value = &f.planes.items[2].values[l->count - 1];
        if (wrong == 1)
            *last = (uint32_t)f.image.count;
        if (wrong == 2)
            *last = last[-1];
        if (wrong == 3)
            *last = l->numbers[0];
        if (wrong == 4)
            *value = NAN;
        if (wrong == 5)
            *value = -INFINITY;
        if (wrong == 6)
            f.planes.items[1].count--;
        if (wrong == 7)
            *last = UINT32_MAX;
        send_frame(&x, &f, !wrong, said[wrong]);
    }
}

/* Listed pixels keep their values, the others are 0; planes of all pixels stay as they are. */
static void lists_expand(void **state)
{
    (void)state;
    struct planes p = {0};
    float whole[] = {1, 2, 3, 4, 5};
    for (int listed = 0; listed < 2; listed++) {
        assert_true(planes_reserve(&p, 2));
        p.pixels.listed = listed;
        p.pixels.count = listed ? 2 : 0;
        p.pixels.numbers = listed ? mem_copy((uint32_t[]){1, 4}, 2, sizeof(uint32_t)) : NULL;
        for (size_t k = 0; k < 2; k++) {
            p.items[k].count = listed ? 2 : 5;
            p.items[k].name[0] = (char)('a' + k);
            p.items[k].values = mem_copy(whole + (listed ? k : 0), p.items[k].count, sizeof *whole);
        }
        assert_null(planes_fault(&p, 5));
        planes_expand(&p, 5);
        assert_null(planes_fault(&p, 5));
        assert_false(p.pixels.listed);
        const float second[] = {0, 2, 0, 0, 3};
        assert_memory_equal(p.items[1].values, listed ? second : whole, sizeof whole);
        planes_free(&p);
    }
}

static bool is_fitted(const struct frame *f)
{
    return f->refined.count >= 2 && !f->reflections.present;  // its numbers are the last part
}

/* Fits whose numbers of parameters contradict each other. */
static void fits_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    static const char *const said[] = {NULL, "per-frame parameters", "numbers", "numbers"};
    for (int wrong = 0; wrong < 4; wrong++) {
        struct experiment x;
        struct frame f;
        draw_frame(&x, &f, is_fitted);
        if (wrong == 1)
            f.refined.local = f.refined.count + 1;
        struct message m = {0};
        struct frame g;
        struct error e = {0};
        const struct codec_expected expected = codec_expect(&x);
        assert_int_equal(codec_frame_encode(&f, x.lineage, &m, &e), STATUS_OK);
        if (wrong == 2)
            m.parts[m.nparts - 1].size -= sizeof(double);
        if (wrong == 3)
            m.parts[m.nparts - 1].size += sizeof(double);
        assert_int_equal(codec_frame_decode(&g, &expected, &m, &e),
                         wrong ? STATUS_INPUT : STATUS_OK);
        assert_true(!wrong || strstr(e.text, said[wrong]));
        frame_free(&g);
        message_free(&m);
        experiment_free(&x);
    }
}

static void what_stands_has_no_place(void **state)
{
    (void)state;
    for (int moves = 0; moves < 2; moves++) {
        struct experiment x;
        struct frame f;
        draw_frame(&x, &f, has_planes);
        x.detector_moves = moves;
        f.recipe.has_shift = true;
        f.recipe.shift_m[2] = 0.01;
        send_frame(&x, &f, moves, "but the detector of the experiment is fixed");
        draw_frame(&x, &f, has_planes);
        x.sample_moves = moves;
        f.recipe.has_sample = true;
        f.recipe.sample_m[1] = 0.01;
        send_frame(&x, &f, moves, "but the experiment has no such holder");
    }
}

static void draw_lattices(struct experiment *x, struct frame *f)
{
    for (draw_frame(x, f, has_planes); !f->recipe.nlattices; draw_frame(x, f, has_planes)) {
        frame_free(f);
        experiment_free(x);
    }
}

static void sizes_are_of_all_lattices_or_of_none(void **state)
{
    (void)state;
    for (int vary = 0; vary < 2; vary++) {
        struct experiment x;
        struct frame f;
        draw_lattices(&x, &f);
        x.sizes_vary = vary;
        for (size_t i = 0; i < f.recipe.nlattices; i++) {
            f.recipe.lattices[i].has_cells = true;
            for (int k = 0; k < 3; k++)
                f.recipe.lattices[i].cells[k] = 7.0;
        }
        send_frame(&x, &f, vary, "a lattice with cells of its own");
        draw_lattices(&x, &f);
        x.sizes_vary = vary;
        for (size_t i = 0; i < f.recipe.nlattices; i++)
            f.recipe.lattices[i].has_cells = false;
        send_frame(&x, &f, !vary, "a lattice without cells of its own");
        draw_lattices(&x, &f);
        x.sizes_vary = true;
        for (size_t i = 0; i < f.recipe.nlattices; i++) {
            f.recipe.lattices[i].has_cells = true;
            for (int k = 0; k < 3; k++)
                f.recipe.lattices[i].cells[k] = vary ? 1.0 : 0.0;
        }
        send_frame(&x, &f, vary, "an impossible number of cells");
    }
}

static void set_spreads(struct recipe *r, bool has, double spread_rad)
{
    for (size_t i = 0; i < r->nlattices; i++) {
        r->lattices[i].has_spread = has;
        r->lattices[i].spread_rad = spread_rad;
    }
}

static void spreads_are_of_all_lattices_or_of_none(void **state)
{
    (void)state;
    for (int vary = 0; vary < 2; vary++) {
        struct experiment x;
        struct frame f;
        draw_lattices(&x, &f);
        x.spreads_vary = vary;
        set_spreads(&f.recipe, true, 0.01);
        send_frame(&x, &f, vary, "a lattice with a mosaic spread of its own");
        draw_lattices(&x, &f);
        x.spreads_vary = vary;
        set_spreads(&f.recipe, false, 0.0);
        send_frame(&x, &f, !vary, "a lattice without a mosaic spread of its own");
        draw_lattices(&x, &f);
        x.spreads_vary = true;
        set_spreads(&f.recipe, true, vary ? 0.0 : -0.01);
        send_frame(&x, &f, vary, "an impossible mosaic spread");
    }
}

static void set_b_factors(struct recipe *r, bool has, double b_factor_A2)
{
    for (size_t i = 0; i < r->nlattices; i++) {
        r->lattices[i].has_b_factor = has;
        r->lattices[i].b_factor_A2 = b_factor_A2;
    }
}

static void b_factors_are_of_all_lattices_or_of_none(void **state)
{
    (void)state;
    for (int vary = 0; vary < 2; vary++) {
        struct experiment x;
        struct frame f;
        draw_lattices(&x, &f);
        x.b_factors_vary = vary;
        set_b_factors(&f.recipe, true, 20.0);
        send_frame(&x, &f, vary, "a lattice with a B factor of its own");
        draw_lattices(&x, &f);
        x.b_factors_vary = vary;
        set_b_factors(&f.recipe, false, 0.0);
        send_frame(&x, &f, !vary, "a lattice without a B factor of its own");
        draw_lattices(&x, &f);
        x.b_factors_vary = true;
        set_b_factors(&f.recipe, true, vary ? 0.0 : -1.0);
        send_frame(&x, &f, vary, "an impossible B factor");
    }
}

static void matter_is_of_all_frames_or_of_none(void **state)
{
    (void)state;
    for (int vary = 0; vary < 2; vary++) {
        struct experiment x;
        struct frame f;
        draw_lattices(&x, &f);
        x.matter_varies = vary;
        f.recipe.has_matter = true;
        f.recipe.matter = (struct matter){.has_water = true, .water_m = 1e-6};
        send_frame(&x, &f, vary, "is with amounts of matter of its own");
        draw_lattices(&x, &f);
        x.matter_varies = vary;
        f.recipe.has_matter = false;
        f.recipe.matter = (struct matter){0};
        send_frame(&x, &f, !vary, "is without amounts of matter of its own");
        draw_lattices(&x, &f);
        x.matter_varies = f.recipe.has_matter = true;
        f.recipe.matter = (struct matter){.has_ice = true, .ice_m = vary ? 0.0 : -1e-6};
        send_frame(&x, &f, vary, "an impossible amount of matter");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_that_are_none_are_refused),
        cmocka_unit_test(lists_that_do_not_fit_are_refused),
        cmocka_unit_test(lists_expand),
        cmocka_unit_test(fits_that_contradict_themselves_are_refused),
        cmocka_unit_test(what_stands_has_no_place),
        cmocka_unit_test(sizes_are_of_all_lattices_or_of_none),
        cmocka_unit_test(spreads_are_of_all_lattices_or_of_none),
        cmocka_unit_test(b_factors_are_of_all_lattices_or_of_none),
        cmocka_unit_test(matter_is_of_all_frames_or_of_none),
        cmocka_unit_test(reflections_that_contradict_themselves_are_refused),
        cmocka_unit_test(shorter_rows_are_read),
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
