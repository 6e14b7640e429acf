/*
 * bragg-serve: a sink that sends images to foreign programs in their own protocol.  A frame is
 * acknowledged when a client took it, or when the policy dropped and counted it.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "engine/cpu/threads.h"
#include "gateway/dectris.h"
#include "gateway/gateway.h"
#include "io/crystfel/geom.h"
#include "io/output/output_file.h"
#include "link/keys.h"
#include "physics/detector/detector.h"
#include "serve.h"
#include "stage/stage.h"

static enum status write_file(const struct serve_options *o, const struct experiment *x,
                              const char *path, bool cell, struct error *e)
{
    struct replace file;
    struct error cause = {0};
    enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    const struct geom_style style = {.data = o->content.image_key,
                                     .live = true,
                                     .peaks = o->content.peaks > 0,
                                     .hdf5 = o->payload == PAYLOAD_HDF5};
    file.guarded = !o->overwrite;
    s = cell ? crystfel_write_cell(file.stream, x->crystals, &cause)
             : geom_write(file.stream, x, &style, o->content.lab, &cause);
    if (s == STATUS_OK) {
        if (!cell)
            geom_warn_of_unsaid(path, x);
        return replace_commit(&file, e);
    }
    replace_abort(&file);
    return error_set(e, s, "%s: %s", path, cause.text);
}

/* Writes the files of --geom and --cell, if these options are given, for the frames of *x, in
 * the laboratory frame o->content.lab.  A file appears only when it is complete.  STATUS_INPUT:
 * a file cannot describe the experiment, or the file exists and --overwrite is not given.
 * STATUS_FAILED: a file cannot be written. */
static enum status serve_write_files(const struct serve_options *o, const struct experiment *x,
                                     struct error *e)
{
    enum status s = o->geom ? write_file(o, x, o->geom, false, e) : STATUS_OK;
    if (s || !o->cell)
        return s;
    if (x->ncrystals != 1)
        return error_set(e, STATUS_INPUT, "--cell: a cell file describes one crystal (got %zu)",
                         x->ncrystals);
    return write_file(o, x, o->cell, true, e);
}

static const double SHARES[RAMP_QUANTILES] = {0.5, 0.95, 0.99};

/* Ends the ramp after the last frame, and fills in *result.  *g must still be open.  `g` NULL:
 * does nothing. */
static void serve_ramp_end(struct serve_ramp_result *result, struct ramp *r, struct gateway *g)
{
    if (!g)
        return;
    ramp_end(r, clock_ns());
    result->ramp = *r;
    result->times = gateway_latency(g, SHARES, result->quantiles_s, RAMP_QUANTILES);
}

/* Prints the result of --ramp in one line. */
static void serve_ramp_say(const struct serve_ramp_result *result)
{
    const struct ramp *r = &result->ramp;
    char work[128] = "";
    if (result->times)
        (void)snprintf(
            work, sizeof work,
            "; clients took %.3g ms for a frame (median), %.3g ms (95 %%), %.3g ms (99 %%)",
            result->quantiles_s[0] * 1e3, result->quantiles_s[1] * 1e3,
            result->quantiles_s[2] * 1e3);
    log_line(LOG_NOTICE, "--ramp: clients sustained %.4g frames/s (rate %.4g frames/s): %s%s",
             r->sustained_hz, r->asked_hz, ramp_limit_text(r->limit), work);
}

/* Writes the result of --ramp to `path` as JSON.  STATUS_FAILED: the file cannot be written, or
 * it exists and `overwrite` is false. */
