/* The option table of bragg-background.  The order of rows with OPT_BYTES is that of the lineage:
 * do not change it. */
#include <stddef.h>

#include "background_state.h"

#define AT(member) .offset = offsetof(struct background, member)
/* Flags of options that were added later: frames without them keep their lineage. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

const struct opt background_options[] = {
    {.doc = "Water, air and ice:", .type = OPT_GROUP},
    {"water", "UM", "Thickness of the water in the beam, up to 1e6 um", OPT_REAL, AT(water_m),
     .si = SI_UM, .always = true, .min = 0, .max = 1e6, .flags = OPT_BYTES, .usual = "0"},
    {"air", "MM", "Length of air that the beam crosses near the sample, up to 1e6 mm", OPT_REAL,
     AT(air_m), .si = SI_MM, .always = true, .min = 0, .max = 1e6, .flags = OPT_BYTES,
     .usual = "0"},
    {"ice", "UM", "Thickness of the ice in the beam, which makes powder rings, up to 1e6 um",
     OPT_REAL, AT(ice_m), .si = SI_UM, .min = 0, .max = 1e6, .always = true, .flags = LATER,
     .usual = "0"},
    {"ice-crystal", "A", "Size of the ice crystals, 10 to 1e5 A; larger crystals narrow the rings",
     OPT_REAL, AT(ice_crystal_A), .min = 10, .max = 1e5, .flags = LATER, .needs = "ice",
     .usual = "500"},
    {"ice-frames", "FRACTION", "Fraction of frames with ice, at random, 0 to 1", OPT_REAL,
     AT(ice_frames), .min = 0, .max = 1, .flags = LATER, .needs = "ice", .usual = "1"},
    {"jitter", "PERCENT",
     "Variation of the amounts of matter between frames, as in jets: log-normal, rms", OPT_REAL,
     AT(jitter), .si = SI_PERCENT, .min = 0, .max = 1000, .always = true, .flags = LATER,
     .usual = "0"},
    {.doc = "Streak of a liquid jet:", .type = OPT_GROUP},
    {"streak", "PHOTONS", "Photons in the streak of a frame of mean fluence, up to 1e15", OPT_REAL,
     AT(streak_photons), .min = 0, .max = 1e15, .always = true, .flags = LATER, .usual = "0"},
    {"streak-size", "MRAD,MRAD",
     "Half length of the streak at half height, and its width at 1/e, in mrad", OPT_REALS,
     AT(streak_size_rad), .si = SI_MRAD, .count = 2, .min = 0.001, .max = 1000, .flags = LATER,
     .needs = "streak", .usual = "20,0.5"},
    {"streak-angle", "DEG,DEG",
     "Streak direction, from the fast towards the slow axis, and its rms variation between frames",
     OPT_REALS, AT(streak_angle_rad), .si = SI_DEG, .count = 2, .min = -180, .max = 180,
     .flags = LATER, .needs = "streak", .usual = "0,3"},
    {"streak-spread", "PERCENT", "Variation of its photons between frames: log-normal, rms",
     OPT_REAL, AT(streak_spread), .si = SI_PERCENT, .min = 0, .max = 1000, .flags = LATER,
     .needs = "streak", .usual = "100"},
    {.doc = "Any other material:", .type = OPT_GROUP},
    {"stol", "FILE", "Table: sin(theta)/lambda in 1/A, F in electrons per molecule", OPT_TEXT,
     AT(stol), .flags = OPT_BYTES | OPT_INPUT, .needs = "thickness molecular-weight"},
    {"stol-axis", "stol|4stol|q",
     "First column of --stol: sin(theta)/lambda, 4 times that, or 4 pi times that", OPT_CHOICE,
     AT(stol_axis), .choices = "stol|4stol|q", .flags = OPT_BYTES, .needs = "stol"},
    {"thickness", "UM", "Thickness of the material in the beam, up to 1e9 um", OPT_REAL,
     AT(material_m), .si = SI_UM, .min = 0, .max = 1e9, .flags = OPT_BYTES | OPT_OPEN_MIN,
     .needs = "stol"},
    {"density", "G/CM3", "Density of the material, up to 25 g/cm3", OPT_REAL, AT(density_g_cm3),
     .min = 0, .max = 25, .flags = OPT_BYTES | OPT_OPEN_MIN, .needs = "stol", .usual = "1"},
    {"molecular-weight", "G/MOL", "Molar mass of the molecule in --stol, 1 to 1e9 g/mol", OPT_REAL,
     AT(molar_mass_g_mol), .min = 1, .max = 1e9, .flags = OPT_BYTES, .needs = "stol"},
    {.doc = "Execution:", .type = OPT_GROUP},
    {"engine", CARD_WORK_ENGINES, "Run on the CPU, or on an NVIDIA GPU (cuda); the bytes are equal",
     OPT_CHOICE, AT(card.engine), .choices = CARD_WORK_ENGINES},
    ENGINE_DEVICE(offsetof(struct background, card.device)),
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024},
    OPT_END(struct background, given),
};
