/* nonBragg's command line: its own flags, and those that it shares with nanoBragg. */
#ifndef BRAGG_STAGES_NONBRAGG_OPTIONS_H
#define BRAGG_STAGES_NONBRAGG_OPTIONS_H

#include "base/error.h"
#include "io/structure_factors/hkl.h"
#include "nanobragg_options.h"

/* All that the flags say. */
struct nonbragg {
    struct nanobragg shared;  // crystal.size_m is the sample: along the beam, y, z
    const char *table_path;
    enum stol_unit table_unit;
    double density_g_cm3, mass_g_mol;
    double molecules;  // 0: from sample, density and mass
    bool F_map;        // the float image shows F, not photons
};

/* Parses the flags of argv into *n, cleared and set to nonBragg's defaults first:
 * CUSTOM convention, oversample 1, a cube of 0.1 mm of water. */
enum status nonbragg_parse(struct nonbragg *n, int argc, char **argv, struct error *e);

#endif
