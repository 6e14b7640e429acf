/* Refined recipes as a recording, for bragg-replay. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/history.h"
#include "link/stage_kind.h"
#include "refine.h"

enum { LINE_SIZE = 4096 };

/* The model's lineage, and what was refined of which frames. */
static void extend_lineage(const struct refine *f, struct experiment *x)
{
    char line[LINE_SIZE];
    size_t at = 0;
    for (size_t k = 0; k < f->free.count; k++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s",
                               k ? "," : "parameters=", f->free.name[k]);
    (void)snprintf(line + at, sizeof line - at, "\nframes=%s\n", f->data->lineage);
    uint64_t hash = hash_text(hash_text(HASH_START, x->lineage), line);
    for (size_t i = 0; i < f->nresults; i++)
        hash = hash_bytes(hash, f->results[i].value, f->free.count * sizeof(double));
    (void)snprintf(x->lineage, sizeof x->lineage, "%016" PRIx64, hash_finish(hash));
    history_append(x->history, sizeof x->history, "bragg-refine", line);
}

static enum status add(struct recorder *to, struct route *route, const char *lineage,
                       struct refine_result *r, struct error *e)
{
    struct message m = {0};
    struct frame frame = {0};
    route->type = MESSAGE_FRAME;
    route->frame = r->id;
    if (!recipe_copy(&frame.recipe, &r->recipe)) {
        frame_free(&frame);
        return error_memory(e, "a recipe");
    }
    enum status s = codec_frame_encode(&frame, lineage, &m, e);
    s = s ? s : route_seal(route, &m, e);
    s = s ? s : recorder_add(to, route, &m, e);
    message_free(&m);
    return s;
}

bool refine_copy_model(const struct refine *f, struct experiment *x)
{
    if (!experiment_copy(x, &f->model))
        return false;
    for (size_t i = 0; i < 3 * x->ncrystals; i++)  // engines make images of whole cells
        x->crystals[i / 3].cells[i % 3] = fmax(1.0, nearbyint(x->crystals[i / 3].cells[i % 3]));
    return true;
}

void refine_give(struct refine *f, struct recipe *r)
{
    struct refine_result *last = &f->results[--f->nresults];
    struct recipe given = last->recipe;
    last->recipe = (struct recipe){0};
    f->given[last->verdict]++;
    recipe_free(r);
    *r = given;
    refine_result_free(last);
}

enum status refine_write_recipes(struct refine *f, const struct route *route, struct error *e)
{
    struct recorder to = {0};
    struct message m = {0};
    struct experiment x;
    struct route r = *route;
    r.flags = KIND_RECIPE;
    r.type = MESSAGE_EXPERIMENT;
    (void)snprintf(r.stage, sizeof r.stage, "bragg-refine");
    if (!refine_copy_model(f, &x))
        return error_memory(e, "the experiment");
    extend_lineage(f, &x);
    enum status s = codec_experiment_encode(&x, &m, e);
    s = s ? s : route_seal(&r, &m, e);
    s = s ? s
          : recorder_open(&to, f->options->recipes,
                          f->options->overwrite ? RECORDER_REPLACE : RECORDER_NEW, &r, &m, e);
    for (size_t i = 0; i < f->nresults && !s; i++)
        if (f->results[i].verdict != REFINE_NO_START)
            s = add(&to, &r, x.lineage, &f->results[i], e);
    s = s ? s : recorder_finish(&to, e);
    (void)recorder_close(&to);
    message_free(&m);
    experiment_free(&x);
    return s;
}
