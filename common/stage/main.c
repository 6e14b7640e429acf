/* The main thread of a stage: options, callbacks, one frame after the other. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/log.h"
#include "base/trace.h"
#include "base/version.h"
#include "stage/images.h"
#include "stage/progress.h"
#include "stage/runtime.h"
#include "stage/stats.h"
#include "wire/codec.h"

enum { TRACE_SPANS = 1 << 18, LINEAGE_TEXT = 16384, LINEAGE_MORE = 256, DAMAGED_MAX = 100 };

struct worker {
    const struct stage *stage;  // &settled, once the stage is open
    struct stage settled;
    enum kind wants;  // of the stage, or what came to one that wants KIND_ANY
    void *state;
    struct runtime rt;
    struct experiment experiment;
    struct codec_expected expected;  // of frames that arrive
    uint64_t run;
    uint32_t incarnation;
    struct images images;
    struct progress progress;
    unsigned damaged;  // messages one after the other, by a network
};

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
    meter_switch(&w->rt.meter, ACTIVITY_ENCODE, t.id);
    enum status s = route_seal(&r, m, e);
    if (s == STATUS_OK)
        s = port_share(m, e);
    struct item *item = s == STATUS_OK ? mem_array(1, sizeof *item) : NULL;
    if (!item) {
        message_free(m);
        return s ? s : error_memory(e, "a message");
    }
    *item = (struct item){.route = r, .message = *m};
    s = images_share(&w->images, item, e);
    if (s) {
        item_free(item);
        return s;
    }
    meter_switch(&w->rt.meter, ACTIVITY_WAIT_OUT, t.id);
    *more = exchange_give(&w->rt.exchange, item);
    meter_switch(&w->rt.meter, ACTIVITY_OTHER, t.id);
    return STATUS_OK;
}

/* Hash of all that a first stage has made. */
static enum status hash_contents(struct worker *w, uint64_t *hash, struct error *e)
{
    struct message m = {0};
    const enum status s = codec_experiment_encode(&w->experiment, &m, e);
    for (size_t i = 1; s == STATUS_OK && i < m.nparts; i++)
        *hash = hash_bytes(*hash, m.parts[i].data, m.parts[i].size);
    message_free(&m);
    return s;
}

/* Chains what affects the bytes of the output: the stages before, this one, its
 * version, options and identity class; for a first stage what it made. */
static enum status extend_lineage(struct worker *w, struct error *e)
{
    struct experiment *x = &w->experiment;
    uint64_t contents = HASH_START;
    const enum status s = w->stage->wants == KIND_NONE ? hash_contents(w, &contents, e) : STATUS_OK;
    if (s)
        return s;
    char *text = mem_array(LINEAGE_TEXT, 1);
    if (!text)
        return error_memory(e, "the lineage");
    size_t used = opt_lineage(w->stage->options, w->state, text, LINEAGE_TEXT - LINEAGE_MORE);
    if (used > LINEAGE_TEXT - LINEAGE_MORE - 1)
        used = LINEAGE_TEXT - LINEAGE_MORE - 1;
    (void)snprintf(text + used, LINEAGE_MORE, "identity class=%s\nphysics version=%d\n",
                   identity(w), PHYSICS_VERSION);
    if (w->stage->wants == KIND_NONE)
        (void)snprintf(text + strlen(text), LINEAGE_MORE / 2, "content of files=%016" PRIx64 "\n",
                       hash_finish(contents));
    uint64_t hash = hash_text(HASH_START, x->lineage);
    hash = hash_text(hash, w->stage->name);
    hash = hash_text(hash, text);
    (void)snprintf(x->lineage, sizeof x->lineage, "%016" PRIx64, hash_finish(hash));
    history_append(x->history, sizeof x->history, w->stage->name, text);
    mem_free(text);
    return STATUS_OK;
}

/* Sums up the payload.  A network may damage it: then it is dropped, and sent again; by
 * other ways, and when none gets through, the sender is at fault. */
static enum status check_sum(struct worker *w, const struct item *item, bool *dropped,
                             struct error *e)
{
    *dropped = false;
    if (route_sum_matches(&item->route, &item->message)) {
        w->damaged = 0;
        return STATUS_OK;
    }
    *dropped = item->network && ++w->damaged < DAMAGED_MAX;
    if (*dropped) {
        exchange_damaged(&w->rt.exchange, &item->route);
        return STATUS_OK;
    }
    return error_set(e, STATUS_FAILED, "%s %" PRIu64 " from %s was damaged on its way",
                     message_type_name(item->route.type), item->route.frame, item->route.stage);
}

