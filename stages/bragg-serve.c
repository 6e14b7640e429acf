/*
 * bragg-serve: the sink that hands images to foreign programs in their own
 * protocol.  A frame is acknowledged when a client took it or the policy dropped
 * it, counted.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/target.h"
#include "gateway/gateway.h"
#include "gateway/pace.h"
#include "gateway/pixels.h"
#include "gateway/protocol.h"
#include "io/assembly.h"
#include "physics/panels.h"
#include "serve_files.h"
#include "serve_options.h"
#include "stage/curve.h"
#include "stage/endpoint.h"
#include "stage/keys.h"
#include "stage/stage.h"
#include "stage/zap.h"

static const uint64_t SECOND_NS = 1000000000;

struct serve {
    struct serve_options options;  // first: parsed into it
    const struct protocol *speaks;
    const struct experiment *experiment;  // as clients see it
    struct assembly assembly;  // of panels that are one image to them, and of what is no data
    struct gateway *gateway;
    struct zap zap;                // who may connect to it
    char endpoint[ENDPOINT_SIZE];  // bound; "" for none
    struct pace pace;
    struct series series;
    bool announced;     // clients were told that it begins
    char figures[256];  // for --stats
};

static void serve_defaults(void *state)
{
    serve_options_defaults(state);
}

static const char *serve_binds(void *state, bool *keyed)
{
    const struct serve_options *o = state;
    *keyed = o->client_keys;
    return o->bind;
}

/* Opens it with --client-keys, or without. */
static enum status open_gateway(struct serve *v, struct gateway_settings *settings, struct error *e)
{
    struct keys keys = {0};
    enum status s = STATUS_OK;
    if (v->options.client_keys) {
        s = keys_read(&keys, v->options.client_keys, KEYS_SERVE, e);
        if (s == STATUS_OK && !(settings->context = zap_open_context(&v->zap, &keys, e)))
            s = e->status;
        settings->secret = keys.server.secret_key;
        settings->guard = curve_serve;
    }
    if (s == STATUS_OK)
        s = gateway_open(&v->gateway, settings, v->endpoint, sizeof v->endpoint, e);
    if (s == STATUS_OK && !settings->secret && endpoint_is_network(v->endpoint))
        log_line(LOG_WARNING, "clients need no keys: anybody who reaches %s can take frames",
                 v->endpoint);
    if (s)
        zap_close(&v->zap);
    explicit_bzero(&keys, sizeof keys);
    return s;
}

static enum status bind_endpoint(struct serve *v, struct error *e)
{
    struct gateway_settings settings = {.socket = (enum gateway_socket)v->options.socket,
                                        .policy = (enum gateway_policy)v->options.policy,
                                        .request = v->speaks->request,
                                        .queue = (size_t)v->options.queue,
                                        .linger_s = v->options.linger_s};
    (void)snprintf(v->endpoint, sizeof v->endpoint, "%s", v->options.bind);
    enum status s = endpoint_clear(v->endpoint, e);
    return s ? s : open_gateway(v, &settings, e);
}

/* Clients who wait for this line find all that they need. */
static enum status print_endpoint(const struct serve *v, struct error *e)
{
    if (printf("%s\n", v->endpoint) < 0 || fflush(stdout) != 0)
        return error_errno(e, STATUS_FAILED, "cannot write the endpoint to stdout");
    return STATUS_OK;
}

static enum status serve_open(void *state, const char **operands, int noperands, struct error *e)
{
    (void)operands, (void)noperands;
    struct serve *v = state;
    enum status s = serve_options_settle(&v->options, &v->speaks, e);
    if (s == STATUS_OK && v->options.geom)
        s = target_check(v->options.geom, e);
    if (s == STATUS_OK && v->options.cell)
        s = target_check(v->options.cell, e);
    if (s)
        return s;
    v->pace.period_ns = v->options.rate_hz > 0 ? 1e9 / v->options.rate_hz : 0;
    v->series.number = (uint64_t)v->options.number;
    v->series.period_ns = v->pace.period_ns > 0 ? (uint64_t)llround(v->pace.period_ns) : SECOND_NS;
    v->options.content.series = &v->series;
    s = bind_endpoint(v, e);
    return s || v->options.geom || v->options.cell ? s : print_endpoint(v, e);
}

