/*
 * The main thread of a stage, which computes.
 *
 * It waits for the experiment, calls the callbacks of the stage that come before the first frame,
 * then calls `frame` once per frame, and hands every result to the I/O thread.  It owns no socket:
 * all messages pass through the exchange (link/exchange.h).
 */
#include "stage/worker.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "link/links.h"

enum { DAMAGED_MAX = 100 };

/* Returns true if pixels must be compressed, because --compress is given and an output is tcp. */
static bool compresses(const struct settings *o)
{
    for (size_t i = 0; i < o->out.count && o->compress; i++)
        if (endpoint_is_network(o->out.text[i] + (*o->out.text[i] == '@')))
            return true;
    return false;
}

/* Seals a message.  The checksum of pixels on a GPU is formed when they leave the GPU; until then
 * the checksum covers only the other parts. */
static void seal(struct route *r, struct message *m, bool on_card)
{
    if (on_card) {
        m->has_sum = true;
        m->sum = 0;
    }
    route_seal(r, m);
    m->has_sum = m->has_sum && !on_card;
}

/* Seals a message and hands it to the I/O thread.  Takes ownership of *m.  `image`: the image
 * whose pixels are in *m; NULL: none.  Sets *more to false if the stream has ended. */
static enum status send_out(struct worker *w, enum message_type type, struct ticket t,
                            struct message *m, const struct image *image, bool *more,
                            struct error *e)
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
    seal(&r, m, card);
    enum status s = port_share(m, e);
    if (s) {
        message_free(m);
        return s;
    }
    struct item *item = mem_array(1, sizeof *item);
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

/* Returns STATUS_FAILED with the error of a corrupt payload: its checksum differs from the
 * checksum that its producer formed. */
static enum status fail_damaged(const struct route *r, struct error *e)
{
    return error_set(e, STATUS_FAILED, "%s %" PRIu64 " from %s was corrupted on its way",
                     message_type_name(r->type), r->frame, r->stage);
}

/* Drops a corrupt or unreadable message, which is sent again.  STATUS_FAILED: DAMAGED_MAX
 * messages were dropped since the last good one. */
static enum status drop_message(struct worker *w, const struct item *item, struct error *e)
{
    exchange_damaged(&w->rt.links.exchange, &item->route);
    return ++w->damaged < DAMAGED_MAX ? STATUS_OK : fail_damaged(&item->route, e);
}

/* Verifies the checksum of the payload.  If the checksum is wrong and the message came through a
 * network, drops the message, which is sent again, and sets *dropped to true.  STATUS_FAILED:
 * the message did not come through a network, or too many messages were dropped. */
static enum status check_sum(struct worker *w, const struct item *item, bool *dropped,
                             struct error *e)
{
    *dropped = false;
    if (!packed_is(&item->route) &&
        route_sum_matches_first(&item->route, &item->message, &w->first_sum)) {
        w->damaged = 0;
        return STATUS_OK;
    }
    *dropped = item->network;
    return *dropped ? drop_message(w, item, e) : fail_damaged(&item->route, e);
}

/* Finds borrowed pixels on the GPU, if they are there.  If the pixels cannot be read on the GPU,
 * drops the frame, which is sent again, and sets *dropped to true.  This process then gets no
 * more frames on a GPU. */
static enum status find_on_card(struct worker *w, const struct item *item, bool *dropped,
                                struct error *e)
{
    struct error why;
    *dropped = images_find_on_card(&w->images, &why) != STATUS_OK;
    if (w->images.lease.release && !*dropped)
        w->damaged = 0;
    if (!*dropped)
        return STATUS_OK;
    if (!atomic_exchange(&w->rt.links.on_card.refused, true))
        log_line(LOG_WARNING,
                 "images of %s cannot be read on the GPU (%s); they are copied to the memory of "
                 "the host",
                 item->route.stage, why.text);
    return drop_message(w, item, e);
}

/* --- until frames may come: the experiment, images, the list ---------------------- */

/* Waits for the first message that is not corrupt, and stores it in *item.  NULL in *item: the
 * stream has ended. */
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
        s = check_sum(w, *item, &dropped, e);
        if (dropped || s)
            item_free(*item);
    }
    return s;
}

