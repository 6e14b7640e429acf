/* The main thread of a stage: one frame after the other. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "stage/worker.h"

/* Gives borrowed pixels back.  If they were replaced, because the process before took this
 * one for dead, or damaged, whatever came of them is void: `s` becomes that error. */
static enum status return_pixels(struct worker *w, enum status s, struct error *e)
{
    switch (images_return(&w->images)) {
    case IMAGES_REPLACED:
        atomic_store(&w->rt.outcast, true);
        return error_set(e, STATUS_FAILED, "the source took this process for dead");
    case IMAGES_DAMAGED:
        return worker_damaged(w->route, e);
    default:
        return s;
    }
}

/* The callback, from pixels that it may use as it does to pixels that may be sent. */
static enum status compute(struct worker *w, struct frame *f, struct error *e)
{
    const struct stage *stage = &w->stage;
    struct meter *meter = &w->rt.links.meter;
    const uint64_t id = f->recipe.id;
    enum status s = STATUS_OK;
    meter_switch(meter, ACTIVITY_COPY, id);
    f->image.memory = images_memory(&w->images);
    if (!stage->reads_only)
        s = images_make_own(&w->images, &f->image, e);
    meter_switch(meter, ACTIVITY_COMPUTE, id);
    if (s == STATUS_OK && stage->frame)
        s = stage->frame(w->state, f, e);
    meter_switch(meter, ACTIVITY_COPY, id);
    if (s == STATUS_OK && !role_is_sink(&w->stage.role))
        s = images_make_own(&w->images, &f->image, e);
    meter_switch(meter, ACTIVITY_OTHER, id);
    if (s == STATUS_OK && role_is_sink(&w->stage.role))
        progress_show(w, &f->image);
    return return_pixels(w, s, e);
}

/* One frame, then on to the next stage or into the list of durable frames. */
static enum status process(struct worker *w, struct frame *f, struct ticket t, bool *more,
                           struct error *e)
{
    if (w->stage.expect && !w->rt.links.meter.frames)
        w->stage.expect(w->state, exchange_total(&w->rt.links.exchange));
    enum status s = compute(w, f, e);
    if (s)
        return s;
    meter_count_frame(&w->rt.links.meter);
    if (role_is_sink(&w->stage.role)) {
        exchange_durable(&w->rt.links.exchange, t.id);
        return STATUS_OK;
    }
    struct message m = {0};
    const struct image image = f->image;  // the message takes the pixels over
    s = codec_frame_encode(f, w->experiment.lineage, &m, e);
    if (s == STATUS_OK)
        s = worker_send(w, MESSAGE_FRAME, t, &m, &image, more, e);
    else
        message_free(&m);
    return s;
}

/* Holds a frame back until it is due; *base_ns, 0 before the first one, is when the
 * stage's own clock began.  False at the end of the stream. */
static bool wait_due(struct worker *w, struct ticket t, uint64_t *base_ns)
{
    if (!w->stage.due_ns || t.attempt)
        return true;
    const uint64_t due_ns = w->stage.due_ns(w->state, t.id);
    if (!*base_ns)
        *base_ns = clock_ns() - due_ns;
    return exchange_wait_until(&w->rt.links.exchange, *base_ns + due_ns);
}

enum status worker_run_source(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    uint64_t base_ns = 0;
    for (bool more = true; more && s == STATUS_OK;) {
        struct ticket t;
        meter_switch(&w->rt.links.meter, ACTIVITY_WAIT_IN, 0);
        if (!exchange_next(&w->rt.links.exchange, &t) || !wait_due(w, t, &base_ns))
            break;
        struct frame f = {.recipe.id = t.id};
        s = process(w, &f, t, &more, e);
        frame_free(&f);
    }
    return s;
}

