/* What bragg-noise holds, its options first. */
#ifndef BRAGG_STAGES_NOISE_STATE_H
#define BRAGG_STAGES_NOISE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clipped.h"
#include "base/opt.h"
#include "defects.h"
#include "engine/detector/dead_time.h"
#include "engine/detector/noise.h"
#include "point_spread.h"
#include "stages/shared/card_work.h"
#include "switching.h"

enum generator { GENERATOR_PHILOX, GENERATOR_NANOBRAGG };

struct noise_stage {
    /* options */
    double gain, adc_offset, readout, flicker, calibration, saturation, dead_time_ns, count_time_ms;
    int64_t calibration_seed, seed, threads;
    struct point_spread psf;
    int bits, generator, counter;
    bool no_poisson;
    struct card_work card;
    struct opt_marks given;
    struct defects defects;
    struct switching switching;
    /* state */
    bool deferred;
    struct noise noise;
    struct dead_time dead_time;
    struct clipped clipped;
    struct noise_plan *plan;  // of the generator philox
    const struct experiment *experiment;
    float *photons;  // NULL, or where a frame's are copied to: they are changed on the way; owned
};

/* The option table, for struct noise_stage. */
extern const struct opt noise_options[];

#endif