/* Decodes an experiment.  An error in it names the stage that sent it. */
static enum status decode_experiment(struct worker *w, const struct item *item, struct error *e)
{
    struct error why = {0};
    const enum status s = codec_experiment_decode(&w->experiment, &item->message, &why);
    return s == STATUS_INPUT ? error_set(e, s, "received from %s: %s", item->route.stage, why.text)
           : s               ? error_set(e, s, "%s", why.text)
                             : s;
}

/* Waits for the experiment of the previous stage, and decodes it.  Sets *more to false if the
 * stream ends before it comes. */
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
        s = decode_experiment(w, item, e);
    if (s == STATUS_OK)
        w->expected = codec_expect(&w->experiment);
    if (s == STATUS_OK && w->stage.meet)  // the endpoint is known before the experiment comes
        w->stage.meet(w->state, w->rt.run.control.endpoint, item->route.run);
    if (s == STATUS_OK && w->stage.message)
        s = w->stage.message(w->state, &item->route, &item->message, e);
    item_free(item);
    return s;
}

/* Source: gets the ids of all frames from the stage, and sets the list of the exchange. */
static enum status list_frames(struct worker *w, struct error *e)
{
    struct id_set ids = {0};
    const enum status s = w->stage.list ? w->stage.list(w->state, &ids, e) : STATUS_OK;
    w->rt.run.outlook.computed = 1.0;
    if (s == STATUS_OK && w->stage.outlook)  // before the I/O thread knows the list, and reads this
        w->stage.outlook(w->state, &w->rt.run.outlook);
    if (s == STATUS_OK)
        exchange_set_list(&w->rt.links.exchange, &ids);
    else
        id_set_clear(&ids);
    return s;
}

/* Opens the memory of the images that this stage makes: memory that other processes map, and the
 * GPU that the callback `card` names.  With --transport=inline images are sent inside messages
 * instead. */
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
    atomic_store(&ls->sums_late, stage->message != NULL);
    images_open(&w->images, ls,
                shares ? (size_t)experiment_pixels(&w->experiment) * sizeof(float) : 0);
}

/* Sinks with --resume: finds the frames that are durable already. */
static enum status find_durable(struct worker *w, struct error *e)
{
    struct id_set ids = {0};
    if (!w->rt.run.settings.resume)
        return STATUS_OK;
    const enum status s = w->stage.have ? w->stage.have(w->state, &ids, e)
                                        : restart_remember(w->experiment.lineage, &ids, e);
    exchange_set_have(&w->rt.links.exchange, &ids);  // also after an error: it takes ownership
    return s;
}

static enum status send_experiment(struct worker *w, bool *more, struct error *e)
{
    struct message m = {0};
    enum status s = w->stage.verbatim ? STATUS_OK : worker_extend_lineage(w, e);
    s = s ? s : codec_check_panels(&w->experiment, e);
    if (s == STATUS_OK)
        s = codec_experiment_encode(&w->experiment, &m, e);
    if (s == STATUS_OK)
        return send_out(w, MESSAGE_EXPERIMENT, (struct ticket){0}, &m, NULL, more, e);
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
                   stage->progress ? stage->progress(w->state) : NULL,
                   stage->rows ? stage->rows(w->state) : 0);
    return role_is_source(&w->stage.role) ? list_frames(w, e) : STATUS_OK;
}

/* --- frames, one after the other --------------------------------------------------- */

/* Returns borrowed pixels to their owner, and returns `s`.  If the pixels were replaced or are
 * corrupt, the result of the frame is not valid, and STATUS_FAILED is returned instead.  Pixels
 * are replaced if the previous process presumed this process dead. */
static enum status return_pixels(struct worker *w, enum status s, struct error *e)
{
    switch (images_return(&w->images)) {
    case IMAGES_REPLACED:
        atomic_store(&w->rt.outcast, true);
        return error_set(e, STATUS_FAILED, RUN_PRESUMED_DEAD);
    case IMAGES_DAMAGED:
        return fail_damaged(w->route, e);
    default:
        return s;
    }
}

/* Calls the callback `frame`.  Before, copies the pixels if the stage may write to them.
 * Afterwards, copies the pixels if they cannot be sent from where they are. */
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
    meter_switch(meter, ACTIVITY_DECODE, id);
    s = return_pixels(w, s, e);
    meter_switch(meter, ACTIVITY_OTHER, id);
    return s;
}

