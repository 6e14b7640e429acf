/*
 * bragg-serve: the sink that hands images to foreign programs in their own
 * protocol.  A frame is acknowledged when a client took it or the policy dropped
 * it, counted.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/gateway.h"
#include "gateway/pace.h"
#include "gateway/pixels.h"
#include "gateway/protocol.h"
#include "io/crystfel.h"
#include "io/geom.h"
#include "io/replace.h"
#include "physics/panels.h"
#include "stage/endpoint.h"
#include "stage/stage.h"

#define PROTOCOLS "karabo-bridge|crystfel"
static const char *const protocols[] = {"karabo-bridge", "crystfel"};

struct serve {
    int protocol, socket, policy, dtype;  // options
    const char *bind;
    int64_t queue;
    bool has_queue, has_version, has_train;
    const char *geom, *cell;
    double rate_hz, linger_s;
    struct content_options content;
    const struct protocol *speaks;
    const struct experiment *experiment;
    struct gateway *gateway;
    char endpoint[ENDPOINT_SIZE];  // bound; "" for none
    struct pace pace;
    char figures[160];  // for --stats
};

static void serve_defaults(void *state)
{
    struct serve *s = state;
    s->queue = 8;
    s->linger_s = 5;
    s->content.first_train = INT64_C(10000000000);
}

static const char *serve_binds(void *state)
{
    return ((struct serve *)state)->bind;
}

static enum status bind_endpoint(struct serve *v, struct error *e)
{
    const struct gateway_settings settings = {.socket = (enum gateway_socket)v->socket,
                                              .policy = (enum gateway_policy)v->policy,
                                              .request = v->speaks->request,
                                              .queue = (size_t)v->queue,
                                              .linger_s = v->linger_s};
    (void)snprintf(v->endpoint, sizeof v->endpoint, "%s", v->bind);
    enum status s = endpoint_clear(v->endpoint, e);
    if (s == STATUS_OK)
        s = gateway_open(&v->gateway, &settings, v->endpoint, sizeof v->endpoint, e);
    if (s == STATUS_OK && (printf("%s\n", v->endpoint) < 0 || fflush(stdout) != 0))
        s = error_errno(e, STATUS_FAILED, "cannot write the endpoint to stdout");
    return s;
}

static enum status check_protocol(const struct serve *v, struct error *e)
{
    const bool crystfel = v->speaks == &protocol_crystfel;
    if (crystfel && (v->has_version || v->has_train))
        return error_set(e, STATUS_USAGE, "--%s is for --protocol=karabo-bridge",
                         v->has_version ? "protocol-version" : "first-train");
    if (!crystfel && (v->geom || v->cell || v->content.peaks))
        return error_set(e, STATUS_USAGE, "--%s is for --protocol=crystfel",
                         v->geom   ? "geom"
                         : v->cell ? "cell"
                                   : "peaks");
    return STATUS_OK;
}

static enum status serve_open(void *state, const char **operands, int noperands, struct error *e)
{
    (void)operands, (void)noperands;
    struct serve *v = state;
    v->speaks = protocol_find(protocols[v->protocol]);
    v->pace.period_ns = v->rate_hz > 0 ? 1e9 / v->rate_hz : 0;
    if (v->has_queue && v->policy == GATEWAY_WAIT)
        return error_set(e, STATUS_USAGE,
                         "--queue: with --policy=wait frames wait in the stages before, not here");
    enum status s = check_protocol(v, e);
    if (s == STATUS_OK)
        s = protocol_settle(v->speaks, &v->content, e);
    return s ? s : bind_endpoint(v, e);
}

/* What CrystFEL wants to know beforehand, as a file. */
static enum status write_file(const struct serve *v, const char *path, bool cell, struct error *e)
{
    struct replace file;
    struct error cause = {0};
    const struct experiment *x = v->experiment;
    enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    const struct geom_style style = {
        .data = v->content.image_key, .live = true, .peaks = v->content.peaks > 0};
    double frame[9];
    panels_frame(x, frame);
    s = cell ? crystfel_write_cell(file.stream, x->crystals, &cause)
             : geom_write(file.stream, x, &style, frame, &cause);
    if (s == STATUS_OK)
        return replace_commit(&file, e);
    replace_abort(&file);
    return error_set(e, s, "%s: %s", path, cause.text);
}

static enum status serve_begin(void *state, struct experiment *x, struct error *e)
{
    struct serve *v = state;
    v->experiment = x;
    enum status s = v->geom ? write_file(v, v->geom, false, e) : STATUS_OK;
    if (s == STATUS_OK && v->cell && x->ncrystals != 1)
        s = error_set(e, STATUS_INPUT, "--cell: there are %zu crystals, a file holds one",
                      x->ncrystals);
    return s || !v->cell ? s : write_file(v, v->cell, true, e);
}

/* Unix time of an instant on the monotonic clock, now or to come. */
static uint64_t unix_time_ns(uint64_t then_ns)
{
    struct timespec t;
    const uint64_t now_ns = clock_ns();
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec +
           (then_ns > now_ns ? then_ns - now_ns : 0);
}

/* As --dtype says; else as they come, or int32 where the protocol has no such type. */
static enum pixel_type type_for(const struct serve *v, enum pixel_type type)
{
    if (v->dtype)
        return (enum pixel_type)(v->dtype - 1);
    return v->speaks->allowed >> type & 1 ? type : PIXEL_I32;
}

