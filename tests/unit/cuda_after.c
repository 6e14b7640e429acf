/* Background and noise of the CUDA engine without a GPU: the threads of its kernels run on this
 * CPU.  For photons of the engine the pixels equal those of background_image and noise_apply, bit
 * for bit.  So do images of stages that --fuse joins in one program. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#include "after_water.h"
#include "engine/detector/readout.h"
#include "engine_run.h"
#include "engine_table.h"
#include "stages/intensity/fuse.h"

static const struct engine_options OPTIONS = {.threads = 2};

/* What stages after the engine make of its photons. */
static void *by_stages(const struct experiment *x, const struct recipe *r,
                       const struct engine_after *after, uint64_t seed)
{
    struct error e = {0};
    const size_t count = (size_t)experiment_pixels(x);
    float *photons = run_engine_with(&engine_cuda_host, x, r, &OPTIONS);
    if (after->nmaterials) {
        float *more = mem_array(count, sizeof *more);
        struct source *gathered = NULL;
        size_t nsources = x->beam.nsources;
        const struct source *sources = background_sources(&x->beam, r, &gathered, &nsources);
        background_image(x, sources, nsources, after->materials, after->nmaterials, 1, more, NULL);
        mem_free(gathered);
        for (size_t i = 0; i < count; i++)
            photons[i] = photons[i] + more[i];
        mem_free(more);
    }
    if (!after->noise)
        return photons;
    struct noise_plan *plan;
    struct image adu = {.type = after->type, .count = count};
    adu.pixels = mem_array(count, pixel_size(adu.type));
    assert_int_equal(noise_create(&plan, after->noise, x, &e), STATUS_OK);
    assert_int_equal(noise_apply(plan, seed, r->id, photons, &adu, &e), STATUS_OK);
    noise_destroy(&plan);
    mem_free(photons);
    return adu.pixels;
}

static uint64_t saturated, below;  // pixels in all checks
static int summed;                 // images whose checksum the engine formed

