/* Options of bragg-orient. */
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

/* Values of --steps. */
enum steps_choice { STEPS_GIVEN, STEPS_AUTO };

/* Values of the options, in SI units.  Phi is in degrees, because phi0 + k osc is computed in
 * degrees. */
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

/* Whether one of the options `names` was given; see opt_given. */
bool orient_given(const struct orient_options *o, const char *names);

/* Marks an option as given, so that its value is stored in the lineage. */
void orient_mark(struct orient_options *o, const char *name);

/* Checks values against each other, and completes o->pump and o->population.  STATUS_USAGE: a
 * contradiction. */
enum status orient_check(struct orient_options *o, struct error *e);

/* Warns about angles that are probably not in degrees. */
void orient_warn_units(const struct orient_options *o);

/* Returns how pulses are numbered, with the defaults of the facility. */
struct pulse_ids orient_pulse_ids(const struct orient_options *o);

/* Returns rotation and mosaic spread of frame `id`, in SI units. */
struct orientation_request orient_request(const struct orient_options *o, uint64_t id);

#endif
