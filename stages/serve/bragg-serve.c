/*
 * bragg-serve: a sink that sends images to foreign programs in their own protocol.  A frame is
 * acknowledged when a client took it, or when the policy dropped and counted it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "link/keys.h"
#include "physics/detector/panels.h"
#include "serve_files.h"
#include "serve_state.h"
#include "stage/stage.h"

static const uint64_t SECOND_NS = 1000000000;

static const char *serve_binds(void *state, bool *keyed)
{
    const struct serve_options *o = state;
    *keyed = o->client_keys;
    return o->bind;
}

/* Opens the gateway, with the keys of --client-keys if the option is given. */
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
        log_line(LOG_WARNING, "%s needs no keys: any program that can connect can take frames",
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
                                        .linger_s = v->options.linger_s,
                                        .passed = v->options.key ? serve_key_passed : NULL,
                                        .owner = &v->key};
    (void)snprintf(v->endpoint, sizeof v->endpoint, "%s", v->options.bind);
    enum status s = endpoint_clear(v->endpoint, e);
    return s ? s : open_gateway(v, &settings, e);
}

/* Prints the endpoint.  This comes last, because scripts wait for this line and then start clients,
 * which need the files of --geom and --cell. */
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
    if (s == STATUS_OK && v->options.ramp_json)
        s = serve_check_place(v->options.ramp_json, v->options.overwrite, e);
    if (s == STATUS_OK && v->options.key)
        s = serve_key_open(&v->key, v->options.key, v->options.overwrite, e);
    if (s)
        return s;
    v->pace.period_ns = v->options.rate_hz > 0 ? 1e9 / v->options.rate_hz : 0;
    v->series.number = (uint64_t)v->options.number;
    v->series.period_ns = v->pace.period_ns > 0 ? (uint64_t)llround(v->pace.period_ns) : SECOND_NS;
    v->options.content.series = &v->series;
    s = bind_endpoint(v, e);
    v->sender = (struct sender){.gateway = v->gateway,
                                .key = &v->key,
                                .injects = v->options.inject,
                                .faults = v->options.faults};
    if (s == STATUS_OK)
        sender_warn(&v->sender, v->options.inject);
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
    if (!moved_open(&v->moved, v->experiment))
        return error_memory(e, "the panels");
    enum status s = serve_key_begin(&v->key, x, e);
    if (s || (!v->options.geom && !v->options.cell))
        return s;
    s = serve_write_files(&v->options, v->experiment, e);
    return s ? s : print_endpoint(v, e);
}

