/*
 * bragg-run: runs the pipeline of a file.
 *
 * Reads the pipeline file, applies the changes of the command line, makes the private folder and
 * the command lines of all processes, and supervises the processes until all of them have ended.
 * The work is in common/run; this file has the option table, and decides what happens in which
 * order.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "base/trace.h"
#include "link/keys.h"
#include "page/document.h"
#include "run/display/report.h"
#include "run/hosts/hosts.h"
#include "run/hosts/launch.h"
#include "run/local/cleanup_guard.h"
#include "run/local/source_monitor.h"
#include "run/local/supervisor.h"
#include "run/pipeline/commands.h"
#include "run/pipeline/find_program.h"
#include "run/pipeline/pipeline.h"
#include "stages/run/gpu_choice.h"
#include "stages/run/image_size.h"
#include "web/access.h"

#define RUN_PROGRAM "bragg-run"

/* Values of the options.  A text is NULL, and a number is 0, if its option is not given. */
struct run_options {
    struct opt_texts counts, sets, wraps, adds, removes;  // as typed: "STAGE=..."
    struct opt_marks given;                               // which options were given
    int64_t frames;
    const char *workdir, *trace, *keys, *make_keys, *view, *report;
    const char *const *argv;  // command line of this program, ended by NULL
    int launcher;             // enum launcher
    const char *hosts, *slurm;
    char folded[FUSE_TEXT_SIZE];  // message of fuse_stages; "": no stages were fused
    struct gpu_choice gpu;
    struct pipeline_stage *reporter;  // the bragg-report that --report adds; NULL: none
    bool remote, dry_run, resume, stats, verbose, quiet, as_written;
};

/* The option table of bragg-run, and the checks of its command line. */

#define AT(member) .offset = offsetof(struct run_options, member)

static const struct opt table[] = {
    {.doc = "Frames and stages:", .type = OPT_GROUP},
    {"workdir", "DIR", "Run all stages in this folder, which is created if it does not exist",
     OPT_TEXT, AT(workdir), .first = true},
    {"frames", "N", "Number of frames. Default: as in FILE", OPT_INT, AT(frames), .min = 0,
     .max = 1e15, .first = true},
    {"resume", NULL, "Compute only the frames that are not finished yet", OPT_FLAG, AT(resume),
     .first = true},
    {"count", "STAGE=N", "Number of processes of a stage, 1 to 1000. Can be repeated", OPT_TEXTS,
     AT(counts), .first = true},
    {"set", "STAGE.OPTION=VALUE", "Set an option of a stage. Can be repeated", OPT_TEXTS, AT(sets),
     .first = true},
    {"wrap", "STAGE=COMMAND",
     "Run a stage under another command, such as 'perf record -g'. Can be repeated", OPT_TEXTS,
     AT(wraps)},
    {"as-written", NULL,
     "Keep the stages and threads of FILE, and the CPU as engine: make no choices for this host",
     OPT_FLAG, AT(as_written)},
    /* With ssh the ports are known only after the hosts have reported free ones. */
    {"dry-run", NULL, "Print the commands for a shell, and run nothing", OPT_FLAG, AT(dry_run),
     .excludes = "stats trace report launcher=ssh", .first = true},

    {.doc = "Progress and reports:", .type = OPT_GROUP},
    {"view", "ADDRESS:PORT", "Show the images in a browser. Default address: 127.0.0.1:8080",
     OPT_TEXT, AT(view), .flags = OPT_BARE, .first = true},
    {"report", "FILE.html", "Write a page about the run, even if the run fails", OPT_TEXT,
     AT(report), .first = true},
    {"stats", NULL, "Print a table of what each process cost", OPT_FLAG, AT(stats), .first = true},
    {"trace", "FILE", "Write one trace of all stages for Perfetto", OPT_TEXT, AT(trace)},
    {"verbose", NULL, "Show messages of the stages immediately", OPT_FLAG, AT(verbose),
     .excludes = "quiet"},
    {"quiet", NULL, "Print errors only", OPT_FLAG, AT(quiet), .first = true},

    {.doc = "Running pipelines (FILE: its file or --workdir):", .type = OPT_GROUP},
    {"add", "STAGE=N", "Add N processes to a stage of a running pipeline", OPT_TEXTS, AT(adds)},
    {"remove", "STAGE=N",
     "Remove N processes from a stage of a running pipeline, after each has finished its frames",
     OPT_TEXTS, AT(removes)},

    {.doc = "Several hosts (details: braggpipe-machines(7)):", .type = OPT_GROUP},
    {"launcher", "here|ssh|slurm", "Run all processes on this host, or on several hosts",
     OPT_CHOICE, AT(launcher), .choices = "here|ssh|slurm"},
    {"hosts", "A,B", "Hosts for --launcher=ssh, by their ssh names; . is this host", OPT_TEXT,
     AT(hosts), .needs = "launcher=ssh"},
    {"slurm", "OPTIONS", "Options of sbatch, separated by blanks, such as '-p gpu -t 2:00:00'",
     OPT_TEXT, AT(slurm), .needs = "launcher=slurm"},
    {"remote", NULL, "Start one process for another bragg-run (internal)", OPT_FLAG, AT(remote)},

    {.doc = "Encryption keys (details: braggpipe(7)):", .type = OPT_GROUP},
    {"keys", "DIR",
     "Folder of the keys of tcp endpoints. Default: new keys for the run, if a stage needs keys",
     OPT_TEXT, AT(keys)},
    {"make-keys", "DIR", "Make keys in a new folder, and run nothing", OPT_TEXT, AT(make_keys)},
    OPT_END(struct run_options, given),
};

