/* A geometry file while it is read, for geom_read.c: every line is a setting of the whole file, of
 * a panel or of a bad region. */
#ifndef BRAGG_IO_GEOM_READER_H
#define BRAGG_IO_GEOM_READER_H

#include "io/crystfel/geom.h"
#include "io/text/textfile.h"

enum { GEOM_EDGE_MAX = 65536, GEOM_DIMS = 10 };

/* What the file says about a panel. */
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
    uint64_t data, dims[GEOM_DIMS];     // sums of the texts that say which array of which file
    uint32_t own;                       // settings that stand with the panel's own name, as bits
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
    double clen_m;      // in place of what the file says; 0: none
    double shift_m[2];  // of all panels along x and y
    char late[32];      // the first setting of panels that stands behind the last one
    struct error *e;
};

/* --- values, geom_values.c ----------------------------------------------------- */

/* "key = 'value', must be ..." at the line that is read: STATUS_INPUT. */
enum status geom_bad_value(struct geom_reader *r, const char *key, const char *value,
                           const char *must);

/* A number from min to max. */
enum status geom_real(struct geom_reader *r, const char *key, const char *value, double min,
                      double max, double *out);

/* A whole number from 0 to max. */
enum status geom_whole(struct geom_reader *r, const char *key, const char *value, int64_t max,
                       int64_t *out);

/* A signed sum of x, y and z, nearly of length 1; made so. */
enum status geom_vector(struct geom_reader *r, const char *key, const char *value, double out[3]);

/* A number and one of some units, in the unit whose size is 1; *known becomes false for anything
 * else, such as the place of the value in data files. */
double geom_quantity(const char *value, const char *const units[], const double sizes[],
                     bool *known);

/* --- panels, geom_panels.c ----------------------------------------------------- */

/* The panels of r->geom, with masks, of all that was read.  STATUS_INPUT where a panel lacks a
 * setting. */
enum status geom_make_panels(struct geom_reader *r);

#endif
