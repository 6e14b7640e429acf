/* The option table of bragg-background. */
#include <stddef.h>

#include "background_state.h"

#define AT(member) .offset = offsetof(struct background, member)
#define LATER (OPT_BYTES | OPT_WHEN_SET)

const struct opt background_options[] = {
    {"water", "UM", "Thickness of the water in the beam", OPT_REAL, AT(water_m), .si = SI_UM,
     .always = true, .min = 0, .max = 1e6, .flags = OPT_BYTES, .usual = "0"},
    {"air", "MM", "Length of air that the beam crosses near the sample", OPT_REAL, AT(air_m),
     .si = SI_MM, .always = true, .min = 0, .max = 1e6, .flags = OPT_BYTES, .usual = "0"},
    {"ice", "UM", "Thickness of the ice in the beam, as powder rings", OPT_REAL, AT(ice_m),
     .si = SI_UM, .min = 0, .max = 1e6, .always = true, .flags = LATER, .usual = "0"},
    {"ice-crystal", "A", "Size of its crystals, which makes rings narrow", OPT_REAL,
     AT(ice_crystal_A), .min = 10, .max = 1e5, .flags = LATER, .needs = "ice", .usual = "500"},
    {"ice-frames", "F", "Frames that have it, at random", OPT_REAL, AT(ice_frames), .min = 0,
     .max = 1, .flags = LATER, .needs = "ice", .usual = "1"},
    {"jitter", "PERCENT", "Let all this vary from frame to frame: rms, log-normal", OPT_REAL,
     AT(jitter), .si = SI_PERCENT, .min = 0, .max = 1000, .always = true, .flags = LATER,
     .usual = "0"},
    {"streak", "PHOTONS", "Photons of the streak that the surface of a jet makes, in a mean frame",
     OPT_REAL, AT(streak_photons), .min = 0, .max = 1e15, .always = true, .flags = LATER,
     .usual = "0"},
    {"streak-size", "MRAD,MRAD", "Its half length at half height, and where it falls to 1/e across",
     OPT_REALS, AT(streak_size_rad), .si = SI_MRAD, .count = 2, .min = 0.001, .max = 1000,
     .flags = LATER, .needs = "streak", .usual = "20,0.5"},
    {"streak-angle", "DEG,DEG",
     "Its angle from the fast axis towards the slow one, and the rms of it", OPT_REALS,
     AT(streak_angle_rad), .si = SI_DEG, .count = 2, .min = -180, .max = 180, .flags = LATER,
     .needs = "streak", .usual = "0,3"},
    {"streak-spread", "PERCENT", "How its photons vary from frame to frame: rms, log-normal",
     OPT_REAL, AT(streak_spread), .si = SI_PERCENT, .min = 0, .max = 1000, .flags = LATER,
     .needs = "streak", .usual = "100"},
    {.doc = "Any other material:", .type = OPT_GROUP},
    {"stol", "FILE", "Table: sin(theta)/lambda in 1/A, F in electrons per molecule", OPT_TEXT,
     AT(stol), .flags = OPT_BYTES | OPT_INPUT, .needs = "thickness molecular-weight"},
    {"stol-axis", "stol|4stol|q", "First column of --stol: sin(theta)/lambda, 4 or 4 pi times that",
     OPT_CHOICE, AT(stol_axis), .choices = "stol|4stol|q", .flags = OPT_BYTES, .needs = "stol"},
    {"thickness", "UM", "Thickness of the material in the beam", OPT_REAL, AT(material_m),
     .si = SI_UM, .min = 0, .max = 1e9, .flags = OPT_BYTES | OPT_OPEN_MIN, .needs = "stol"},
    {"density", "G/CM3", "Density of the material", OPT_REAL, AT(density_g_cm3), .min = 0,
     .max = 25, .flags = OPT_BYTES | OPT_OPEN_MIN, .needs = "stol", .usual = "1"},
    {"molecular-weight", "G/MOL", "Molar mass of the molecule whose F is in --stol", OPT_REAL,
     AT(molar_mass_g_mol), .min = 1, .max = 1e9, .flags = OPT_BYTES, .needs = "stol"},
    {.doc = "Work:", .type = OPT_GROUP},
    {"engine", CARD_WORK_ENGINES, "Where: cpu, or cuda, an NVIDIA GPU; the bytes are the same",
     OPT_CHOICE, AT(card.engine), .choices = CARD_WORK_ENGINES},
    ENGINE_DEVICE(offsetof(struct background, card.device)),
    {"threads", "N", "Threads of this process (as many as processors)", OPT_INT, AT(threads),
     .min = 1, .max = 1024},
    OPT_END(struct background, given),
};