static const struct opt_program program = {
    .name = RUN_PROGRAM,
    .summary = "Run the pipeline of a file.",
    .examples = "bragg-run --workdir=stills lysozyme\n"
                "bragg-run --count=intensity=4 --frames=1000 --resume pipeline.yaml",
    .operands = "FILE",
    .max_operands = 1,
    .sets_stages = true,
    .details =
        "FILE is a pipeline file, such as pipeline.yaml, or the name of a pipeline that ships "
        "('braggpipe list' shows them). It is YAML: a list 'stages' of mappings with the keys "
        "name, program, args, input, count, threads, window, restart, order, compress, hosts, "
        "cpus, gpus and after.\n\nMore: bragg-run(1) (manual).",
};

/* Returns true if one of the options `names` was given.  `names` has the form of opt_given. */
static bool run_given(const struct run_options *o, const char *names)
{
    return opt_given(table, o, names);
}

/* Returns true if the run is to be submitted as a Slurm job, and is not inside a job yet. */
static bool run_is_job(const struct run_options *o)
{
    return o->launcher == LAUNCHER_SLURM && (o->dry_run || !slurm_is_inside());
}

/* Returns true for --add and --remove, which are requests to another bragg-run. */
static bool run_asks(const struct run_options *o)
{
    return o->adds.count || o->removes.count;
}

/* Rejects all options but --add and --remove, which are requests to another bragg-run. */
static enum status check_asking(char **argv, struct error *e)
{
    while (*++argv)
        if (strncmp(*argv, "--", 2) == 0 && strncmp(*argv, "--add", 5) != 0 &&
            strncmp(*argv, "--remove", 8) != 0)
            return error_set(
                e, STATUS_USAGE,
                "%.40s cannot be used with --add or --remove, which change a running pipeline",
                *argv);
    return STATUS_OK;
}

/* Parses the command line.  Sets *file to NULL if no FILE is needed.
 * STATUS_USAGE: the options are invalid or cannot be combined.
 * STATUS_FAILED: the files of --trace or --report cannot be written. */
static enum status run_parse(int argc, char **argv, struct run_options *o, const char **file,
                             struct error *e)
{
    int n = 0;
    const enum status s = opt_parse(&program, table, o, NULL, NULL, argc, argv, file, &n, e);
    if (s)
        return s;
    if (o->remote && argc != 2)
        return error_set(
            e, STATUS_USAGE,
            "--remote reads all arguments from stdin; remove FILE and the other options");
    if (o->make_keys && argc != (strcmp(argv[1], "--make-keys") == 0 ? 3 : 2))
        return error_set(e, STATUS_USAGE,
                         "--make-keys runs no pipeline; remove FILE and the other options");
    if (run_asks(o))
        return check_asking(argv, e);
    if (!o->make_keys && !o->remote && !n)
        return error_set(e, STATUS_USAGE, "missing argument: FILE. See --help");
    if (o->trace && o->report && strcmp(o->trace, o->report) == 0)
        return error_set(e, STATUS_USAGE, "--trace and --report: both name the file %.200s",
                         o->report);
    const enum status traced = o->trace ? trace_check(o->trace, e) : STATUS_OK;
    return traced || !o->report ? traced : document_check(o->report, e);
}

