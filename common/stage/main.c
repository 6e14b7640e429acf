/* Runs a stage as a program: parses its options, calls its callbacks, returns its exit status. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/log.h"
#include "base/program.h"
#include "base/trace.h"
#include "stage/options.h"
#include "stage/worker.h"

enum { TRACE_SPANS = 1 << 18 };

static enum status run_connected(struct worker *w, struct error *e)
{
    bool more;
    enum status s = worker_begin(w, &more, e);
    if (s || !more)
        return s;
    const bool takes_all = w->wants == KIND_EXPERIMENT && role_is_sink(&w->stage.role);
    if (role_is_source(&w->stage.role))
        s = worker_run_source(w, e);
    else if (w->wants >= KIND_RECIPE)
        s = worker_run_frames(w, e);
    struct item *item;
    while (s == STATUS_OK && !takes_all && (item = exchange_take(&w->rt.links.exchange)))
        item_free(item);  // waits for the end of the stream
    if (s == STATUS_OK && w->stage.end &&
        (takes_all || w->rt.run.ending == ENDING_COMPLETE || w->rt.run.ending == ENDING_EARLY))
        s = w->stage.end(w->state, e);
    return s;
}

/* Prints the error, unless the I/O thread has printed one already. */
static void report(struct worker *w, enum status s, const struct error *e)
{
    if (!atomic_exchange(&w->rt.run.spoken, true) && e->text[0])
        (void)log_fail(e);
    atomic_store(&w->rt.failure, (int)s);
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* An existing file that begins with this text is a file of --stats, to which a line may be
 * appended. */
static const char *const stats_begin[] = {"{\"stage\":", NULL};

/* Appends a line of JSON to the file of --stats.  Several stages may share one file.  `more`:
 * further members of the line, from the callback `report`; NULL: none. */
static enum status write_stats(const struct worker *w, const struct work *work, const char *more,
                               struct error *e)
{
    char line[1024];
    const char *path = w->rt.run.settings.stats, *identity = w->rt.links.exchange.identity;
    const int length = snprintf(
        line, sizeof line,
        "{\"stage\":\"%s\",\"pid\":%ld,\"frames\":%" PRIu64 ",\"bytes_in\":%" PRIu64
        ",\"bytes_out\":%" PRIu64
        ",\"wait_in_s\":%.6f,\"compute_s\":%.6f,\"wait_out_s\":%.6f,\"codec_s\":%.6f,"
        "\"cpu_s\":%.6f,\"compute_cpu_s\":%.6f,\"wall_s\":%.6f,\"identity\":\"%s\"%s%s}\n",
        w->stage.role.name, (long)getpid(), work->frames, work->bytes_in, work->bytes_out,
        seconds(work->wait_in_ns), seconds(work->compute_ns), seconds(work->wait_out_ns),
        seconds(work->codec_ns), seconds(work->cpu_ns), seconds(work->compute_cpu_ns),
        seconds(work->time_ns), *identity ? identity : "any", more ? "," : "", more ? more : "");
    if (strcmp(path, "-") != 0)
        return target_append(path, line, (size_t)length, e);
    return steady_write(STDERR_FILENO, line, (size_t)length) == length
               ? STATUS_OK
               : error_errno(e, STATUS_FAILED, "stderr: cannot write the statistics");
}

/* Connects a stage that is open, runs it and disconnects it.  Returns the exit status. */
static int run_open(struct worker *w)
{
    struct error e = {0};
    const struct settings *o = &w->rt.run.settings;
    enum status s = o->trace ? trace_open(TRACE_SPANS, &e) : STATUS_OK;
    if (s)
        return log_fail(&e);
    meter_open(&w->rt.links.meter);
    s = runtime_open(&w->rt, &e);
    if (s == STATUS_OK)
        s = run_connected(w, &e);
    if (!s && w->rt.run.ending == ENDING_COMPLETE && !atomic_load(&w->rt.run.status))
        log_tell(LOG_COMPLETE);
    progress_end(w, !s && w->rt.run.ending == ENDING_COMPLETE && !atomic_load(&w->rt.run.status));
    if (s)
        report(w, s, &e);
    const struct work work = links_work(&w->rt.links);
    runtime_close(&w->rt);
    const char *more = w->stage.report ? w->stage.report(w->state) : NULL;
    pool_close(&w->rt.links.pool);
    packer_free(&w->packer);
    if (w->rt.run.dropped)
        log_line(LOG_INFO, "dropped %" PRIu64 " messages that were corrupt or for another run",
                 w->rt.run.dropped);
    const uint64_t refused = atomic_load(&w->rt.links.refused);
    if (refused)
        log_line(LOG_WARNING, "refused %" PRIu64 " connections without a valid key. See --keys",
                 refused);
    if (w->rt.links.duplicates)
        log_line(LOG_INFO, "dropped %" PRIu64 " frames that came twice", w->rt.links.duplicates);
    int status = s ? (int)s : atomic_load(&w->rt.run.status);
    if (s && !e.text[0] && role_is_watcher(&w->stage.role))
        status = STATUS_OK;  // a passive sink may leave at any time
    if (o->stats && write_stats(w, &work, more, &e) != STATUS_OK)
        status = status ? status : log_fail(&e);
    if (o->trace && trace_write(o->trace, w->stage.role.name, &e) != STATUS_OK)
        status = status ? status : log_fail(&e);
    meter_close(&w->rt.links.meter);
    return status;
}

static enum status parse(struct worker *w, int argc, char **argv, struct error *e)
{
    const struct stage *stage = &w->stage;
    struct settings *o = &w->rt.run.settings;
    const struct opt_program program = {.name = stage->role.name,
                                        .summary = stage->summary,
                                        .operands = stage->operands,
                                        .min_operands = stage->min_operands,
                                        .max_operands = stage->max_operands,
                                        .details = stage->details,
                                        .examples = stage->examples};
    w->operands = mem_array((size_t)stage->max_operands + 1, sizeof *w->operands);
    w->state = w->rt.state = mem_array(1, stage->state_size);
    if (!w->operands || !w->state)
        return error_memory(e, "the options");
    w->rt.member.nwords = (size_t)argc - 1;
    options_defaults(o);  // also sets options that this stage does not have
    enum status s = opt_parse(&program, stage->options, w->state, options_table(&stage->role), o,
                              argc, argv, w->operands, &w->noperands, e);
    if (s == STATUS_OK && o->restricted)
        s = opt_restrict(stage->options, "restrict quiet only", argc, argv, e);
    w->words = stage_words(stage, w->state);
    if (s == STATUS_OK)
        log_set_level(o->verbose ? LOG_INFO : o->quiet ? LOG_ERROR : LOG_WARNING);
    if (s == STATUS_OK && o->stats && strcmp(o->stats, "-") != 0)
        s = target_check_kind(o->stats, "file of --stats", stats_begin, e);
    if (s == STATUS_OK && o->trace)
        s = trace_check(o->trace, e);
    return s ? s : options_guard(stage, w->state, &w->rt.run, e);
}

/* Opens a stage whose options have been parsed, runs it and closes it.  Returns the exit status. */
static int run_parsed(struct worker *w)
{
    struct stage *stage = &w->stage;
    const struct start start = {.piped = !w->rt.run.settings.in.count,
                                .resume = w->rt.run.settings.resume};
    struct error e = {0};
    enum status s = stage->open ? stage->open(w->state, w->operands, w->noperands, &e) : STATUS_OK;
    if (s == STATUS_OK && stage->settle)
        s = stage->settle(w->state, &start, stage, &e);
    w->rt.run.role = stage->role;
    w->rt.run.role.finds_durable = stage->have;
    w->wants = stage->role.wants;
    if (s == STATUS_OK)
        s = options_check(stage, &w->rt.run.settings, &e);
    progress_open(w);
    const int status = s ? log_fail(&e) : run_open(w);
    if (stage->close)
        stage->close(w->state);
    experiment_free(&w->experiment);
    return status;
}

int stage_main(const struct stage *stage, int argc, char **argv)
{
    struct error e = {0};
    program_open(stage->role.name);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);  // then a too large file is an error of write()
    struct worker *w = mem_array(1, sizeof *w);
    if (!w)
        return log_fail(&(struct error){STATUS_FAILED, "out of memory"});
    w->stage = *stage;
    w->rt.stage = &w->stage;
    const int status = parse(w, argc, argv, &e) ? log_fail(&e) : run_parsed(w);
    mem_free(w->state);
    mem_free(w->operands);
    mem_free(w->words);
    mem_free(w);
    return status;
}
