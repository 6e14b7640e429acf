/*
 * The stage bragg-background: reads its options and tables, and adds the background to each frame.
 *
 * Frames with the sources of the experiment share one background image, which is computed at the
 * start, and again when the detector moves.  A frame gets an image of its own if it has a spectrum
 * of its own, another amount of matter, a streak, or flat background.  What a recipe says about
 * matter replaces what the options say.
 */
#include "background.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/cpu/threads.h"
#include "engine/reflections/photons.h"
#include "io/structure_factors/hkl.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/background/amorphous.h"
#include "physics/background/background.h"
#include "physics/background/background_pixel.h"
#include "physics/background/electron_water.h"
#include "physics/beam/beam.h"
#include "physics/detector/pixel.h"
#include "stage/stage.h"
#include "stages/shared/engines.h"
#include "stages/shared/probe_rules.h"

enum { MATERIALS_MAX = 5 };

/* The options and the state of the stage. */
struct background {
    /* options */
    double water_m, air_m, ice_m;            // thicknesses of the materials; 0: none
    double ice_crystal_A;                    // size of the ice crystals
    double ice_frames;                       // fraction of frames with ice
    double powder_m;                         // thickness of the powder, as solid matter
    double powder_crystal_A, powder_strain;  // of the powder: size of the crystals, rms strain
    const char
        *powder;       // name of a calibrant or path of a model; after `begin` a hash of its rings
    double jitter;     // relative standard deviation of the amount of matter between frames
    const char *stol;  // path of the table of the other material; after `open` a hash of it
    int stol_axis;     // enum stol_unit: meaning of its first column
    double material_m, density_g_cm3, molar_mass_g_mol;  // properties of the other material
    double flat_photons;  // photons in each pixel of each frame, besides all matter
    int64_t threads;
    double streak_photons;       // photons of the streak in a frame of mean fluence; 0: no streak
    double streak_spread;        // relative standard deviation of streak_photons between frames
    double streak_size_rad[2];   // half length at half height, width at 1/e
    double streak_angle_rad[2];  // direction from fast towards slow, and its rms variation
    struct gpu_postprocess card;
    struct opt_marks given;
    /* state */
    struct background_material materials[MATERIALS_MAX];
    double thickness_m[MATERIALS_MAX], density[MATERIALS_MAX], molar_mass[MATERIALS_MAX];
    size_t nmaterials;  // ice is the last one, if there is ice
    size_t nliquid;     // the first ones are water and air, if there are any
    struct background_material own_water, own_air, own_ice;  // of recipes that have amounts of
                                                             // their own
    double own_crystal_A;    // size of the crystals of `own_ice`; 0: there is no table yet
    char digest[17];         // hash of the table in `stol`
    char powder_digest[17];  // hash of the rings of a model in `powder`
    double stol_1_A[2];      // first and last sin(theta)/lambda of that table
    bool range_told;         // a warning about values outside the tables was printed
    struct streak streak;
    struct experiment seen;               // the experiment with the true panels
    const struct experiment *experiment;  // &seen
    struct moved moved;                   // detector at its place in the current frame
    struct harmonic harmonic;             // third harmonic, if the beam has one
    struct moved harmonic_moved;          // the same as `moved`, for harmonic.x
    float *extra;             // owned: background of the third harmonic; NULL: not needed yet
    bool deferred;            // background_defer was called
    bool started;             // background_start was called
    float *photons[2];        // owned: background of the sources of the experiment, without ice [0]
                              // and with ice [1]; NULL: no frame needs it
    double photons_m[2][3];   // displacement of the detector that `photons` was computed for
    float *own;               // owned: background of a frame that differs from others; NULL: not
                              // needed yet
    struct source *gathered;  // owned: buffer for the sources of a recipe
};

/* The option table of bragg-background.  The order of rows with OPT_BYTES is that of the lineage:
 * do not change it. */

#define AT(member) .offset = offsetof(struct background, member)
/* Flags of an option that a later version added. Frames without the option keep their lineage. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

static const struct opt background_options[] = {
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
     "Powder rings of a calibrant, lab6, ceo2, si or agbh, or of a model of atoms (CIF, PDB)",
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
    ENGINE_DEVICE(offsetof(struct background, card.device)),
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024, .first = true},
    OPT_END(struct background, given),
};

/* Refuses options that have tables for X-rays only.  --water has one for electrons. */
static enum status check_probe(const struct background *o, enum probe probe, struct error *e)
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

