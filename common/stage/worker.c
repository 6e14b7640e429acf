/* The main thread of a stage: messages in and out. */
#include "stage/worker.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "link/shared.h"

enum { DAMAGED_MAX = 100 };

const char *stage_identity(const struct stage *stage, void *state)
{
    return stage->identity ? stage->identity(state) : "any";
}

/* Whether pixels are to leave packed, as they do through a network. */
static bool compresses(const struct settings *o)
{
    for (size_t i = 0; i < o->out.count && o->compress; i++)
        if (endpoint_is_network(o->out.text[i] + (*o->out.text[i] == '@')))
            return true;
    return false;
}

/* Pixels on a card are summed up where they leave it; until then the sum is of the rest. */
static enum status seal(struct route *r, struct message *m, bool on_card, struct error *e)
{
    if (on_card) {
        m->has_sum = true;
        m->sum = 0;
    }
    const enum status s = route_seal(r, m, e);
    m->has_sum = m->has_sum && !on_card;
    return s;
}

enum status worker_send(struct worker *w, enum message_type type, struct ticket t,
                        struct message *m, const struct image *image, bool *more, struct error *e)
{
    const void *card = image ? image->card : NULL;
    struct route r = {.type = type,
                      .run = w->rt.run.id,
                      .incarnation = w->rt.run.incarnation,
                      .frame = t.id,
                      .attempt = t.attempt,
                      .flags = (uint32_t)w->stage.role.gives};
    (void)snprintf(r.stage, sizeof r.stage, "%s", w->stage.role.name);
    meter_switch(&w->rt.links.meter, ACTIVITY_ENCODE, t.id);
    enum status s = seal(&r, m, card, e);
    if (s == STATUS_OK)
        s = port_share(m, e);
    struct item *item = s == STATUS_OK ? mem_array(1, sizeof *item) : NULL;
    if (!item) {
        message_free(m);
        return s ? s : error_memory(e, "a message");
    }
    *item = (struct item){.route = r, .message = *m, .card = card};
    s = shared_describe(w->rt.links.pool, item, e);
    const bool packs = image && image->count && !card && compresses(&w->rt.run.settings);
    if (s == STATUS_OK && packs)
        s = packed_make(&w->packer, &item->route, &item->message, pixel_size(image->type),
                        &item->packed, e);
    if (s == STATUS_OK && packs)
        s = port_share(&item->packed, e);
    if (s) {
        item_free(item);
        return s;
    }
    meter_switch(&w->rt.links.meter, ACTIVITY_WAIT_OUT, t.id);
    *more = exchange_give(&w->rt.links.exchange, item);
    meter_switch(&w->rt.links.meter, ACTIVITY_OTHER, t.id);
    return STATUS_OK;
}

enum status worker_damaged(const struct route *r, struct error *e)
{
    return error_set(e, STATUS_FAILED, "%s %" PRIu64 " from %s was damaged on its way",
                     message_type_name(r->type), r->frame, r->stage);
}

/* It is sent again, and not for ever. */
static enum status drop(struct worker *w, const struct item *item, struct error *e)
{
    exchange_damaged(&w->rt.links.exchange, &item->route);
    return ++w->damaged < DAMAGED_MAX ? STATUS_OK : worker_damaged(&item->route, e);
}

enum status worker_check_sum(struct worker *w, const struct item *item, bool *dropped,
                             struct error *e)
{
    *dropped = false;
    if (!packed_is(&item->route) &&
        route_sum_matches_first(&item->route, &item->message, &w->first_sum)) {
        w->damaged = 0;
        return STATUS_OK;
    }
    *dropped = item->network;
    return *dropped ? drop(w, item, e) : worker_damaged(&item->route, e);
}

enum status worker_find_on_card(struct worker *w, const struct item *item, bool *dropped,
                                struct error *e)
{
    struct error why;
    *dropped = images_find_on_card(&w->images, &why) != STATUS_OK;
    if (w->images.lease.release && !*dropped)
        w->damaged = 0;
    if (!*dropped)
        return STATUS_OK;
    if (!atomic_exchange(&w->rt.links.on_card.refused, true))
        log_line(LOG_WARNING, "images of %s cannot be read on the GPU: %s; they leave it",
                 item->route.stage, why.text);
    return drop(w, item, e);
}