static void check(const struct experiment *x, const struct recipe *r,
                  const struct engine_after *asked, const char *name)
{
    struct clipped by_engine = {0}, others = {0};
    struct noise noise = asked->noise ? *asked->noise : (struct noise){0};
    struct engine_after after = *asked;
    after.noise = asked->noise ? &noise : NULL;
    noise.clipped = &others;
    struct plan *plan;
    struct error e = {0};
    const size_t count = (size_t)experiment_pixels(x), size = pixel_size(after.type);
    struct engine_after left = after;
    unsigned char *expected = by_stages(x, r, &after, 77), *image = mem_array(count, size);
    noise.clipped = &by_engine;
    assert_int_equal(engine_cuda_host.create(&plan, x, &OPTIONS, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.prepare(plan, &left, &e), STATUS_OK);
    assert_true(!left.nmaterials && !left.noise);
    for (int i = 0; i < 2; i++) {  // the second one finds its background
        memset(image, 0xee, count * size);
        if (engine_cuda_host.develop(plan, r, 77, image, NULL, &e))
            fail_msg("%s: %s", name, e.text);
        for (size_t k = 0; k < count * size; k++)
            if (image[k] != expected[k])
                fail_msg("%s: pixel %zu differs", name, k / size);
        uint32_t sum;
        if (engine_cuda_host.sum(plan, &sum)) {
            summed++;
            assert_int_equal(sum, crc32c(0, image, count * size));
        }
    }
    assert_int_equal(by_engine.frames, 2 * others.frames);
    assert_int_equal(by_engine.saturated, 2 * others.saturated);
    assert_int_equal(by_engine.below, 2 * others.below);
    saturated += others.saturated;
    below += others.below;
    engine_cuda_host.destroy(&plan);
    mem_free(expected);
    mem_free(image);
}

/* Every experiment of the table, with water and each kind of noise in turn. */
static void counts_are_those_of_the_stages(void **state)
{
    (void)state;
    struct background_material materials[] = {water(), water()};
    int n = 0;
    for (int i = 0; i < NCASES; i++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        if (cases[i].curved)
            continue;
        assert_int_equal(case_build(&cases[i], &x, &r, &e), STATUS_OK);
        r.id = (uint64_t)i << 30 | 3;
        set_brightest(&x, &materials[0], 30.0);
        set_brightest(&x, &materials[1], 5.0);
        const struct noise *noise = n % 4 < 3 ? &after_noises[n % 4] : NULL;
        const struct engine_after after = {.materials = materials,
                                           .nmaterials = (size_t)(n / 4 % 3),
                                           .noise = noise,
                                           .type = !noise           ? PIXEL_F32
                                                   : noise->poisson ? PIXEL_U16
                                                                    : PIXEL_U32};
        check(&x, &r, &after, cases[i].name);
        n++;
        recipe_free(&r);
        experiment_free(&x);
    }
    print_message("# %d experiments\n", n);
    assert_true(saturated && below && summed);
    amorphous_free(&materials[0].table);
    amorphous_free(&materials[1].table);
}

/* Photons that are only background, scaled: all the ways of counting. */
static void every_mean_is_counted_alike(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 96, .panels = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct background_material material = water();
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    const size_t nlattices = r.nlattices;
    r.nlattices = 0;
    struct noise wide = after_noises[0];
    wide.saturation_adu = 4294967295.0;
    const struct engine_after after = {
        .materials = &material, .nmaterials = 1, .noise = &wide, .type = PIXEL_U32};
    for (double most = 1e-7; most < 1e9; most *= 7.0) {
        set_brightest(&x, &material, most);
        r.id++;
        check(&x, &r, &after, "a background");
    }
    r.nlattices = nlattices;
    amorphous_free(&material.table);
    recipe_free(&r);
    experiment_free(&x);
}

/* Rows in parts; a background of the recipe's own spectrum between two of the experiment's. */
static void parts_and_spectra_change_nothing(void **state)
{
    (void)state;
    const struct engine_case c = {
        .cells = {5}, .table = TABLE_BOX, .panels = 2, .pixels = 64, .roi = true, .mask = true};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct background_material material = water();
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    set_brightest(&x, &material, 200.0);
    assert_int_equal(x.beam.nsources, 1);
    struct source wide[3], narrow[3];
    for (int i = 0; i < 3; i++) {
        wide[i] = narrow[i] = x.beam.sources[0];
        wide[i].wavelength_m *= 1.0 + 0.1 * i;
        narrow[i].wavelength_m *= 1.0 + 0.001 * i;
    }
    struct recipe own = r, channels = r;
    own.sources = wide;
    channels.sources = narrow;
    own.nsources = channels.nsources = 3;
    const struct recipe *const recipes[] = {&r, &own, &channels, &r};
    const struct engine_after after = {
        .materials = &material, .nmaterials = 1, .noise = &after_noises[1], .type = PIXEL_U16};
    const size_t bytes = (size_t)experiment_pixels(&x) * 2;
    void *expected[4];
    for (int i = 0; i < 4; i++)
        expected[i] = by_stages(&x, recipes[i], &after, 9);
    assert_memory_not_equal(expected[0], expected[1], bytes);
    assert_memory_not_equal(expected[1], expected[2], bytes);
    unsigned char *image = mem_array(bytes, 1);
    int small = 0, enough = 0;
    for (gpu_host_memory = 1 << 17; gpu_host_memory < 1 << 24; gpu_host_memory += 1 << 18) {
        struct engine_after left = after;
        struct plan *plan;
        enum status s = engine_cuda_host.create(&plan, &x, &OPTIONS, &e);
        if (!s)
            s = engine_cuda_host.prepare(plan, &left, &e);
        for (int i = 0; i < 4 && !s; i++) {
            s = engine_cuda_host.develop(plan, recipes[i], 9, image, NULL, &e);
            if (!s)
                assert_memory_equal(image, expected[i], bytes);
        }
        small += s != 0;
        enough += s == 0;
        engine_cuda_host.destroy(&plan);
    }
    gpu_host_memory = SIZE_MAX;
    print_message("# %d sizes too small, %d large enough\n", small, enough);
    assert_true(enough > 6);
    mem_free(image);
    for (int i = 0; i < 4; i++)
        mem_free(expected[i]);
    amorphous_free(&material.table);
    recipe_free(&r);
    experiment_free(&x);
}

static void what_the_card_cannot_do_is_left(void **state)
{
    (void)state;
    struct background_material material = water();
    static const float shadow[32 * 32];
    static const struct bad_pixel bad = {.pixel = 3, .dead = true};
    static const struct gain_stages stages;
    enum { PLAIN = 1, KINDS = 5 };  // the others want their neighbours, or a list of pixels
    struct noise noises[KINDS];
    for (int i = 0; i < KINDS; i++)
        noises[i] = after_noises[0];
    noises[1].psf = (struct psf){.kind = PSF_GAUSS, .fwhm_px = 2};
    noises[2].passes = shadow;
    noises[3].bad = &bad;
    noises[3].nbad = 1;
    noises[4].stages = &stages;
    for (int curved = 0; curved < 2; curved++)
        for (int i = 0; i < 4 * KINDS; i++) {
            const int kind = i / 4;
            const struct engine_case c = {.cells = {5}, .pixels = 32, .curved = curved};
            struct experiment x;
            struct recipe r;
            struct error e = {0};
            struct plan *plan;
            struct engine_after after = {.materials = &material,
                                         .nmaterials = i & 1,
                                         .noise = i & 2 ? &noises[kind] : NULL,
                                         .type = i & 2 ? PIXEL_U16 : PIXEL_F32};
            const bool adds = (i & 1) && !curved;
            const bool counts = (i & 2) && kind < PLAIN && (adds || !(i & 1));
            assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
            assert_int_equal(engine_cuda_host.create(&plan, &x, &OPTIONS, &e), STATUS_OK);
            assert_int_equal(engine_cuda_host.prepare(plan, &after, &e), STATUS_OK);
            assert_int_equal(after.nmaterials, (i & 1) && !adds);
            assert_true((after.noise != NULL) == ((i & 2) && !counts));
            engine_cuda_host.destroy(&plan);
            recipe_free(&r);
            experiment_free(&x);
        }
    amorphous_free(&material.table);
}

static void too_many_photons_are_an_error(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 32, .roi = true};
    struct experiment x;
    struct recipe r;
    struct error e = {0}, other = {0};
    struct plan *plan;
    struct noise_plan *noise;
    struct background_material material = water();
    material.molecules = INFINITY;
    struct engine_after after = {
        .materials = &material, .nmaterials = 1, .noise = &after_noises[0], .type = PIXEL_U16};
    uint16_t image[32 * 32];
    float photons[32 * 32];
    struct image adu = {.type = PIXEL_U16, .count = 32 * 32, .pixels = image};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    r.id = 12;
    assert_int_equal(engine_cuda_host.create(&plan, &x, &OPTIONS, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.prepare(plan, &after, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.develop(plan, &r, 1, image, NULL, &e), STATUS_INPUT);
    background_image(&x, x.beam.sources, x.beam.nsources, &material, 1, 1, photons, NULL);
    assert_int_equal(noise_create(&noise, &after_noises[0], &x, &other), STATUS_OK);
    assert_int_equal(noise_apply(noise, 1, 12, photons, &adu, &other), STATUS_INPUT);
    print_message("# %s\n", e.text);
    assert_string_equal(e.text, other.text);
    noise_destroy(&noise);
    engine_cuda_host.destroy(&plan);
    amorphous_free(&material.table);
    recipe_free(&r);
    experiment_free(&x);
}

/* A frame through the stages of `texts` behind an engine. */
static struct frame through(const struct engine *engine, const struct engine_case *c,
                            const struct opt_texts *texts, size_t taken)
{
    struct experiment x, other;
    struct frame f = {0};
    struct error e = {0};
    struct fuse fuse = {0};
    struct plan *plan;
    atomic_uint_fast64_t rows = 0;
    assert_int_equal(case_build(c, &x, &f.recipe, &e), STATUS_OK);
    x.beam.size_m = 1e-4;
    experiment_copy(&other, &x);
    f.recipe.id = 4;
    f.recipe.seed = 11;
    assert_int_equal(engine->create(&plan, &other, &OPTIONS, &e), STATUS_OK);
    if (fuse_open(&fuse, texts, 2, &e) || fuse_begin(&fuse, engine, plan, &x, &e) ||
        fuse_frame(&fuse, &f, (size_t)experiment_pixels(&x), &rows, &e))
        fail_msg("%s", e.text);
    assert_int_equal(fuse.taken, taken);
    if (f.image.has_sum)
        assert_int_equal(f.image.sum,
                         crc32c(0, f.image.pixels, f.image.count * pixel_size(f.image.type)));
    engine->destroy(&plan);
    if (f.image.release != mem_free)  // the program's own memory goes
        fail_msg("an image that leaves lies in memory that stays");
    fuse_close(&fuse);
    experiment_free(&other);
    experiment_free(&x);
    return f;
}

static void stages_share_their_work_with_the_engine(void **state)
{
    (void)state;
    static const struct {
        struct opt_texts texts;
        struct engine_case c;
        size_t taken;
    } rows[] = {
        {{0}, {.cells = {5}, .pixels = 48}, 0},
        {{1, {"background --water=1e4"}}, {.cells = {5}, .pixels = 48}, 1},
        {{1, {"noise --seed=3 --bits=32 --readout=2"}}, {.cells = {5}, .pixels = 48}, 1},
        {{2, {"background --water=1e-3", "noise --readout=2"}}, {.cells = {5}, .pixels = 48}, 2},
        {{2, {"background --water=1e-3", "noise --psf=gauss --psf-fwhm=900"}},
         {.cells = {5}, .pixels = 48},
         1},
        {{2, {"background --water=1e-3", "noise"}},
         {.cells = {5}, .pixels = 48, .curved = true},
         0},
        {{1, {"noise --calibration=0.1 --readout=1"}},
         {.cells = {5}, .pixels = 48, .curved = true},
         1},
    };
    struct engine plain = engine_cuda_host;
    plain.prepare = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct frame a = through(&engine_cuda_host, &rows[i].c, &rows[i].texts, rows[i].taken);
        struct frame b = through(&plain, &rows[i].c, &rows[i].texts, 0);
        assert_int_equal(a.image.type, b.image.type);
        assert_int_equal(a.image.unit, b.image.unit);
        assert_int_equal(a.image.count, b.image.count);
        size_t others = 0;
        for (size_t k = 0; k < a.image.count; k++)
            others += image_value(&a.image, k) != image_value(&a.image, 0);
        if (others < a.image.count / 2)
            fail_msg("row %zu: an image of nothing but %g", i, image_value(&a.image, 0));
        assert_memory_equal(a.image.pixels, b.image.pixels,
                            a.image.count * pixel_size(a.image.type));
        frame_free(&a);
        frame_free(&b);
    }
}

/* ---- places that are pinned --------------------------------------------------------- */

static int npins, nreleased;
static enum status pin_says;

static enum status count_pins(struct plan *plan, void *pixels, size_t bytes, struct error *e)
{
    (void)plan;
    assert_non_null(pixels);
    assert_int_equal(bytes, 32 * 32 * 2);
    npins++;
    return pin_says ? error_set(e, pin_says, "pinning: not today") : STATUS_OK;
}

static void release(void *owner)
{
    (void)owner;
    nreleased++;
}

/* Two buffers in turn. */
static bool take_turns(struct image_memory *memory, size_t bytes, struct image *image)
{
    static uint16_t buffer[2][32 * 32];
    static int turn;
    (void)memory;
    assert_true(bytes <= sizeof buffer[0]);
    image->pixels = buffer[turn++ % 2];
    image->release = release;
    return true;
}

static void a_place_is_pinned_once(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 32};
    const struct opt_texts texts = {1, {"noise"}};
    static const int expected[] = {0, 2, 1};
    struct engine engine = engine_cuda_host;
    engine.pin = count_pins;
    for (int round = 0; round < 3; round++) {
        struct image_memory memory = {.take = take_turns, .lasting = round > 0};
        struct experiment x;
        struct frame f = {.image.memory = &memory};
        struct error e = {0};
        struct fuse fuse = {0};
        struct plan *plan;
        npins = nreleased = 0;
        pin_says = round == 2 ? STATUS_FAILED : STATUS_OK;
        assert_int_equal(case_build(&c, &x, &f.recipe, &e), STATUS_OK);
        assert_int_equal(engine.create(&plan, &x, &OPTIONS, &e), STATUS_OK);
        assert_int_equal(fuse_open(&fuse, &texts, 1, &e), STATUS_OK);
        assert_int_equal(fuse_begin(&fuse, &engine, plan, &x, &e), STATUS_OK);
        for (int i = 0; i < 5; i++)
            assert_int_equal(fuse_frame(&fuse, &f, 32 * 32, NULL, &e), STATUS_OK);
        frame_free(&f);
        assert_int_equal(nreleased, 5);
        assert_int_equal(npins, expected[round]);
        engine.destroy(&plan);
        fuse_close(&fuse);
        experiment_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_stages),
        cmocka_unit_test(every_mean_is_counted_alike),
        cmocka_unit_test(parts_and_spectra_change_nothing),
        cmocka_unit_test(what_the_card_cannot_do_is_left),
        cmocka_unit_test(too_many_photons_are_an_error),
        cmocka_unit_test(stages_share_their_work_with_the_engine),
        cmocka_unit_test(a_place_is_pinned_once),
    };
    return unit_run(tests);
}