/* Adds a material with a table of F. The names of the arguments give their units. */
static enum status add_material(struct background *o, const double *stol_1_m, const double *F,
                                size_t rows, double thickness_m, double density_g_cm3,
                                double molar_mass, struct error *e)
{
    const size_t i = o->nmaterials++;
    o->thickness_m[i] = thickness_m;
    o->density[i] = density_g_cm3;
    o->molar_mass[i] = molar_mass;
    return amorphous_make(&o->materials[i].table, stol_1_m, F, rows, true, e);
}

/* Fills the table of water or air.  `value` is its F, from physics/background/amorphous.h. */
static void shipped_table(double (*value)(double), double stol_1_m[WATER_TABLE_ROWS],
                          double F[WATER_TABLE_ROWS])
{
    water_table(value, stol_1_m, F);
    for (int i = 0; i < WATER_TABLE_ROWS; i++)
        stol_1_m[i] *= 1e10;
}

/* Makes the table of water for the particles of the beam. */
static enum status make_water(const struct beam *beam, enum probe probe, struct amorphous *table,
                              struct error *e)
{
    double stol_1_m[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    _Static_assert((int)ELECTRON_WATER_ROWS <= (int)WATER_TABLE_ROWS, "both tables fit");
    int rows = WATER_TABLE_ROWS;
    if (probe == PROBE_ELECTRON) {
        rows = ELECTRON_WATER_ROWS;
        electron_water_table(beam->wavelength_m, stol_1_m, F);
        for (int i = 0; i < rows; i++)
            stol_1_m[i] *= 1e10;
    } else {
        shipped_table(water_F, stol_1_m, F);
    }
    return amorphous_make(table, stol_1_m, F, (size_t)rows, true, e);
}

/* Adds water or air. `value` is its table of F. */
static enum status add_shipped(struct background *o, double (*value)(double), double thickness_m,
                               double density_g_cm3, double molar_mass, struct error *e)
{
    double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    shipped_table(value, stol, F);
    o->nliquid++;
    return add_material(o, stol, F, WATER_TABLE_ROWS, thickness_m, density_g_cm3, molar_mass, e);
}

/* Adds the material of --stol. */
static enum status add_file(struct background *o, struct error *e)
{
    struct stol_table table;
    enum status s = stol_read(o->stol, (enum stol_unit)o->stol_axis, false, &table, e);
    if (!s)
        s = add_material(o, table.stol_1_m, table.F, table.rows, o->material_m, o->density_g_cm3,
                         o->molar_mass_g_mol, e);
    if (!s) {
        /* the lineage depends on the content of the file, not on its name */
        uint64_t hash = hash_bytes(HASH_START, table.stol_1_m, table.rows * sizeof *table.stol_1_m);
        hash = hash_finish(hash_bytes(hash, table.F, table.rows * sizeof *table.F));
        (void)snprintf(o->digest, sizeof o->digest, "%016" PRIx64, hash);
        o->stol = o->digest;
        o->stol_1_A[0] = table.stol_1_m[0] * 1e-10;
        o->stol_1_A[1] = table.stol_1_m[table.rows - 1] * 1e-10;
    }
    stol_free(&table);
    return s;
}

static enum status open_background(void *state, const char **operands, int noperands,
                                   struct error *e)
{
    struct background *o = state;
    (void)operands;
    (void)noperands;
    if (!opt_given(background_options, o,
                   "water|air|ice|streak|stol|powder|flat"))  // 0 is an amount
        return error_set(e, STATUS_USAGE,
                         "nothing to add; expected at least one of --water=UM, --air=MM, --ice=UM, "
                         "--powder=NAME, --streak=PHOTONS, --stol=FILE and --flat=PHOTONS");
    o->streak = (struct streak){.photons = o->streak_photons,
                                .spread = o->streak_spread,
                                .length = o->streak_size_rad[0],
                                .width = o->streak_size_rad[1],
                                .angle_rad = o->streak_angle_rad[0],
                                .angle_rms_rad = fabs(o->streak_angle_rad[1])};
    enum status s = threads_start(&o->threads, e);
    if (!s && o->water_m > 0)
        s = add_shipped(o, water_F, o->water_m, WATER_DENSITY_G_CM3, WATER_MOLAR_MASS_G_MOL, e);
    if (!s && o->air_m > 0)
        s = add_shipped(o, air_F, o->air_m, AIR_DENSITY_G_CM3, AIR_MOLAR_MASS_G_MOL, e);
    if (!s && o->stol)
        s = add_file(o, e);
    return s;
}

/* Returns the larger of `width` and the width of a pixel, both in 1/A. A ring must not be narrower
 * than a pixel, because the background is computed in the middle of each pixel. The width does not
 * change the number of photons of a ring. */
static double ring_width_1_A(double width, const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        width = fmax(width, x->panels[i].pixel_m / fmax(x->panels[i].close_distance_m, 1e-6) /
                                m_to_angstrom(x->beam.wavelength_m));
    return width;
}

/* Returns a table of ice with crystals of this size: sin(theta)/lambda in 1/m of all rows, then F.
 * The caller frees it with mem_free. */
static double *ice_rings(double crystal_A, const struct experiment *x, size_t *rows)
{
    const double width = ring_width_1_A(ice_width_1_A(crystal_A), x);
    *rows = ice_rows(width);
    double *stol_1_m = mem_array(2 * *rows, sizeof *stol_1_m);
    ice_table(width, stol_1_m, stol_1_m + *rows);
    return stol_1_m;
}

/* Adds ice as the last material. */
static enum status add_ice(struct background *o, const struct experiment *x, struct error *e)
{
    size_t rows;
    double *stol_1_m = ice_rings(o->ice_crystal_A, x, &rows);
    const enum status s = add_material(o, stol_1_m, stol_1_m + rows, rows, o->ice_m,
                                       ICE_DENSITY_G_CM3, ICE_MOLAR_MASS_G_MOL, e);
    mem_free(stol_1_m);
    return s;
}

/* Sets range_1_m[] to the smallest and the largest sin(theta)/lambda, in 1/m, that the detector
 * records at this wavelength. Tests a grid of points on each panel, and the point where the beam
 * hits. */
static void see_range(const struct experiment *x, double wavelength_m, double range_1_m[2])
{
    enum { STEPS = 16 };
    range_1_m[0] = INFINITY;
    range_1_m[1] = 0.0;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++) {
        if (p->beam_fast_m > 0 && p->beam_fast_m < p->pixel_m * (double)p->fast_pixels &&
            p->beam_slow_m > 0 && p->beam_slow_m < p->pixel_m * (double)p->slow_pixels)
            range_1_m[0] = 0.0;
        for (int i = 0; i < (STEPS + 1) * (STEPS + 1); i++) {
            double at[3];
            background_point(p, x->physics, x->beam.direction,
                             (p->fast_pixels - 1) * (i % (STEPS + 1)) / STEPS,
                             (p->slow_pixels - 1) * (i / (STEPS + 1)) / STEPS, at);
            vec_unit(at, at);
            const double stol = amorphous_stol(x->beam.direction, at, wavelength_m);
            range_1_m[0] = fmin(range_1_m[0], stol);
            range_1_m[1] = fmax(range_1_m[1], stol);
        }
    }
}

