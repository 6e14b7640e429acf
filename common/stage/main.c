/* Runs a stage as a program: parses its options, calls its callbacks, returns its exit status. */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/program.h"
#include "base/trace.h"
#include "link/endpoint.h"
#include "link/run.h"
#include "stage/stage.h"
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
static void report_error(struct worker *w, enum status s, const struct error *e)
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
 * further members of the line, from the callback `report`; NULL: none.  busiest_ns: the CPU time of
 * the busiest thread. */
static enum status write_stats(const struct worker *w, const struct work *work, uint64_t busiest_ns,
                               const char *more, struct error *e)
{
    char line[1024];
    const char *path = w->rt.run.settings.stats, *identity = w->rt.links.exchange.identity;
    const int length =
        snprintf(line, sizeof line,
                 "{\"stage\":\"%s\",\"pid\":%ld,\"frames\":%" PRIu64 ",\"bytes_in\":%" PRIu64
                 ",\"bytes_out\":%" PRIu64
                 ",\"wait_in_s\":%.6f,\"compute_s\":%.6f,\"wait_out_s\":%.6f,\"codec_s\":%.6f,"
                 "\"cpu_s\":%.6f,\"compute_cpu_s\":%.6f,\"busiest_cpu_s\":%.6f,\"wall_s\":%.6f,"
                 "\"identity\":\"%s\"%s%s}\n",
                 w->stage.role.name, (long)getpid(), work->frames, work->bytes_in, work->bytes_out,
                 seconds(work->wait_in_ns), seconds(work->compute_ns), seconds(work->wait_out_ns),
                 seconds(work->codec_ns), seconds(work->cpu_ns), seconds(work->compute_cpu_ns),
                 seconds(busiest_ns), seconds(work->time_ns), *identity ? identity : "any",
                 more ? "," : "", more ? more : "");
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
    if (o->trace)
        trace_open(TRACE_SPANS);
    meter_open(&w->rt.links.meter);
    enum status s = runtime_open(&w->rt, &e);
    if (s == STATUS_OK)
        s = run_connected(w, &e);
    if (!s && w->rt.run.ending == ENDING_COMPLETE && !atomic_load(&w->rt.run.status))
        log_tell(LOG_COMPLETE);
    progress_end(w, !s && w->rt.run.ending == ENDING_COMPLETE && !atomic_load(&w->rt.run.status));
    if (s)
        report_error(w, s, &e);
    const struct work work = links_work(&w->rt.links);
    const uint64_t busiest_ns = o->stats ? clock_busiest_ns() : 0;  // while threads still exist
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
    if (o->stats && write_stats(w, &work, busiest_ns, more, &e) != STATUS_OK)
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
                                .resume = w->rt.run.settings.resume,
                                .meter = &w->rt.links.meter,
                                .bytes_out = &w->rt.links.bytes_out};
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

/* Returns true if the table of a stage has an option. */
static bool has_option(const struct stage *stage, const char *name)
{
    return stage->options && opt_find(stage->options, name, strlen(name));
}

int stage_main(const struct stage *stage, int argc, char **argv)
{
    struct error e = {0};
    if (has_option(stage, "threads"))
        program_sleeps(argv);
    program_open(stage->role.name);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);  // then a too large file is an error of write()
    struct worker *w = mem_array(1, sizeof *w);
    w->stage = *stage;
    w->rt.stage = &w->stage;
    const int status = parse(w, argc, argv, &e) ? log_fail(&e) : run_parsed(w);
    if (status)
        pipe_mark_failed();
    mem_free(w->state);
    mem_free(w->operands);
    mem_free(w->words);
    mem_free(w);
    return status;
}

/* The options that the runtime adds to every stage: their table, and what is checked about them. */

/* The stages that have an option, to be combined with |: stages without input that are not the
 * source (FIRST), the source, middle stages, sinks (LAST), all stages with input (CONSUMER), and
 * all stages whose output is images. */
enum { FIRST = 1, SOURCE = 2, MIDDLE = 4, LAST = 8, ALL = 15, CONSUMER = 16, IMAGES = 32 };

#define AT(member) .offset = offsetof(struct settings, member)