static enum status serve_ramp_write(const struct serve_ramp_result *result, const char *path,
                                    bool overwrite, struct error *e)
{
    const struct ramp *r = &result->ramp;
    struct replace file;
    const enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.guarded = !overwrite;
    fprintf(file.stream,
            "{\"sustained_Hz\":%.9g,\"asked_Hz\":%.9g,\"limit\":\"%s\",\"from_Hz\":%.9g,"
            "\"to_Hz\":%.9g,\"seconds\":%.9g,\"taken\":%" PRIu64 ",\"dropped\":%" PRIu64,
            r->sustained_hz, r->asked_hz, ramp_limit_name(r->limit), r->from_hz, r->to_hz,
            r->seconds, r->taken, r->dropped);
    if (result->times)
        fprintf(file.stream,
                ",\"work_s\":{\"n\":%" PRIu64 ",\"median\":%.4g,\"p95\":%.4g,\"p99\":%.4g}",
                result->times, result->quantiles_s[0], result->quantiles_s[1],
                result->quantiles_s[2]);
    fputs("}\n", file.stream);
    return replace_commit(&file, e);
}

static const uint64_t SECOND_NS = 1000000000;

static const char *serve_binds(void *state, size_t number, bool *keyed)
{
    const struct serve_options *o = state;
    *keyed = o->client_keys;
    if (number < o->connect.count)
        return o->connect.text[number];
    return number == 0 ? o->bind : NULL;
}

static bool guard_bound(void *socket, const void *keys)
{
    return curve_serve(socket, ((const struct keys *)keys)->server.secret_key);
}

static bool guard_connected(void *socket, const void *keys)
{
    return curve_connect(socket, keys);
}

/* Reads the keys of --client-keys and sets the guard of a socket.  A bound socket also gets a
 * thread that checks the keys of clients. */
static enum status use_keys(const char *folder, struct gateway_settings *settings,
                            struct keys *keys, struct zap *zap, struct error *e)
{
    const bool connects = settings->nconnects;
    const enum status s = keys_read(keys, folder, connects ? KEYS_STAGE : KEYS_SERVE, e);
    settings->keys = keys;
    settings->guard = connects ? guard_connected : guard_bound;
    if (s || connects)
        return s;
    settings->context = zap_open_context(zap, keys, e);
    return settings->context ? STATUS_OK : e->status;
}

/* Opens the gateway.  If --client-keys is given, it serves only clients with these keys. */
static enum status open_gateway(const struct serve *v, struct gateway_settings *settings,
                                struct gateway **gateway, struct zap *zap, char *endpoint,
                                struct error *e)
{
    struct keys keys = {0};
    const char *folder = v->options.client_keys;
    enum status s = folder ? use_keys(folder, settings, &keys, zap, e) : STATUS_OK;
    if (s == STATUS_OK)
        s = gateway_open(gateway, settings, endpoint, ENDPOINT_SIZE, e);
    if (s == STATUS_OK && !folder && !settings->nconnects && endpoint_is_network(endpoint))
        log_line(LOG_WARNING,
                 "%s has no encryption keys. Any program that can connect can take frames. Use "
                 "--client-keys to exclude others",
                 endpoint);
    for (size_t i = 0; i < settings->nconnects && !folder && s == STATUS_OK; i++)
        if (!endpoint_is_local(settings->connects[i]))
            log_line(LOG_WARNING, "frames to %s are not encrypted", settings->connects[i]);
    if (s)
        zap_close(zap);
    explicit_bzero(&keys, sizeof keys);
    return s;
}

static enum status bind_endpoint(struct serve *v, struct error *e)
{
    struct gateway_settings settings = {.socket = (enum gateway_socket)v->options.socket,
                                        .policy = (enum gateway_policy)v->options.policy,
                                        .request = v->speaks->request,
                                        .topic = v->options.content.topic,
                                        .queue = (size_t)v->options.queue,
                                        .linger_s = v->options.linger_s,
                                        .passed = v->options.sent ? serve_sent_passed : NULL,
                                        .owner = &v->sent};
    const struct opt_texts *connect = &v->options.connect;
    settings.connects = connect->text;
    settings.nconnects = connect->count;
    (void)snprintf(v->endpoint, sizeof v->endpoint, "%s",
                   connect->count ? connect->text[0] : v->options.bind);
    const enum status s = connect->count ? STATUS_OK : endpoint_clear(v->endpoint, e);
    return s ? s : open_gateway(v, &settings, &v->gateway, &v->zap, v->endpoint, e);
}