/* Checks that the tables contain the range of sin(theta)/lambda that the detector records with
 * these sources. Warns, once, if the range exceeds the table of ice or the table of --stol.
 * STATUS_INPUT: the range exceeds the tables of water and air. */
static enum status check_tables(struct background *o, const struct experiment *x,
                                const struct source *sources, size_t nsources, struct error *e)
{
    double shortest_m = INFINITY, range_1_m[2];
    const double share = x->beam.harmonic_share > 0 ? HARMONIC_ORDER : 1.0;
    for (size_t i = 0; i < nsources; i++)
        shortest_m = fmin(shortest_m, sources[i].wavelength_m / share);
    see_range(x, shortest_m, range_1_m);
    const double low_1_A = range_1_m[0] * 1e-10, high_1_A = range_1_m[1] * 1e-10;
    const double last_1_A = WATER_TABLE_STEP_1_A * (WATER_TABLE_ROWS - 1);
    const bool liquid = o->water_m > 0 || o->air_m > 0;
    if ((liquid || x->matter_varies) && high_1_A > last_1_A)
        return error_set(e, STATUS_INPUT,
                         "%s: the detector sees more than the table contains (got "
                         "sin(theta)/lambda up to %.3g 1/A); expected at most %g 1/A",
                         o->water_m > 0 ? "--water"
                         : liquid       ? "--air"
                                        : "water or air of bragg-orient --vary",
                         high_1_A, last_1_A);
    if (o->range_told)
        return STATUS_OK;
    if (o->ice_m > 0 && high_1_A > 0.5 / ICE_LEAST_A)
        log_line(LOG_WARNING,
                 "--ice: rings below %g A are left out, but the detector sees down to %.3g A",
                 ICE_LEAST_A, 0.5 / high_1_A);
    if (o->stol && (low_1_A < o->stol_1_A[0] || high_1_A > o->stol_1_A[1]))
        log_line(LOG_WARNING,
                 "--stol: the table has sin(theta)/lambda from %.4g to %.4g 1/A, but the detector "
                 "sees %.3g to %.3g. Outside the table F is that of the nearer end",
                 o->stol_1_A[0], o->stol_1_A[1], low_1_A, high_1_A);
    o->range_told = true;
    return STATUS_OK;
}

