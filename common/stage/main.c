/* The main thread of a stage: options, callbacks, one frame after the other. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/trace.h"
#include "base/version.h"
#include "stage/progress.h"
#include "stage/runtime.h"
#include "stage/stats.h"
#include "wire/codec.h"

enum { TRACE_SPANS = 1 << 18, LINEAGE_TEXT = 16384 };

struct worker {
    const struct stage *stage;
    void *state;
    struct runtime rt;
    struct experiment experiment;
    struct codec_expected expected;  // of frames that arrive
    uint64_t run;
    uint32_t incarnation;
    struct stats stats;
    struct progress progress;
};

/* Adds the time since *since to *sum, and moves *since to now. */
static void charge(uint64_t *since, uint64_t *sum, const char *what, uint64_t id)
{
    const uint64_t now = clock_ns();
    trace_span(what, id, *since, now);
    *sum += now - *since;
    *since = now;
}

static const char *identity(const struct worker *w)
{
    return w->stage->identity ? w->stage->identity(w->state) : "any";
}

/* Seals *m and hands it to the I/O thread; false at the end of the stream. */
static enum status send(struct worker *w, enum message_type type, struct ticket t,
                        struct message *m, bool *more, struct error *e)
{
    struct route r = {.type = type,
                      .run = w->run,
                      .incarnation = w->incarnation,
                      .frame = t.id,
                      .attempt = t.attempt,
                      .flags = (uint32_t)w->stage->gives};
    (void)snprintf(r.stage, sizeof r.stage, "%s", w->stage->name);
    uint64_t since = clock_ns();
    enum status s = route_seal(&r, m, e);
    if (s == STATUS_OK)
        s = port_share(m, e);
    struct item *item = s == STATUS_OK ? mem_array(1, sizeof *item) : NULL;
    if (!item) {
        message_free(m);
        return s ? s : error_memory(e, "a message");
    }
    *item = (struct item){.route = r, .message = *m};
    charge(&since, &w->stats.codec_ns, "encode", t.id);
    *more = exchange_give(&w->rt.exchange, item);
    charge(&since, &w->stats.wait_out_ns, "send", t.id);
    return STATUS_OK;
}

/* Chains what affects the bytes of the output: the stages before, this one, its
 * version, options and identity class; for a first stage what it made. */
static enum status extend_lineage(struct worker *w, struct error *e)
{
    char *text = mem_array(LINEAGE_TEXT, 1);
    if (!text)
        return error_memory(e, "the lineage");
    (void)opt_lineage(w->stage->options, w->state, text, LINEAGE_TEXT);
    uint64_t hash = hash_text(HASH_START, w->experiment.lineage);
    hash = hash_text(hash, w->stage->name);
    hash = hash_bytes(hash, &(uint32_t){PHYSICS_VERSION}, sizeof(uint32_t));
    hash = hash_text(hash, text);
    hash = hash_text(hash, identity(w));
    mem_free(text);
    enum status s = STATUS_OK;
    if (w->stage->wants == KIND_NONE) {
        struct message m = {0};
        s = codec_experiment_encode(&w->experiment, &m, e);
        for (size_t i = 1; s == STATUS_OK && i < m.nparts; i++)
            hash = hash_bytes(hash, m.parts[i].data, m.parts[i].size);
        message_free(&m);
    }
    (void)snprintf(w->experiment.lineage, sizeof w->experiment.lineage, "%016" PRIx64,
                   hash_finish(hash));
    return s;
}

static enum status check_sum(const struct item *item, struct error *e)
{
    if (route_sum_matches(&item->route, &item->message))
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "%s %" PRIu64 " from %s was damaged on its way",
                     message_type_name(item->route.type), item->route.frame, item->route.stage);
}

/* Waits for the experiment of the stage before; false in *more when none comes. */
static enum status receive_experiment(struct worker *w, bool *more, struct error *e)
{
    struct item *item;
    uint64_t since = clock_ns();
    *more = exchange_take(&w->rt.exchange, &item);
    charge(&since, &w->stats.wait_in_ns, "wait", 0);
    if (!*more)
        return STATUS_OK;
    w->run = item->route.run;
    w->incarnation = item->route.incarnation;
    enum status s = check_sum(item, e);
    if (s == STATUS_OK && item->route.type != MESSAGE_EXPERIMENT)
        s = error_set(e, STATUS_FAILED, "%s sent a frame before the experiment", item->route.stage);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&w->experiment, &item->message, e);
    if (s == STATUS_OK)
        w->expected = codec_expect(&w->experiment);
    item_free(item);
    return s;
}

