/*
 * Frames of bragg-serve: makes the message of a frame, with the fault that --inject draws for it,
 * and sends it when it is due.
 *
 * A message passes the sender, which offers it to the gateway and records it in the file of --sent.
 * The sender also adds the faults that concern whole messages: a dropped message, two that change
 * places, a pause, a cut connection.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "gateway/delivery.h"
#include "gateway/outlet.h"
#include "gateway/pack.h"
#include "serve.h"

void sender_warn(const struct sender *s, const char *text)
{
    if (s->injects)
        log_line(LOG_WARNING, "--inject=%s, seed %" PRIu64 ": clients get frames with faults", text,
                 s->faults.seed);
}

/* Returns the fault of frame number `frame`, which is the next frame to be sent. */
static enum fault sender_draw(const struct sender *s, uint64_t frame)
{
    const enum fault fault = s->injects ? faults_draw(&s->faults, frame) : FAULT_NONE;
    const bool holds = s->held.message.nparts;
    return fault == FAULT_SWAP && holds ? FAULT_NONE
                                        : fault;  // the frame is already part of a swap
}

void outgoing_free(struct outgoing *o)
{
    message_free(&o->message);
    sent_row_free(o->row);
    *o = (struct outgoing){0};
}

/* Waits until `due_ns`.  The time counts as waiting for output, not as computing. */
static void wait_until(const struct sender *s, uint64_t due_ns)
{
    const enum activity before = meter_wait(s->meter);
    gateway_wait_until(s->gateway, due_ns);
    meter_resume(s->meter, before);
}

static enum status offer_message(struct sender *s, struct outgoing *o, struct error *e)
{
    const enum status status = serve_sent_offer(s->sent, o->row, e);
    o->row = NULL;
    if (status) {
        outgoing_free(o);
        return status;
    }
    const enum activity before = meter_wait(s->meter);  // the policy may wait for a client
    const enum status offered = gateway_offer(s->gateway, &o->message, o->frames, e);
    meter_resume(s->meter, before);
    return offered;
}

enum status sender_flush(struct sender *s, struct error *e)
{
    struct outgoing held = s->held;
    s->held = (struct outgoing){0};
    return held.message.nparts ? offer_message(s, &held, e) : STATUS_OK;
}

/* Sends a message that stands for an image which is dropped or held back, for --mark-lost.  Without
 * it, a client that waits for the image cannot know that the image does not come. */
static enum status mark_lost(struct sender *s, struct error *e)
{
    struct outgoing o = {.frames = 1};
    const enum status status = pack_copy(&o.message, OUTLET_MARK, sizeof OUTLET_MARK - 1, e);
    return status ? status : offer_message(s, &o, e);
}

static enum status withhold_message(struct sender *s, struct outgoing *o, struct error *e)
{
    const enum status status = serve_sent_withhold(s->sent, o->row, e);
    o->row = NULL;
    outgoing_free(o);
    return status;
}

enum status sender_send(struct sender *s, struct outgoing *o, enum fault fault, struct error *e)
{
    s->counts[fault]++;
    if (fault == FAULT_SWAP) {
        s->held = *o;
        return s->marks ? mark_lost(s, e) : STATUS_OK;
    }
    if (fault == FAULT_STALL)
        wait_until(s, clock_ns() + (uint64_t)(s->faults.stall_s * 1e9));
    if (fault == FAULT_CUT)
        gateway_cut(s->gateway);
    enum status status = fault == FAULT_DROP ? withhold_message(s, o, e) : offer_message(s, o, e);
    if (status == STATUS_OK && fault == FAULT_DROP && s->marks)
        status = mark_lost(s, e);
    return status ? status : sender_flush(s, e);
}

void sender_report(const struct sender *s)
{
    char text[300] = "";
    size_t n = 0;
    for (int i = 1; i < FAULT_KINDS; i++)
        if (s->faults.probability[i] > 0 && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %" PRIu64, n ? ", " : "",
                                  fault_name((enum fault)i), s->counts[i]);
    if (s->injects)
        log_line(LOG_WARNING, "--inject: faults in %s", n ? text : "no frame");
}

/* Reads the words of a mask, one for each pixel. */
static enum status read_mask(const char *path, uint32_t *words, size_t count, struct error *e)
{
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open the file", input_given(path));
    const bool fits = fread(words, sizeof *words, count, in) == count && fgetc(in) == EOF;
    (void)fclose(in);
    return fits ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "%s: the size of the file is wrong; expected %zu bytes, a word of 4 "
                            "bytes for each pixel of the detector",
                            input_given(path), count * sizeof *words);
}