/* Waits for the first message that is not damaged; false in *more when none comes. */
static enum status receive_first(struct worker *w, struct item **item, bool *more, struct error *e)
{
    enum status s = STATUS_OK;
    bool dropped = true;
    while (dropped && s == STATUS_OK) {
        meter_switch(&w->rt.meter, ACTIVITY_WAIT_IN, 0);
        *more = exchange_take(&w->rt.exchange, item);
        meter_switch(&w->rt.meter, ACTIVITY_OTHER, 0);
        if (!*more)
            return STATUS_OK;
        s = check_sum(w, *item, &dropped, e);
        if (dropped || s)
            item_free(*item);
    }
    return s;
}

/* Waits for the experiment of the stage before; false in *more when none comes. */
static enum status receive_experiment(struct worker *w, bool *more, struct error *e)
{
    struct item *item;
    enum status s = receive_first(w, &item, more, e);
    if (s || !*more)
        return s;
    w->run = item->route.run;
    w->incarnation = item->route.incarnation;
    if (item->route.type != MESSAGE_EXPERIMENT)
        s = error_set(e, STATUS_FAILED, "%s sent a frame before the experiment", item->route.stage);
    if (s == STATUS_OK && w->wants == KIND_ANY)
        w->wants = (enum kind)(item->route.flags & ROUTE_KIND_MASK);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&w->experiment, &item->message, e);
    if (s == STATUS_OK)
        w->expected = codec_expect(&w->experiment);
    if (s == STATUS_OK && w->stage->message)
        s = w->stage->message(w->state, &item->route, &item->message, e);
    item_free(item);
    return s;
}

/* The source: asks the stage which frames there are. */
static enum status list_frames(struct worker *w, struct error *e)
{
    const struct stage *stage = w->stage;
    struct id_set ids = {0};
    enum status s = STATUS_OK;
    const uint64_t count = stage->count && !stage->list ? stage->count(w->state) : 0;
    if (stage->list)
        s = stage->list(w->state, &ids, e);
    else if (count && !id_set_add_range(&ids, (struct id_range){0, count - 1}))
        s = error_memory(e, "the list of frames");
    if (s == STATUS_OK)
        exchange_set_list(&w->rt.exchange, &ids);
    else
        id_set_clear(&ids);
    return s;
}

/* Where the images come from that this stage makes. */
static void open_images(struct worker *w)
{
    struct pool_owner owner = {.run = w->run, .incarnation = w->incarnation};
    memcpy(owner.uuid, w->rt.uuid, sizeof owner.uuid);
    const bool shares = w->stage->gives == KIND_IMAGE && w->rt.options.transport == TRANSPORT_AUTO;
    images_open(&w->images, &owner,
                shares ? (size_t)experiment_pixels(&w->experiment) * sizeof(float) : 0,
                &w->rt.exchange);
    w->images.meter = &w->rt.meter;
    w->rt.pool = w->images.pool;
}

/* A last stage: asks it which frames it has. */
static enum status find_durable(struct worker *w, struct error *e)
{
    struct id_set ids = {0};
    if (!w->rt.options.resume)
        return STATUS_OK;
    const enum status s = w->stage->have ? w->stage->have(w->state, &ids, e)
                                         : rejoin_remember(w->experiment.lineage, &ids, e);
    if (s == STATUS_OK)
        exchange_set_have(&w->rt.exchange, &ids);
    else
        id_set_clear(&ids);
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
        open_images(w);
        s = stage->verbatim ? s : extend_lineage(w, e);
        if (s == STATUS_OK)
            s = codec_experiment_encode(&w->experiment, &m, e);
        if (s == STATUS_OK)
            s = send(w, MESSAGE_EXPERIMENT, (struct ticket){0}, &m, more, e);
        else
            message_free(&m);
    }
    if (s == STATUS_OK && stage_is_sink(stage))
        s = find_durable(w, e);
    if (s)
        return s;
    const int64_t pixels = experiment_pixels(&w->experiment);
    exchange_begin(&w->rt.exchange, (size_t)pixels * sizeof(float), identity(w),
                   w->experiment.lineage, stage->progress ? stage->progress(w->state) : NULL);
    return stage_is_source(stage) ? list_frames(w, e) : STATUS_OK;
}