static const char VIEW[] = "127.0.0.1:8080", FOREVER_S[] = "1000000",
                  FRAMES_PAGE[] = "/frames.html";

/* Fuses stages, so that detector counts cross the network instead of photons, or images stay on
 * the GPU; see run/hosts/hosts.h.  Stages move in memory, so the pointer to bragg-report is
 * looked up again. */
static enum status fold_stages(struct pipeline *p, struct run_options *o, const struct hosts *hosts,
                               struct error *e)
{
    const enum status s = fuse_stages(p, hosts, o->folded, e);
    if (o->reporter)
        o->reporter = pipeline_find(p, "report", strlen("report"));
    return s;
}

/* Returns true if the page of --view remains after the run, until a signal ends it. */
static bool page_stays(const struct run_options *o)
{
    return !o->quiet && !o->report && !o->launcher && !o->dry_run;
}

/* Returns the address of the page of a bragg-view stage, as ADDRESS:PORT. */
static const char *bind_of(const struct pipeline_stage *view)
{
    const char *bind = pipeline_value(view, "bind");
    return bind ? bind : VIEW;
}

/* Checks that the token file of a page can be read.  Searches a relative name in --workdir and
 * then in the folder of the pipeline file, as the stage does. */
static enum status check_token(const struct pipeline *p, const struct pipeline_stage *view,
                               const char *path, const struct run_options *o, struct error *e)
{
    char first[PATH_MAX], second[PATH_MAX], token[WEB_TOKEN_SIZE];
    const bool moves = o->workdir && path[0] != '/';
    const char *slash = path[0] != '/' ? strrchr(p->path, '/') : NULL;
    (void)snprintf(first, sizeof first, "%s%s%s", moves ? o->workdir : "", moves ? "/" : "", path);
    (void)snprintf(second, sizeof second, "%.*s%s", slash ? (int)(slash - p->path) + 1 : 0, p->path,
                   path);
    const char *found = access(first, F_OK) == 0    ? first
                        : access(second, F_OK) == 0 ? second
                                                    : NULL;
    if (!found)
        return error_set(e, STATUS_INPUT, "stage '%s': --token: no file '%.200s' found", view->name,
                         path);
    const enum status s = web_token_read(found, token, e);
    explicit_bzero(token, sizeof token);
    return s;
}

/* Checks the options of a bragg-view stage before any process is started, so that errors are
 * found early. */
static enum status check_page(const struct pipeline *p, const struct pipeline_stage *view,
                              const struct run_options *o, struct error *e)
{
    char address[16];
    int port;
    bool loopback;
    const char *bind = bind_of(view), *token = pipeline_value(view, "token");
    const char *option = o->view && strcmp(bind, o->view) == 0 ? "view" : "bind";
    enum status s = web_bind_parse(option, bind, address, &port, &loopback, e);
    if (s)
        return s;
    if (!loopback && !pipeline_has(view, "token"))
        return error_set(e, STATUS_USAGE,
                         "--%s=%s needs a token, because other hosts reach this address. Add "
                         "--set=%s.token=FILE",
                         option, bind, view->name);
    /* bragg-run prints no tokens, because its output may go into a file */
    if (pipeline_has(view, "token") && (!token || !token[0]))
        return error_set(e, STATUS_USAGE,
                         "stage '%s': --token needs a file, because bragg-run does not print a "
                         "token that bragg-view makes. Give --set=%s.token=FILE",
                         view->name, view->name);
    if (port && view->count > 1)
        return error_set(e, STATUS_USAGE,
                         "--%s=%s: stage '%s' has %d processes, and only one can have this port; "
                         "expected --count=%s=1 or port 0",
                         option, bind, view->name, (int)view->count, view->name);
    return token && !o->launcher && !o->dry_run ? check_token(p, view, token, o, e) : STATUS_OK;
}

/* Checks the pages of all bragg-view stages. */
static enum status check_pages(const struct pipeline *p, const struct run_options *o,
                               struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++)
        if (pipeline_is_program(&p->stages[i], "bragg-view"))
            s = check_page(p, &p->stages[i], o, e);
    return s;
}

/* Checks that the address of the page of --view is free on this host.  bragg-view prints the
 * address when the page exists. */
