/* The options of bragg-background. */
#ifndef BRAGG_STAGES_BACKGROUND_OPTIONS_H
#define BRAGG_STAGES_BACKGROUND_OPTIONS_H

#include "base/opt.h"
#include "model/experiment.h"
#include "stages/shared/engines.h"

/* The values of the options, the first member of the state of the stage. */
struct background_options {
    double water_m, air_m, ice_m;            // thicknesses of the materials; 0: none
    double ice_crystal_A;                    // size of the ice crystals
    double ice_frames;                       // fraction of frames with ice
    double powder_m;                         // thickness of the powder, as solid matter
    double powder_crystal_A, powder_strain;  // of the powder: size of the crystals, rms strain
    const char
        *powder;  // name of a calibrant or path of a model; after `begin` a hash of its rings
    double powder_frames;   // fraction of frames with powder
    int64_t powder_grains;  // crystals of the powder in the beam; 0: rings are smooth
    int64_t powder_seed;    // of grains that are the same in all frames, if the option is given
    double jitter;          // relative standard deviation of the amount of matter between frames
    const char *stol;       // path of the table of the other material; after `open` a hash of it
    int stol_axis;          // enum stol_unit: meaning of its first column
    double material_m, density_g_cm3, molar_mass_g_mol;  // properties of the other material
    double flat_photons;  // photons in each pixel of each frame, besides all matter
    int64_t threads;
    double streak_photons;       // photons of the streak in a frame of mean fluence; 0: no streak
    double streak_spread;        // relative standard deviation of streak_photons between frames
    double streak_size_rad[2];   // half length at half height, width at 1/e
    double streak_angle_rad[2];  // direction from fast towards slow, and its rms variation
    struct gpu_postprocess card;
    struct opt_marks given;
};

extern const struct opt background_options[];

/* Refuses a command line that adds nothing. */
enum status background_options_check(const struct background_options *o, struct error *e);

/* Refuses options that have tables for X-rays only.  --water has one for electrons. */
enum status background_options_check_probe(const struct background_options *o, enum probe probe,
                                           struct error *e);

#endif