/* Sink: makes the latest frame durable, if it is not, and reports that. */
static enum status finish_late(struct worker *w, struct error *e)
{
    struct meter *meter = &w->rt.links.meter;
    if (!w->late)
        return STATUS_OK;
    meter_switch(meter, ACTIVITY_COMPUTE, w->late_id);
    const enum status s = w->stage.finish(w->state, e);
    meter_switch(meter, ACTIVITY_OTHER, w->late_id);
    w->late = false;
    if (s == STATUS_OK)
        exchange_durable(&w->rt.links.exchange, w->late_id);
    return s;
}

/* Sink, when the callback `frame` has returned: reports that the frame is durable.  If the stage
 * has a callback `finish`, reports the frame before, and notes that this frame is late. */
static void report_durable(struct worker *w, uint64_t id)
{
    if (w->late)
        exchange_durable(&w->rt.links.exchange, w->late_id);
    w->late = w->stage.finish != NULL;
    w->late_id = id;
    if (!w->late)
        exchange_durable(&w->rt.links.exchange, id);
}

/* Processes one frame: calls the callback `frame`, then sends the frame to the next stage.  A
 * sink reports instead which frame is durable. */
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
        report_durable(w, t.id);
        return STATUS_OK;
    }
    struct message m = {0};
    const struct image image = f->image;  // the message takes ownership of the pixels
    s = codec_frame_encode(f, w->experiment.lineage, &m, e);
    if (s == STATUS_OK)
        s = send_out(w, MESSAGE_FRAME, t, &m, &image, more, e);
    else
        message_free(&m);
    return s;
}

/* Source: waits until a new frame is due (callback `due_ns`).  *base_ns is the time of clock_ns
 * at which the clock of the stage was 0; the first call sets it, and it must be 0 before.
 * Returns false if the stream has ended. */
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

/* Checks an experiment that comes after the first one, from another process before this one: its
 * lineage must be the same.  Ignores a corrupt message, which is sent again. */
static enum status compare_experiment(struct worker *w, const struct item *item, struct error *e)
{
    struct experiment other = {0};
    bool dropped;
    enum status s = check_sum(w, item, &dropped, e);
    if (s || dropped)
        return s;
    s = codec_experiment_decode(&other, &item->message, e);
    if (s == STATUS_OK && strcmp(other.lineage, w->expected.lineage) != 0)
        s = error_set(e, STATUS_FAILED,
                      "%s was started with other options than the other processes before this "
                      "stage (lineage %s; expected %s)",
                      item->route.stage, other.lineage, w->expected.lineage);
    experiment_free(&other);
    return s;
}

/* Returns true if the checksum of a frame is verified later: this stage is a sink, and has
 * borrowed the pixels from a process on this host.  The checksum is verified when the sink has
 * read the pixels. */
static bool sum_later(struct worker *w, const struct item *item)
{
    if (!role_is_sink(&w->stage.role) || w->stage.message || !w->images.lease.release)
        return false;
    w->first_sum = route_sum_of_first(&item->route, &item->message);
    images_expect(&w->images, w->first_sum, item->message.ahead);
    return true;
}

/* Notes in the image that its pixels came as a chunk.  A sender does not pack pixels that would not
 * become shorter, so that a longer chunk is ignored. */
static void keep_chunk(struct image *image, const struct part *chunk)
{
    if (chunk->size >= image->count * pixel_size(image->type))
        return;
    image->chunk = chunk->data;
    image->chunk_bytes = chunk->size;
}

static enum status receive_frame(struct worker *w, struct item *item, struct frame *f,
                                 bool *dropped, struct error *e)
{
    images_borrow(&w->images, &item->message);
    enum status s = find_on_card(w, item, dropped, e);
    if (*dropped)
        return s;
    s = packed_open(&item->route, &item->message, w->expected.pixels, e);
    if (s == STATUS_INPUT)
        s = STATUS_OK;  // the pixels stay compressed, so that check_sum finds the message corrupt
    if (s == STATUS_OK && !sum_later(w, item) &&
        (item->network || packed_is(&item->route) || w->wants == KIND_RECIPE ||
         role_is_sink(&w->stage.role)))
        s = check_sum(w, item, dropped, e);
    if (*dropped)
        return s;
    if (s == STATUS_OK)
        s = codec_frame_decode(f, &w->expected, &item->message, e);
    images_mark(&w->images, &f->image);
    if (role_is_sink(&w->stage.role)) {  // a sink does not change pixels, so that their checksum
                                         // stays valid
        f->image.has_sum = f->image.count > 0;
        f->image.sum = w->first_sum;
        if (w->stage.reads_only)
            keep_chunk(&f->image, &item->message.chunk);
    }
    if (s == STATUS_OK &&
        (f->recipe.id != item->route.frame || (w->wants == KIND_IMAGE && !f->image.count)))
        s = error_set(e, STATUS_INPUT,
                      "frame %" PRIu64 " from %s is corrupt: its parts contradict each other",
                      item->route.frame, item->route.stage);
    if (s == STATUS_OK && w->stage.role.wants == KIND_RECIPE && f->refined.present &&
        !w->stage.takes_fits)
        s = error_set(e, STATUS_INPUT,
                      "%s sends fit results (--part). Only bragg-refine --gather can read them",
                      item->route.stage);
    return s;
}