/* Adds the powder of --powder, with the rings that the detector sees. */
static enum status add_powder(struct background *o, const struct experiment *x, struct error *e)
{
    /* a cell as heavy as its density says: there are thickness/V cells in a square metre */
    static const double MOLAR_MASS = 100.0;
    struct powder p = {.crystal_A = o->powder_crystal_A,
                       .strain = o->powder_strain,
                       .least_1_A = ring_width_1_A(0.0, x),
                       .probe = x->probe,
                       .unit = probe_unit_electrons(x->probe, x->beam.wavelength_m)};
    double range_1_m[2];
    see_range(x, x->beam.wavelength_m / (x->beam.harmonic_share > 0 ? HARMONIC_ORDER : 1.0),
              range_1_m);
    enum status s = powder_read(o->powder, 2.1e-10 * range_1_m[1], &p, o->powder_digest, e);
    if (!s) {
        size_t rows;
        double *stol_1_m = powder_table(&p, &rows);
        s = add_material(o, stol_1_m, stol_1_m + rows, rows, o->powder_m,
                         MOLAR_MASS / (p.cell_A3 * 1e-24 * AVOGADRO_1_MOL), MOLAR_MASS, e);
        mem_free(stol_1_m);
        o->powder = *o->powder_digest ? o->powder_digest : o->powder;
    }
    powder_free(&p);
    return s;
}

/* The materials of a frame. */
struct blend {
    size_t count;
    struct background_material items[MATERIALS_MAX];
};

/* Adds the background of the third harmonic to photons[]. It is computed separately, because its
 * wavelength is far from all other wavelengths. */
static enum status add_harmonic(struct background *o, const struct recipe *r,
                                const struct source *sources, size_t nsources,
                                const struct blend *b, float *photons, struct error *e)
{
    const struct source *its = harmonic_sources(&o->harmonic, sources, nsources);
    const size_t count = (size_t)experiment_pixels(o->experiment);
    if (!o->extra)
        o->extra = mem_array(count, sizeof *o->extra);
    const struct experiment *x = r ? moved_to(&o->harmonic_moved, r) : &o->harmonic.x;
    const enum status s =
        background_image(x, its, nsources, b->items, b->count, (int)o->threads, o->extra, e);
    for (size_t i = 0; i < count && !s; i++)
        photons[i] += o->extra[i];
    return s;
}

/* Returns the materials of the options, with or without ice. */
static struct blend usual_blend(const struct background *o, bool ice)
{
    struct blend b = {.count = o->nmaterials - (o->ice_m > 0 && !ice)};
    memcpy(b.items, o->materials, b.count * sizeof *b.items);
    return b;
}

/* Adds a material of a frame, if its thickness is above 0. */
static void blend_add(struct blend *b, const struct experiment *x,
                      const struct background_material *material, double thickness_m,
                      double density_g_cm3, double molar_mass)
{
    const double box_m[3] = {thickness_m, x->beam.size_m, beam_height_m(&x->beam)};
    if (!(thickness_m > 0.0))
        return;
    b->items[b->count] = *material;
    b->items[b->count++].molecules = amorphous_molecules(box_m, density_g_cm3, molar_mass);
}

