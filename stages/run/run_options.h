/* The options of bragg-run. */
#ifndef BRAGG_STAGES_RUN_OPTIONS_H
#define BRAGG_STAGES_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "run/pipeline/fold.h"
#include "run/pipeline/pipeline.h"

#define RUN_PROGRAM "bragg-run"

struct run_options {
    struct opt_texts counts, sets, wraps, adds, removes;
    struct opt_marks given;
    int64_t frames;
    const char *workdir, *trace, *keys, *make_keys, *view, *report;
    const char *const *argv;  // of this program
    int launcher;             // enum launcher
    const char *hosts, *slurm;
    char folded[FOLD_TEXT_SIZE];      // which stages run within others
    struct pipeline_stage *reporter;  // which writes a page about the frames; NULL: none
    bool remote, dry_run, resume, stats, verbose, quiet;
};

/* Whether one of `names` was given, as opt_given. */
bool run_given(const struct run_options *o, const char *names);

/* Whether it is to become a job of Slurm, and is none yet. */
bool run_is_job(const struct run_options *o);

/* Whether it asks another run for more or fewer processes. */
bool run_asks(const struct run_options *o);

/* Parses the command line; *file is NULL where none is needed.  STATUS_USAGE for what does not go
 * together, STATUS_FAILED for a trace or report that cannot be written. */
enum status run_parse(int argc, char **argv, struct run_options *o, const char **file,
                      struct error *e);

#endif
