#include "physics/presets.h"

#include <math.h>

#include "base/alloc.h"
#include "physics/panels.h"

enum { AGIPD_QUADRANTS = 4, AGIPD_MODULES = 16 };

/* Makers' data sheets; the AGIPD at the European XFEL as its beamlines place it. */
static const struct preset_detector detectors[PRESETS] = {
    [PRESET_PILATUS_300K] = {{{1, 3}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0},
    [PRESET_PILATUS_1M] = {{{2, 5}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0},
    [PRESET_PILATUS_2M] = {{{3, 8}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0},
    [PRESET_PILATUS_6M] = {{{5, 12}, {487, 195}, {7, 17}}, 172e-6, 320e-6, 1048575, false, 0},
    [PRESET_EIGER_1M] = {{{1, 2}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER_4M] = {{{2, 4}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER_9M] = {{{3, 6}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER_16M] = {{{4, 8}, {1030, 514}, {10, 37}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER2_1M] = {{{1, 2}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER2_4M] = {{{2, 4}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER2_9M] = {{{3, 6}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_EIGER2_16M] = {{{4, 8}, {1028, 512}, {12, 38}}, 75e-6, 450e-6, 65534, false, 0},
    [PRESET_JUNGFRAU_1M] = {{{1, 2}, {1030, 514}, {8, 36}}, 75e-6, 320e-6, 11000, true, 0},
    [PRESET_JUNGFRAU_4M] = {{{2, 4}, {1030, 514}, {8, 36}}, 75e-6, 320e-6, 11000, true, 0},
    [PRESET_AGIPD_1M] = {{{1, 8}, {128, 64}, {0, 2}}, 200e-6, 500e-6, 10000, true, AGIPD_MODULES},
    [PRESET_RAYONIX_MX340] = {{{1, 1}, {3840, 3840}, {0, 0}}, 88.54e-6, 0, 65535, false, 0},
};

const struct preset_detector *preset_find(enum preset which)
{
    return &detectors[which];
}

/* Four quadrants about the beam, each a column of four modules.  Fast goes down in the two
 * on one side and up in the others, slow away from that side. */
enum status preset_places(enum preset which, double distance_m, struct place **places,
                          struct error *e)
{
    static const double corners_px[AGIPD_QUADRANTS][2] = {
        {-525, 625}, {-550, -10}, {520, -160}, {542.5, 475}};
    static const double module_px = 128 + 29;
    const struct preset_detector *d = &detectors[which];
    *places = mem_array(d->nplaces, sizeof **places);
    if (!*places)
        return error_memory(e, "the modules");
    for (size_t i = 0; i < d->nplaces; i++) {
        const size_t quadrant = i / 4;
        const double side = quadrant < 2 ? 1 : -1;
        const double y_px = corners_px[quadrant][1] - module_px * (double)(i % 4);
        (*places)[i] = (struct place){
            .pixels = {layout_pixels(&d->layout, 0), layout_pixels(&d->layout, 1)},
            .pixel_m = d->pixel_m,
            .fast = {0, -side, 0},
            .slow = {side, 0, 0},
            .corner_m = {d->pixel_m * corners_px[quadrant][0], d->pixel_m * y_px, distance_m},
        };
    }
    return STATUS_OK;
}