/* Makes the tables of water and air for frames whose recipes say the amounts. */
static enum status open_liquids(struct background *o, struct error *e)
{
    double stol_1_m[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    const struct experiment *x = o->experiment;
    const enum status s = make_water(&x->beam, x->probe, &o->own_water.table, e);
    shipped_table(air_F, stol_1_m, F);
    return s ? s : amorphous_make(&o->own_air.table, stol_1_m, F, WATER_TABLE_ROWS, true, e);
}

/* Makes the table of ice whose crystals have this size, unless it exists. */
static enum status open_ice(struct background *o, double crystal_A, struct error *e)
{
    if (o->own_crystal_A == crystal_A)
        return STATUS_OK;
    size_t rows;
    double *stol_1_m = ice_rings(crystal_A, o->experiment, &rows);
    amorphous_free(&o->own_ice.table);
    const enum status s =
        amorphous_make(&o->own_ice.table, stol_1_m, stol_1_m + rows, rows, true, e);
    o->own_crystal_A = s ? 0.0 : crystal_A;
    mem_free(stol_1_m);
    return s;
}

/* Sets *b to the materials of a frame: in amounts of its recipe, or else of the options.  `ice`:
 * the options give this frame ice. */
static enum status blend_of(struct background *o, const struct recipe *r, bool ice, struct blend *b,
                            struct error *e)
{
    const struct experiment *x = o->experiment;
    const struct matter *m = &r->matter;
    const size_t end = o->nmaterials - (o->ice_m > 0);
    const double ice_m = m->has_ice ? m->ice_m : ice ? o->ice_m : 0.0;
    enum status s = STATUS_OK;
    *b = (struct blend){0};
    if (m->has_ice && opt_given(background_options, o, "ice-frames"))
        return error_set(e, STATUS_USAGE,
                         "--ice-frames cannot be used, because each frame has ice of its own "
                         "(bragg-orient --vary=ice)");
    if (x->probe != PROBE_XRAY &&
        (m->has_air || m->has_ice || (m->has_water && x->probe == PROBE_NEUTRON)))
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         " has matter without a table for a beam of %s; expected water in a beam "
                         "of electrons, or X-rays",
                         r->id, probe_particles(x->probe));
    if (ice_m > 0.0)
        s = open_ice(o, m->has_ice_crystal ? m->ice_crystal_A : o->ice_crystal_A, e);
    if (!s && !o->own_water.table.count)
        s = open_liquids(o, e);
    blend_add(b, x, &o->own_water, m->has_water ? m->water_m : o->water_m, WATER_DENSITY_G_CM3,
              WATER_MOLAR_MASS_G_MOL);
    blend_add(b, x, &o->own_air, m->has_air ? m->air_m : o->air_m, AIR_DENSITY_G_CM3,
              AIR_MOLAR_MASS_G_MOL);
    for (size_t i = o->nliquid; i < end; i++)
        b->items[b->count++] = o->materials[i];
    blend_add(b, x, &o->own_ice, ice_m, ICE_DENSITY_G_CM3, ICE_MOLAR_MASS_G_MOL);
    return s;
}

/* Computes the background of materials and sources into photons[], with the detector at its
 * position in the frame of *r. r NULL: with the detector at its position in the experiment. */
static enum status compute_background(struct background *o, const struct recipe *r,
                                      const struct source *sources, size_t nsources,
                                      const struct blend *b, float *photons, struct error *e)
{
    const enum status s =
        background_image(r ? moved_to(&o->moved, r) : o->experiment, sources, nsources, b->items,
                         b->count, (int)o->threads, photons, e);
    return !s && o->experiment->beam.harmonic_share > 0
               ? add_harmonic(o, r, sources, nsources, b, photons, e)
               : s;
}

/* Adds the photons of --flat to each pixel that is computed. */
static void add_flat(const struct background *o, float *photons)
{
    const struct experiment *x = o->experiment;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            float *row = photons + p->first_pixel + slow * p->fast_pixels;
            for (int64_t fast = 0; fast < p->fast_pixels; fast++)
                if (pixel_is_computed(p, fast, slow))
                    row[fast] = (float)((double)row[fast] + o->flat_photons);
        }
}

