/* The options of bragg-orient, its runs, and the recipe of a frame. */
#ifndef BRAGG_STAGES_ORIENT_ORIENT_H
#define BRAGG_STAGES_ORIENT_ORIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "base/opt.h"
#include "io/output/runs.h"
#include "model/experiment.h"
#include "model/pulse_ids.h"
#include "physics/beam/pulse.h"
#include "physics/crystal/population.h"
#include "physics/detector/panels.h"
#include "physics/request.h"

/* Values of --steps.  Without the option, numbers that are not given are chosen in physical mode,
 * up to a limit. */
enum steps_choice { STEPS_GIVEN, STEPS_AUTO };

/* Values of the options, in SI units.  Phi is in degrees, because phi0 + k osc is computed in
 * degrees. */
struct orient_options {
    struct opt_marks given;
    int64_t frames, seed;
    double misset_rad[3], phi0_deg, osc_deg, mosaic_rad, ripple;
    int64_t phi_steps, mosaic_domains, mosaic_seed;
    int steps;  // enum steps_choice, if the option is given
    const char *only, *orientations, *scan, *truth, *spectra, *runs, *shifts;
    bool overwrite, random;
    struct population population;
    struct pulse pulse;
    struct pump pump;
    struct shift shift;
    int facility;
    int64_t first_pulse, pulse_step, train_pulses, run_start_s;
};

extern const struct opt orient_table[];

/* Returns true if one of the options `names` was given; see opt_given. */
bool orient_given(const struct orient_options *o, const char *names);

/* Marks an option as given, so that its value is stored in the lineage. */
void orient_mark(struct orient_options *o, const char *name);

/* Checks that the options do not contradict each other, and completes o->pump and o->population.
 * STATUS_USAGE: two options contradict each other. */
enum status orient_check(struct orient_options *o, struct error *e);

/* Adds the frames of --only, if it is given, to *only. If --frames is not given as well, the run
 * ends with the last of these frames. STATUS_USAGE: the list is malformed, or a frame is out of
 * range. */
enum status orient_read_only(struct orient_options *o, struct id_set *only, struct error *e);

/* Warns about angles that are probably not in degrees. */
void orient_warn_units(const struct orient_options *o);

/* Returns how pulses are numbered, with the defaults of the facility. */
struct pulse_ids orient_pulse_ids(const struct orient_options *o);

/* Returns the rotation and the mosaic spread of frame `id`, in SI units. */
struct orientation_request orient_request(const struct orient_options *o, uint64_t id);

/* --- runs: groups of consecutive frames that are drawn with the same parameters --------------- */

/* One run, which ends with the frame before the next run begins. */
struct orient_run {
    uint64_t first;     // number of its first frame
    const char *label;  // name of the run; "": none
    struct population population;
    struct pulse pulse;
};

struct orient_runs {
    struct run_line *lines;  // lines of the file, owned; NULL: no file
    size_t nlines;
    struct orient_run *runs;  // owned; without a file there is one run
    size_t nruns;
    const char *path;  // path of the file; NULL: no file
    char digest[17];   // hash of the lines, for the lineage
};

/* Reads the file of --runs at `path`. NULL: there is no file. */
enum status orient_runs_read(struct orient_runs *r, const char *path, struct error *e);

/* Makes the runs. Each run has the values of its line in the file, and the values of *population
 * and *pulse that its line does not give. population_begin must have been called for
 * *population, with the same `turned_alike`. STATUS_INPUT, with a message that begins with
 * "FILE:LINE: ": a line does not fit this beam or these crystals. */
enum status orient_runs_begin(struct orient_runs *r, const struct population *population,
                              const struct pulse *pulse, double wavelength_m, bool turned_alike,
                              struct error *e);

/* Returns the run that contains a frame. */
const struct orient_run *orient_runs_of(const struct orient_runs *r, uint64_t frame);

void orient_runs_free(struct orient_runs *r);

/* --- recipes ----------------------------------------------------------------------------- */

/* The state of the stage. */
struct orient {
    struct orient_options options;
    const struct experiment *experiment;
    struct id_set only;   // frames of --only; empty: all frames
    double (*listed)[9];  // rotations of --orientations, owned; NULL: none
    size_t nlisted;
    char digest[17];     // hash of `listed`, for the lineage
    struct pulse pulse;  // options of the pulse, with the spectra of --spectra
    char spectra[17];    // hash of the spectra
    struct shift shift;  // options of the detector position; the list is owned
    char shifts[17];     // hash of this list
    struct orient_runs runs;
};

/* Fills in *r for frame r->id. *turned contains the rotation and the mosaic spread of the
 * lattices. Call orient_runs_begin first. The result depends only on *o, *turned and the id. */
enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          struct recipe *r, struct error *e);

#endif
