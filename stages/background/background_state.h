/* What the stage bragg-background knows: its options and what it keeps. */
#ifndef BRAGG_STAGES_BACKGROUND_STATE_H
#define BRAGG_STAGES_BACKGROUND_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "model/experiment.h"
#include "model/moved.h"
#include "physics/background/background_pixel.h"
#include "physics/beam/harmonic.h"
#include "physics/crystal/streak.h"
#include "stages/shared/card_work.h"

enum { MATERIALS_MAX = 4 };

struct background {
    /* options */
    double water_m, air_m, density_g_cm3, molar_mass_g_mol, material_m;
    double ice_m, ice_crystal_A, ice_frames, jitter;
    const char *stol;
    int stol_axis;
    int64_t threads;
    double streak_photons, streak_spread, streak_size_rad[2], streak_angle_rad[2];
    struct card_work card;
    struct opt_marks given;
    /* state */
    struct background_material materials[MATERIALS_MAX];
    double thickness_m[MATERIALS_MAX], density[MATERIALS_MAX], molar_mass[MATERIALS_MAX];
    size_t nmaterials;   // ice is the last
    char digest[17];     // of the table in the file
    double stol_1_A[2];  // its first and last sin(theta)/lambda
    bool range_told;     // what tables do not have is told of once
    struct streak streak;
    const struct experiment *experiment;
    struct moved moved;  // that of the frame at hand
    struct harmonic harmonic;
    struct moved harmonic_moved;  // h.x likewise, where the beam has one
    float *extra;                 // owned: what its photons add, NULL at first
    bool deferred, started;       // left to others; made ready here
    float *photons[2];            // of the experiment's own sources, without and with ice; owned,
                                  // NULL: no frame is so
    double photons_m[2][3];       // the shift of the detector that they are of
    float *own;               // of the frame at hand that is like no other; owned, NULL at first
    struct source *gathered;  // room for those of a recipe; owned
};

extern const struct opt background_options[];

#endif
