/* Background and noise of the CUDA engine without a GPU, for plans that compute no photons.  The
 * results equal those of plans that compute photons, for every place of photons and counts. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#include "after_water.h"
#include "engine_run.h"
#include "engine_table.h"

static const struct engine *const ENGINE = &engine_cuda_host;
static const uint64_t SEED = 77;
static int summed;  // images whose checksum the engine formed

/* An image in memory of the plan's card, or here; it begins as something else. */
static struct image image_open(struct plan *plan, const struct experiment *x, enum pixel_type type,
                               bool there)
{
    struct image image = {.type = type, .count = (size_t)experiment_pixels(x)};
    const size_t bytes = image.count * pixel_size(type);
    struct card_handle handle;
    struct error e = {0};
    if (there) {
        const struct card *card = ENGINE->card(plan);
        assert_int_equal(card->reserve(card, bytes, &image.card, &handle, &e), STATUS_OK);
        memset(image.card, 0xee, bytes);  // the card is this processor
    } else {
        image.pixels = mem_array(bytes, 1);
        memset(image.pixels, 0xee, bytes);
    }
    return image;
}

static void image_close(struct plan *plan, struct image *image)
{
    if (image->card)
        ENGINE->card(plan)->release(ENGINE->card(plan), image->card);
    mem_free(image->pixels);
}

/* Returns a copy of the pixels of an image on the GPU, in main memory. */
static void *pixels_of(struct plan *plan, const struct image *image)
{
    const size_t bytes = image->count * pixel_size(image->type);
    unsigned char *pixels = mem_array(bytes, 1);
    struct error e = {0};
    if (image->card)
        assert_int_equal(
            ENGINE->card(plan)->fetch(ENGINE->card(plan), pixels, image->card, bytes, &e), 0);
    else
        memcpy(pixels, image->pixels, bytes);
    return pixels;
}

static struct plan *plan_open(const struct experiment *x, const struct engine_after *after,
                              bool alone)
{
    const struct engine_options how = {.threads = 2, .after = alone};
    struct engine_after left = *after;
    struct plan *plan;
    struct error e = {0};
    if (ENGINE->create(&plan, x, &how, &e) || ENGINE->prepare(plan, &left, &e))
        fail_msg("%s", e.text);
    assert_true(!left.nmaterials && !left.noise);
    return plan;
}

/* Photons and pixels there or here, by the bits of `way`. */
static void check_way(struct plan *plan, const struct experiment *x, const struct recipe *r,
                      enum pixel_type type, const float *photons, const void *expected, int way,
                      const char *name)
{
    struct image from = image_open(plan, x, PIXEL_F32, way & 1);
    struct image to = image_open(plan, x, type, way & 2);
    struct error e = {0};
    memcpy(way & 1 ? from.card : from.pixels, photons, from.count * sizeof *photons);
    if (ENGINE->go_on(plan, r, SEED, &from, &to, &e))
        fail_msg("%s, %d: %s", name, way, e.text);
    void *pixels = pixels_of(plan, &to), *before = pixels_of(plan, &from);
    uint32_t sum;
    if (ENGINE->sum(plan, &sum)) {
        assert_null(to.card);
        assert_int_equal(sum, crc32c(0, pixels, to.count * pixel_size(type)));
        summed++;
    }
    if (memcmp(pixels, expected, to.count * pixel_size(type)) != 0)
        fail_msg("%s, %d: other pixels", name, way);
    assert_memory_equal(before, photons, from.count * sizeof *photons);
    mem_free(pixels);
    mem_free(before);
    image_close(plan, &to);
    image_close(plan, &from);
}

