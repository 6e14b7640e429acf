/* Options of bragg-geometry, and the requests that they make. */
#ifndef BRAGG_STAGES_GEOMETRY_OPTIONS_H
#define BRAGG_STAGES_GEOMETRY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "physics/request.h"

struct geometry_options {
    struct request request;          // without its crystals, which `crystals` describes
    struct crystal_request crystal;  // the one crystal, or the defaults of all crystals
    struct opt_marks given;          // options that were given
    const char *detector, *geom, *expt, *write_geom, *mask, *source_file;
    bool overwrite;
    int panels;                       // index of --panels: 0 is image, 1 is modules
    int64_t cut[2];                   // number of panels along fast and slow
    struct steps_request divergence;  // --divergence: horizontal and vertical
    struct opt_texts crystals;        // values of --crystal
    double cell[6];                   // edges in A, angles in degrees
    const char *name, *matrix, *hkl, *mtz, *column, *spacegroup, *model, *sites, *fprime, *light;
    double light_occupancy;
    bool anomalous, diffuse_damp;
};

extern const struct opt geometry_table[];

/* Whether one of the options `names` was given; see opt_given. */
bool geometry_given(const struct geometry_options *o, const char *names);

/* Options that are errors if a file or a built-in detector sets the position of the panels; for
 * struct opt.excludes. */
#define GEOMETRY_PLACED                                                          \
    "detpixels|detsize pixel close-distance beam-center close-center orgx|orgy " \
    "fast-axis|slow-axis|normal pivot rotate|twotheta curved roi mask"

/* Panels of the detector, from --detector, --geom, --expt and --cut. */
struct geometry_panels {
    struct place *places;  // owned, with their masks
    struct layout layout;  // how every panel is cut after it was made
    double saturation;     // photons at which a pixel saturates; 0: not known
};

/* Applies --detector, --geom, --expt and --cut to *r, which geometry_request has filled, and reads
 * their files.  The caller frees *p with geometry_panels_free, also after an error, and before
 * r->detector.mask, which moves to the experiment.  STATUS_USAGE: options contradict each other. */
enum status geometry_panels(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e);
void geometry_panels_free(struct geometry_panels *p, size_t nplaces);

/* Fills *r except r->crystals.  The option table has checked the options before.  The caller reads
 * the files of --mask and --source-file.  STATUS_USAGE: an axis with another convention than
 * custom, or an empty region of interest. */
enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e);

/* Prints warnings about values that are possible but probably a mistake, in the order of the
 * options. */
void geometry_warn(const struct geometry_options *o, const struct request *r,
                   const struct experiment *x);

/* Options of one crystal: its own, and those of all crystals where it has none.  Its own texts
 * point into `words`, so the struct must not be copied or moved. */
struct crystal_options {
    struct geometry_options options;
    char words[8192];
};

/* Allocates *list with one item per --crystal, or with one item if there is none; *count is their
 * number.  The caller frees *list with mem_free.  STATUS_USAGE: a bad key or value. */
enum status geometry_crystals(const struct geometry_options *o, struct crystal_options **list,
                              size_t *count, struct error *e);

/* Fills *c from the options of one crystal.  The caller reads the files (matrix, structure
 * factors). STATUS_USAGE: options contradict each other. */
enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e);

#endif
