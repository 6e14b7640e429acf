/* The list of engines, and the choice of a GPU. */
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
