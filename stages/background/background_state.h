/* State of bragg-background.  The options are its first members. */
#ifndef BRAGG_STAGES_BACKGROUND_STATE_H
#define BRAGG_STAGES_BACKGROUND_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/background/background.h"
#include "physics/background/background_pixel.h"
#include "physics/beam/beam.h"
#include "stages/shared/card_work.h"

enum { MATERIALS_MAX = 4 };

struct background {
    /* options */
    double water_m, air_m, ice_m;  // thickness of each; 0: none
    double ice_crystal_A;          // size of the ice crystals
    double ice_frames;             // fraction of frames with ice
    double jitter;                 // relative standard deviation of the amounts between frames
    const char *stol;              // table of the other material; after `open` its hash
    int stol_axis;                 // enum stol_unit: meaning of its first column
    double material_m, density_g_cm3, molar_mass_g_mol;  // of the other material
    int64_t threads;
    double streak_photons;       // in a frame of mean fluence; 0: no streak
    double streak_spread;        // their relative standard deviation between frames
    double streak_size_rad[2];   // half length at half height, width at 1/e
    double streak_angle_rad[2];  // from fast towards slow, and its rms variation
    struct card_work card;
    struct opt_marks given;
    /* state */
    struct background_material materials[MATERIALS_MAX];
    double thickness_m[MATERIALS_MAX], density[MATERIALS_MAX], molar_mass[MATERIALS_MAX];
    size_t nmaterials;   // ice is the last one, if there is ice
    char digest[17];     // hash of the table in `stol`
    double stol_1_A[2];  // first and last sin(theta)/lambda of that table
    bool range_told;     // a warning about values outside the tables was printed
    struct streak streak;
    const struct experiment *experiment;
    struct moved moved;           // detector at its place in the current frame
    struct harmonic harmonic;     // third harmonic, if the beam has one
    struct moved harmonic_moved;  // the same as `moved`, for harmonic.x
    float *extra;                 // owned: background of the third harmonic; NULL: not needed yet
    bool deferred;                // background_defer was called
    bool started;                 // background_start was called
    float *photons[2];        // owned: background of the sources of the experiment, without ice [0]
                              // and with ice [1]; NULL: no frame needs it
    double photons_m[2][3];   // displacement of the detector that `photons` was computed for
    float *own;               // owned: background of a frame that differs from others; NULL: not
                              // needed yet
    struct source *gathered;  // owned: buffer for the sources of a recipe
};

/* The option table of struct background. */
extern const struct opt background_options[];

#endif
