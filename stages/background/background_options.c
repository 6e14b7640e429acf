/* The option table of bragg-background, and combinations of options that are refused.  The order of
 * rows with OPT_BYTES is that of the lineage: do not change it. */
#include "background_options.h"

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "stages/shared/probe_rules.h"

#define AT(member) .offset = offsetof(struct background_options, member)
/* Flags of an option that a later version added. Frames without the option keep their lineage. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

const struct opt background_options[] = {
    {.doc = "Water, air and ice:", .type = OPT_GROUP},
    {"water", "UM", "Thickness of the water in the beam, up to 1e6 um", OPT_REAL, AT(water_m),
     .si = SI_UM, .always = true, .min = 0, .max = 1e6, .flags = OPT_BYTES, .usual = "0",
     .first = true},
    {"air", "MM", "Length of air that the beam crosses near the sample, up to 1e6 mm", OPT_REAL,
     AT(air_m), .si = SI_MM, .always = true, .min = 0, .max = 1e6, .flags = OPT_BYTES, .usual = "0",
     .first = true},
    {"ice", "UM", "Thickness of the ice in the beam, which makes powder rings, up to 1e6 um",
     OPT_REAL, AT(ice_m), .si = SI_UM, .min = 0, .max = 1e6, .always = true, .flags = LATER,
     .usual = "0", .first = true},
    {"ice-crystal", "A", "Size of the ice crystals, 10 to 1e5 A; larger crystals narrow the rings",
     OPT_REAL, AT(ice_crystal_A), .min = 10, .max = 1e5, .flags = LATER, .needs = "ice",
     .usual = "500"},
    {"ice-frames", "FRACTION", "Fraction of frames with ice, at random, 0 to 1", OPT_REAL,
     AT(ice_frames), .min = 0, .max = 1, .flags = LATER, .needs = "ice", .usual = "1"},
    {.doc = "Powder of any crystal:", .type = OPT_GROUP},
    {"powder", "NAME|FILE",
     "Powder rings of a calibrant, lab6, ceo2, si or agbh, of a model of atoms (CIF, PDB), or of a "
     "list of d and F squared",
     OPT_TEXT, AT(powder), .flags = LATER, .needs = "powder-thickness", .first = true},
    {"powder-thickness", "UM", "Thickness of the powder in the beam, as solid matter, up to 1e6 um",
     OPT_REAL, AT(powder_m), .si = SI_UM, .min = 0, .max = 1e6, .flags = LATER | OPT_OPEN_MIN,
     .needs = "powder"},
    {"powder-crystal", "A", "Size of the crystals, 10 to 1e6 A; larger crystals narrow the rings",
     OPT_REAL, AT(powder_crystal_A), .min = 10, .max = 1e6, .flags = LATER, .needs = "powder",
     .usual = "1000"},
    {"powder-strain", "PERCENT", "Rms strain of the crystals, which widens outer rings, 0 to 10 %",
     OPT_REAL, AT(powder_strain), .si = SI_PERCENT, .min = 0, .max = 10, .always = true,
     .flags = LATER, .needs = "powder", .usual = "0"},
    {"powder-grains", "N",
     "Crystals of the powder in the beam: rings consist of their spots, up to 1e9 (smooth rings)",
     OPT_INT, AT(powder_grains), .min = 1, .max = 1e9, .flags = LATER, .needs = "powder",
     .usual = ""},
    {"powder-seed", "N", "Seed of grains that are the same in all frames (other grains in each)",
     OPT_INT, AT(powder_seed), .min = 0, .max = INT32_MAX, .flags = LATER, .needs = "powder-grains",
     .usual = ""},
    {"powder-frames", "FRACTION", "Fraction of frames with powder, at random, 0 to 1", OPT_REAL,
     AT(powder_frames), .min = 0, .max = 1, .flags = LATER, .needs = "powder", .usual = "1"},
    {.doc = "Variation between frames:", .type = OPT_GROUP},
    {"jitter", "PERCENT",
     "Variation of the amounts of matter between frames, as in jets: log-normal, rms", OPT_REAL,
     AT(jitter), .si = SI_PERCENT, .min = 0, .max = 1000, .always = true, .flags = LATER,
     .usual = "0", .first = true},
    {.doc = "Streak of a liquid jet:", .type = OPT_GROUP},
    {"streak", "PHOTONS",
     "Photons in the streak of a liquid jet, in a frame of mean fluence, up to 1e15", OPT_REAL,
     AT(streak_photons), .min = 0, .max = 1e15, .always = true, .flags = LATER, .usual = "0",
     .first = true},
    {"streak-size", "MRAD,MRAD",
     "Half length of the streak at half height, and width of the streak at 1/e, in mrad", OPT_REALS,
     AT(streak_size_rad), .si = SI_MRAD, .count = 2, .min = 0.001, .max = 1000, .flags = LATER,
     .needs = "streak", .usual = "20,0.5"},
    {"streak-angle", "DEG,DEG",
     "Direction of the streak, from the fast towards the slow axis, and rms variation of the "
     "direction between frames",
     OPT_REALS, AT(streak_angle_rad), .si = SI_DEG, .count = 2, .min = -180, .max = 180,
     .flags = LATER, .needs = "streak", .usual = "0,3"},
    {"streak-spread", "PERCENT",
     "Variation of the photons of the streak between frames: log-normal, rms", OPT_REAL,
     AT(streak_spread), .si = SI_PERCENT, .min = 0, .max = 1000, .flags = LATER, .needs = "streak",
     .usual = "100"},
    {.doc = "Any other material:", .type = OPT_GROUP},
    {"stol", "FILE", "Table: sin(theta)/lambda in 1/A, F in electrons per molecule", OPT_TEXT,
     AT(stol), .flags = OPT_BYTES | OPT_INPUT, .needs = "thickness molecular-weight"},
    {"stol-axis", "stol|4stol|q",
     "First column of --stol: sin(theta)/lambda, 4 sin(theta)/lambda, or 4 pi sin(theta)/lambda",
     OPT_CHOICE, AT(stol_axis), .choices = "stol|4stol|q", .flags = OPT_BYTES, .needs = "stol"},
    {"thickness", "UM", "Thickness of the material in the beam, up to 1e9 um", OPT_REAL,
     AT(material_m), .si = SI_UM, .min = 0, .max = 1e9, .flags = OPT_BYTES | OPT_OPEN_MIN,
     .needs = "stol"},
    {"density", "G/CM3", "Density of the material, up to 25 g/cm3", OPT_REAL, AT(density_g_cm3),
     .min = 0, .max = 25, .flags = OPT_BYTES | OPT_OPEN_MIN, .needs = "stol", .usual = "1"},
    {"molecular-weight", "G/MOL", "Molar mass of the molecule in --stol, 1 to 1e9 g/mol", OPT_REAL,
     AT(molar_mass_g_mol), .min = 1, .max = 1e9, .flags = OPT_BYTES, .needs = "stol"},
    {.doc = "Flat background:", .type = OPT_GROUP},
    {"flat", "PHOTONS",
     "Photons that each pixel detects in each frame, at all angles and for any fluence, up to 1e9",
     OPT_REAL, AT(flat_photons), .min = 0, .max = 1e9, .always = true, .flags = LATER,
     .usual = "0"},
    {.doc = "Execution:", .type = OPT_GROUP},
    {"engine", GPU_POSTPROCESS_ENGINES,
     "Run on the CPU, or on an NVIDIA GPU (cuda); the bytes are equal", OPT_CHOICE, AT(card.engine),
     .choices = GPU_POSTPROCESS_ENGINES, .first = true},
    ENGINE_DEVICE(offsetof(struct background_options, card.device)),
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024, .first = true},
    OPT_END(struct background_options, given),
};

enum status background_options_check(const struct background_options *o, struct error *e)
{
    if (opt_given(background_options, o,
                  "water|air|ice|streak|stol|powder|flat"))  // 0 is an amount
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "nothing to add; expected at least one of --water=UM, --air=MM, --ice=UM, "
                     "--powder=NAME, --streak=PHOTONS, --stol=FILE and --flat=PHOTONS");
}

enum status background_options_check_probe(const struct background_options *o, enum probe probe,
                                           struct error *e)
{
    static const struct probe_rule rules[] = {
        {"air", "its table is for X-rays"},
        {"ice", "its table is for X-rays"},
        {"streak", "is that of an X-ray laser"},
        {NULL, NULL},
    };
    static const struct probe_rule water[] = {{"water", "its table is for X-rays and electrons"},
                                              {NULL, NULL}};
    const enum status s =
        probe == PROBE_NEUTRON ? probe_refuse(probe, water, background_options, o, e) : STATUS_OK;
    return s ? s : probe_refuse(probe, rules, background_options, o, e);
}