/* Opens the socket of --metadata.  It never delays the images: the oldest metadata are dropped if
 * clients are slow. */
static enum status bind_metadata(struct serve *v, struct error *e)
{
    enum { QUEUE = 64 };
    static const double LINGER_S = 1;
    struct gateway_settings settings = {.socket = GATEWAY_PUB,
                                        .policy = GATEWAY_DROP_OLD,
                                        .queue = QUEUE,
                                        .linger_s = fmin(v->options.linger_s, LINGER_S)};
    struct metadata *to = &v->metadata;
    if (!v->options.metadata)
        return STATUS_OK;
    enum status s = endpoint_check_clients(v->options.metadata, v->options.client_keys, e);
    (void)snprintf(to->endpoint, sizeof to->endpoint, "%s", v->options.metadata);
    if (s == STATUS_OK)
        s = endpoint_clear(to->endpoint, e);
    v->options.content.bundle = &to->bundle;
    return s ? s : open_gateway(v, &settings, &to->gateway, &to->zap, to->endpoint, e);
}

/* Prints the endpoint for clients.  Is called after the files of --geom and --cell were written,
 * because scripts wait for this line and then start clients, which need these files. */
static enum status print_endpoint(const struct serve *v, struct error *e)
{
    const struct opt_texts *connect = &v->options.connect;
    printf("%s\n", v->endpoint);
    for (size_t i = 1; i < connect->count; i++)
        printf("%s\n", connect->text[i]);
    if (v->metadata.gateway)
        printf("%s\n", v->metadata.endpoint);
    if (fflush(stdout) != 0 || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "cannot write the endpoint to stdout");
    return STATUS_OK;
}

static enum status serve_open(void *state, const char **operands, int noperands, struct error *e)
{
    (void)operands, (void)noperands;
    struct serve *v = state;
    enum status s = serve_options_settle(&v->options, &v->speaks, &v->batch, e);
    if (s == STATUS_OK && v->options.geom)
        s = target_check(v->options.geom, e);
    if (s == STATUS_OK && v->options.cell)
        s = target_check(v->options.cell, e);
    if (s == STATUS_OK && v->options.ramp_json)
        s = serve_check_place(v->options.ramp_json, v->options.overwrite, e);
    if (s == STATUS_OK && v->options.sent)
        s = serve_sent_open(&v->sent, v->options.sent, v->options.overwrite, e);
    if (s == STATUS_OK)
        s = threads_start_of_sink(&v->options.threads, e);
    if (s)
        return s;
    v->pace.period_ns = v->options.rate_hz > 0 ? 1e9 / v->options.rate_hz : 0;
    v->series.number = (uint64_t)v->options.number;
    v->series.period_ns = v->options.frame_time_s > 0
                              ? (uint64_t)llround(v->options.frame_time_s * 1e9)
                          : v->pace.period_ns > 0 ? (uint64_t)llround(v->pace.period_ns)
                                                  : SECOND_NS;
    v->series.count_ns = (uint64_t)llround(v->options.count_time_s * 1e9);
    if (v->series.count_ns + DECTRIS_READOUT_NS > v->series.period_ns && v->series.count_ns)
        return error_set(e, STATUS_USAGE,
                         "--count-time is too long (got %g s); expected at most --frame-time (%g "
                         "s) without 100 ns",
                         v->options.count_time_s, v->options.frame_time_s);
    v->options.content.series = &v->series;
    if (v->options.batch > 1 && getenv(LOG_AGAIN))
        log_line(LOG_WARNING,
                 "--batch: frames that waited for their message before the restart of bragg-serve "
                 "are missing, at most %d",
                 (int)v->options.batch - 1);
    s = bind_endpoint(v, e);
    if (s == STATUS_OK)
        s = bind_metadata(v, e);
    v->sender = (struct sender){.gateway = v->gateway,
                                .sent = &v->sent,
                                .injects = v->options.inject,
                                .marks = v->options.mark_lost,
                                .faults = v->options.faults};
    if (s == STATUS_OK)
        sender_warn(&v->sender, v->options.inject);
    return s || v->options.geom || v->options.cell ? s : print_endpoint(v, e);
}

