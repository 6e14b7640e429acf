/* The options of bragg-orient. */
#ifndef BRAGG_STAGES_ORIENT_OPTIONS_H
#define BRAGG_STAGES_ORIENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "model/pulse_ids.h"
#include "physics/beam/pulse.h"
#include "physics/beam/pump.h"
#include "physics/crystal/population.h"
#include "physics/crystal/shift.h"
#include "physics/request.h"

/* --steps. */
enum steps_choice { STEPS_GIVEN, STEPS_AUTO };

/* In SI units, but for phi, which adds up in degrees. */
struct orient_options {
    struct opt_marks given;
    int64_t frames, only, seed;
    double misset_rad[3], phi0_deg, osc_deg, mosaic_rad, ripple;
    int64_t phi_steps, mosaic_domains, mosaic_seed;
    int steps;
    const char *orientations, *scan, *truth, *spectra, *runs, *shifts;
    bool overwrite, random;
    struct population population;
    struct pulse pulse;
    struct pump pump;
    struct shift shift;
    int facility;
    int64_t first_pulse, pulse_step, train_pulses, run_start_s;
};

extern const struct opt orient_table[];

/* Whether one of `names` was given, as opt_given. */
bool orient_given(const struct orient_options *o, const char *names);

/* Takes an option for given: its value is in the lineage. */
void orient_mark(struct orient_options *o, const char *name);

/* Refuses values that contradict each other (STATUS_USAGE). */
enum status orient_check(struct orient_options *o, struct error *e);

/* Warns of angles that were hardly meant in degrees. */
void orient_doubt(const struct orient_options *o);

/* How pulses are numbered. */
struct pulse_ids orient_pulse_ids(const struct orient_options *o);

/* How frame `id` is turned, in SI units. */
struct orientation_request orient_request(const struct orient_options *o, uint64_t id);

#endif
