/* Real detectors: sizes, gaps, sensor and what a pixel can count. */
#ifndef BRAGG_PHYSICS_PRESETS_H
#define BRAGG_PHYSICS_PRESETS_H

#include <stdbool.h>

#include "base/error.h"
#include "physics/request.h"

/* In the order of --detector. */
enum preset {
    PRESET_PILATUS_300K,
    PRESET_PILATUS_1M,
    PRESET_PILATUS_2M,
    PRESET_PILATUS_6M,
    PRESET_EIGER_1M,
    PRESET_EIGER_4M,
    PRESET_EIGER_9M,
    PRESET_EIGER_16M,
    PRESET_EIGER2_1M,
    PRESET_EIGER2_4M,
    PRESET_EIGER2_9M,
    PRESET_EIGER2_16M,
    PRESET_JUNGFRAU_1M,
    PRESET_JUNGFRAU_4M,
    PRESET_AGIPD_1M,
    PRESET_RAYONIX_MX340,
    PRESETS
};

/* A detector; the layout is of the whole of it, or of each module where modules stand at
 * places of their own. */
struct preset_detector {
    struct layout layout;
    double pixel_m;
    double silicon_m;   // thickness of the sensor; 0: no silicon, all photons are caught
    double saturation;  // largest count of a pixel
    bool panels;        // what its files hold: the modules, else one image with masked gaps
    size_t nplaces;     // modules at places of their own; 0: all lie in one plane
};

const struct preset_detector *preset_find(enum preset which);

/* *places of the modules of a detector that has them, at a distance of distance_m, for the
 * caller to free.  STATUS_FAILED when memory is out. */
enum status preset_places(enum preset which, double distance_m, struct place **places,
                          struct error *e);

#endif