/* The same as `develop`, of which the image there is the same as the one here. */
static void check(const struct experiment *x, const struct recipe *r,
                  const struct engine_after *asked, const char *name)
{
    static const struct engine_options how = {.threads = 2};
    struct clipped by_plan = {0}, unasked = {0};
    struct noise noise = asked->noise ? *asked->noise : (struct noise){0};
    struct engine_after after = *asked;
    struct error e = {0};
    after.noise = asked->noise ? &noise : NULL;
    noise.clipped = &by_plan;
    struct plan *plan = plan_open(x, &after, false);
    struct image there = image_open(plan, x, after.type, true);
    const size_t count = there.count, bytes = count * pixel_size(after.type);
    void *expected = mem_array(bytes, 1);
    if (ENGINE->develop(plan, r, SEED, expected, NULL, &e) ||
        ENGINE->develop_there(plan, r, SEED, there.card, NULL, &e))
        fail_msg("%s: %s", name, e.text);
    assert_memory_equal(there.card, expected, bytes);
    image_close(plan, &there);
    ENGINE->destroy(&plan);
    float *photons = run_engine_with(ENGINE, x, r, &how);
    noise.clipped = &unasked;
    plan = plan_open(x, &after, true);
    for (int way = 0; way < 4; way++)  // but for the first they find their background
        check_way(plan, x, r, after.type, photons, expected, way, name);
    ENGINE->destroy(&plan);
    assert_int_equal(unasked.saturated, 2 * by_plan.saturated);
    assert_int_equal(unasked.below, 2 * by_plan.below);
    mem_free(photons);
    mem_free(expected);
}

/* Background, noise, or both, of every experiment of the table. */
static void wherever_photons_and_pixels_lie(void **state)
{
    (void)state;
    struct background_material material = water();
    int n = 0;
    for (int i = 0; i < NCASES; i++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        if (cases[i].curved)
            continue;
        assert_int_equal(case_build(&cases[i], &x, &r, &e), STATUS_OK);
        r.id = (uint64_t)i << 30 | 3;
        set_brightest(&x, &material, 30.0);
        const bool counts = n % 3 != 0, adds = n % 3 != 1;
        const struct noise *noise = &after_noises[n / 3 % 3];
        const struct engine_after after = {.materials = &material,
                                           .nmaterials = adds,
                                           .noise = counts ? noise : NULL,
                                           .type = !counts          ? PIXEL_F32
                                                   : noise->poisson ? PIXEL_U16
                                                                    : PIXEL_U32};
        check(&x, &r, &after, cases[i].name);
        n++;
        recipe_free(&r);
        experiment_free(&x);
    }
    print_message("# %d experiments\n", n);
    amorphous_free(&material.table);
    assert_true(summed > 0);
}

static void curved_detectors_count_alike(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 40, .curved = true};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    const struct engine_after after = {.noise = &after_noises[1], .type = PIXEL_U16};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    check(&x, &r, &after, "curved");
    recipe_free(&r);
    experiment_free(&x);
}

/* In parts, with spectra of their own and a detector that moves, frame after frame by one plan; and
 * without structure factors. */
