/* Frames as messages: reflections, derivative images, fits and recipes that contradict themselves
 * or their experiment are refused. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "wire/codec.h"
#include "wire_random.h"

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
    };
    return unit_run(tests);
}
