/* State of bragg-noise.  The options are its first members. */
#ifndef BRAGG_STAGES_NOISE_STATE_H
#define BRAGG_STAGES_NOISE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "defects.h"
#include "engine/detector/dead_time.h"
#include "engine/detector/noise.h"
#include "model/frame.h"
#include "point_spread.h"
#include "stages/shared/card_work.h"
#include "switching.h"

enum generator { GENERATOR_PHILOX, GENERATOR_NANOBRAGG };

struct noise_stage {
    /* options */
    double gain;                  // ADU per photon
    double adc_offset;            // ADU of a pixel without photons
    double readout;               // standard deviation of the readout noise, ADU
    double flicker, calibration;  // relative errors, per frame and for all frames
    double saturation;            // largest value, ADU
    double dead_time_ns, count_time_ms;
    int64_t calibration_seed, seed;  // seed -1: that of the recipe
    int64_t threads;
    struct point_spread psf;
    int bits;       // 0: 16 bits, 1: 32 bits
    int generator;  // enum generator
    int counter;    // enum counter
    bool no_poisson;
    struct card_work card;
    struct opt_marks given;
    struct defects defects;
    struct switching switching;
    /* state */
    bool deferred;               // noise_defer was called
    struct noise noise;          // requested noise
    struct dead_time dead_time;  // of noise, unless the counter is perfect
    struct clipped clipped;      // clipped pixels, for the message at the end
    struct noise_plan *plan;     // made by noise_start; NULL: GENERATOR_NANOBRAGG, or not started
    const struct experiment *experiment;
    float *photons;  // owned: copy of the photons of a frame, if a step changes them; NULL: no step
                     // does
};

/* The option table of struct noise_stage. */
extern const struct opt noise_options[];

#endif