/* From nothing to the moment when frames may come. */
static enum status begin(struct worker *w, bool *more, struct error *e)
{
    const struct stage *stage = w->stage;
    enum status s = STATUS_OK;
    *more = true;
    if (stage->wants == KIND_NONE) {  // else the I/O thread learns them, and the experiment tells
        w->run = w->rt.run;
        w->incarnation = w->rt.incarnation;
    } else {
        s = receive_experiment(w, more, e);
    }
    if (s || !*more)
        return s;
    if (stage->begin)
        s = stage->begin(w->state, &w->experiment, e);
    if (s == STATUS_OK && stage->gives != KIND_NONE) {
        struct message m = {0};
        s = extend_lineage(w, e);
        if (s == STATUS_OK)
            s = codec_experiment_encode(&w->experiment, &m, e);
        if (s == STATUS_OK)
            s = send(w, MESSAGE_EXPERIMENT, (struct ticket){0}, &m, more, e);
        else
            message_free(&m);
    }
    if (s)
        return s;
    w->stats.identity = identity(w);
    const int64_t pixels = experiment_pixels(&w->experiment);
    exchange_begin(&w->rt.exchange, (size_t)pixels * sizeof(float), w->stats.identity,
                   stage->progress ? stage->progress(w->state) : NULL);
    if (stage_is_source(stage))
        exchange_set_total(&w->rt.exchange, stage->count ? stage->count(w->state) : 0);
    return s;
}

/* The callback, then on to the next stage or into the list of durable frames. */
static enum status process(struct worker *w, struct frame *f, struct ticket t, bool *more,
                           struct error *e)
{
    const struct stage *stage = w->stage;
    uint64_t since = clock_ns();
    enum status s = stage->frame ? stage->frame(w->state, f, e) : STATUS_OK;
    charge(&since, &w->stats.compute_ns, "compute", t.id);
    if (s)
        return s;
    w->stats.frames++;
    if (stage_is_sink(stage)) {
        exchange_durable(&w->rt.exchange, t.id);
        progress_show(&w->progress, w->stats.frames, &w->rt.exchange);
        return STATUS_OK;
    }
    struct message m = {0};
    s = codec_frame_encode(f, w->experiment.lineage, &m, e);
    if (s == STATUS_OK)
        s = send(w, MESSAGE_FRAME, t, &m, more, e);
    else
        message_free(&m);
    return s;
}

static enum status run_source(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    uint64_t since = clock_ns();
    for (bool more = true; more && s == STATUS_OK;) {
        struct ticket t;
        if (!exchange_next(&w->rt.exchange, &t))
            break;
        charge(&since, &w->stats.wait_in_ns, "wait", t.id);
        struct frame f = {.recipe.id = t.id};
        s = process(w, &f, t, &more, e);
        frame_free(&f);
        since = clock_ns();
    }
    return s;
}

/* A further stage before this one brings its experiment: it must be the same. */
static enum status compare_experiment(struct worker *w, const struct item *item, struct error *e)
{
    struct experiment other = {0};
    enum status s = check_sum(item, e);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&other, &item->message, e);
    if (s == STATUS_OK && strcmp(other.lineage, w->expected.lineage) != 0)
        s = error_set(
            e, STATUS_FAILED,
            "%s computes something else than the others before this stage (lineage %s, not %s)",
            item->route.stage, other.lineage, w->expected.lineage);
    experiment_free(&other);
    return s;
}

static enum status receive_frame(struct worker *w, struct item *item, struct frame *f,
                                 struct error *e)
{
    /* Images are summed up once, where they leave the stream; recipes end here. */
    enum status s = STATUS_OK;
    if (w->stage->wants == KIND_RECIPE || stage_is_sink(w->stage))
        s = check_sum(item, e);
    if (s == STATUS_OK)
        s = codec_frame_decode(f, &w->expected, &item->message, e);
    if (s == STATUS_OK &&
        (f->recipe.id != item->route.frame || (w->stage->wants == KIND_IMAGE && !f->image.count)))
        s = error_set(e, STATUS_INPUT, "frame %" PRIu64 " from %s contradicts itself",
                      item->route.frame, item->route.stage);
    return s;
}

static enum status run_frames(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    uint64_t since = clock_ns();
    struct item *item;
    for (bool more = true; more && s == STATUS_OK && exchange_take(&w->rt.exchange, &item);) {
        const uint64_t id = item->route.frame;
        charge(&since, &w->stats.wait_in_ns, "wait", id);
        struct frame f = {0};
        if (item->route.type == MESSAGE_EXPERIMENT) {
            s = compare_experiment(w, item, e);
        } else {
            s = receive_frame(w, item, &f, e);
            charge(&since, &w->stats.codec_ns, "decode", id);
            if (s == STATUS_OK)
                s = process(w, &f, (struct ticket){id, item->route.attempt}, &more, e);
        }
        frame_free(&f);
        item_free(item);
        since = clock_ns();
    }
    return s;
}