static enum status try_view(const struct pipeline *p, struct error *e)
{
    char address[16];
    int port;
    bool loopback;
    const char *bind = bind_of(pipeline_find(p, "view", strlen("view")));
    const enum status s = web_bind_parse("view", bind, address, &port, &loopback, e);
    return s ? s : web_bind_try("view", bind, address, port, e);
}

/* If there is no terminal, prints how to end a page that remains after the last frame.  On a
 * terminal bragg-view prints this.  With --report prints that the page does not remain: the report
 * is written at the end of the run, and contains how long the run took. */
static void tell_stay(const struct pipeline *p, const struct run_options *o)
{
    const struct pipeline_stage *view = pipeline_find(p, "view", strlen("view"));
    if (run_given(o, "view") && o->report && !o->quiet && view && !pipeline_value(view, "linger"))
        fprintf(stderr,
                "%s: the page of --view ends with the run, because --report is written then. "
                "--set=view.linger=SECONDS keeps the page\n",
                RUN_PROGRAM);
    bool stays = false;
    for (size_t i = 0; i < p->nstages; i++) {
        const char *linger = pipeline_value(&p->stages[i], "linger");
        stays = stays || (linger && strcmp(linger, FOREVER_S) == 0 &&
                          pipeline_is_program(&p->stages[i], "bragg-view"));
    }
    if (stays && !isatty(STDERR_FILENO))
        fprintf(stderr,
                "%s: the page stays after the last frame; Ctrl-C or 'kill %ld' ends the page and "
                "the run\n",
                RUN_PROGRAM, (long)getpid());
}

/* If all sinks of the pipeline are bragg-view, sets their options so that the run waits for
 * them, and that the pages remain after the last frame, as at the end of a shell pipe. */
static enum status hold_for_view(struct pipeline *p, const struct run_options *o, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages; i++)
        if (pipeline_is_last(p, i) && !pipeline_is_program(&p->stages[i], "bragg-view"))
            return STATUS_OK;
    for (size_t i = 0; i < p->nstages && !s; i++) {
        struct pipeline_stage *view = &p->stages[i];
        if (!pipeline_is_last(p, i) || pipeline_has(view, "hold"))
            continue;
        s = pipeline_set(view, "hold", NULL, e);
        if (!s && page_stays(o) && !pipeline_has(view, "linger"))
            s = pipeline_set(view, "linger", FOREVER_S, e);
    }
    return s;
}

/* Returns the name of a pipeline file without its folder.  It is the title of pages. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Makes the choices for this host: engine, fused stages, writers, threads. */
static enum status choose(struct pipeline *p, struct run_options *o, const struct hosts *hosts,
                          struct error *e)
{
    enum status s = STATUS_OK;
    if (!o->launcher) {
        gpu_choice_find(&o->gpu, p, o->as_written ? "as-written" : o->wraps.count ? "wrap" : NULL);
        s = gpu_choice_engines(&o->gpu, p, e);
    }
    if (s == STATUS_OK && !o->wraps.count && !o->as_written && !run_is_job(o))
        s = fold_stages(p, o, hosts, e);
    if (s == STATUS_OK && !o->launcher)
        gpu_choice_writers(&o->gpu, p, one_host_cores());
    if (s == STATUS_OK && !o->as_written && !o->launcher)
        s = one_host_choose(p, e);
    return s;
}

/* Applies the changes of the command line to the pipeline, finds the hosts, and checks the result.
 */
