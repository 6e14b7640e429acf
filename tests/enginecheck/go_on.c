/* Compares background and noise of given photons, on the CPU or on the GPU, with those that are
 * computed from the recipe. */
#include <string.h>

#include "../unit/after_case.h"
#include "../unit/engine_table.h"
#include "check.h"

static const uint64_t SEED = 77;

struct case_at {
    const struct run *run;
    const struct experiment *x;
    const struct recipe *r;
    const struct engine_after *after;
    size_t count, bytes;  // pixels; of counts
    void *expected, *got;
    float *photons;
};

static enum status plan_open(const struct case_at *c, bool alone, struct plan **plan,
                             struct error *e)
{
    struct engine_options how = c->run->options;
    struct engine_after left = *c->after;
    how.after = alone;
    enum status s = c->run->engine->create(plan, c->x, &how, e);
    if (!s)
        s = c->run->engine->prepare(*plan, &left, e);
    return s || !(left.noise || left.nmaterials)
               ? s
               : error_set(e, STATUS_FAILED, "the engine leaves background or noise to others");
}

/* What is expected, and photons here and there, of a plan for all of it. */
static enum status from_recipe(const struct case_at *c, struct error *e)
{
    struct plan *plan = NULL;
    enum status s = plan_open(c, false, &plan, e);
    if (!s)
        s = c->run->engine->develop(plan, c->r, SEED, c->expected, NULL, e);
    if (plan)
        c->run->engine->destroy(&plan);
    return s ? s : compute(c->run->engine, &c->run->options, c->x, c->r, c->photons, e);
}

/* Photons to the card: by an engine that computes them there. */
static enum status photons_there(const struct case_at *c, void *there, struct error *e)
{
    struct plan *plan = NULL;
    enum status s = c->run->engine->create(&plan, c->x, &c->run->options, e);
    if (!s)
        s = c->run->engine->develop_there(plan, c->r, SEED, there, NULL, e);
    if (plan)
        c->run->engine->destroy(&plan);
    return s;
}

/* All four ways; *wrong are those with other bytes. */
static enum status from_photons(const struct case_at *c, int *wrong, struct error *e)
{
    const struct engine *engine = c->run->engine;
    struct plan *plan = NULL;
    struct card_handle name;
    void *from = NULL, *to = NULL;
    enum status s = plan_open(c, true, &plan, e);
    const struct card *card = s ? NULL : engine->card(plan);
    if (!s)
        s = card->reserve(card, c->count * sizeof(float), &from, &name, e);
    if (!s)
        s = card->reserve(card, c->bytes, &to, &name, e);
    if (!s)
        s = photons_there(c, from, e);
    for (int way = 0; way < 4 && !s; way++) {
        const struct image photons = {.pixels = c->photons, .card = way & 1 ? from : NULL};
        const struct image counts = {.pixels = c->got, .card = way & 2 ? to : NULL};
        memset(c->got, 0xee, c->bytes);
        s = engine->go_on(plan, c->r, SEED, &photons, &counts, e);
        if (!s && counts.card)
            s = card->fetch(card, c->got, to, c->bytes, e);
        *wrong += !s && memcmp(c->got, c->expected, c->bytes) != 0;
    }
    if (card) {
        card->release(card, from);
        card->release(card, to);
    }
    if (plan)
        engine->destroy(&plan);
    return s;
}

static enum status check_one(struct run *run, const char *name, const struct experiment *x,
                             const struct recipe *r, const struct engine_after *after,
                             struct error *e)
{
    const size_t count = (size_t)experiment_pixels(x), bytes = count * pixel_size(after->type);
    int wrong = 0;
    struct case_at c = {.run = run,
                        .x = x,
                        .r = r,
                        .after = after,
                        .count = count,
                        .bytes = bytes,
                        .expected = mem_array(bytes, 1),
                        .got = mem_array(bytes, 1),
                        .photons = mem_array(count, sizeof(float))};
    enum status s = c.expected && c.got && c.photons ? STATUS_OK : error_memory(e, "the images");
    if (!s)
        s = from_recipe(&c, e);
    if (!s)
        s = from_photons(&c, &wrong, e);
    if (!s)
        tell_case(run, "from photons on", name, wrong, 0.0);
    mem_free(c.expected);
    mem_free(c.got);
    mem_free(c.photons);
    return s;
}

/* Both, the one, or the other: curved detectors have no background there. */
static enum status check_case(struct run *run, int i, const struct background_material *material,
                              struct error *e)
{
    static const enum pixel_type TYPES[] = {PIXEL_U16, PIXEL_U16, PIXEL_U32};
    struct background_material brightest = *material;
    struct noise noise = after_noises[i % 3];
    struct experiment x = {0};
    struct recipe r = {0};
    enum status s = case_build(&cases[i], &x, &r, e);
    const size_t count = s ? 0 : (size_t)experiment_pixels(&x);
    float *photons = mem_array(count, sizeof *photons);
    const bool adds = !cases[i].curved && i % 4 != 1, counts = cases[i].curved || i % 4 != 2;
    noise.threads = run->options.threads;
    const struct engine_after after = {&brightest, adds, counts ? &noise : NULL,
                                       counts ? TYPES[i % 3] : PIXEL_F32};
    if (!s && adds && photons)
        after_set_brightest(&x, &brightest, i % 3 == 1 ? 2000.0 : 10.0, photons);
    if (!s)
        s = photons ? check_one(run, cases[i].name, &x, &r, &after, e)
                    : error_memory(e, "the background");
    mem_free(photons);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

enum status check_go_on(struct run *run, const int64_t *numbers, struct error *e)
{
    struct background_material material;
    enum status s = after_water(&material, e);
    (void)numbers;
    for (int i = 0; i < NCASES && !s; i++)
        s = check_case(run, i, &material, e);
    amorphous_free(&material.table);
    return s;
}
