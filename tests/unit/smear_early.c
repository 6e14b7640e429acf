/* The CUDA engine begins a frame of a smeared sensor while it finishes the frame before it.
 * Whatever is announced and then comes, each frame has the bytes and the errors of the CPU engine.
 */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include "engine_case.h"
#include "engine_run.h"

enum { PIXELS = 40 * 40, FRAMES = 12 };

static void build(struct experiment *x, struct recipe *r)
{
    static const struct engine_case c = {.name = "smeared",
                                         .twotheta_deg = 40,
                                         .pixels = 40,
                                         .pixel_mm = 0.1,
                                         .oversample = 3,
                                         .mosaic_deg = 1.0,
                                         .domains = 6,
                                         .each = true,
                                         .cells = {10, 10, 10},
                                         .smears = true};
    struct error e = {0};
    if (case_build(&c, x, r, &e))
        fail_msg("%s", e.text);
}

/* Makes recipe number i from *r: each has another weight.  Some have fewer domains, another place
 * of the detector, no lattice, a lattice whose crystal does not exist, or photons that are not
 * finite. */
static struct recipe recipe_of(const struct recipe *r, int i)
{
    struct recipe own = {0};
    if (i != 10)
        recipe_copy(&own, r);
    own.id = (uint64_t)i;
    if (i == 10)
        return own;
    own.lattices[0].weight *= 1.0 + i;
    own.lattices[0].ndomains = i % 3 == 2 ? 2 : own.lattices[0].ndomains;
    own.has_shift = i == 4 || i == 5;
    own.shift_m[0] = 3.3e-4;
    if (i == 7)
        own.lattices[0].weight = 1e80;
    if (i == 8)
        own.lattices[0].crystal = 99;
    return own;
}

/* Returns the number of frames that a plan began early. */
static uint64_t begun_early(const struct plan *plan)
{
    struct engine_count counts[ENGINE_COUNTS];
    const size_t n = engine_cuda_host.counts(plan, counts);
    for (size_t i = 0; i < n; i++)
        if (strcmp(counts[i].name, "gpu_frames_begun_early") == 0)
            return counts[i].count;
    fail_msg("no counter");
    return 0;
}

/* Computes a frame with the plan of the CUDA engine, and compares it with the CPU engine. */
static void check_frame(struct plan *plan, const struct experiment *x, const struct recipe *r)
{
    const struct engine_options options = {.threads = 2};
    struct plan *other;
    struct error cpu = {0}, gpu = {0};
    float expected[PIXELS], got[PIXELS];
    assert_int_equal(engine_cpu.create(&other, x, &options, &cpu), STATUS_OK);
    const enum status s = engine_cpu.run(other, r, expected, NULL, &cpu);
    engine_cpu.destroy(&other);
    memset(got, 0xee, sizeof got);
    assert_int_equal(engine_cuda_host.run(plan, r, got, NULL, &gpu), s);
    assert_string_equal(gpu.text, cpu.text);
    if (!s)
        assert_memory_equal(got, expected, sizeof got);
}

/* `announced`: the number of the frame that is announced while frame number i is computed; the
 * frame that comes is always the next one.  Returns the number of frames that were begun early. */
static uint64_t run_frames(const int announced[FRAMES])
{
    struct experiment x;
    struct recipe r, own[FRAMES];
    struct plan *plan;
    struct error e = {0};
    build(&x, &r);
    const struct engine_options options = {.threads = 2};
    assert_int_equal(engine_cuda_host.create(&plan, &x, &options, &e), STATUS_OK);
    for (int i = 0; i < FRAMES; i++)
        own[i] = recipe_of(&r, i);
    for (int i = 0; i < FRAMES; i++) {
        if (announced[i] >= 0)
            engine_cuda_host.announce(plan, &own[announced[i]]);
        check_frame(plan, &x, &own[i]);
    }
    const uint64_t early = begun_early(plan);
    engine_cuda_host.destroy(&plan);
    for (int i = 0; i < FRAMES; i++)
        recipe_free(&own[i]);
    recipe_free(&r);
    experiment_free(&x);
    return early;
}

static void each_frame_is_announced(void **state)
{
    (void)state;
    /* Begun early: 1, 2, 3, 5, 7 and 10.  Not: 4 and 6, where the detector moves; 8, because frame
     * 7 is bad; 9 and 11, because the frames before them need no thin image. */
    const int next[FRAMES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1};
    assert_int_equal(run_frames(next), 6);
}

static void other_frames_come_than_announced(void **state)
{
    (void)state;
    const int others[FRAMES] = {2, -1, 1, 9, -1, 4, 8, 9, 0, 7, 10, 3};
    assert_true(run_frames(others) > 0);
}

/* A plan is closed after a frame was begun that never comes.  That the memory of its recipe is not
 * read later is checked by AddressSanitizer. */
static void the_announced_frame_never_comes(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    struct error e = {0};
    build(&x, &r);
    assert_int_equal(engine_cuda_host.create(&plan, &x, &(struct engine_options){.threads = 1}, &e),
                     STATUS_OK);
    struct recipe next = recipe_of(&r, 1);
    engine_cuda_host.announce(plan, &next);
    check_frame(plan, &x, &r);
    recipe_free(&next);
    assert_int_equal(begun_early(plan), 1);
    check_frame(plan, &x, &r);
    engine_cuda_host.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_is_announced),
        cmocka_unit_test(other_frames_come_than_announced),
        cmocka_unit_test(the_announced_frame_never_comes),
    };
    return unit_run(tests);
}