static const struct {
    unsigned who;
    struct opt option;
} rows[] = {
    {ALL, {.doc = "Common options: messages", .type = OPT_GROUP}},
    {ALL, {"quiet", NULL, "Print only errors", OPT_FLAG, AT(quiet)}},
    {ALL, {"verbose", NULL, "Print more messages", OPT_FLAG, AT(verbose), .excludes = "quiet"}},
    {ALL, {.doc = "Common options: connections", .type = OPT_GROUP}},
    {CONSUMER,
     {"in", "ENDPOINT",
      "Receive from ENDPOINT instead of the pipe; @ENDPOINT binds; may be repeated", OPT_TEXTS,
      AT(in)}},
    {ALL & ~LAST,
     {"out", "ENDPOINT", "Send to ENDPOINT instead of the pipe; @ENDPOINT binds; may be repeated",
      OPT_TEXTS, AT(out)}},
    {SOURCE,
     {"control", "ENDPOINT",
      "Endpoint where the source receives reports of later stages (a private one)", OPT_TEXT,
      AT(control)}},
    {ALL,
     {"keys", "DIR", "Folder with the keys of tcp endpoints, made by bragg-run --make-keys",
      OPT_TEXT, AT(keys), .flags = OPT_INPUT}},
    {ALL,
     {"insecure", NULL, "Allow tcp endpoints without keys, and clients on other hosts", OPT_FLAG,
      AT(insecure)}},
    {MIDDLE | LAST,
     {"transport", "auto|inline",
      "Send images through shared memory if both ends can (auto), or always in the message",
      OPT_CHOICE, AT(transport), .choices = "auto|inline"}},
    {IMAGES,
     {"compress", NULL, "Compress pixels that leave through tcp, with bitshuffle and LZ4", OPT_FLAG,
      AT(compress)}},
    {ALL,
     {"start-timeout", "S", "Seconds to wait until the pipeline is complete", OPT_REAL,
      AT(start_timeout_s), .min = 0.1, .max = 1e6, .usual = "30"}},
    {ALL, {.doc = "Common options: frames", .type = OPT_GROUP}},
    {LAST, {"resume", NULL, "Compute only the frames that do not exist yet", OPT_FLAG, AT(resume)}},
    {MIDDLE | LAST,
     {"order", NULL, "Take frames in the order of their numbers (order of arrival)", OPT_FLAG,
      AT(order)}},
    {MIDDLE | LAST,
     {"group", "NAME", "Consumer group, whose processes divide the frames (program and its output)",
      OPT_TEXT, AT(group)}},
    {SOURCE,
     {"groups", "N|NAME,NAME",
      "Number of sink groups that must acknowledge every frame, or their names (1)", OPT_TEXT,
      AT(groups)}},
    {SOURCE,
     {"window", "N", "Largest number of frames in flight", OPT_INT, AT(window), .min = 1,
      .max = 65536, .usual = "32"}},
    {ALL,
     {"restrict", NULL,
      "Refuse all options but --quiet, --only and options that decide what frames contain",
      OPT_FLAG, AT(restricted)}},
    {ALL, {.doc = "Common options: process failures", .type = OPT_GROUP}},
    {SOURCE,
     {"dead-after", "S", "Presume a process dead after S seconds of silence", OPT_REAL,
      AT(dead_after_s), .min = 0.5, .max = 1e6, .usual = "5"}},
    {SOURCE,
     {"hang", "S", "Presume a process dead that makes no progress on a frame for S seconds",
      OPT_REAL, AT(hang_s), .min = 0.5, .max = 1e9, .usual = "60"}},
    {SOURCE,
     {"rejoin-timeout", "S", "Seconds to wait for a process that replaces a dead one", OPT_REAL,
      AT(rejoin_timeout_s), .min = 0, .max = 1e6, .usual = "10"}},
    {SOURCE,
     {"attempts", "N", "Abandon a frame after N processes died while processing it", OPT_INT,
      AT(attempts), .min = 1, .max = 1e6, .usual = "3"}},
    {MIDDLE | LAST,
     {"source-timeout", "S",
      "Seconds to wait for a dead source to restart (twice the --dead-after of the source)",
      OPT_REAL, AT(source_timeout_s), .min = 0.1, .max = 1e6}},
    {ALL, {.doc = "Common options: measurements", .type = OPT_GROUP}},
    {ALL,
     {"stats", "FILE", "Append the times and counts of this stage as a line of JSON; - is stderr",
      OPT_TEXT, AT(stats)}},
    {ALL, {"trace", "FILE", "Write a trace for chrome://tracing or Perfetto", OPT_TEXT, AT(trace)}},
};