/* A further stage before this one brings its experiment: it must be the same. */
static enum status compare_experiment(struct worker *w, const struct item *item, struct error *e)
{
    struct experiment other = {0};
    bool dropped;
    enum status s = worker_check_sum(w, item, &dropped, e);
    if (s || dropped)
        return s;
    s = codec_experiment_decode(&other, &item->message, e);
    if (s == STATUS_OK && strcmp(other.lineage, w->expected.lineage) != 0)
        s = error_set(
            e, STATUS_FAILED,
            "%s computes something else than the others before this stage (lineage %s, not %s)",
            item->route.stage, other.lineage, w->expected.lineage);
    experiment_free(&other);
    return s;
}

/* On one host images are summed up once, where they leave the stream; recipes end here.  Sinks
 * ask whether borrowed pixels are intact when they have read them. */
static bool sum_later(struct worker *w, const struct item *item)
{
    if (!role_is_sink(&w->stage.role) || w->stage.message || !w->images.lease.release)
        return false;
    w->first_sum = route_sum_of_first(&item->route, &item->message);
    images_expect(&w->images, w->first_sum);
    return true;
}

static enum status receive_frame(struct worker *w, struct item *item, struct frame *f,
                                 bool *dropped, struct error *e)
{
    images_borrow(&w->images, &item->message);
    enum status s = worker_find_on_card(w, item, dropped, e);
    if (*dropped)
        return s;
    s = packed_open(&item->route, &item->message, w->expected.pixels, e);
    if (s == STATUS_INPUT)
        s = STATUS_OK;  // still packed: what has no good sum
    if (s == STATUS_OK && !sum_later(w, item) &&
        (item->network || packed_is(&item->route) || w->wants == KIND_RECIPE ||
         role_is_sink(&w->stage.role)))
        s = worker_check_sum(w, item, dropped, e);
    if (*dropped)
        return s;
    if (s == STATUS_OK)
        s = codec_frame_decode(f, &w->expected, &item->message, e);
    images_mark(&w->images, &f->image);
    if (role_is_sink(&w->stage.role)) {  // what it gets is not changed any more
        f->image.has_sum = f->image.count > 0;
        f->image.sum = w->first_sum;
    }
    if (s == STATUS_OK &&
        (f->recipe.id != item->route.frame || (w->wants == KIND_IMAGE && !f->image.count)))
        s = error_set(e, STATUS_INPUT, "frame %" PRIu64 " from %s contradicts itself",
                      item->route.frame, item->route.stage);
    if (s == STATUS_OK && w->stage.role.wants == KIND_RECIPE && f->refined.present &&
        !w->stage.takes_fits)
        s = error_set(e, STATUS_INPUT, "what %s found of frames is for bragg-refine --gather",
                      item->route.stage);
    return s;
}

/* One that was lost before may end this process, too: what tells that those before it have passed
 * leaves first. */
static void let_others_leave(struct worker *w, const struct item *item)
{
    const uint64_t leave_ns = 20000000;
    if (item->route.attempt)
        (void)exchange_wait_until(&w->rt.links.exchange, clock_ns() + leave_ns);
}

enum status worker_run_frames(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    struct meter *meter = &w->rt.links.meter;
    for (bool more = true; more && s == STATUS_OK;) {
        meter_switch(meter, ACTIVITY_WAIT_IN, 0);
        struct item *item = exchange_take(&w->rt.links.exchange);
        if (!item)
            break;
        let_others_leave(w, item);
        const uint64_t id = item->route.frame;
        w->route = &item->route;
        struct frame f = {0};
        meter_switch(meter, ACTIVITY_DECODE, id);
        if (item->route.type == MESSAGE_EXPERIMENT) {
            s = compare_experiment(w, item, e);
        } else {
            bool dropped;
            s = receive_frame(w, item, &f, &dropped, e);
            if (s == STATUS_OK && !dropped && w->stage.message)
                s = w->stage.message(w->state, &item->route, &item->message, e);
            if (s == STATUS_OK && !dropped)
                s = process(w, &f, (struct ticket){id, item->route.attempt}, &more, e);
            s = return_pixels(w, s, e);
        }
        meter_switch(meter, ACTIVITY_OTHER, id);
        frame_free(&f);
        item_free(item);
    }
    return s;
}
