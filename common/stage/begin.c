/* The main thread of a stage until frames may come: the experiment, images, the list. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stage/worker.h"

/* Waits for the first message that is not damaged; NULL in *item when none comes. */
static enum status receive_first(struct worker *w, struct item **item, struct error *e)
{
    enum status s = STATUS_OK;
    bool dropped = true;
    while (dropped && s == STATUS_OK) {
        meter_switch(&w->rt.links.meter, ACTIVITY_WAIT_IN, 0);
        *item = exchange_take(&w->rt.links.exchange);
        meter_switch(&w->rt.links.meter, ACTIVITY_OTHER, 0);
        if (!*item)
            return STATUS_OK;
        s = worker_check_sum(w, *item, &dropped, e);
        if (dropped || s)
            item_free(*item);
    }
    return s;
}

/* Waits for the experiment of the stage before; false in *more when none comes. */
static enum status receive_experiment(struct worker *w, bool *more, struct error *e)
{
    struct item *item = NULL;
    enum status s = receive_first(w, &item, e);
    *more = item;
    if (s || !item)
        return s;
    if (item->route.type != MESSAGE_EXPERIMENT)
        s = error_set(e, STATUS_FAILED, "%s sent a frame before the experiment", item->route.stage);
    if (s == STATUS_OK && w->wants == KIND_ANY)
        w->wants = (enum kind)(item->route.flags & ROUTE_KIND_MASK);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&w->experiment, &item->message, e);
    if (s == STATUS_OK)
        w->expected = codec_expect(&w->experiment);
    if (s == STATUS_OK && w->stage.meet)
        w->stage.meet(w->state, w->rt.run.control.endpoint);  // known before the experiment came
    if (s == STATUS_OK && w->stage.message)
        s = w->stage.message(w->state, &item->route, &item->message, e);
    item_free(item);
    return s;
}

/* The source: asks the stage which frames there are. */
static enum status list_frames(struct worker *w, struct error *e)
{
    struct id_set ids = {0};
    const enum status s = w->stage.list ? w->stage.list(w->state, &ids, e) : STATUS_OK;
    if (s == STATUS_OK)
        exchange_set_list(&w->rt.links.exchange, &ids);
    else
        id_set_clear(&ids);
    return s;
}

/* Where the images lie that this stage makes, unless they are to go into messages: in memory that
 * others map, and on the card that the stage names. */
static void open_images(struct worker *w)
{
    const struct stage *stage = &w->stage;
    struct links *ls = &w->rt.links;
    struct on_card *c = &ls->on_card;
    uint64_t words[2];
    const bool shares =
        stage->role.gives == KIND_IMAGE && w->rt.run.settings.transport == TRANSPORT_AUTO;
    if (stage->card && shares)
        c->card = stage->card(w->state);
    if (c->card) {
        memcpy(words, c->card->uuid, sizeof words);
        (void)snprintf(c->name, sizeof c->name, "%016" PRIx64 "%016" PRIx64, be64toh(words[0]),
                       be64toh(words[1]));
        c->reads = stage->reads_only && !w->rt.run.settings.order;
    }
    images_open(&w->images, ls,
                shares ? (size_t)experiment_pixels(&w->experiment) * sizeof(float) : 0);
}

/* A last stage: asks it which frames it has. */
static enum status find_durable(struct worker *w, struct error *e)
{
    struct id_set ids = {0};
    if (!w->rt.run.settings.resume)
        return STATUS_OK;
    const enum status s = w->stage.have ? w->stage.have(w->state, &ids, e)
                                        : restart_remember(w->experiment.lineage, &ids, e);
    exchange_set_have(&w->rt.links.exchange, &ids);  // after an error nobody asks for them
    return s;
}

static enum status send_experiment(struct worker *w, bool *more, struct error *e)
{
    struct message m = {0};
    enum status s = w->stage.verbatim ? STATUS_OK : worker_extend_lineage(w, e);
    if (s == STATUS_OK)
        s = codec_experiment_encode(&w->experiment, &m, e);
    if (s == STATUS_OK)
        return worker_send(w, MESSAGE_EXPERIMENT, (struct ticket){0}, &m, NULL, more, e);
    message_free(&m);
    return s;
}

enum status worker_begin(struct worker *w, bool *more, struct error *e)
{
    const struct stage *stage = &w->stage;
    *more = true;
    enum status s = stage->role.wants == KIND_NONE ? STATUS_OK : receive_experiment(w, more, e);
    if (s || !*more)
        return s;
    if (stage->begin) {
        meter_switch(&w->rt.links.meter, ACTIVITY_BEGIN, 0);
        s = stage->begin(w->state, &w->experiment, e);
        meter_switch(&w->rt.links.meter, ACTIVITY_OTHER, 0);
    }
    if (s)
        return s;
    open_images(w);
    s = role_is_sink(&w->stage.role) ? find_durable(w, e) : send_experiment(w, more, e);
    if (s)
        return s;
    const int64_t pixels = experiment_pixels(&w->experiment);
    exchange_begin(&w->rt.links.exchange, (size_t)pixels * sizeof(float),
                   stage_identity(stage, w->state), w->experiment.lineage,
                   stage->progress ? stage->progress(w->state) : NULL);
    return role_is_source(&w->stage.role) ? list_frames(w, e) : STATUS_OK;
}