/* Gives borrowed pixels back.  If they were replaced, because the process before took this
 * one for dead, whatever came of them is void: `s` becomes that error. */
static enum status return_pixels(struct worker *w, enum status s, struct error *e)
{
    if (images_return(&w->images))
        return s;
    atomic_store(&w->rt.outcast, true);
    return error_set(e, STATUS_FAILED, "the source took this process for dead");
}

/* The callback, from pixels that it may use as it does to pixels that may be sent. */
static enum status compute(struct worker *w, struct frame *f, struct error *e)
{
    const struct stage *stage = w->stage;
    struct meter *meter = &w->rt.meter;
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
    if (s == STATUS_OK && !stage_is_sink(stage))
        s = images_make_own(&w->images, &f->image, e);
    meter_switch(meter, ACTIVITY_OTHER, id);
    return return_pixels(w, s, e);
}

/* One frame, then on to the next stage or into the list of durable frames. */
static enum status process(struct worker *w, struct frame *f, struct ticket t, bool *more,
                           struct error *e)
{
    enum status s = compute(w, f, e);
    if (s)
        return s;
    meter_count_frame(&w->rt.meter);
    if (stage_is_sink(w->stage)) {
        exchange_durable(&w->rt.exchange, t.id);
        progress_show(&w->progress, w->rt.meter.frames, &w->rt.exchange);
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

/* Holds a frame back until it is due; *base_ns, 0 before the first one, is when the
 * stage's own clock began.  False at the end of the stream. */
static bool wait_due(struct worker *w, struct ticket t, uint64_t *base_ns)
{
    if (!w->stage->due_ns || t.attempt)
        return true;
    const uint64_t due_ns = w->stage->due_ns(w->state, t.id);
    if (!*base_ns)
        *base_ns = clock_ns() - due_ns;
    return exchange_wait_until(&w->rt.exchange, *base_ns + due_ns);
}

static enum status run_source(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    uint64_t base_ns = 0;
    for (bool more = true; more && s == STATUS_OK;) {
        struct ticket t;
        meter_switch(&w->rt.meter, ACTIVITY_WAIT_IN, 0);
        if (!exchange_next(&w->rt.exchange, &t) || !wait_due(w, t, &base_ns))
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
    enum status s = check_sum(w, item, &dropped, e);
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

static enum status receive_frame(struct worker *w, struct item *item, struct frame *f,
                                 bool *dropped, struct error *e)
{
    /* On one host images are summed up once, where they leave the stream; recipes end here. */
    enum status s = STATUS_OK;
    images_borrow(&w->images, &item->message);
    *dropped = false;
    if (item->network || w->wants == KIND_RECIPE || stage_is_sink(w->stage))
        s = check_sum(w, item, dropped, e);
    if (*dropped)
        return s;
    if (s == STATUS_OK)
        s = codec_frame_decode(f, &w->expected, &item->message, e);
    images_mark(&w->images, &f->image);
    if (s == STATUS_OK &&
        (f->recipe.id != item->route.frame || (w->wants == KIND_IMAGE && !f->image.count)))
        s = error_set(e, STATUS_INPUT, "frame %" PRIu64 " from %s contradicts itself",
                      item->route.frame, item->route.stage);
    return s;
}

static enum status run_frames(struct worker *w, struct error *e)
{
    enum status s = STATUS_OK;
    struct meter *meter = &w->rt.meter;
    for (bool more = true; more && s == STATUS_OK;) {
        struct item *item;
        meter_switch(meter, ACTIVITY_WAIT_IN, 0);
        if (!exchange_take(&w->rt.exchange, &item))
            break;
        const uint64_t id = item->route.frame;
        struct frame f = {0};
        meter_switch(meter, ACTIVITY_DECODE, id);
        if (item->route.type == MESSAGE_EXPERIMENT) {
            s = compare_experiment(w, item, e);
        } else {
            bool dropped;
            s = receive_frame(w, item, &f, &dropped, e);
            if (s == STATUS_OK && !dropped && w->stage->message)
                s = w->stage->message(w->state, &item->route, &item->message, e);
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

static enum status run_connected(struct worker *w, struct error *e)
{
    bool more;
    enum status s = begin(w, &more, e);
    if (s || !more)
        return s;
    const bool takes_all = w->wants == KIND_EXPERIMENT && stage_is_sink(w->stage);
    if (stage_is_source(w->stage))
        s = run_source(w, e);
    else if (w->wants >= KIND_RECIPE)
        s = run_frames(w, e);
    if (s == STATUS_OK && !takes_all)
        exchange_wait_end(&w->rt.exchange);
    if (s == STATUS_OK && w->stage->end && (takes_all || w->rt.complete || w->rt.left))
        s = w->stage->end(w->state, e);
    return s;
}

/* Says what went wrong, unless the I/O thread has spoken already. */
static void report(struct worker *w, enum status s, const struct error *e)
{
    if (!atomic_exchange(&w->rt.spoken, true) && e->text[0])
        (void)log_fail(e);
    atomic_store(&w->rt.failure, (int)s);
}

/* The stage is open: connects, runs and disconnects. */
static int run_open(struct worker *w)
{
    struct error e = {0};
    const struct runtime_options *o = &w->rt.options;
    enum status s = o->trace ? trace_open(TRACE_SPANS, &e) : STATUS_OK;
    if (s)
        return log_fail(&e);
    meter_open(&w->rt.meter);
    s = runtime_open(&w->rt, &e);
    if (s == STATUS_OK)
        s = run_connected(w, &e);
    progress_end(&w->progress);
    if (s)
        report(w, s, &e);
    const struct work work = runtime_work(&w->rt);
    runtime_close(&w->rt);
    images_close(&w->images);
    const char *more = w->stage->report ? w->stage->report(w->state) : NULL;
    if (w->rt.dropped)
        log_line(LOG_INFO, "dropped %" PRIu64 " messages that were damaged or not for this run",
                 w->rt.dropped);
    if (w->rt.duplicates)
        log_line(LOG_INFO, "dropped %" PRIu64 " frames that came twice", w->rt.duplicates);
    int status = s ? (int)s : atomic_load(&w->rt.status);
    if (s && !e.text[0] && stage_is_watcher(w->stage))
        status = STATUS_OK;  // it has left, and nobody minds
    if (o->stats && stats_write(&work, o->stats, w->stage->name, w->rt.exchange.identity, more,
                                &e) != STATUS_OK)
        status = status ? status : log_fail(&e);
    if (o->trace && trace_write(o->trace, w->stage->name, &e) != STATUS_OK)
        status = status ? status : log_fail(&e);
    meter_close(&w->rt.meter);
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
    w->rt.nwords = (size_t)argc - 1;
    if (stage->defaults)
        stage->defaults(w->state);
    enum status s = opt_parse(&program, stage->options, w->state, options_table(stage), o, argc,
                              argv, *operands, noperands, e);
    if (s == STATUS_OK && o->verbose && o->quiet)
        s = error_set(e, STATUS_USAGE, "--verbose and --quiet exclude each other");
    if (s == STATUS_OK)
        log_set_level(o->verbose ? LOG_INFO : o->quiet ? LOG_ERROR : LOG_WARNING);
    return s ? s : runtime_check_endpoints(stage, w->state, o, e);
}

/* Options are good: opens the stage, runs it, closes it. */
static int run_parsed(struct worker *w, const char **operands, int noperands)
{
    const struct stage *stage = w->stage;
    struct error e = {0};
    enum status s = stage->open ? stage->open(w->state, operands, noperands, &e) : STATUS_OK;
    if (s == STATUS_OK && w->rt.options.resume && stage->resume)
        stage->resume(w->state);
    w->settled = *stage;
    if (s == STATUS_OK && stage->settle)
        s = stage->settle(w->state, !w->rt.options.in.count, &w->settled, &e);
    w->stage = w->rt.stage = &w->settled;
    w->wants = stage->wants;
    if (s == STATUS_OK)
        s = runtime_check(w->stage, &w->rt.options, &e);
    progress_open(&w->progress, stage_is_sink(stage) && !w->settled.speaks && !w->rt.options.quiet);
    const int status = s ? log_fail(&e) : run_open(w);
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
    (void)signal(SIGXFSZ, SIG_IGN);  // a file too large is an error, not the end
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
