/* The materials in the beam, whose scattering is the background between spots.  The options say
 * which materials there are.  The options say how much of them there is, unless the recipe of a
 * frame says it. */
#ifndef BRAGG_STAGES_MATERIALS_H
#define BRAGG_STAGES_MATERIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "background_options.h"
#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/background/background_pixel.h"
#include "powder.h"

enum { MATERIALS_MAX = 5 };

/* The materials of a frame.  Tables belong to struct materials. */
struct blend {
    size_t count;
    struct background_material items[MATERIALS_MAX];
};

/* What is in the beam in one frame. */
struct amounts {
    double water_m, air_m, ice_m;  // thicknesses; 0: none
    double ice_crystal_A;          // size of the ice crystals
    bool powder, other;  // the powder and the material of --stol, if the options have them
};

/* What the options give a frame by chance. */
struct chance {
    bool ice, powder;
};

struct materials {
    struct background_options *o;                     // borrowed
    const struct experiment *x;                       // borrowed; with the true panels
    struct background_material items[MATERIALS_MAX];  // of the options
    double thickness_m[MATERIALS_MAX], density[MATERIALS_MAX], molar_mass[MATERIALS_MAX];
    size_t nmaterials;     // powder and ice are the last ones, if there are any
    size_t nliquid;        // the first ones are water and air, if there are any
    struct powder powder;  // the rings of --powder
    struct background_material own_water, own_air, own_ice;  // of recipes that have amounts of
                                                             // their own
    double own_crystal_A;    // size of the crystals of `own_ice`; 0: there is no table yet
    char digest[17];         // hash of the table of --stol
    char powder_digest[17];  // hash of the rings of a model of --powder
    double stol_1_A[2];      // first and last sin(theta)/lambda of the table of --stol
    bool range_told;         // a warning about values outside the tables was printed
};

/* Makes the tables that need the options alone.  Replaces the path in o->stol by a hash of the
 * table, because the lineage depends on the content of the file.  The options must stay where they
 * are.  materials_close frees *m, also after an error. */
enum status materials_open(struct materials *m, struct background_options *o, struct error *e);

/* Makes the other tables, and counts the molecules.  Replaces the path of a model in o->powder by a
 * hash of its rings. */
enum status materials_begin(struct materials *m, const struct experiment *x, struct error *e);

/* Checks that the tables contain the range of sin(theta)/lambda that the detector records with
 * these sources. Warns, once, if the range exceeds the table of ice or the table of --stol.
 * STATUS_INPUT: the range exceeds the tables of water and air. */
enum status materials_check_range(struct materials *m, const struct source *sources,
                                  size_t nsources, struct error *e);

/* Returns the materials of the options in a frame. */
struct blend materials_usual(const struct materials *m, struct chance with);

/* Sets *a to what is in the beam in a frame: as its recipe says, or else the options.
 * STATUS_INPUT, STATUS_USAGE: the recipe contradicts the options or
 * the particles of the beam. */
enum status materials_amounts(const struct materials *m, const struct recipe *r, struct chance with,
                              struct amounts *a, struct error *e);

/* Sets *b to the materials in these amounts.  Its tables are valid until the next call. */
enum status materials_blend(struct materials *m, const struct amounts *a, struct blend *b,
                            struct error *e);

void materials_close(struct materials *m);

#endif
