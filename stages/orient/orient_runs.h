/* Runs: groups of consecutive frames that are drawn with the same parameters. */
#ifndef BRAGG_STAGES_ORIENT_RUNS_H
#define BRAGG_STAGES_ORIENT_RUNS_H

#include "base/error.h"
#include "io/output/runs.h"
#include "physics/beam/pulse.h"
#include "physics/crystal/population.h"

/* One run, which lasts until the next one begins. */
struct orient_run {
    uint64_t first;     // its first frame
    const char *label;  // "": none
    struct population population;
    struct pulse pulse;
};

struct orient_runs {
    struct run_line *lines;  // lines of the file, owned; NULL: no file
    size_t nlines;
    struct orient_run *runs;  // owned; without a file there is one
    size_t nruns;
    const char *path;  // of the file; NULL: no file
    char digest[17];   // hash of the lines, for the lineage
};

/* Reads the file at `path`; NULL: there is no file. */
enum status orient_runs_read(struct orient_runs *r, const char *path, struct error *e);

/* Makes the runs.  Each has the values of its line, and those of *population and *pulse where the
 * line has none.  population_begin must have been called for *population; `turned_alike` has the
 * same meaning there.  STATUS_INPUT with "FILE:LINE: ": a line does not fit this beam or these
 * crystals. */
enum status orient_runs_begin(struct orient_runs *r, const struct population *population,
                              const struct pulse *pulse, double wavelength_m, bool turned_alike,
                              struct error *e);

/* Returns the run of a frame. */
const struct orient_run *orient_runs_of(const struct orient_runs *r, uint64_t frame);

void orient_runs_free(struct orient_runs *r);

#endif