enum status serve_mask_begin(struct serve *v, struct experiment *x, struct error *e)
{
    if (!v->options.pixel_mask)
        return STATUS_OK;
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT,
                         "--pixel-mask: the detector has %zu panels; expected one panel",
                         x->npanels);
    struct panel *p = x->panels;
    const size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    size_t masked = 0;
    v->mask = mem_array(count, sizeof *v->mask);
    const enum status s = read_mask(v->options.pixel_mask, v->mask, count, e);
    if (!p->mask)
        memset(p->mask = mem_array(count, 1), 1, count);
    for (size_t i = 0; i < count; i++) {
        if (!panel_computes(p, (int64_t)i % p->fast_pixels, (int64_t)i / p->fast_pixels))
            v->mask[i] |= experiment_mask_word(x, (int64_t)i);
        p->mask[i] = p->mask[i] && !v->mask[i];
        masked += v->mask[i] != 0;
    }
    v->options.content.mask = v->mask;
    return s || masked < count
               ? s
               : error_set(e, STATUS_INPUT, "%s: all pixels are masked; expected a word of 0",
                           input_given(v->options.pixel_mask));
}

/* Converts a time of the monotonic clock (see clock_ns) to Unix time, in ns.  A time in the past
 * gives the present time. */
static uint64_t unix_time_ns(uint64_t then_ns)
{
    const uint64_t now_ns = clock_ns();
    return clock_unix_ns() + (then_ns > now_ns ? then_ns - now_ns : 0);
}

/* Returns the type in which clients get the pixels of a frame with pixels of `type`: the type of
 * --dtype if it is given, otherwise `type`, or another type if the protocol does not allow
 * `type`. */
static enum pixel_type type_for(const struct serve *v, enum pixel_type type)
{
    if (v->options.dtype)
        return (enum pixel_type)(v->options.dtype - 1);
    return v->speaks->allowed >> type & 1 ? type : v->speaks->otherwise;
}

/* Sends clients the message before the first frame, which is *f.  Its detector is that of *x. */
static enum status send_start(struct serve *v, const struct experiment *x, const struct frame *f,
                              struct error *e)
{
    struct message m = {0};
    enum status s = protocol_start(v->speaks, &v->options.content, x, f, &m, e);
    if (s == STATUS_OK)
        s = gateway_announce(v->gateway, &m, e);
    message_free(&m);
    v->announced = s == STATUS_OK;
    return s;
}

enum status serve_early_start(struct serve *v, struct error *e)
{
    const struct frame none = {.image.type = type_for(v, PIXEL_F32)};
    series_start(&v->series, clock_unix_ns(), v->experiment->lineage);
    return send_start(v, v->experiment, &none, e);
}

/* Returns the value of int32 pixels without data. */
static int32_t signed_no_data(const struct serve *v)
{
    return v->speaks->no_data ? v->speaks->no_data : -1;
}

/* Prints a warning, once, that some pixels have no data, and which value clients get for them. */
static void warn_masked(struct serve *v, const struct frame *f, enum pixel_type type)
{
    const int64_t value = type == PIXEL_U16   ? UINT16_MAX
                          : type == PIXEL_U32 ? (int64_t)UINT32_MAX
                                              : signed_no_data(v);
    if (!v->warned_masked)
        log_line(LOG_WARNING,
                 "frame %" PRIu64 ": pixels of %s mean no data; clients receive %" PRId64
                 " for them",
                 f->recipe.id, f->image.type == PIXEL_I32 ? "-1 and -2" : "4294967295", value);
    v->warned_masked = true;
}

/* Returns the pixels that get the value "no data" when the image is packed, so that the image need
 * not be copied.  NULL: it must be copied, or all pixels have data.  Faults are put into the copy,
 * and only then blanked pixels may have them. */
static const struct bslz4_blanks *blanks_when_packed(struct serve *v, const struct image *image)
{
    const bool is_unsigned = image->type == PIXEL_U16 || image->type == PIXEL_U32;
    return v->assembly.of && v->speaks->blanks && !v->sender.injects && is_unsigned &&
                   v->options.content.compression == CONTENT_BSLZ4 &&
                   assembly_moves_none(&v->assembly)
               ? assembly_blanks(&v->assembly)
               : NULL;
}

