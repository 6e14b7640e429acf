/* The list of engines, the choice of a GPU, and work on images that are in its memory. */
#include "engines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gpu/gpu.h"

const struct engine *const engines[] = {&engine_reference, &engine_cpu, &engine_cuda, NULL};

const struct engine *engine_find(const char *name)
{
    for (const struct engine *const *engine = engines; *engine; engine++)
        if (strcmp((*engine)->name, name) == 0)
            return *engine;
    return NULL;
}

enum status engine_choose_device(int64_t asked, struct engine_options *how, struct error *e)
{
    const char *worker = getenv("BRAGG_WORKER");
    int64_t number = asked < 0 ? 0 : asked;
    how->device_by_turns = asked < 0;
    const enum status s =
        asked >= 0 || !worker ? STATUS_OK : parse_int(worker, 0, 1023, "BRAGG_WORKER", &number, e);
    how->device = (int)number;
    return s;
}

void engine_pin(struct engine_pins *pins, const struct engine *engine, struct plan *plan,
                const struct image *image)
{
    struct error e = {0};
    if (!engine->pin || pins->without || !image_is_lasting(image) || pins->count == ENGINE_PLACES)
        return;
    for (size_t i = 0; i < pins->count; i++)
        if (pins->place[i] == image->pixels)
            return;
    pins->place[pins->count++] = image->pixels;
    pins->without =
        engine->pin(plan, image->pixels, image->count * pixel_size(image->type), &e) != STATUS_OK;
    if (pins->without)
        log_line(LOG_WARNING, "%s; pixels are copied once more", e.text);
}

int engine_figures(const struct engine *engine, const struct plan *plan, char *text, size_t size)
{
    struct engine_count counts[ENGINE_COUNTS];
    const size_t n = plan && engine->counts ? engine->counts(plan, counts) : 0;
    int at = 0;
    for (size_t i = 0; i < n; i++)
        at += snprintf(text + at, size - (size_t)at, ",\"%.32s\":%" PRIu64, counts[i].name,
                       counts[i].count);
    return at;
}

/* Offers the work of *after to the engine. Sets *all to true if the engine does all of this
 * work, else to false. */
static enum status offer_work(struct gpu_postprocess *w, const struct engine_after *after,
                              bool *all, struct error *e)
{
    struct engine_after left = *after;
    const enum status s = w->its->prepare(w->plan, &left, e);
    *all = (after->nmaterials || after->noise) && !left.nmaterials && !left.noise;
    return s;
}

enum status gpu_postprocess_begin(struct gpu_postprocess *w, const struct experiment *x,
                                  const struct engine_after *after, int64_t threads,
                                  const char *left, struct error *e)
{
    struct engine_options how = {.threads = (int)threads, .after = true};
    bool all = false;
    if (w->engine != GPU_POSTPROCESS_CUDA)
        return STATUS_OK;
    w->its = &engine_cuda;
    w->type = after->noise ? after->type : PIXEL_F32;
    w->unit = after->noise ? UNIT_ADU : UNIT_PHOTONS;
    enum status s = engine_choose_device(w->device, &how, e);
    if (!s)
        s = w->its->create(&w->plan, x, &how, e);
    if (!s)
        s = offer_work(w, after, &all, e);
    if (s)
        return s;
    if (all) {
        log_line(LOG_INFO, "engine cuda: %s", w->its->describe(w->plan));
    } else {
        w->its->destroy(&w->plan);
        log_line(
            LOG_WARNING,
            "--engine=cuda: this stage uses the CPU, because the GPU engine does not support %s",
            left);
    }
    return STATUS_OK;
}

const struct card *gpu_postprocess_card(const struct gpu_postprocess *w)
{
    return w->plan ? w->its->card(w->plan) : NULL;
}

enum status gpu_postprocess_frame(struct gpu_postprocess *w, struct frame *f, uint64_t seed,
                                  struct error *e)
{
    struct image to = {.memory = f->image.memory};
    const size_t count = f->image.count;
    if (!image_reserve_on_card(&to, w->type, w->unit, count)) {
        image_allocate(&to, w->type, w->unit, count);
        engine_pin(&w->pins, w->its, w->plan, &to);
    }
    const enum status s = w->its->go_on(w->plan, &f->recipe, seed, &f->image, &to, e);
    if (s) {
        image_free(&to);
        return s;
    }
    to.has_sum = !to.card && w->its->sum(w->plan, &to.sum);
    w->taken += f->image.card != NULL;
    w->given += to.card != NULL;
    image_free(&f->image);
    f->image = to;
    return STATUS_OK;
}

enum status gpu_postprocess_fetch(struct gpu_postprocess *w, struct image *image, struct error *e)
{
    const struct card *card = gpu_postprocess_card(w);
    struct image here = {.memory = image->memory};
    if (!image->card)
        return STATUS_OK;
    image_allocate(&here, image->type, image->unit, image->count);
    const enum status s =
        card->fetch(card, here.pixels, image->card, image->count * pixel_size(image->type), e);
    if (s) {
        image_free(&here);
        return s;
    }
    w->fetched++;
    image_free(image);
    *image = here;
    return STATUS_OK;
}

const char *gpu_postprocess_report(struct gpu_postprocess *w)
{
    if (!w->plan)
        return NULL;
    const int at = snprintf(w->figures, sizeof w->figures,
                            "\"gpu_images_taken\":%" PRIu64 ",\"gpu_images_given\":%" PRIu64
                            ",\"gpu_images_fetched\":%" PRIu64,
                            w->taken, w->given, w->fetched);
    (void)engine_figures(w->its, w->plan, w->figures + at, sizeof w->figures - (size_t)at);
    w->its->unpin(w->plan);
    return w->figures;
}

void gpu_postprocess_close(struct gpu_postprocess *w)
{
    if (w->plan)
        w->its->destroy(&w->plan);
}