/* The frame as a message, its pixels as --dtype wants them. */
static enum status make_message(const struct serve *v, const struct frame *f, uint64_t due_ns,
                                struct message *m, struct error *e)
{
    struct frame copy = *f;
    struct image converted = {0};
    const enum pixel_type type = type_for(v, f->image.type);
    enum status s = STATUS_OK;
    if (type != f->image.type) {
        s = pixels_convert(&f->image, type, &converted, e);
        copy.image = converted;
    }
    if (s == STATUS_OK)
        s = protocol_message(v->speaks, &v->content, v->experiment, &copy, unix_time_ns(due_ns), m,
                             e);
    image_free(&converted);
    return s;
}

static enum status serve_frame(void *state, struct frame *f, struct error *e)
{
    struct serve *v = state;
    struct message m = {0};
    const uint64_t due_ns = pace_due(&v->pace);
    enum status s = make_message(v, f, due_ns, &m, e);
    if (!image_is_intact(&f->image))
        s = error_set(e, STATUS_FAILED, "frame %" PRIu64 " changed while it was read",
                      f->recipe.id);
    if (s) {
        message_free(&m);
        return s;
    }
    gateway_wait_until(v->gateway, due_ns);
    s = gateway_offer(v->gateway, &m, e);
    pace_out(&v->pace, clock_ns());
    return s;
}

static void serve_cancel(void *state)
{
    gateway_cancel(((struct serve *)state)->gateway);
}

static atomic_uint_fast64_t *serve_progress(void *state)
{
    return gateway_ticks(((struct serve *)state)->gateway);
}

/* Closes the gateway and removes the file of its socket; the counts are final then. */
static struct gateway_counts close_gateway(struct serve *v)
{
    const struct gateway_counts counts = gateway_close(v->gateway);
    if (v->gateway)
        endpoint_remove(v->endpoint);
    v->gateway = NULL;
    return counts;
}

static const char *serve_report(void *state)
{
    struct serve *v = state;
    const struct gateway_counts n = close_gateway(v);
    (void)snprintf(v->figures, sizeof v->figures,
                   "\"taken\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"late\":%" PRIu64
                   ",\"rejected\":%" PRIu64,
                   n.taken, n.dropped, v->pace.late, n.rejected);
    log_line(n.dropped || v->pace.late ? LOG_WARNING : LOG_INFO,
             "clients took %" PRIu64 " frames, %" PRIu64 " were dropped, %" PRIu64 " late", n.taken,
             n.dropped, v->pace.late);
    return v->figures;
}

static void serve_close(void *state)
{
    (void)close_gateway(state);
}

#define AT(member) offsetof(struct serve, member)

static const struct opt options[] = {
    {"protocol", PROTOCOLS, "What the clients speak (karabo-bridge)", OPT_CHOICE, AT(protocol),
     .choices = PROTOCOLS},
    {"protocol-version", "V", "karabo-bridge: 2.2 or 1.0 (2.2)", OPT_TEXT,
     .offset = AT(content.version), .given = AT(has_version)},
    {"bind", "ENDPOINT", "Where clients connect: ipc:///PATH or tcp://127.0.0.1:PORT, * chooses",
     OPT_TEXT, .offset = AT(bind), .flags = OPT_REQUIRED},
    {"socket", "rep|push|pub", "Answer requests, share frames out, or publish (rep)", OPT_CHOICE,
     AT(socket), .choices = "rep|push|pub"},
    {"policy", "wait|drop-new|drop-old",
     "For a frame that no client takes: the pipeline waits, or frames are dropped (wait)",
     OPT_CHOICE, AT(policy), .choices = "wait|drop-new|drop-old"},
    {"queue", "N", "Frames that wait for a client before one is dropped (8)", OPT_INT, AT(queue),
     .min = 1, .max = 65536, .given = AT(has_queue)},
    {"geom", "FILE", "crystfel: write the matching geometry file", OPT_TEXT, .offset = AT(geom)},
    {"cell", "FILE", "crystfel: write the unit cell file", OPT_TEXT, .offset = AT(cell)},
    {"peaks", "N", "crystfel: send a list of at most N bright spots (none)", OPT_INT,
     AT(content.peaks), .min = 1, .max = 100000},
    {"linger", "S", "How long clients have for what is left at the end (5)", OPT_REAL, AT(linger_s),
     .min = 0, .max = 86400},
    {"rate", "HZ", "Frames a second, steady (as they come)", OPT_REAL, AT(rate_hz), .min = 0,
     .max = 1e6, .flags = OPT_OPEN_MIN},
    {"source", "NAME", "Name of the detector (by protocol)", OPT_TEXT,
     .offset = AT(content.source)},
    {"key", "NAME", "Name of the image among its data (by protocol)", OPT_TEXT,
     .offset = AT(content.image_key)},
    {"first-train", "N", "karabo-bridge: train number of frame 0 (10000000000)", OPT_INT,
     AT(content.first_train), .min = 0, .max = 4e18, .given = AT(has_train)},
    {"dtype", "auto|float32|uint16|uint32|int32",
     "Type of the pixels (auto: as the protocol knows them); a value that it cannot hold is an "
     "error",
     OPT_CHOICE, AT(dtype), .choices = "auto|float32|uint16|uint32|int32"},
    {0},
};

static const struct stage serve = {
    .name = "bragg-serve",
    .summary = "Hand images to programs in their own protocol.",
    .details = "The endpoint is printed to stdout. A frame counts as done when a client took it, "
               "or --policy dropped it.",
    .options = options,
    .wants = KIND_IMAGE,
    .gives = KIND_NONE,
    .state_size = sizeof(struct serve),
    .defaults = serve_defaults,
    .binds = serve_binds,
    .open = serve_open,
    .begin = serve_begin,
    .frame = serve_frame,
    .cancel = serve_cancel,
    .report = serve_report,
    .close = serve_close,
    .progress = serve_progress,
};

int main(int argc, char **argv)
{
    return stage_main(&serve, argc, argv);
}