static enum status serve_settle(void *state, const struct start *start, struct stage *self,
                                struct error *e)
{
    (void)self, (void)e;
    struct serve *v = state;
    v->sender.meter = start->meter;
    gateway_count_bytes(v->gateway, start->bytes_out);
    return STATUS_OK;
}

/* Messages report the exposure of the beam and images that follow one another without a pause,
 * where neither --rate nor --frame-time says how often there is an image. */
static void take_exposure(struct serve *v, const struct beam *b)
{
    if (!b->has_exposure || v->options.frame_time_s > 0)
        return;
    const uint64_t exposure_ns = (uint64_t)llround(b->exposure_s * 1e9);
    if (!(v->options.rate_hz > 0))
        v->series.period_ns =
            exposure_ns > 2 * DECTRIS_READOUT_NS ? exposure_ns : 2 * DECTRIS_READOUT_NS;
    if (exposure_ns + DECTRIS_READOUT_NS <= v->series.period_ns)
        v->series.count_ns = exposure_ns;
    else if (v->speaks->channels && v->series.period_ns < exposure_ns)
        log_line(LOG_WARNING,
                 "frames are exposed for %g s, but --rate=%g gives them %g s, which messages "
                 "report. Give --frame-time instead, or a lower --rate",
                 b->exposure_s, v->options.rate_hz, (double)v->series.period_ns / 1e9);
}

/* Refuses protocols whose messages would give clients the energy of a photon where the beam does
 * not consist of photons. */
static enum status check_probe(const struct protocol *p, enum probe probe, struct error *e)
{
    const bool electrons = p == &protocol_crystfel || p == &protocol_crystfel_hdf5 ||
                           p == &protocol_dectris1 || p == &protocol_dectris2;
    if (probe == PROBE_XRAY || (probe == PROBE_ELECTRON && electrons))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE, "--protocol=%s: clients expect X-rays, but the beam has %s%s",
                     p->name, probe_particles(probe),
                     probe == PROBE_ELECTRON ? ". Use crystfel, dectris1 or dectris2" : "");
}

static enum status serve_begin(void *state, struct experiment *x, struct error *e)
{
    struct serve *v = state;
    enum status s = check_probe(v->speaks, x->probe, e);
    s = s ? s : serve_mask_begin(v, x, e);
    if (s)
        return s;
    v->experiment = x;
    take_exposure(v, &x->beam);
    if (v->speaks->one_image && assembly_is_partial(x)) {
        s = assembly_open(&v->assembly, x, e);
        if (s)
            return s;
        v->assembly.blanks_are_zero = v->options.mask_to_zero;
        v->experiment = &v->assembly.whole;
    }
    panels_frame(v->experiment, v->options.content.lab);
    moved_open(&v->moved, v->experiment);
    s = serve_sent_begin(&v->sent, x, e);
    if (s == STATUS_OK && v->options.early_start)
        s = serve_early_start(v, e);
    if (s || (!v->options.geom && !v->options.cell))
        return s;
    s = serve_write_files(&v->options, v->experiment, e);
    return s ? s : print_endpoint(v, e);
}