static enum status run_connected(struct worker *w, struct error *e)
{
    bool more;
    enum status s = begin(w, &more, e);
    if (s || !more)
        return s;
    if (stage_is_source(w->stage))
        s = run_source(w, e);
    else if (w->stage->wants >= KIND_RECIPE)
        s = run_frames(w, e);
    if (s == STATUS_OK)
        exchange_wait_end(&w->rt.exchange);
    return s;
}

/* Says what went wrong, unless the I/O thread has spoken already. */
static void report(struct worker *w, enum status s, const struct error *e)
{
    if (!atomic_exchange(&w->rt.spoken, true))
        (void)log_fail(e);
    atomic_store(&w->rt.failure, (int)s);
}

/* The stage is open: connects, runs and disconnects. */
static int run_open(struct worker *w)
{
    struct error e = {0};
    const struct runtime_options *o = &w->rt.options;
    enum status s = o->trace ? trace_open(TRACE_SPANS, &e) : STATUS_OK;
    w->stats = (struct stats){.start_ns = clock_ns(), .identity = "any"};
    if (s)
        return log_fail(&e);
    s = runtime_open(&w->rt, &e);
    if (s == STATUS_OK)
        s = run_connected(w, &e);
    progress_end(&w->progress);
    if (s)
        report(w, s, &e);
    w->stats.bytes_in = atomic_load(&w->rt.bytes_in);
    w->stats.bytes_out = atomic_load(&w->rt.bytes_out);
    runtime_close(&w->rt);
    w->stats.more = w->stage->end ? w->stage->end(w->state) : NULL;
    if (w->rt.dropped)
        log_line(LOG_INFO, "dropped %" PRIu64 " messages that were not for this run",
                 w->rt.dropped);
    if (w->rt.duplicates)
        log_line(LOG_INFO, "dropped %" PRIu64 " frames that came twice", w->rt.duplicates);
    int status = s ? (int)s : atomic_load(&w->rt.status);
    if (o->stats && stats_write(&w->stats, o->stats, w->stage->name, &e) != STATUS_OK)
        status = status ? status : log_fail(&e);
    if (o->trace && trace_write(o->trace, w->stage->name, &e) != STATUS_OK)
        status = status ? status : log_fail(&e);
    return status;
}

static enum status parse(struct worker *w, int argc, char **argv, const char ***operands,
                         int *noperands, struct error *e)
{
    const struct stage *stage = w->stage;
    struct runtime_options *o = &w->rt.options;
    const struct opt_program program = {.name = stage->name,
                                        .summary = stage->summary,
                                        .operands = stage->operands,
                                        .min_operands = stage->min_operands,
                                        .max_operands = stage->max_operands,
                                        .details = stage->details};
    *operands = mem_array((size_t)stage->max_operands + 1, sizeof **operands);
    w->state = w->rt.state = mem_array(1, stage->state_size);
    if (!*operands || !w->state)
        return error_memory(e, "the options");
    options_defaults(o);
    if (stage->defaults)
        stage->defaults(w->state);
    enum status s = opt_parse(&program, stage->options, w->state, options_table(stage), o, argc,
                              argv, *operands, noperands, e);
    if (s == STATUS_OK && o->verbose && o->quiet)
        s = error_set(e, STATUS_USAGE, "--verbose and --quiet exclude each other");
    if (s == STATUS_OK)
        log_set_level(o->verbose ? LOG_INFO : o->quiet ? LOG_ERROR : LOG_WARNING);
    return s ? s : runtime_check(stage, w->state, o, e);
}

/* Options are good: opens the stage, runs it, closes it. */
static int run_parsed(struct worker *w, const char **operands, int noperands)
{
    const struct stage *stage = w->stage;
    struct error e = {0};
    int status = stage->open ? (int)stage->open(w->state, operands, noperands, &e) : STATUS_OK;
    if (status)
        (void)log_fail(&e);
    progress_open(&w->progress, stage_is_sink(stage) && !w->rt.options.quiet);
    if (status == STATUS_OK)
        status = run_open(w);
    if (stage->close)
        stage->close(w->state);
    experiment_free(&w->experiment);
    return status;
}

int stage_main(const struct stage *stage, int argc, char **argv)
{
    struct error e = {0};
    const char **operands = NULL;
    int noperands = 0;
    log_open(stage->name);
    (void)signal(SIGPIPE, SIG_IGN);
    struct worker *w = mem_array(1, sizeof *w);
    if (!w)
        return log_fail(&(struct error){STATUS_FAILED, "out of memory"});
    w->stage = w->rt.stage = stage;
    const enum status s = parse(w, argc, argv, &operands, &noperands, &e);
    const int status = s ? log_fail(&e) : run_parsed(w, operands, noperands);
    mem_free(w->state);
    mem_free(operands);
    mem_free(w);
    return status;
}
