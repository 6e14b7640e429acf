/* Panels of one plane as one image: places, gaps, region and mask.  Panels that are not in one
 * plane are refused. */
#include "unit.h"

#include <string.h>

#include "io/detectors/assembly.h"

enum { FAST = 3, SLOW = 2, GAP = 1, WIDTH = 2 * FAST + GAP };

static uint8_t mask[FAST * SLOW] = {1, 0, 1, 1, 1, 1};
static struct panel panels[2];

/* Two panels next to each other, the second on the grid of the first. */
static struct experiment experiment(void)
{
    for (int i = 0; i < 2; i++)
        panels[i] = (struct panel){.fast_pixels = FAST,
                                   .slow_pixels = SLOW,
                                   .first_pixel = i * FAST * SLOW,
                                   .grid_fast = i * (FAST + GAP),
                                   .grid_m = {0, 0, 0.1},
                                   .pixel_m = 1e-4,
                                   .fast = {1, 0, 0},
                                   .slow = {0, 1, 0},
                                   .origin_m = {i * (FAST + GAP) * 1e-4, 0, 0.1},
                                   .roi = {0, FAST - 1, 0, SLOW - 1}};
    panels[1].mask = mask;
    return (struct experiment){.npanels = 2, .panels = panels};
}

static void what_is_never_computed_can_be_no_data(void **state)
{
    (void)state;
    static const uint16_t put[SLOW * WIDTH] = {1, 2, 3, 0, 7, 8, 9, 4, 5, 6, 0, 10, 11, 12},
                                     blank[] = {1, 2, 3, 65535, 7,  65535, 9,
                                                4, 5, 6, 65535, 10, 11,    12};
    static uint16_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint8_t good[] = {1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1};
    const struct image from = {.type = PIXEL_U16, .count = 12, .pixels = pixels};
    const struct experiment x = experiment();
    struct assembly a;
    const struct image *to = &a.image;
    assert_true(assembly_is_partial(&x));
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    assert_true(a.whole.npanels == 1 && a.whole.panels->fast_pixels == WIDTH);
    assert_memory_equal(a.whole.panels->mask, good, sizeof good);
    assert_int_equal(assembly_image(&a, &from, NULL), STATUS_OK);
    assert_int_equal(to->count, SLOW * WIDTH);
    assert_memory_equal(to->pixels, put, sizeof put);
    assembly_blank(&a);
    assert_memory_equal(to->pixels, blank, sizeof blank);
    const void *memory = to->pixels;
    assert_int_equal(assembly_image(&a, &from, NULL), STATUS_OK);
    assembly_blank(&a);
    assert_ptr_equal(to->pixels, memory);  // no new memory for a frame
    assert_memory_equal(to->pixels, blank, sizeof blank);
    assert_null(a.whole.reasons);
    assembly_free(&a);
    uint8_t why[2 * FAST * SLOW] = {[FAST * SLOW + 1] = REASON_DEAD};
    struct experiment told = x;
    told.has_reasons = true;
    told.reasons = why;
    assert_int_equal(assembly_open(&a, &told, NULL), STATUS_OK);
    for (int64_t i = 0; i < SLOW * WIDTH; i++)  // the second panel's pixel 1; none in the gap
        assert_int_equal(experiment_mask_word(&a.whole, i), i == FAST + GAP + 1 ? 2 : 1);
    assembly_free(&a);
    x.panels[0].roi.fast_min = 1;
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    for (int frame = 0; frame < 2; frame++) {
        assert_int_equal(assembly_image(&a, &from, NULL), STATUS_OK);
        assembly_blank(&a);
        assert_true(*(const uint16_t *)to->pixels == 65535);
        assert_memory_equal((const uint16_t *)to->pixels + 1, blank + 1,
                            (WIDTH - 1) * sizeof *blank);
    }
    assembly_free(&a);
}