static enum status apply_options(struct pipeline *p, struct run_options *o, struct hosts *hosts,
                                 struct error *e)
{
    struct pipeline_stage *view = NULL;
    enum status s = hold_for_view(p, o, e);
    if (s == STATUS_OK && run_given(o, "view"))
        s = pipeline_add_watcher(p, "view", true, &view, e);
    if (view && s == STATUS_OK)
        s = pipeline_set(view, "bind", o->view ? o->view : VIEW, e);
    if (view && s == STATUS_OK)
        s = pipeline_set(view, "title", name_of(p->path), e);
    if (view && s == STATUS_OK && page_stays(o))
        s = pipeline_set(view, "linger", FOREVER_S, e);
    if (o->report && s == STATUS_OK)
        s = pipeline_add_watcher(p, "report", false, &o->reporter, e);
    for (size_t i = 0; i < o->counts.count && s == STATUS_OK; i++)
        s = pipeline_set_count(p, o->counts.text[i], e);
    for (size_t i = 0; i < o->sets.count && s == STATUS_OK; i++)
        s = pipeline_override(p, o->sets.text[i], e);
    if (s == STATUS_OK)
        s = check_pages(p, o, e);
    if (s == STATUS_OK && run_given(o, "frames"))
        s = pipeline_set_frames(p, o->frames, e);
    if (s == STATUS_OK && !run_is_job(o))
        s = hosts_find(hosts, (enum launcher)o->launcher, o->hosts, p, e);
    p->pixels = image_pixels(p);
    if (s == STATUS_OK)
        s = choose(p, o, hosts, e);
    if (s == STATUS_OK)
        s = choose_compression(p, hosts, e);
    if (s == STATUS_OK)
        s = pipeline_widen(p, e);
    return s ? s : pipeline_check(p, e);
}

static enum status find_wraps(const struct pipeline *p, const struct run_options *o,
                              struct command_settings *settings, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->wraps.count && s == STATUS_OK; i++) {
        struct pipeline_stage *stage;
        struct wrap *wrap = &settings->wraps[settings->nwraps++];
        s = pipeline_split(p, "--wrap", o->wraps.text[i], &stage, &wrap->command, e);
        wrap->stage = stage;
    }
    return s;
}

static enum status dry_run(const struct pipeline *p, const struct run_options *o,
                           struct command_settings *settings, struct error *e)
{
    struct commands commands;
    settings->folder = "$dir";
    if (!o->keys && pipeline_needs_keys(p))
        settings->keys = COMMANDS_KEYS;
    const enum status s = commands_make(&commands, p, settings, e);
    if (s == STATUS_OK) {
        one_host_print(stdout);
        gpu_choice_print_engines(&o->gpu, p, stdout);
        one_host_print_threads(p, stdout);
        gpu_choice_print_writers(&o->gpu, p, one_host_cores(), stdout);
        if (*o->folded)
            printf("# %s\n", o->folded);
        if (!o->wraps.count && !o->as_written && !o->launcher)
            fuse_print_apart(p, stdout);
        commands_print(&commands, stdout);
    }
    commands_free(&commands);
    return s;
}

/* Sets `path` to the file in the private folder to which bragg-report writes its page about the
 * frames. bragg-run copies that page into the page of --report. */
static void frames_page(const struct cleanup_guard *guard,
                        char path[PRIVATE_FOLDER_SIZE + sizeof FRAMES_PAGE])
{
    (void)snprintf(path, PRIVATE_FOLDER_SIZE + sizeof FRAMES_PAGE, "%s%s", guard->folder,
                   FRAMES_PAGE);
}

/* Runs the processes until all of them have ended.  With --report also writes the page about the
 * run, even after a failure.  Returns the status of the run. */
static enum status supervise_reported(struct scale *scale, const struct cleanup_guard *guard,
                                      const struct run_options *o, struct error *e)
{
    struct report_page page;
    struct error late = {0};
    char frames[PRIVATE_FOLDER_SIZE + sizeof FRAMES_PAGE];
    struct supervisor_settings how = {
        .guard = guard, .scale = scale, .verbose = o->verbose, .quiet = o->quiet, .owner = &page};
    if (!o->report)
        return supervise(scale->commands, &how, e);
    how.ended = report_page_take;
    enum status s = report_page_open(&page, guard->folder, o->argv, e);
    if (s)
        return s;
    s = supervise(scale->commands, &how, e);
    frames_page(guard, frames);
    const enum status written =
        report_page_write(&page, o->report, frames, scale->pipeline->path, s, e, &late);
    report_page_close(&page);
    return written && !s ? error_set(e, written, "%s", late.text) : s;
}