/* Makes the message of a frame, with pixels of the type that --dtype and the protocol require. */
static enum status make_message(struct serve *v, const struct frame *f, uint64_t due_ns,
                                struct fault_injection *injection, struct message *m,
                                struct error *e)
{
    struct frame copy = *f;
    struct image converted = {0};
    const enum pixel_type type = type_for(v, f->image.type);
    const bool opens = v->speaks->start && !v->announced;
    enum status s = STATUS_OK;
    if (opens)
        series_start(&v->series, unix_time_ns(due_ns), v->experiment->lineage);
    if (type != f->image.type || (type == PIXEL_I32 && v->speaks->no_data)) {
        bool masked = false;
        s = pixels_convert(&f->image, type, signed_no_data(v), &converted, &masked, e);
        copy.image = converted;
        if (s == STATUS_OK && masked)
            warn_masked(v, f, type);
    }
    v->options.content.blanks = blanks_when_packed(v, &copy.image);
    if (s == STATUS_OK && v->assembly.of && !v->options.content.blanks) {
        s = assembly_image(&v->assembly, &copy.image, e);
        if (s == STATUS_OK)
            assembly_blank(&v->assembly);
        copy.image = v->assembly.image;
    }
    if (s == STATUS_OK)
        s = protocol_message(v->speaks, &v->options.content, moved_to(&v->moved, &f->recipe), &copy,
                             unix_time_ns(due_ns), injection, m, e);
    if (s == STATUS_OK && opens)
        s = send_start(v, &v->moved.x, &copy, e);
    image_free(&converted);
    return s;
}

/* Returns the rate in Hz that frames should have now; 0: no rate was requested. */
static double asked_hz(const struct serve *v)
{
    if (v->options.ramp && v->options.rise.limit == RAMP_RISING)
        return ramp_rate_hz(&v->options.rise, clock_ns());
    return v->pace.period_ns > 0 ? 1e9 / v->pace.period_ns : 0;
}

/* Returns the time at which the next frame is due, in ns of the monotonic clock.  The time is
 * that of --ramp until the ramp is over, and then that of the steady rate. */
static uint64_t next_due_ns(const struct serve *v)
{
    const bool rises = v->options.ramp && v->options.rise.limit == RAMP_RISING;
    return rises ? ramp_due(&v->options.rise) : pace_due(&v->pace);
}

/* Records a sent frame in the ramp.  When the ramp is over, sets the rate of the other frames to
 * the rate that the clients sustained. */
static void raise_rate(struct serve *v, const uint64_t spent[PACE_PARTS])
{
    struct ramp *r = &v->options.rise;
    if (!v->options.ramp || r->limit != RAMP_RISING)
        return;
    if (!r->start_ns) {
        const enum activity before = meter_wait(v->sender.meter);
        gateway_await_client(v->gateway);
        meter_resume(v->sender.meter, before);
        ramp_start(r, clock_ns());
    }
    const struct gateway_counts n = gateway_counts(v->gateway);
    /* The ramp counts frames: one that --inject drops is done, and a second copy is none. */
    const uint64_t done = n.taken + v->sender.counts[FAULT_DROP],
                   copies = v->sender.counts[FAULT_DUPLICATE];
    if (!ramp_turn(r, clock_ns(), done > copies ? done - copies : 0, n.dropped + n.some, spent))
        return;
    v->pace = (struct pace){.period_ns = r->sustained_hz > 0 ? 1e9 / r->sustained_hz : 0};
    pace_out(&v->pace, clock_ns());
}

/* Makes the message of a frame with the fault `fault`, and the row of the message for the file
 * of --sent. */
static enum status make_outgoing(struct serve *v, const struct frame *f, uint64_t due_ns,
                                 enum fault fault, struct outgoing *o, struct error *e)
{
    struct fault_injection injection = {.fault = fault, .seed = v->options.faults.seed};
    *o = (struct outgoing){.frames = 1};
    enum status s = make_message(v, f, due_ns, &injection, &o->message, e);
    const struct sent_note note = {
        .rate_hz = asked_hz(v), .fault = fault, .field = injection.field};
    if (s == STATUS_OK)
        s = serve_sent_row(&v->sent, v->experiment, f, &note, &o->row, e);
    if (!image_is_intact(&f->image))
        s = error_set(e, STATUS_FAILED, "frame %" PRIu64 " changed while it was being read",
                      f->recipe.id);
    if (s)
        outgoing_free(o);
    return s;
}