/* If a frame was issued before, waits 20 ms before it is processed.  The frame may have killed
 * another process, and may kill this process, too.  In these 20 ms the messages leave which show
 * that the frames before it were passed on, so that none of them is blamed. */
static enum status let_others_leave(struct worker *w, const struct item *item, struct error *e)
{
    const uint64_t leave_ns = 20000000;
    if (!item->route.attempt)
        return STATUS_OK;
    const enum status s = finish_late(w, e);
    (void)exchange_wait_until(&w->rt.links.exchange, clock_ns() + leave_ns);
    return s;
}

/* Waits for the next message and returns it.  NULL: the stream has ended, or finishing the frame
 * before failed, and *s is the error.  A frame is late only while another one waits. */
static struct item *take_next(struct worker *w, enum status *s, struct error *e)
{
    struct exchange *x = &w->rt.links.exchange;
    if (w->late && !exchange_has_message(x))
        *s = finish_late(w, e);
    if (*s)
        return NULL;
    meter_switch(&w->rt.links.meter, ACTIVITY_WAIT_IN, 0);
    struct item *item = exchange_take(x);
    *s = item ? let_others_leave(w, item, e) : finish_late(w, e);
    if (!*s)
        return item;
    item_free(item);
    return NULL;
}

/* Announces the frame that waits, if there is one, to the stage.  Decodes its recipe into *next,
 * which the caller frees.  A frame that was issued before is not begun early: if it kills this
 * process, the frame before it must not be blamed.  Errors are reported when the frame is taken. */
static void announce_next(struct worker *w, struct frame *next)
{
    struct error unused;
    const struct item *item = w->stage.announce ? exchange_first(&w->rt.links.exchange) : NULL;
    if (!item || item->route.type != MESSAGE_FRAME || item->route.attempt ||
        packed_is(&item->route) || !route_sum_matches(&item->route, &item->message))
        return;
    struct message view = item->message;
    view.parts = mem_copy(view.parts, view.nparts, sizeof *view.parts);
    for (size_t i = 0; i < view.nparts; i++)  // the parts stay with the item
        view.parts[i].release = NULL;
    if (codec_frame_decode(next, &w->expected, &view, &unused) == STATUS_OK &&
        next->recipe.id == item->route.frame)
        w->stage.announce(w->state, &next->recipe);
    mem_free(view.parts);
}

enum status worker_run_frames(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    struct meter *meter = &w->rt.links.meter;
    for (bool more = true; more && s == STATUS_OK;) {
        struct item *item = take_next(w, &s, e);
        if (!item)
            break;
        const uint64_t id = item->route.frame;
        w->route = &item->route;
        struct frame f = {0}, next = {0};
        meter_switch(meter, ACTIVITY_DECODE, id);
        if (item->route.type == MESSAGE_EXPERIMENT) {
            s = compare_experiment(w, item, e);
        } else {
            bool dropped;
            s = receive_frame(w, item, &f, &dropped, e);
            if (s == STATUS_OK && !dropped && w->stage.message)
                s = w->stage.message(w->state, &item->route, &item->message, e);
            if (s == STATUS_OK && !dropped)
                announce_next(w, &next);
            if (s == STATUS_OK && !dropped)
                s = process(w, &f, (struct ticket){id, item->route.attempt}, &more, e);
            s = return_pixels(w, s, e);
        }
        meter_switch(meter, ACTIVITY_OTHER, id);
        frame_free(&f);
        frame_free(&next);
        item_free(item);
    }
    return s;
}
