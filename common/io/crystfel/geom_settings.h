/*
 * The settings of a geometry file of CrystFEL, as geom_read.c finds them and geom_panels.c uses
 * them.
 */
#ifndef BRAGG_IO_CRYSTFEL_GEOM_SETTINGS_H
#define BRAGG_IO_CRYSTFEL_GEOM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"
#include "io/text/textfile.h"

/* GEOM_EDGE_MAX: largest number of pixels along a panel.  GEOM_DIMS: most dimensions of an array of
 * data. */
enum { GEOM_EDGE_MAX = 65536, GEOM_DIMS = 10 };

/* The settings of a panel. */
struct geom_entry {
    char name[GEOM_NAME_SIZE];
    bool given[4];  // min_fs, max_fs, min_ss, max_ss
    int64_t span[4];
    bool has_x, has_y, has_res, has_clen;
    double corner_px[2], res_1_m, clen_m, coffset_m;
    double axes[2][3];                  // fs, ss; all 0: not given
    int64_t edge;                       // mask_edge_pixels
    double max_adu;                     // INFINITY: not given
    double adu_per_photon, adu_per_eV;  // 0: not given
    uint64_t data, dims[GEOM_DIMS];     // hashes of `data` and `dimN`: which array of which file
    uint32_t own;  // bits of the settings that the file gives for this panel by name
};

/* A bad region. */
struct geom_bad {
    char name[GEOM_NAME_SIZE], panel[GEOM_NAME_SIZE];
    bool has_pixels, has_lab;
    unsigned given;  // limits, as bits in the order of `span`
    double span[4];  // min and max along fs, then ss, as in the data; or x, then y, in pixels
};

struct geom_reader {
    struct text_file text;
    struct geom *geom;
    struct geom_entry defaults;
    struct geom_entry *panels;  // owned
    struct geom_bad *bad;       // owned
    size_t npanels, nbad, panels_room, bad_room;
    double clen_m;      // used instead of the file's clen; 0: use the file's
    double shift_m[2];  // of all panels along x and y
    char late[32];      // first default of panels after the last panel, where it has no effect
    struct error *e;
};

/* Makes the panels of r->geom, with masks, from the settings that were read.  STATUS_INPUT: a panel
 * does not have all settings, or contradicts another one. */
enum status geom_make_panels(struct geom_reader *r);

#endif
