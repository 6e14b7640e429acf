/* Counts of a report: a frame that was replaced while it was read does not count. */
#include <stdlib.h>

#include "stages/shared/frame_facts.h"
#include "unit.h"

enum { EDGE = 8, PIXELS = EDGE * EDGE };

static bool replaced(void *owner)
{
    (void)owner;
    return false;
}

static void torn_frames_count_for_nothing(void **state)
{
    (void)state;
    float pixels[PIXELS] = {3};
    struct panel panel = {.fast_pixels = EDGE, .slow_pixels = EDGE};
    const struct experiment x = {.npanels = 1, .panels = &panel, .gain = 1};
    struct frame f = {.image = {.type = PIXEL_F32, .count = PIXELS, .pixels = pixels}};
    struct frame_facts k;
    struct error e = {0};
    frame_facts_open(&k, &x, 2);
    for (uint64_t id = 0; id < 6; id++) {
        f.recipe.id = id;
        f.image.intact = id % 2 ? replaced : NULL;
        pixels[1] = (float)(id % 2 ? 1000 : id);
        assert_int_equal(frame_facts_take(&k, &f, (double)id, &e), STATUS_OK);
    }
    assert_int_equal(k.frames, 3);
    assert_int_equal(k.torn, 3);
    assert_true(k.brightest == 4.0);
    assert_int_equal(k.npictures, 2);
    assert_int_equal(k.pictures[0].id, 0);
    assert_int_equal(k.pictures[1].id, 4);
    frame_facts_free(&k);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(torn_frames_count_for_nothing),
    };
    return unit_run(tests);
}
