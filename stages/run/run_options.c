#include "run_options.h"

#include <stddef.h>
#include <string.h>

#include "base/trace.h"
#include "page/document.h"
#include "run/hosts/hosts_find.h"
#include "run/hosts/slurm.h"

#define AT(member) .offset = offsetof(struct run_options, member)

static const struct opt table[] = {
    {"frames", "N", "How many frames", OPT_INT, AT(frames), .min = 0, .max = 1e15},
    {"count", "STAGE=N", "How many processes of a stage; may be repeated", OPT_TEXTS, AT(counts)},
    {"set", "STAGE.OPTION=VALUE", "Set an option of a stage; may be repeated", OPT_TEXTS, AT(sets)},
    {"wrap", "STAGE=COMMAND", "Put a command before a stage, 'perf record -g'; may be repeated",
     OPT_TEXTS, AT(wraps)},
    {"add", "STAGE=N", "Give the run of FILE or its --workdir so many more processes", OPT_TEXTS,
     AT(adds)},
    {"remove", "STAGE=N", "Let as many leave it once they have done their work", OPT_TEXTS,
     AT(removes)},
    {"launcher", "here|ssh|slurm", "Run all processes on this host, or on several", OPT_CHOICE,
     AT(launcher), .choices = "here|ssh|slurm"},
    {"hosts", "A,B", "On these, by ssh; . is this one", OPT_TEXT, AT(hosts),
     .needs = "launcher=ssh"},
    {"slurm", "OPTIONS", "Of sbatch, parted by blanks: '-p gpu -t 2:00:00'", OPT_TEXT, AT(slurm),
     .needs = "launcher=slurm"},
    {"workdir", "DIR", "Run all stages there; made when missing", OPT_TEXT, AT(workdir)},
    {"keys", "DIR", "The keys of tcp endpoints (made for the run, where a stage has one)", OPT_TEXT,
     AT(keys)},
    {"make-keys", "DIR", "Make keys in a new folder, and run nothing", OPT_TEXT, AT(make_keys)},
    {"view", "ADDRESS:PORT", "Show the stream in a browser; alone: at 127.0.0.1:8080", OPT_TEXT,
     AT(view), .flags = OPT_BARE},
    {"report", "FILE.html", "Write a page about the run, also when it fails", OPT_TEXT, AT(report)},
    {"remote", NULL, "For bragg-run itself: the end of a launcher on another host", OPT_FLAG,
     AT(remote)},
    {"resume", NULL, "Compute only the frames that are not there yet", OPT_FLAG, AT(resume)},
    /* on hosts, ports are known once these have told */
    {"dry-run", NULL, "Print the commands for a shell and run nothing", OPT_FLAG, AT(dry_run),
     .excludes = "stats trace report launcher=ssh"},
    {"stats", NULL, "Print what each process cost", OPT_FLAG, AT(stats)},
    {"trace", "FILE", "Write one trace of all stages for Perfetto", OPT_TEXT, AT(trace)},
    {"verbose", NULL, "Show what stages say as it comes", OPT_FLAG, AT(verbose),
     .excludes = "quiet"},
    {"quiet", NULL, "Say only what went wrong", OPT_FLAG, AT(quiet)},
    OPT_END(struct run_options, given),
};

static const struct opt_program program = {
    .name = RUN_PROGRAM,
    .summary = "Run the pipeline of a file.",
    .examples = "bragg-run --workdir=stills lysozyme\n"
                "bragg-run --count=intensity=4 --frames=1000 --resume pipeline.yaml",
    .operands = "FILE",
    .max_operands = 1,
    .details =
        "FILE is YAML: a list 'stages' of mappings with the keys name, program, args, count, "
        "threads, window, input, restart, order, hosts, cpus, gpus, compress and after, such as '- "
        "name: noise'. A pipeline that ships needs its name alone: 'braggpipe list' shows them.",
};

bool run_given(const struct run_options *o, const char *names)
{
    return opt_given(table, o, names);
}

bool run_is_job(const struct run_options *o)
{
    return o->launcher == LAUNCHER_SLURM && (o->dry_run || !slurm_is_inside());
}

bool run_asks(const struct run_options *o)
{
    return o->adds.count || o->removes.count;
}

/* What asks another run says nothing of its own. */
static enum status check_asking(char **argv, struct error *e)
{
    while (*++argv)
        if (strncmp(*argv, "--", 2) == 0 && strncmp(*argv, "--add", 5) != 0 &&
            strncmp(*argv, "--remove", 8) != 0)
            return error_set(e, STATUS_USAGE, "%.40s: not with --add and --remove, which ask a run",
                             *argv);
    return STATUS_OK;
}

enum status run_parse(int argc, char **argv, struct run_options *o, const char **file,
                      struct error *e)
{
    int n = 0;
    const enum status s = opt_parse(&program, table, o, NULL, NULL, argc, argv, file, &n, e);
    if (s)
        return s;
    if (o->remote && argc != 2)
        return error_set(e, STATUS_USAGE, "--remote is told on stdin: without FILE and options");
    if (o->make_keys && argc != (strcmp(argv[1], "--make-keys") == 0 ? 3 : 2))
        return error_set(e, STATUS_USAGE, "--make-keys runs nothing: without FILE and options");
    if (run_asks(o))
        return check_asking(argv, e);
    if (!o->make_keys && !o->remote && !n)
        return error_set(e, STATUS_USAGE, "FILE is missing (try --help)");
    if (o->trace && o->report && strcmp(o->trace, o->report) == 0)
        return error_set(e, STATUS_USAGE, "--trace and --report: both name the file %.200s",
                         o->report);
    const enum status traced = o->trace ? trace_check(o->trace, e) : STATUS_OK;
    return traced || !o->report ? traced : document_check(o->report, e);
}