enum { ROWS = sizeof rows / sizeof *rows };

static unsigned who_is(const struct role *r)
{
    const unsigned consumer = r->wants == KIND_NONE ? 0 : CONSUMER;
    const unsigned images = r->gives == KIND_IMAGE ? IMAGES : 0;
    const unsigned place = role_is_source(r) ? SOURCE
                           : role_is_sink(r) ? LAST
                           : consumer        ? MIDDLE
                                             : FIRST;
    return place | consumer | images;
}

const struct opt *options_table(const struct role *role)
{
    static struct opt table[ROWS + 1];
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (!role || rows[i].who & who_is(role))
            table[n++] = rows[i].option;
    table[n] = (struct opt){0};
    return table;
}

void options_defaults(struct settings *o)
{
    (void)opt_defaults(options_table(NULL), o, NULL);
}

static bool is_pipe(int fd)
{
    struct stat what;
    return fstat(fd, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

enum status options_guard(const struct stage *stage, void *state, struct run *run, struct error *e)
{
    const struct settings *o = &run->settings;
    bool bind, keyed = false;
    char endpoint[ENDPOINT_SIZE];
    const bool tcp = o->insecure || o->keys;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->in.count && s == STATUS_OK; i++)
        s = endpoint_parse(o->in.text[i], tcp, &bind, endpoint, e);
    for (size_t i = 0; i < o->out.count && s == STATUS_OK; i++)
        s = endpoint_parse(o->out.text[i], tcp, &bind, endpoint, e);
    if (s == STATUS_OK && o->control)
        s = endpoint_check(o->control + (*o->control == '@'), true, tcp, e);
    size_t n = 0;
    for (const char *own; stage->binds && !s && (own = stage->binds(state, n, &keyed)); n++)
        s = endpoint_check_clients(own, o->insecure || keyed, e);
    if (!n && s == STATUS_OK && o->insecure && o->keys)
        s = error_set(e, STATUS_USAGE,
                      "--keys and --insecure cannot be used together; remove one of them");
    return s ? s : curve_open(&run->curve, o->keys, o->insecure, KEYS_STAGE, e);
}

enum status options_check(const struct stage *stage, const struct settings *o, struct error *e)
{
    if (o->group && (!*o->group || strlen(o->group) >= GROUP_SIZE))
        return error_set(e, STATUS_USAGE,
                         "--group: the name is empty or too long; expected 1 to %d characters",
                         GROUP_SIZE - 1);
    if (groups_check(o->groups, e) != STATUS_OK)
        return STATUS_USAGE;
    if (o->order && stage->role.transient)
        return error_set(e, STATUS_USAGE,
                         "--order cannot be used with a passive stage, because the run does not "
                         "wait for a passive stage and does not send it a frame again");
    if (stage->role.in_memory && getenv("BRAGG_WORKER"))
        return error_set(
            e, STATUS_USAGE,
            "this program combines all frames and must run as one process. Set 'count: 1'");
    if (stage->role.wants != KIND_NONE && !o->in.count && !is_pipe(STDIN_FILENO))
        return error_set(e, STATUS_USAGE,
                         "no input: stdin is %s. Run this program in a pipe, as in %s | %s, or "
                         "give the endpoint of the previous stage with --in=ENDPOINT",
                         isatty(STDIN_FILENO) ? "a terminal" : "not a pipe",
                         kind_programs[stage->role.wants].giver, stage->role.name);
    if (stage->role.gives != KIND_NONE && !o->out.count && !is_pipe(STDOUT_FILENO))
        return error_set(e, STATUS_USAGE,
                         "no output: stdout is %s. Run this program in a pipe, as in %s | %s, or "
                         "give an endpoint with --out=ENDPOINT",
                         isatty(STDOUT_FILENO) ? "a terminal" : "not a pipe", stage->role.name,
                         kind_programs[stage->role.gives].taker);
    return STATUS_OK;
}
