/* What frames are drawn from, run by run. */
#ifndef BRAGG_STAGES_ORIENT_RUNS_H
#define BRAGG_STAGES_ORIENT_RUNS_H

#include "base/error.h"
#include "io/output/runs.h"
#include "physics/beam/pulse.h"
#include "physics/crystal/population.h"

/* From frame `first` on. */
struct orient_run {
    uint64_t first;
    const char *label;  // "": it has none
    struct population population;
    struct pulse pulse;
};

struct orient_runs {
    struct run_line *lines;  // owned
    size_t nlines;
    struct orient_run *runs;  // owned; one where there is no file
    size_t nruns;
    const char *path;  // of the file; NULL: there is none
    char digest[17];
};

/* Reads the file, unless that is NULL. */
enum status orient_runs_read(struct orient_runs *r, const char *path, struct error *e);

/* Sets the runs: each has what its line says, and for the rest *population, which was begun, and
 * *pulse.  `turned_alike` as in population_begin.  STATUS_INPUT with "FILE:LINE: " for what cannot
 * be of this beam and these crystals. */
enum status orient_runs_begin(struct orient_runs *r, const struct population *population,
                              const struct pulse *pulse, double wavelength_m, bool turned_alike,
                              struct error *e);

/* That of a frame. */
const struct orient_run *orient_runs_of(const struct orient_runs *r, uint64_t frame);

void orient_runs_free(struct orient_runs *r);

#endif
