/* Real detectors: sizes, gaps, sensor and what a pixel can count. */
#ifndef BRAGG_PHYSICS_PRESETS_H
#define BRAGG_PHYSICS_PRESETS_H

#include <stdbool.h>

#include "base/error.h"
#include "physics/request.h"

/* Where a module stands in front of the beam, in pixels from it: x along the fast axis of the
 * axis convention, y = beam x x. */
struct preset_stand {
    double corner_px[2];      // outer corner of pixel (0,0)
    double fast[2], slow[2];  // unit vectors
};

/* A detector; the layout is of the whole of it, or of each module where modules stand at
 * places of their own. */
struct preset_detector {
    const char *name;  // as --detector takes it
    struct layout layout;
    double pixel_m;
    double silicon_m;   // thickness of the sensor; 0: no silicon, all photons are caught
    double saturation;  // largest count of a pixel
    bool panels;        // what its files hold: the modules, else one image with masked gaps
    size_t nplaces;     // modules at places of their own; 0: all lie in one plane
    struct preset_stand (*stand)(size_t module);  // of these
    bool counts;  // photons above a threshold, else it adds up their energies
};

/* Number `index` of the list, NULL behind its end. */
const struct preset_detector *preset_at(size_t index);

/* The detector of this name: letters and digits count, capitals, blanks, - and _ do not, so that
 * "Eiger 4M" is eiger-4m.  NULL: there is none. */
const struct preset_detector *preset_named(const char *name);

/* *places of the modules of a detector that has them, at a distance of distance_m, for the
 * caller to free.  STATUS_FAILED when memory is out. */
enum status preset_places(const struct preset_detector *d, double distance_m, struct place **places,
                          struct error *e);

#endif