static void serve_expect(void *state, uint64_t frames)
{
    ((struct serve *)state)->series.images = frames;
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

/* Closes the gateway and removes the file of its socket.  The counts are final then. */
static void close_gateway(struct serve *v)
{
    v->counts = gateway_close(v->gateway);
    zap_close(&v->zap);
    if (v->gateway)
        endpoint_remove(v->endpoint);
    v->gateway = NULL;
}

/* Sends the message after the last frame. */
static enum status tell_end(struct serve *v, struct error *e)
{
    struct message m = {0};
    enum status s = v->speaks->end(&v->options.content, &m, e);
    if (s == STATUS_OK)
        s = gateway_conclude(v->gateway, &m, e);
    message_free(&m);
    return s;
}

/* Sends the messages that are left and the message after the last frame, and closes the gateway.
 * This happens also after an error, so that clients do not wait for more frames. */
static void conclude(struct serve *v)
{
    struct error e = {0};
    if (v->concluded)
        return;
    v->concluded = true;
    if (v->options.ramp)
        serve_ramp_end(&v->ramp_result, &v->options.rise, v->gateway);
    if (sender_flush(&v->sender, &e))
        log_line(LOG_WARNING, "the last frame: %s", e.text);
    if (v->announced && tell_end(v, &e))
        log_line(LOG_WARNING, "the end of the series: %s", e.text);
    close_gateway(v);
}

/* Ends the gateway before the file of --key, because the file holds the fate of the last frame. */
static enum status serve_end(void *state, struct error *e)
{
    struct serve *v = state;
    if (!v->key.path && !v->options.ramp_json)
        return STATUS_OK;
    conclude(v);
    enum status s = STATUS_OK;
    if (v->options.ramp_json)
        s = serve_ramp_write(&v->ramp_result, v->options.ramp_json, v->options.overwrite, e);
    return s ? s : serve_key_commit(&v->key, e);
}

static const char *serve_report(void *state)
{
    struct serve *v = state;
    conclude(v);
    const struct gateway_counts n = v->counts;
    char rate[PACE_TEXT] = "", lost[96] = "", away[64] = "", some[96] = "";
    const bool slow = pace_falls_short(&v->pace, rate);
    if (n.perhaps_lost)
        (void)snprintf(lost, sizeof lost,
                       "; up to %" PRIu64 " were on their way to clients that left",
                       n.perhaps_lost);
    if (n.turned_away)
        (void)snprintf(away, sizeof away, "; there was no room for %" PRIu64 " connections",
                       n.turned_away);
    if (n.some)
        (void)snprintf(some, sizeof some,
                       "; %" PRIu64 " were taken by some clients and perhaps not by all", n.some);
    (void)snprintf(v->figures, sizeof v->figures,
                   "\"taken\":%" PRIu64 ",\"some\":%" PRIu64 ",\"dropped\":%" PRIu64
                   ",\"late\":%" PRIu64 ",\"rejected\":%" PRIu64 ",\"perhaps_lost\":%" PRIu64
                   ",\"refused\":%" PRIu64,
                   n.taken, n.some, n.dropped, v->pace.late, n.rejected, n.perhaps_lost, n.refused);
    log_line(n.dropped || n.some || v->pace.late || *lost || *away ? LOG_WARNING : LOG_INFO,
             "clients took %" PRIu64 " frames, %" PRIu64 " were dropped, %" PRIu64
             " late%s%s%s%s%s",
             n.taken + n.some, n.dropped, v->pace.late, some, slow ? "; " : "", rate, lost, away);
    if (n.cut_off)
        log_line(LOG_WARNING,
                 "%" PRIu64 " connections exceeded the limits for subscriptions and were cut off",
                 n.cut_off);
    if (n.refused)
        log_line(LOG_WARNING, "refused %" PRIu64 " connections of clients without a valid key",
                 n.refused);
    if (v->announced && n.notes < 2)
        log_line(LOG_WARNING, "no client took the %s message of the series",
                 n.notes ? "end" : "start");
    sender_report(&v->sender);
    if (v->options.ramp)
        serve_ramp_say(&v->ramp_result);
    return v->figures;
}

static void serve_close(void *state)
{
    struct serve *v = state;
    outgoing_free(&v->sender.held);
    close_gateway(v);
    serve_key_close(&v->key);
    moved_close(&v->moved);
    assembly_free(&v->assembly);
}

static const struct stage serve = {
    .role = {.name = "bragg-serve", .wants = KIND_IMAGE, .gives = KIND_NONE},
    .summary = "Send images to other programs in their own protocol.",
    .examples = "... | bragg-noise | bragg-serve --bind=tcp://127.0.0.1:4545 --rate=10\n"
                "... | bragg-serve --protocol=dectris2 --bind=tcp://127.0.0.1:31001",
    .details = "The endpoint is printed to stdout, after the files of --geom and --cell are "
               "complete. A frame is done when a client took it, or when --policy dropped it.",
    .options = serve_options,
    .state_size = sizeof(struct serve),
    .binds = serve_binds,
    .open = serve_open,
    .begin = serve_begin,
    .expect = serve_expect,
    .frame = serve_frame,
    .interrupt = serve_interrupt,
    .cancel = serve_cancel,
    .end = serve_end,
    .report = serve_report,
    .close = serve_close,
    .progress = serve_progress,
};

int main(int argc, char **argv)
{
    return stage_main(&serve, argc, argv);
}