/* Adds the rows of the frames that wait in the batch before those of *o. */
static void join_waiting(struct serve *v, struct outgoing *o)
{
    struct sent_row *own = o->row;
    o->row = v->waiting.row;
    o->frames += v->waiting.frames;
    sent_row_append(&o->row, own);
    v->waiting = (struct outgoing){0};
}

enum status serve_flush(struct serve *v, struct error *e)
{
    struct outgoing o = {0};
    if (!batch_frames(v->batch))
        return STATUS_OK;
    enum status s = batch_finish(v->batch, &o.message, e);
    if (s == STATUS_OK)
        s = protocol_topic(&v->options.content, &o.message, e);
    join_waiting(v, &o);
    if (s == STATUS_OK)
        return sender_send(&v->sender, &o, FAULT_NONE, e);
    outgoing_free(&o);
    return s;
}

/* Sends a message with the frames that waited for it, or lets its frame wait.  The last frame of
 * the run does not wait. */
static enum status send_batch(struct serve *v, struct outgoing *o, enum fault fault,
                              struct error *e)
{
    join_waiting(v, o);
    if (o->message.nparts)
        return sender_send(&v->sender, o, fault, e);
    v->waiting = *o;
    return v->frames == v->expected ? serve_flush(v, e) : STATUS_OK;
}

enum status serve_metadata_flush(struct serve *v, struct error *e)
{
    struct message m = {0};
    v->metadata.sent_ns = clock_ns();
    if (!v->metadata.bundle.images)
        return STATUS_OK;
    const enum status s = v->speaks->metadata(&v->options.content, &m, e);
    return s ? s : gateway_offer(v->metadata.gateway, &m, 1, e);
}

/* Sends the metadata if they are those of enough images, or if their clients have got none for a
 * second. */
static enum status send_metadata(struct serve *v, struct error *e)
{
    enum { IMAGES = 10 };
    static const uint64_t SECOND_NS = 1000000000;
    const bool is_time =
        v->metadata.bundle.images == IMAGES || clock_ns() - v->metadata.sent_ns >= SECOND_NS;
    return is_time ? serve_metadata_flush(v, e) : STATUS_OK;
}

/* Sends a frame a second time, for FAULT_DUPLICATE.  Its metadata are not sent again. */
static enum status send_again(struct serve *v, const struct frame *f, uint64_t due_ns,
                              struct error *e)
{
    struct outgoing again;
    struct bundle *bundle = v->options.content.bundle;
    v->options.content.bundle = NULL;
    const enum status s = make_outgoing(v, f, due_ns, FAULT_DUPLICATE, &again, e);
    v->options.content.bundle = bundle;
    return s ? s : sender_send(&v->sender, &again, FAULT_NONE, e);
}

enum status serve_frame(void *state, struct frame *f, struct error *e)
{
    struct serve *v = state;
    struct outgoing o;
    char text[PACE_TEXT];
    const enum fault fault = sender_draw(&v->sender, f->recipe.id);
    const uint64_t due_ns = next_due_ns(v), came_ns = clock_ns();
    enum status s = make_outgoing(v, f, due_ns, fault, &o, e);
    if (s)
        return s;
    const uint64_t packed_ns = clock_ns();
    wait_until(&v->sender, due_ns);
    const uint64_t offered_ns = clock_ns();
    v->frames++;
    s = send_batch(v, &o, fault, e);
    if (s == STATUS_OK && fault == FAULT_DUPLICATE)
        s = send_again(v, f, due_ns, e);
    if (s == STATUS_OK && v->metadata.gateway)
        s = send_metadata(v, e);
    const uint64_t now_ns = clock_ns();
    const bool on_purpose = fault == FAULT_STALL || fault == FAULT_CUT;
    const uint64_t spent[PACE_PARTS] = {
        [PACE_INPUT] = v->pace.last_ns ? came_ns - v->pace.last_ns : 0,
        [PACE_PACKING] = packed_ns - came_ns,
        [PACE_CLIENTS] = on_purpose ? 0 : now_ns - offered_ns,
        [PACE_FAULTS] = on_purpose ? now_ns - offered_ns : 0,
    };
    for (int i = 0; i < PACE_PARTS; i++)
        pace_spend(&v->pace, (enum pace_part)i, spent[i]);
    pace_out(&v->pace, now_ns);
    raise_rate(v, spent);
    if (pace_warns(&v->pace, now_ns, text))
        log_line(LOG_WARNING, "%s", text);
    return s;
}