static void frames_of_a_plan(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 100, .panels = 3, .mask = true};
    struct background_material material = water();
    struct source wide[3];
    struct experiment x;
    struct recipe r[4];
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r[0], &e), STATUS_OK);
    set_brightest(&x, &material, 5.0);
    for (int i = 0; i < 3; i++) {
        wide[i] = x.beam.sources[0];
        wide[i].wavelength_m *= 1.0 + 0.1 * i;
    }
    for (int i = 1; i < 4; i++)
        r[i] = r[0];
    r[1].sources = wide;
    r[1].nsources = 3;
    r[2].has_shift = true;
    r[2].shift_m[0] = 3e-4;
    r[2].shift_m[2] = 1e-3;
    const struct engine_after after = {
        .materials = &material, .nmaterials = 1, .noise = &after_noises[1], .type = PIXEL_U16};
    const size_t bytes = (size_t)experiment_pixels(&x) * 2;
    float *photons[4];
    unsigned char *expected[4];
    struct plan *plan = plan_open(&x, &after, false);
    for (int i = 0; i < 4; i++) {
        expected[i] = mem_array(bytes, 1);
        photons[i] = run_engine_with(ENGINE, &x, &r[i], &(struct engine_options){.threads = 1});
        assert_int_equal(ENGINE->develop(plan, &r[i], SEED, expected[i], NULL, &e), STATUS_OK);
    }
    ENGINE->destroy(&plan);
    assert_memory_not_equal(expected[0], expected[1], bytes);
    assert_memory_not_equal(expected[0], expected[2], bytes);
    experiment_drop_tables(&x);
    int small = 0, enough = 0;
    for (gpu_host_memory = 1 << 13; gpu_host_memory < 1 << 18; gpu_host_memory += 1 << 13) {
        const struct engine_options how = {.threads = 2, .after = true};
        struct engine_after left = after;
        enum status s = ENGINE->create(&plan, &x, &how, &e);
        if (!s)
            s = ENGINE->prepare(plan, &left, &e);
        unsigned char *pixels = mem_array(bytes, 1);
        for (int i = 0; i < 4 && !s; i++) {
            const struct image from = {.pixels = photons[i]}, to = {.pixels = pixels};
            s = ENGINE->go_on(plan, &r[i], SEED, &from, &to, &e);
            uint32_t sum;
            if (!s) {
                assert_memory_equal(pixels, expected[i], bytes);
                assert_true(ENGINE->sum(plan, &sum));  // also of an image that is made in parts
                assert_int_equal(sum, crc32c(0, pixels, bytes));
            }
        }
        small += s != 0;
        enough += s == 0;
        mem_free(pixels);
        ENGINE->destroy(&plan);
    }
    gpu_host_memory = SIZE_MAX;
    print_message("# %d sizes too small, %d large enough\n", small, enough);
    assert_true(small && enough > 6);
    for (int i = 0; i < 4; i++) {
        mem_free(photons[i]);
        mem_free(expected[i]);
    }
    amorphous_free(&material.table);
    recipe_free(&r[0]);
    experiment_free(&x);
}

/* The first bad pixel is named as noise_apply names it, and background alone refuses only what is
 * not finite. */
static void bad_photons_are_an_error(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 32, .panels = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0}, other = {0};
    struct background_material material = water();
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    r.id = 12;
    const size_t count = (size_t)experiment_pixels(&x);
    float *photons = mem_array(count, sizeof *photons);
    uint16_t *pixels = mem_array(count, sizeof *pixels);
    photons[count - 3] = -1.0f;
    struct image adu = {.type = PIXEL_U16, .count = count, .pixels = pixels};
    const struct image from = {.pixels = photons};
    struct noise_plan *noise;
    assert_int_equal(noise_create(&noise, &after_noises[0], &x, &other), STATUS_OK);
    assert_int_equal(noise_apply(noise, 1, 12, photons, &adu, &other), STATUS_INPUT);
    noise_destroy(&noise);
    struct plan *plan =
        plan_open(&x, &(struct engine_after){.noise = &after_noises[0], .type = PIXEL_U16}, true);
    assert_int_equal(ENGINE->go_on(plan, &r, 1, &from, &adu, &e), STATUS_INPUT);
    assert_string_equal(e.text, other.text);
    ENGINE->destroy(&plan);
    plan = plan_open(&x, &(struct engine_after){.materials = &material, .nmaterials = 1}, true);
    struct image sum = image_open(plan, &x, PIXEL_F32, false);
    assert_int_equal(ENGINE->go_on(plan, &r, 1, &from, &sum, &e), STATUS_OK);
    photons[5] = NAN;
    assert_int_equal(ENGINE->go_on(plan, &r, 1, &from, &sum, &e), STATUS_INPUT);
    print_message("# %s\n", e.text);
    assert_non_null(strstr(e.text, "frame 12: pixel 5,0 (fast, slow) of panel 0 has"));
    image_close(plan, &sum);
    ENGINE->destroy(&plan);
    mem_free(photons);
    mem_free(pixels);
    amorphous_free(&material.table);
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_photons_and_pixels_lie),
        cmocka_unit_test(curved_detectors_count_alike),
        cmocka_unit_test(frames_of_a_plan),
        cmocka_unit_test(bad_photons_are_an_error),
    };
    return unit_run(tests);
}
