/* The options of bragg-run. */
#ifndef BRAGG_STAGES_RUN_OPTIONS_H
#define BRAGG_STAGES_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "run/pipeline/pipeline.h"
#include "run/pipeline/reduce_traffic.h"

#define RUN_PROGRAM "bragg-run"

/* What the user asked for; a text is NULL, and a number 0, if its option is not given. */
struct run_options {
    struct opt_texts counts, sets, wraps, adds, removes;  // as typed: "STAGE=..."
    struct opt_marks given;                               // which options were given
    int64_t frames;
    const char *workdir, *trace, *keys, *make_keys, *view, *report;
    const char *const *argv;  // command line of this program, ended by NULL
    int launcher;             // enum launcher
    const char *hosts, *slurm;
    char folded[FUSE_TEXT_SIZE];      // message of fuse_stages; "": no stages were merged
    struct pipeline_stage *reporter;  // the bragg-report that --report adds; NULL: none
    bool remote, dry_run, resume, stats, verbose, quiet;
};

/* Returns true if one of `names` was given; `names` is as in opt_given. */
bool run_given(const struct run_options *o, const char *names);

/* Returns true if the run is to be submitted as a Slurm job, and is not inside a job yet. */
bool run_is_job(const struct run_options *o);

/* Returns true for --add and --remove, which are requests to another bragg-run. */
bool run_asks(const struct run_options *o);

/* Parses the command line.  Sets *file to NULL if no FILE is needed.
 * STATUS_USAGE: the options are invalid or cannot be combined.
 * STATUS_FAILED: the files of --trace or --report cannot be written. */
enum status run_parse(int argc, char **argv, struct run_options *o, const char **file,
                      struct error *e);

#endif