static void serve_expect(void *state, uint64_t frames)
{
    struct serve *v = state;
    v->series.images = v->expected = frames;
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

/* Closes the gateway, stores its final counts in v->counts, and removes the file of its socket. */
static void close_gateway(struct serve *v)
{
    v->counts = gateway_close(v->gateway);
    zap_close(&v->zap);
    if (v->gateway && !v->options.connect.count)
        endpoint_remove(v->endpoint);
    v->gateway = NULL;
}

/* Closes the gateway of --metadata, and removes the file of its socket. */
static void close_metadata(struct serve *v)
{
    struct metadata *to = &v->metadata;
    const struct gateway_counts n = gateway_close(to->gateway);
    zap_close(&to->zap);
    if (to->gateway) {
        endpoint_remove(to->endpoint);
        log_line(LOG_INFO,
                 "clients of --metadata took %" PRIu64 " messages, %" PRIu64 " were dropped",
                 n.taken + n.some, n.dropped);
    }
    to->gateway = NULL;
    mem_free(to->bundle.items);
    to->bundle = (struct bundle){0};
}

/* Sends clients the message that follows the last frame. */
static enum status tell_end(struct serve *v, struct error *e)
{
    struct message m = {0};
    enum status s = protocol_end(v->speaks, &v->options.content, &m, e);
    if (s == STATUS_OK)
        s = gateway_conclude(v->gateway, &m, e);
    message_free(&m);
    return s;
}

/* Sends the remaining messages and the message after the last frame, and closes the gateway.  Is
 * also called after an error, so that clients do not wait for more frames.  Does nothing if it
 * was called before. */
static void conclude(struct serve *v)
{
    struct error e = {0};
    if (v->concluded)
        return;
    v->concluded = true;
    if (v->options.ramp)
        serve_ramp_end(&v->ramp_result, &v->options.rise, v->gateway);
    if (v->gateway)
        gateway_finish(v->gateway);
    if (v->gateway && serve_flush(v, &e))
        log_line(LOG_WARNING, "the last message: %s", e.text);
    if (sender_flush(&v->sender, &e))
        log_line(LOG_WARNING, "the last frame: %s", e.text);
    if (v->metadata.gateway && serve_metadata_flush(v, &e))
        log_line(LOG_WARNING, "the last metadata: %s", e.text);
    if (v->announced && tell_end(v, &e))
        log_line(LOG_WARNING, "the end of the series: %s", e.text);
    close_gateway(v);
    close_metadata(v);
}

/* Ends the stream.  Closes the gateway before the file of --sent is completed, because the file
 * contains the fate of the last frame. */
static enum status serve_end(void *state, struct error *e)
{
    struct serve *v = state;
    if (!v->sent.path && !v->options.ramp_json && !v->batch)
        return STATUS_OK;
    conclude(v);
    enum status s = STATUS_OK;
    if (v->options.ramp_json)
        s = serve_ramp_write(&v->ramp_result, v->options.ramp_json, v->options.overwrite, e);
    return s ? s : serve_sent_commit(&v->sent, e);
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
        log_line(LOG_WARNING,
                 v->options.connect.count
                     ? "%" PRIu64 " connections to clients ended before keys were verified"
                     : "refused %" PRIu64 " connections of clients without a valid key",
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
    outgoing_free(&v->waiting);
    close_gateway(v);
    close_metadata(v);
    batch_close(v->batch);
    serve_sent_close(&v->sent);
    moved_close(&v->moved);
    assembly_free(&v->assembly);
    mem_free(v->mask);
}

static const struct stage serve = {
    .role = {.name = "bragg-serve", .wants = KIND_IMAGE, .gives = KIND_NONE},
    .summary = "Send images to other programs in their own protocol.",
    .examples = "... | bragg-noise | bragg-serve --bind=tcp://127.0.0.1:4545 --rate=10\n"
                "... | bragg-serve --protocol=dectris1 --bind=tcp://127.0.0.1:9999",
    .details = "The endpoint is printed to stdout, after the files of --geom and --cell are "
               "complete. A frame is done when a client took it, or when --policy dropped it.",
    .options = serve_options,
    .state_size = sizeof(struct serve),
    .binds = serve_binds,
    .open = serve_open,
    .settle = serve_settle,
    .begin = serve_begin,
    .expect = serve_expect,
    .frame = serve_frame,
    .interrupt = serve_interrupt,
    .cancel = serve_cancel,
    .end = serve_end,
    .report = serve_report,
    .close = serve_close,
    .progress = serve_progress,
    .reads_only = true,  // each protocol copies or packs the pixels
};

int main(int argc, char **argv)
{
    return stage_main(&serve, argc, argv);
}
