/* The option table of bragg-run, and the checks of its command line. */
#include "run_options.h"

#include <stddef.h>
#include <string.h>

#include "base/trace.h"
#include "page/document.h"
#include "run/hosts/hosts.h"
#include "run/hosts/slurm.h"

#define AT(member) .offset = offsetof(struct run_options, member)

static const struct opt table[] = {
    {.doc = "Frames and stages:", .type = OPT_GROUP},
    {"workdir", "DIR", "Run all stages in this folder, which is created if it does not exist",
     OPT_TEXT, AT(workdir)},
    {"frames", "N", "Number of frames. Default: as in FILE", OPT_INT, AT(frames), .min = 0,
     .max = 1e15},
    {"resume", NULL, "Compute only the frames that are not finished yet", OPT_FLAG, AT(resume)},
    {"count", "STAGE=N", "Number of processes of a stage, 1 to 1000. Can be repeated", OPT_TEXTS,
     AT(counts)},
    {"set", "STAGE.OPTION=VALUE", "Set an option of a stage. Can be repeated", OPT_TEXTS, AT(sets)},
    {"wrap", "STAGE=COMMAND",
     "Run a stage under another command, such as 'perf record -g'. Can be repeated", OPT_TEXTS,
     AT(wraps)},
    /* With ssh the ports are known only after the hosts have reported free ones. */
    {"dry-run", NULL, "Print the commands for a shell, and run nothing", OPT_FLAG, AT(dry_run),
     .excludes = "stats trace report launcher=ssh"},

    {.doc = "Progress and reports:", .type = OPT_GROUP},
    {"view", "ADDRESS:PORT", "Show the images in a browser. Default address: 127.0.0.1:8080",
     OPT_TEXT, AT(view), .flags = OPT_BARE},
    {"report", "FILE.html", "Write a page about the run, even if the run fails", OPT_TEXT,
     AT(report)},
    {"stats", NULL, "Print a table of what each process cost", OPT_FLAG, AT(stats)},
    {"trace", "FILE", "Write one trace of all stages for Perfetto", OPT_TEXT, AT(trace)},
    {"verbose", NULL, "Show messages of the stages immediately", OPT_FLAG, AT(verbose),
     .excludes = "quiet"},
    {"quiet", NULL, "Print errors only", OPT_FLAG, AT(quiet)},

    {.doc = "Running pipelines (FILE: its file or --workdir):", .type = OPT_GROUP},
    {"add", "STAGE=N", "Add N processes to a stage of a running pipeline", OPT_TEXTS, AT(adds)},
    {"remove", "STAGE=N",
     "Remove N processes from a stage of a running pipeline, after they finish their frames",
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
     "Folder of the keys of tcp endpoints. Default: new keys for the run, if a stage needs them",
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
    .details =
        "FILE is a pipeline file, such as pipeline.yaml, or the name of a pipeline that ships "
        "('braggpipe list' shows them). It is YAML: a list 'stages' of mappings with the keys "
        "name, program, args, input, count, threads, window, restart, order, compress, hosts, "
        "cpus, gpus and after.\n\nMore: bragg-run(1) (manual).",
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

enum status run_parse(int argc, char **argv, struct run_options *o, const char **file,
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