static enum status serve_begin(void *state, struct experiment *x, struct error *e)
{
    struct serve *v = state;
    v->experiment = x;
    if (v->speaks->one_image && assembly_is_partial(x)) {
        const enum status s = assembly_open(&v->assembly, x, e);
        if (s)
            return s;
        v->experiment = &v->assembly.whole;
    }
    panels_frame(v->experiment, v->options.content.lab);
    if (!v->options.geom && !v->options.cell)
        return STATUS_OK;
    const enum status s = serve_write_files(&v->options, v->experiment, e);
    return s ? s : print_endpoint(v, e);
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

/* As --dtype says; else as they come, where the protocol has their type. */
static enum pixel_type type_for(const struct serve *v, enum pixel_type type)
{
    if (v->options.dtype)
        return (enum pixel_type)(v->options.dtype - 1);
    return v->speaks->allowed >> type & 1 ? type : v->speaks->otherwise;
}

/* Tells clients, before the first frame, that the series begins. */
static enum status announce(struct serve *v, const struct frame *f, struct error *e)
{
    struct message m = {0};
    enum status s = v->speaks->start(&v->options.content, v->experiment, f, &m, e);
    if (s == STATUS_OK)
        s = gateway_announce(v->gateway, &m, e);
    message_free(&m);
    v->announced = s == STATUS_OK;
    return s;
}

/* The frame as a message, its pixels as --dtype and the protocol want them. */
static enum status make_message(struct serve *v, const struct frame *f, uint64_t due_ns,
                                struct message *m, struct error *e)
{
    struct frame copy = *f;
    struct image converted = {0};
    const enum pixel_type type = type_for(v, f->image.type);
    const bool opens = v->speaks->start && !v->announced;
    enum status s = STATUS_OK;
    if (opens)
        series_start(&v->series, unix_time_ns(due_ns), v->experiment->lineage);
    if (type != f->image.type) {
        s = pixels_convert(&f->image, type, &converted, e);
        copy.image = converted;
    }
    if (s == STATUS_OK && v->assembly.of) {
        s = assembly_image(&v->assembly, &copy.image, e);
        if (s == STATUS_OK)
            assembly_blank(&v->assembly);
        copy.image = v->assembly.image;
    }
    if (s == STATUS_OK)
        s = protocol_message(v->speaks, &v->options.content, v->experiment, &copy,
                             unix_time_ns(due_ns), m, e);
    if (s == STATUS_OK && opens)
        s = announce(v, &copy, e);
    image_free(&converted);
    return s;
}

static void serve_expect(void *state, uint64_t frames)
{
    ((struct serve *)state)->series.images = frames;
}

static enum status serve_frame(void *state, struct frame *f, struct error *e)
{
    struct serve *v = state;
    struct message m = {0};
    char text[PACE_TEXT];
    const uint64_t due_ns = pace_due(&v->pace), came_ns = clock_ns();
    enum status s = make_message(v, f, due_ns, &m, e);
    if (!image_is_intact(&f->image))
        s = error_set(e, STATUS_FAILED, "frame %" PRIu64 " changed while it was read",
                      f->recipe.id);
    if (s) {
        message_free(&m);
        return s;
    }
    const uint64_t packed_ns = clock_ns();
    gateway_wait_until(v->gateway, due_ns);
    const uint64_t offered_ns = clock_ns();
    s = gateway_offer(v->gateway, &m, e);
    const uint64_t now_ns = clock_ns();
    pace_spend(&v->pace, PACE_INPUT, v->pace.last_ns ? came_ns - v->pace.last_ns : 0);
    pace_spend(&v->pace, PACE_PACKING, packed_ns - came_ns);
    pace_spend(&v->pace, PACE_CLIENTS, now_ns - offered_ns);
    pace_out(&v->pace, now_ns);
    if (pace_warns(&v->pace, now_ns, text))
        log_line(LOG_WARNING, "%s", text);
    return s;
}

static void serve_interrupt(void *state)
{
    gateway_interrupt(((struct serve *)state)->gateway);
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
    zap_close(&v->zap);
    if (v->gateway)
        endpoint_remove(v->endpoint);
    v->gateway = NULL;
    return counts;
}

/* Tells clients that the series is over, however that came. */
static void conclude(struct serve *v)
{
    struct message m = {0};
    struct error e = {0};
    enum status s = v->speaks->end(&v->options.content, &m, &e);
    if (s == STATUS_OK)
        s = gateway_conclude(v->gateway, &m, &e);
    message_free(&m);
    if (s)
        log_line(LOG_WARNING, "the end of the series: %s", e.text);
}

static const char *serve_report(void *state)
{
    struct serve *v = state;
    if (v->announced)
        conclude(v);
    const struct gateway_counts n = close_gateway(v);
    char rate[PACE_TEXT] = "", lost[96] = "", away[64] = "";
    const bool slow = pace_falls_short(&v->pace, rate);
    if (n.perhaps_lost)
        (void)snprintf(lost, sizeof lost,
                       "; up to %" PRIu64 " were on their way to clients that left",
                       n.perhaps_lost);
    if (n.turned_away)
        (void)snprintf(away, sizeof away, "; %" PRIu64 " connections were too many", n.turned_away);
    (void)snprintf(v->figures, sizeof v->figures,
                   "\"taken\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"late\":%" PRIu64
                   ",\"rejected\":%" PRIu64 ",\"perhaps_lost\":%" PRIu64 ",\"refused\":%" PRIu64,
                   n.taken, n.dropped, v->pace.late, n.rejected, n.perhaps_lost, n.refused);
    log_line(n.dropped || v->pace.late || *lost || *away ? LOG_WARNING : LOG_INFO,
             "clients took %" PRIu64 " frames, %" PRIu64 " were dropped, %" PRIu64 " late%s%s%s%s",
             n.taken, n.dropped, v->pace.late, slow ? "; " : "", rate, lost, away);
    if (n.refused)
        log_line(LOG_WARNING, "refused %" PRIu64 " connections of clients without a good key",
                 n.refused);
    if (v->announced && n.notes < 2)
        log_line(LOG_WARNING, "no client took the %s of the series", n.notes ? "end" : "start");
    return v->figures;
}

static void serve_close(void *state)
{
    (void)close_gateway(state);
    assembly_free(&((struct serve *)state)->assembly);
}

static const struct stage serve = {
    .name = "bragg-serve",
    .summary = "Hand images to programs in their own protocol.",
    .examples = "... | bragg-noise | bragg-serve --bind=tcp://127.0.0.1:4545 --rate=10\n"
                "... | bragg-serve --protocol=dectris2 --bind=tcp://127.0.0.1:31001",
    .details = "The endpoint is printed to stdout, once --geom and --cell are there. A frame "
               "counts as done when a client took it, "
               "or --policy dropped it.",
    .options = serve_options,
    .wants = KIND_IMAGE,
    .gives = KIND_NONE,
    .state_size = sizeof(struct serve),
    .defaults = serve_defaults,
    .binds = serve_binds,
    .open = serve_open,
    .begin = serve_begin,
    .expect = serve_expect,
    .frame = serve_frame,
    .interrupt = serve_interrupt,
    .cancel = serve_cancel,
    .report = serve_report,
    .close = serve_close,
    .progress = serve_progress,
};

int main(int argc, char **argv)
{
    return stage_main(&serve, argc, argv);
}
