/* Compares background and noise on the GPU with those of the stages on the CPU. */
#include <string.h>

#include "../../bench/workload.h"
#include "../unit/after_case.h"
#include "../unit/engine_table.h"
#include "base/clock.h"
#include "base/hash.h"
#include "check.h"

static const uint64_t SEED = 77;

/* A frame twice: by stages, and on the card. */
struct pair {
    const struct run *run;
    const struct experiment *x;
    const struct recipe *r;
    struct background_material material;
    struct noise noise;
    struct engine_after after;
    size_t count;
    float *photons, *background;
    void *expected, *image;
    struct gpu_times best;  // each the best of some rounds, but of background the first
    struct rounds rounds;   // of whole frames
    bool wrong_sum;         // the checksum of the engine is not that of its pixels
};

static enum status pair_open(struct pair *p, struct run *run, const struct experiment *x,
                             const struct recipe *r, size_t which, struct error *e)
{
    const size_t count = (size_t)experiment_pixels(x);
    *p = (struct pair){.run = run, .x = x, .r = r, .count = count, .noise = after_noises[which]};
    p->noise.threads = run->options.threads;
    p->photons = mem_array(count, sizeof *p->photons);
    p->background = mem_array(count, sizeof *p->background);
    p->expected = mem_array(count, sizeof(uint32_t));
    p->image = mem_array(count, sizeof(uint32_t));
    p->after = (struct engine_after){&p->material, 1, &p->noise,
                                     p->noise.saturation_adu > 65535.0 ? PIXEL_U32 : PIXEL_U16};
    if (!p->photons || !p->background || !p->expected || !p->image)
        return error_memory(e, "the images");
    return after_water(&p->material, e);
}

static void pair_close(struct pair *p)
{
    amorphous_free(&p->material.table);
    mem_free(p->photons);
    mem_free(p->background);
    mem_free(p->expected);
    mem_free(p->image);
}