/* Returns true if --flat is part of the images that frames share: matter is not multiplied. */
static bool shares_flat(const struct background *o)
{
    return o->flat_photons > 0 && !(o->jitter > 0) && !o->experiment->matter_varies;
}

/* Computes an image that frames share, with --flat if shares_flat says so.  Arguments are those of
 * compute_background. */
static enum status compute_shared(struct background *o, const struct recipe *r,
                                  const struct source *sources, size_t nsources, bool ice,
                                  struct error *e)
{
    const struct blend b = usual_blend(o, ice);
    const enum status s = compute_background(o, r, sources, nsources, &b, o->photons[ice], e);
    if (!s && shares_flat(o))
        add_flat(o, o->photons[ice]);
    return s;
}

enum status background_start(void *state, struct error *e)
{
    struct background *o = state;
    const struct experiment *x = o->experiment;
    o->started = true;
    const bool used[2] = {!(o->ice_m > 0) || o->ice_frames<1, o->ice_m> 0};
    size_t nsources;
    const struct source *sources =
        background_sources(&x->beam, &(struct recipe){0}, &o->gathered, &nsources);
    enum status s = STATUS_OK;
    for (int ice = 0; ice < 2 && !s; ice++) {
        if (!used[ice])
            continue;
        o->photons[ice] = mem_array((size_t)experiment_pixels(x), sizeof(float));
        s = compute_shared(o, NULL, sources, nsources, ice, e);
    }
    return s;
}

/* Prepares for frames on the GPU, if --engine=cuda is given and the GPU supports this background,
 * or else on the CPU.  The first frame that the GPU does not support calls background_start. */
static enum status prepare_frames(struct background *o, struct error *e)
{
    const struct experiment *x = o->experiment;
    const bool alike = !background_varies(o) && !(x->beam.harmonic_share > 0);
    const struct engine_after after = {
        .materials = o->materials, .nmaterials = alike ? o->nmaterials : 0, .type = PIXEL_F32};
    const enum status s = gpu_postprocess_begin(
        &o->card, x, &after, o->threads,
        "curved detectors, harmonics, and background that is flat or varies between frames", e);
    return s || o->card.plan ? s : background_start(o, e);
}

static enum status background_begin(void *state, struct experiment *given, struct error *e)
{
    struct background *o = state;
    const enum status usable = check_probe(o, given->probe, e);
    if (usable)
        return usable;
    if (!(given->beam.size_m > 0))
        return error_set(
            e, STATUS_INPUT,
            "the beam has no size, so the amount of matter is unknown. Give bragg-geometry "
            "--beam-size=MM");
    experiment_view_true(&o->seen, given);
    const struct experiment *x = o->experiment = &o->seen;
    const bool harmonic = x->beam.harmonic_share > 0;
    moved_open(&o->moved, x);
    if (harmonic) {
        harmonic_open(&o->harmonic, x);
        moved_open(&o->harmonic_moved, &o->harmonic.x);
    }
    enum status s = STATUS_OK;
    if (x->probe == PROBE_ELECTRON && o->water_m > 0) {  // `open` did not know the particles
        amorphous_free(&o->materials[0].table);
        s = make_water(&x->beam, x->probe, &o->materials[0].table, e);
    }
    s = s ? s : check_tables(o, x, x->beam.sources, x->beam.nsources, e);
    if (s || (o->powder && (s = add_powder(o, x, e))) || (o->ice_m > 0 && (s = add_ice(o, x, e))))
        return s;
    for (size_t i = 0; i < o->nmaterials; i++) {
        const double box_m[3] = {o->thickness_m[i], x->beam.size_m, beam_height_m(&x->beam)};
        o->materials[i].molecules = amorphous_molecules(box_m, o->density[i], o->molar_mass[i]);
    }
    return o->deferred ? STATUS_OK : prepare_frames(o, e);
}

void background_defer(void *state)
{
    ((struct background *)state)->deferred = true;
}

bool background_varies(const void *state)
{
    const struct background *o = state;
    return o->flat_photons > 0 || o->jitter > 0 || o->streak_photons > 0 ||
           (o->ice_m > 0 && o->ice_frames < 1) || (o->experiment && o->experiment->matter_varies);
}