static void no_data_is_the_smallest_signed_value(void **state)
{
    (void)state;
    static int32_t pixels[] = {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int32_t blank[] = {1, -2, 3, INT32_MIN, 7};
    const struct image from = {.type = PIXEL_I32, .count = 12, .pixels = pixels};
    const struct experiment x = experiment();
    struct assembly a;
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    assert_int_equal(assembly_image(&a, &from, NULL), STATUS_OK);
    assembly_blank(&a);
    assert_memory_equal(a.image.pixels, blank, sizeof blank);
    assembly_free(&a);
}

/* Curved, too: nothing is put together. */
/* Nothing of the former frame is left. */
static void frames_of_another_type_begin_anew(void **state)
{
    (void)state;
    static uint16_t small[2 * FAST * SLOW];
    static float large[2 * FAST * SLOW];
    const struct image u16 = {.type = PIXEL_U16, .count = 12, .pixels = small},
                       f32 = {.type = PIXEL_F32, .count = 12, .pixels = large};
    const struct experiment x = experiment();
    struct assembly a;
    large[3] = 7;
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    assert_int_equal(assembly_image(&a, &u16, NULL), STATUS_OK);
    assembly_blank(&a);
    assert_int_equal(assembly_image(&a, &f32, NULL), STATUS_OK);
    const float *pixels = a.image.pixels;
    assert_true(a.image.type == PIXEL_F32 && pixels[FAST] == 0 && pixels[WIDTH] == 7);
    assert_int_equal(assembly_image(&a, &(struct image){.count = 11}, NULL), STATUS_INPUT);
    assembly_free(&a);
}

static void one_panel_can_have_holes(void **state)
{
    (void)state;
    struct experiment x = experiment();
    struct assembly a;
    x.npanels = 1;
    assert_false(assembly_is_partial(&x));
    panels[0].roi.slow_min = 1;
    panels[0].mask = mask;
    assert_true(assembly_is_partial(&x));
    panels[0].curved = true;
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    assert_int_equal(a.whole.panels->roi.slow_min, 1);
    assert_true(assembly_moves_none(&a));
    const struct bslz4_blanks *blanks = assembly_blanks(&a);  // row 0 is outside the ROI
    assert_true(blanks->count == 1 && blanks->runs->first == 0 && blanks->runs->end == FAST);
    assert_int_equal(blanks->byte, 0xff);
    a.blanks_are_zero = true;
    assert_int_equal(assembly_blanks(&a)->byte, 0);
    assembly_free(&a);
    panels[0].roi.slow_min = 0;
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    blanks = assembly_blanks(&a);
    assert_true(blanks->count == 1 && blanks->runs->first == 1 && blanks->runs->end == 2);
    assembly_free(&a);
    panels[0].grid_fast = 1;
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    assert_false(assembly_moves_none(&a));
    assembly_free(&a);
}

static void the_region_is_that_of_all_panels(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    struct assembly a;
    panels[0].roi = (struct roi){2, 2, 1, 1};
    panels[1].roi = (struct roi){0, 1, 1, 1};
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    const struct roi *r = &a.whole.panels->roi;
    assert_true(r->fast_min == 2 && r->fast_max == 5 && r->slow_min == 1 && r->slow_max == 1);
    assembly_free(&a);
    panels[0].roi = (struct roi){0, -1, 0, -1};
    assert_int_equal(assembly_open(&a, &x, NULL), STATUS_OK);
    assert_true(r->fast_min == 4 && r->fast_max == 5);
    assembly_free(&a);
}

static void panels_of_two_planes_are_no_image(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    struct assembly a;
    struct error e;
    panels[1].grid_m[2] = 0.2;
    assert_int_equal(assembly_open(&a, &x, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "panels 0 and 1 of 2 are not on one pixel grid"));
    assembly_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_never_computed_can_be_no_data),
        cmocka_unit_test(no_data_is_the_smallest_signed_value),
        cmocka_unit_test(frames_of_another_type_begin_anew),
        cmocka_unit_test(one_panel_can_have_holes),
        cmocka_unit_test(the_region_is_that_of_all_panels),
        cmocka_unit_test(panels_of_two_planes_are_no_image),
    };
    return unit_run(tests);
}