static enum status by_stages(struct pair *p, struct error *e)
{
    struct noise_plan *plan = NULL;
    struct image adu = {.type = p->after.type, .count = p->count, .pixels = p->expected};
    enum status s = compute(p->run->engine, &p->run->options, p->x, p->r, p->photons, e);
    for (size_t i = 0; i < p->count; i++)
        p->photons[i] = p->photons[i] + p->background[i];
    if (!s)
        s = noise_create(&plan, &p->noise, p->x, e);
    if (!s)
        s = noise_apply(plan, SEED, p->r->id, p->photons, &adu, e);
    if (plan)
        noise_destroy(&plan);
    return s;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void keep_best(struct pair *p, bool first, const struct gpu_times *t)
{
    struct gpu_times *best = &p->best;
    const double background = first ? t->background : best->background;
    *best = first ? *t
                  : (struct gpu_times){least(best->upload, t->upload),
                                       least(best->kernels, t->kernels),
                                       least(best->to_host, t->to_host),
                                       least(best->photons, t->photons),
                                       background,
                                       least(best->counts, t->counts)};
}

/* Notes whether the engine formed the checksum of its pixels. */
static void check_sum(struct pair *p, const struct plan *plan)
{
    const struct engine *engine = p->run->engine;
    uint32_t sum;
    if (engine->sum && engine->sum(plan, &sum))
        p->wrong_sum |= sum != crc32c(0, p->image, p->count * pixel_size(p->after.type));
}

/* Twice, or as often as it is timed.  The second frame of two is begun early. */
static enum status on_card(struct pair *p, bool timed, struct error *e)
{
    const struct engine *engine = p->run->engine;
    struct engine_after left = p->after;
    struct plan *plan;
    enum status s = engine->create(&plan, p->x, &p->run->options, e);
    if (!s)
        s = engine->prepare(plan, &left, e);
    if (!s && (left.noise || left.nmaterials))
        s = error_set(e, STATUS_FAILED, "the engine leaves background or noise to others");
    if (!s)
        s = engine->pin(plan, p->image, p->count * pixel_size(p->after.type), e);
    if (!s && timed)
        gpu_keep_times(plan, true);
    for (int i = 0; !s && (i == 0 || (timed ? rounds_go_on(&p->rounds) : i < 2)); i++) {
        memset(p->image, 0xee, p->count * pixel_size(p->after.type));
        if (!timed && engine->announce)
            engine->announce(plan, p->r);
        const uint64_t start = clock_ns();
        s = engine->develop(plan, p->r, SEED, p->image, NULL, e);
        rounds_add(&p->rounds, (double)(clock_ns() - start) * 1e-6);
        keep_best(p, i == 0, gpu_last_times(plan));
        if (!timed)
            check_sum(p, plan);
    }
    if (plan)
        engine->destroy(&plan);
    return s;
}

/* Prints the bytes that the kernels read and write, next to the bandwidth of the GPU and of the
 * bus. */
static void print_times(const struct pair *p, double frame_ms)
{
    const struct card_peak *peak = &p->run->peak;
    const struct gpu_times *t = &p->best;
    const double pixels = (double)p->count, out = (double)pixel_size(p->after.type);
    printf(", upload %.3f ms, photons %.3f, background %.3f (once), counts %.3f, to host %.3f; "
           "recipe to pixels %.3f",
           t->upload, t->photons, t->background, t->counts, t->to_host, frame_ms);
    if (peak->bytes > 0.0)
        printf("; of the card's bandwidth background %.0f %%, counts %.0f %%; of the bus %.0f %%",
               100.0 * 4.0 * pixels / (t->background * 1e-3 * peak->bytes),
               100.0 * (8.0 + out) * pixels / (t->counts * 1e-3 * peak->bytes),
               t->to_host > 0.0 ? 100.0 * out * pixels / (t->to_host * 1e-3 * peak->bus_bytes)
                                : 0.0);
}

static void report(struct run *run, const char *name, struct pair *p, bool timed)
{
    const bool same =
        memcmp(p->expected, p->image, p->count * pixel_size(p->after.type)) == 0 && !p->wrong_sum;
    run->cases++;
    run->failed += !same;
    run->pixels += p->count;
    const double frame_ms = rounds_middle(&p->rounds).ms;
    printf("%-44s %d bits, %s", name, p->after.type == PIXEL_U16 ? 16 : 32,
           same           ? "same integers"
           : p->wrong_sum ? "FAILED: another checksum"
                          : "FAILED: other integers");
    if (timed)
        print_times(p, frame_ms);
    printf("\n");
    if (!run->json)
        return;
    (void)fprintf(run->json,
                  "{\"part\": \"background and noise\", \"case\": \"%s\", \"pixels\": %zu, ", name,
                  p->count);
    if (timed)
        (void)fprintf(run->json,
                      "\"upload_ms\": %.4g, \"photons_ms\": %.4g, \"background_ms\": %.4g, "
                      "\"counts_ms\": %.4g, \"kernel_ms\": %.4g, \"to_host_ms\": %.4g, "
                      "\"frame_ms\": %.4g, ",
                      p->best.upload, p->best.photons, p->best.background, p->best.counts,
                      p->best.kernels, p->best.to_host, frame_ms);
    (void)fprintf(run->json, "\"passed\": %s}\n", same ? "true" : "false");
}

static enum status check_one(struct run *run, const char *name, const struct experiment *x,
                             const struct recipe *r, size_t which, bool timed, struct error *e)
{
    struct pair p;
    enum status s = pair_open(&p, run, x, r, which, e);
    if (!s)
        after_set_brightest(x, &p.material, which == 1 ? 2000.0 : 10.0, p.background);
    if (!s)
        s = by_stages(&p, e);
    if (!s)
        s = on_card(&p, timed, e);
    if (!s)
        report(run, name, &p, timed);
    pair_close(&p);
    return s;
}

static enum status check_workload(struct run *run, const struct workload *w, int64_t size,
                                  struct error *e)
{
    struct words words;
    struct experiment x = {0};
    struct recipe r = {0};
    workload_words(w, size, &words);
    enum status s = workload_build(w, &words, PHYSICS_PHYSICAL, &x, &r, e);
    if (!s)
        s = check_one(run, w->name, &x, &r, 0, true, e);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

static enum status check_case(struct run *run, const struct engine_case *c, size_t which,
                              struct error *e)
{
    struct experiment x = {0};
    struct recipe r = {0};
    if (c->curved) {
        tell_skip(run, "background and noise", c->name, "its detector is curved");
        return STATUS_OK;
    }
    enum status s = case_build(c, &x, &r, e);
    if (!s)
        s = check_one(run, c->name, &x, &r, which, false, e);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

enum status check_after(struct run *run, const int64_t *numbers, struct error *e)
{
    const struct engine_case in_parts = smeared_in_parts();
    const int64_t size = numbers[0];
    enum status s = STATUS_OK;
    for (int i = 0; i < NCASES && !s; i++)
        s = check_case(run, &cases[i], (size_t)i % 3, e);
    if (!s)
        s = check_case(run, &in_parts, 0, e);
    if (!s)
        run->peak = card_peak();
    return s ? s : check_workload(run, &workloads[0], size, e);
}