size_t background_materials(const void *state, const struct background_material **materials)
{
    const struct background *o = state;
    *materials = o->materials;
    return o->nmaterials;
}

/* Replaces the image of a frame by a new image: the sum of its pixels and the background. */
static enum status add_background(const struct experiment *x, struct frame *f,
                                  const float *background, struct error *e)
{
    struct image *image = &f->image;
    struct image sum = {.memory = image->memory};
    image_allocate(&sum, PIXEL_F32, UNIT_PHOTONS, image->count);
    if (!photons_add(image->pixels, background, sum.count, sum.pixels, &sum.sum)) {
        const enum status s = photons_check(x, f->recipe.id, sum.pixels, e);
        image_free(&sum);
        return s;
    }
    sum.has_sum = true;
    image_free(image);
    *image = sum;
    reflection_table_add(&f->reflections, background);
    return STATUS_OK;
}

/* Returns true if the frame has ice. The result depends only on the seed and the frame number,
 * like that of amount_of. */
static bool has_ice(const struct background *o, const struct recipe *r)
{
    struct rng random = rng_stream(r->seed, RNG_ICE, r->id, 0);
    return o->ice_m > 0 && (o->ice_frames == 1 || rng_uniform(&random) < o->ice_frames);
}

/* Returns the amount of matter in the frame, relative to the mean. */
static double amount_of(const struct background *o, const struct recipe *r)
{
    struct rng random = rng_stream(r->seed, RNG_MATTER, r->id, 0);
    const double scale = r->matter.has_scale ? r->matter.scale : 1.0;
    return o->jitter > 0 ? scale * rng_lognormal(&random, o->jitter) : scale;
}

/* Returns true if the recipe has amounts of matter of its own, other than a factor on all. */
static bool has_amounts(const struct matter *m)
{
    return m->has_water || m->has_air || m->has_ice || m->has_ice_crystal;
}

/* Returns the fluence of the pulse, relative to the mean. */
static double fluence_of(const struct recipe *r)
{
    double sum = 0.0;
    for (size_t i = 0; i < r->nsources; i++)
        sum += r->sources[i].weight;
    return r->nsources ? sum / (double)r->nsources : 1.0;
}

/* Sets *photons to the background of the sources of the experiment. The background is computed
 * again if the detector has moved since the last frame. */
static enum status usual_background(struct background *o, const struct recipe *r, bool ice,
                                    const float **photons, struct error *e)
{
    const struct beam *beam = &moved_to(&o->moved, r)->beam;
    size_t nsources;
    const struct source *sources = background_sources(beam, r, &o->gathered, &nsources);
    enum status s = STATUS_OK;
    if (memcmp(o->photons_m[ice], o->moved.by_m, sizeof o->moved.by_m) != 0)
        s = compute_shared(o, r, sources, nsources, ice, e);
    memcpy(o->photons_m[ice], o->moved.by_m, sizeof o->moved.by_m);
    *photons = o->photons[ice];
    return s;
}

static enum status add_streak(struct background *o, const struct experiment *x,
                              const struct recipe *r, float *photons, struct error *e)
{
    struct streak_frame f = {.relative = fluence_of(r), .seed = r->seed, .id = r->id};
    enum status s;
    f.sources = background_sources(&x->beam, r, &o->gathered, &f.nsources);
    double *absorb = background_absorb(x, f.sources, f.nsources, &s, e);
    f.absorb = absorb;
    if (!s)
        streak_add(&o->streak, x, &f, (int)o->threads, photons);
    mem_free(absorb);
    return s;
}

/* Computes the matter of a frame that has its own sources or amounts of matter. */
static enum status own_matter(struct background *o, const struct recipe *r, bool ice,
                              float *photons, struct error *e)
{
    size_t nsources;
    const struct beam *beam = &moved_to(&o->moved, r)->beam;
    const struct source *sources = background_sources(beam, r, &o->gathered, &nsources);
    struct blend b = usual_blend(o, ice);
    const enum status s = has_amounts(&r->matter) ? blend_of(o, r, ice, &b, e) : STATUS_OK;
    if (s)
        return s;
    return compute_background(o, r, sources, nsources, &b, photons, e);
}

/* Computes the background of a frame that cannot use the common background, and stores it in
 * o->own. */