static enum status run_in(const struct cleanup_guard *guard, struct pipeline *p,
                          const struct run_options *o, struct command_settings *settings,
                          struct error *e)
{
    struct commands commands;
    char keys[PRIVATE_FOLDER_SIZE + sizeof "/keys"];
    settings->folder = guard->folder;
    enum status s = STATUS_OK;
    if (!o->keys && (o->launcher || pipeline_needs_keys(p))) {
        (void)snprintf(keys, sizeof keys, "%s/keys", guard->folder);
        settings->keys = keys;
        s = keys_make(keys, e);
    }
    if (o->reporter && s == STATUS_OK) {
        char frames[PRIVATE_FOLDER_SIZE + sizeof FRAMES_PAGE], title[REPORT_TITLE_SIZE];
        frames_page(guard, frames);
        s = pipeline_set(o->reporter, "hold", NULL, e);
        if (s == STATUS_OK) {
            report_title(p->path, title);
            s = pipeline_set(o->reporter, "title", title, e);
        }
        if (s == STATUS_OK)
            s = pipeline_add_word(o->reporter, frames, e);
    }
    if (s)
        return s;
    s = commands_make(&commands, p, settings, e);
    if (s == STATUS_OK && run_given(o, "view") && !settings->hosts && !o->launcher)
        s = try_view(p, e);
    if (s == STATUS_OK && !o->launcher && !o->quiet)
        gpu_choice_tell(&o->gpu, p, stderr);
    if (s == STATUS_OK && *o->folded && !o->quiet)
        fprintf(stderr, "%s: %s\n", RUN_PROGRAM, o->folded);
    if (s == STATUS_OK)
        tell_stay(p, o);
    if (s == STATUS_OK) {
        if (settings->keys && o->verbose)
            fprintf(stderr, "%s: the encryption keys of this run are in %s\n", RUN_PROGRAM,
                    settings->keys);
        find_note_file(guard->folder, p->path);
        if (o->workdir)
            find_note_workdir(guard->folder, o->workdir);
        if (o->verbose)
            fprintf(stderr, "%s: 'bragg-top %s' shows the progress of this run\n", RUN_PROGRAM,
                    guard->folder);
        struct scale scale = {.pipeline = p, .commands = &commands, .settings = settings};
        s = supervise_reported(&scale, guard, o, e);
        struct error late = {0};
        if (o->trace && report_trace(&commands, guard->folder, o->trace, &late) && !s)
            s = error_set(e, STATUS_FAILED, "%s", late.text);
        if (o->stats) {
            report_stats(&commands, guard->folder, stdout);
            if (!s && !o->quiet)
                report_limit(&commands, guard->folder, o->launcher ? 0 : one_host_cores(), stderr);
        }
    }
    commands_free(&commands);
    return s;
}

/* Checks the keys in a folder, and sets `path` to the absolute path of the folder. */
static enum status find_keys(const char *folder, char path[PATH_MAX], struct error *e)
{
    struct keys keys;
    const enum status s = keys_read(&keys, folder, KEYS_STAGE, e);
    explicit_bzero(&keys, sizeof keys);
    if (s == STATUS_OK && !realpath(folder, path))
        return error_errno(e, STATUS_FAILED, "--keys=%.200s", folder);
    return s;
}

/* Runs the pipeline on several hosts, which share the private folder. */
static enum status run_on(struct hosts *hosts, const struct cleanup_guard *guard,
                          struct pipeline *p, const struct run_options *o,
                          struct command_settings *settings, struct error *e)
{
    struct placement placement = {0};
    settings->hosts = hosts;
    settings->placement = &placement;
    enum status s = hosts_check(hosts, p, guard->folder, e);
    if (s == STATUS_OK)
        s = placement_make(&placement, p, hosts, e);
    if (s == STATUS_OK)
        s = run_in(guard, p, o, settings, e);
    placement_free(&placement);
    return s;
}

static enum status open_and_run(struct hosts *hosts, struct pipeline *p,
                                const struct run_options *o, struct command_settings *settings,
                                struct error *e)
{
    struct cleanup_guard guard = {0};
    int made = 0;
    char dir[PATH_MAX], here[PATH_MAX];
    enum status s = o->workdir ? workdir_make(o->workdir, &made, e) : STATUS_OK;
    if (s == STATUS_OK && hosts->launcher &&
        (!getcwd(here, sizeof here) || !realpath(o->workdir ? o->workdir : here, dir)))
        s = error_errno(e, STATUS_FAILED, "%s", o->workdir ? o->workdir : "the working folder");
    hosts->dir = dir;
    hosts->from = o->workdir ? here : NULL;
    if (s == STATUS_OK)
        s = cleanup_guard_open(&guard, hosts->launcher ? dir : NULL, e);
    if (s == STATUS_OK)
        s = hosts->launcher ? run_on(hosts, &guard, p, o, settings, e)
                            : run_in(&guard, p, o, settings, e);
    cleanup_guard_close(&guard);
    if (s && o->workdir)
        workdir_remove(o->workdir, made);
    return s;
}

