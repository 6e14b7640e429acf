/* The options of bragg-orient. */
#ifndef BRAGG_STAGES_ORIENT_OPTIONS_H
#define BRAGG_STAGES_ORIENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "model/pulse_ids.h"
#include "physics/population.h"
#include "physics/pulse.h"
#include "physics/pump.h"
#include "physics/request.h"
#include "physics/shift.h"

/* --steps. */
enum steps_choice { STEPS_GIVEN, STEPS_AUTO };

/* Values in the units of the command line; `has_` says that one was given. */
struct orient_options {
    int64_t frames, only, seed, phi_steps, mosaic_domains, mosaic_seed;
    double misset_deg[3], phi0_deg, osc_deg, mosaic_deg, ripple_percent;
    int steps;
    const char *orientations, *scan, *truth, *spectra, *runs, *shifts;
    bool overwrite;
    bool random;
    bool has_frames, has_only, has_misset, has_phi0, has_phi_steps, has_osc, has_mosaic,
        has_mosaic_domains, has_mosaic_seed;
    struct population population;
    struct pulse pulse;
    struct pump pump;
    struct shift shift;
    int facility;
    int64_t first_pulse, pulse_step, train_pulses, run_start_s;
    bool has_first_pulse, has_pulse_step, has_train_pulses, has_run_start;
};

extern const struct opt orient_table[];

/* Refuses values that contradict each other (STATUS_USAGE). */
enum status orient_check(struct orient_options *o, struct error *e);

/* Warns of angles that were hardly meant in degrees. */
void orient_doubt(const struct orient_options *o);

/* How pulses are numbered. */
struct pulse_ids orient_pulse_ids(const struct orient_options *o);

/* How frame `id` is turned, in SI units. */
struct orientation_request orient_request(const struct orient_options *o, uint64_t id);

#endif