static enum status make_background(struct background *o, const struct recipe *r, bool ice,
                                   double amount, struct error *e)
{
    float *photons = o->own;
    const size_t count = (size_t)experiment_pixels(o->experiment);
    const struct experiment *x = moved_to(&o->moved, r);
    const float *same = NULL;
    const bool own = r->nsources || has_amounts(&r->matter);
    const enum status s =
        own ? own_matter(o, r, ice, photons, e) : usual_background(o, r, ice, &same, e);
    if (s)
        return s;
    if (!own)
        memcpy(photons, same, count * sizeof *photons);
    for (size_t i = 0; i < count && amount != 1.0; i++)
        photons[i] = (float)(amount * photons[i]);
    if (o->flat_photons > 0 && (own || !shares_flat(o)))
        add_flat(o, photons);
    return o->streak_photons > 0 ? add_streak(o, x, r, photons, e) : STATUS_OK;
}

enum status background_of(void *state, const struct recipe *r, const float **photons,
                          struct error *e)
{
    struct background *o = state;
    enum status s =
        r->nsources ? check_tables(o, o->experiment, r->sources, r->nsources, e) : STATUS_OK;
    if (!s && !o->started)
        s = background_start(o, e);
    if (s)
        return s;
    const bool ice = has_ice(o, r);
    const double amount = amount_of(o, r);
    const bool flat = o->flat_photons > 0 && !shares_flat(o);
    if (!r->nsources && amount == 1.0 && !(o->streak_photons > 0) && !flat &&
        !has_amounts(&r->matter))
        return usual_background(o, r, ice, photons, e);
    /* the frame has a spectrum or amounts of matter of its own, or a streak */
    if (!o->own)
        o->own = mem_array((size_t)experiment_pixels(o->experiment), sizeof *o->own);
    *photons = o->own;
    return make_background(o, r, ice, amount, e);
}

static enum status background_frame(void *state, struct frame *f, struct error *e)
{
    struct background *o = state;
    const struct recipe *r = &f->recipe;
    const size_t count = (size_t)experiment_pixels(o->experiment);
    if (f->image.type != PIXEL_F32 || f->image.unit != UNIT_PHOTONS || f->image.count != count)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         " has no float32 photons. Put bragg-background before bragg-noise in the "
                         "pipe",
                         r->id);
    if (o->card.plan && !f->reflections.npixels) {
        const enum status seen =
            r->nsources ? check_tables(o, o->experiment, r->sources, r->nsources, e) : STATUS_OK;
        return seen ? seen : gpu_postprocess_frame(&o->card, f, 0, e);
    }
    const float *photons;
    enum status s = gpu_postprocess_fetch(&o->card, &f->image, e);
    s = s ? s : background_of(o, r, &photons, e);
    return s ? s : add_background(o->experiment, f, photons, e);
}

static void close_background(void *state)
{
    struct background *o = state;
    for (size_t i = 0; i < o->nmaterials; i++)
        amorphous_free(&o->materials[i].table);
    amorphous_free(&o->own_water.table);
    amorphous_free(&o->own_air.table);
    amorphous_free(&o->own_ice.table);
    mem_free(o->photons[0]);
    mem_free(o->photons[1]);
    mem_free(o->own);
    mem_free(o->gathered);
    mem_free(o->extra);
    moved_close(&o->moved);
    moved_close(&o->harmonic_moved);
    harmonic_close(&o->harmonic);
    gpu_postprocess_close(&o->card);
    experiment_view_close(&o->seen);
}

static const struct card *background_card(void *state)
{
    return gpu_postprocess_card(&((const struct background *)state)->card);
}

static const char *background_report(void *state)
{
    return gpu_postprocess_report(&((struct background *)state)->card);
}

const struct stage stage_background = {
    .role = {.name = "bragg-background", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
    .summary = "Add scattering by water, air, ice and other materials.",
    .examples = "... | bragg-intensity | bragg-background --water=0.1 | bragg-noise | ...\n"
                "... | bragg-background --stol=paratone.stol --thickness=100 --density=0.9 | ...",
    .options = background_options,
    .reads_only = true,
    .state_size = sizeof(struct background),
    .open = open_background,
    .begin = background_begin,
    .card = background_card,
    .frame = background_frame,
    .report = background_report,
    .close = close_background,
};