static enum status run_pipeline(struct pipeline *p, const struct run_options *o,
                                struct hosts *hosts, struct error *e)
{
    struct command_settings settings = {.workdir = o->workdir,
                                        .resume = o->resume,
                                        .stats = o->stats || o->report,
                                        .trace = o->trace || o->report};
    char keys[PATH_MAX];
    enum status s = o->keys ? find_keys(o->keys, keys, e) : STATUS_OK;
    settings.keys = o->keys ? keys : NULL;
    if (s == STATUS_OK)
        s = find_wraps(p, o, &settings, e);
    if (s)
        return s;
    return o->dry_run ? dry_run(p, o, &settings, e) : open_and_run(hosts, p, o, &settings, e);
}

/* Executes --add and --remove: requests more or fewer processes from the bragg-run of the run
 * `where`. */
static enum status request_scale(const struct run_options *o, const char *where, struct error *e)
{
    char folder[PATH_MAX];
    enum status s = find_folder(where, folder, e);
    for (size_t i = 0; i < o->adds.count && s == STATUS_OK; i++)
        s = scale_request_send(folder, false, o->adds.text[i], e);
    for (size_t i = 0; i < o->removes.count && s == STATUS_OK; i++)
        s = scale_request_send(folder, true, o->removes.text[i], e);
    return s;
}

/* Sets the error for a FILE without a folder that does not exist.  If the name, with or without
 * .yaml, is similar to the name of a shipped pipeline, the error suggests that pipeline. */
static enum status no_pipeline(const char *file, struct error *e)
{
    char name[SHIPPED_NAME_SIZE], meant[SHIPPED_NAME_SIZE];
    const char *dot = strrchr(file, '.');
    const bool ends = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    (void)snprintf(name, sizeof name, "%.*s", ends ? (int)(dot - file) : (int)strlen(file), file);
    if (program_pipeline_meant(name, meant))
        return error_set(e, STATUS_FAILED,
                         "%s: no such file. Did you mean the pipeline '%s'? 'braggpipe list' "
                         "shows all shipped pipelines",
                         file, meant);
    return error_set(e, STATUS_FAILED,
                     "%s: no such file, and no shipped pipeline has this name. 'braggpipe "
                     "list' shows all shipped pipelines",
                     file);
}

/* Returns the path of the shipped pipeline that `file` names, which the caller frees.  NULL: there
 * is a file of this name, or no such pipeline.  A folder of this name does not count: it often is
 * the --workdir of an earlier run. */
static char *shipped_pipeline(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 && !S_ISDIR(st.st_mode) ? NULL : program_pipeline(file);
}

static enum status load_and_run(struct pipeline *p, const char *file, struct run_options *o,
                                struct error *e)
{
    struct hosts hosts = {0};
    char *shipped = shipped_pipeline(file);
    enum status s = !shipped && access(file, F_OK) != 0 && !strchr(file, '/')
                        ? no_pipeline(file, e)
                        : pipeline_load(p, shipped ? shipped : file, e);
    if (s == STATUS_OK)
        s = apply_options(p, o, &hosts, e);
    if (s == STATUS_OK)
        s = run_is_job(o) ? slurm_begin(p->path, o->workdir, o->slurm, o->argv, o->dry_run,
                                        !o->quiet && isatty(STDERR_FILENO), e)
                          : run_pipeline(p, o, &hosts, e);
    hosts_close(&hosts);
    mem_free(shipped);
    return s;
}

int main(int argc, char **argv)
{
    struct run_options o = {.argv = (const char *const *)argv};
    struct error e = {0};
    struct pipeline p = {0};
    const char *file = NULL;
    program_open(RUN_PROGRAM);
    enum status s = run_parse(argc, argv, &o, &file, &e);
    if (s == STATUS_OK)
        s = o.remote       ? remote_serve(&e)
            : run_asks(&o) ? request_scale(&o, file, &e)
            : o.make_keys  ? keys_make(o.make_keys, &e)
                           : load_and_run(&p, file, &o, &e);
    pipeline_close(&p);
    if (s == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout)))
        s = error_errno(&e, STATUS_FAILED, "cannot write to stdout");
    if (s && e.text[0])
        (void)log_fail(&e);
    return (int)s;
}
