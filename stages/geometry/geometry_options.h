/* The options of bragg-geometry, and the requests that they make. */
#ifndef BRAGG_STAGES_GEOMETRY_OPTIONS_H
#define BRAGG_STAGES_GEOMETRY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "physics/request.h"

struct geometry_options {
    struct request request;          // but for its crystals
    struct crystal_request crystal;  // or what several of them have in common
    struct opt_marks given;
    const char *detector, *geom, *expt, *write_geom, *mask, *source_file;
    bool overwrite;
    int panels;                       // 0: one image, 1: modules
    int64_t cut[2];                   // along fast and slow
    struct steps_request divergence;  // both ways
    struct opt_texts crystals;
    double cell[6];  // A and deg
    const char *name, *matrix, *hkl, *mtz, *column, *spacegroup, *model, *sites, *fprime, *light;
    double light_occupancy;
    bool anomalous, diffuse_damp;
};

extern const struct opt geometry_table[];

/* Whether one of `names` was given, as opt_given. */
bool geometry_given(const struct geometry_options *o, const char *names);

/* What no option can say where a file or its maker puts the panels, for struct opt.excludes. */
#define GEOMETRY_PLACED                                                          \
    "detpixels|detsize pixel close-distance beam-center close-center orgx|orgy " \
    "fast-axis|slow-axis|normal pivot rotate|twotheta curved roi mask"

/* What --detector, --geom, --expt and --cut ask of the detector. */
struct geometry_panels {
    struct place *places;  // owned, with their masks
    struct layout layout;  // to cut every panel by, once it is made
    double saturation;     // of the detector; 0: not known
};

/* Applies them to *r, made by geometry_request; reads the file of --geom or --expt.  *p is freed by
 * geometry_panels_free, after an error too, but before r->detector.mask, which moves to the
 * experiment.  STATUS_USAGE for options that contradict each other. */
enum status geometry_panels(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e);
void geometry_panels_free(struct geometry_panels *p, size_t nplaces);

/* Fills *r, all but r->crystals; the options were checked by their table.  STATUS_USAGE for vectors
 * of another convention, and an empty region.  Files (mask, sources) are the caller's to read. */
enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e);

/* Warns of what can be but was hardly meant, in the order of the options. */
void geometry_doubt(const struct geometry_options *o, const struct request *r,
                    const struct experiment *x);

/* One crystal: the options for all of them under its own, which point into `words`
 * (so it must not be moved). */
struct crystal_options {
    struct geometry_options options;
    char words[8192];
};

/* *list gets one item for each --crystal, or a single one for none; *count is their
 * number.  The caller frees it with mem_free.  STATUS_USAGE for bad keys and values. */
enum status geometry_crystals(const struct geometry_options *o, struct crystal_options **list,
                              size_t *count, struct error *e);

/* *c from the options of one crystal, which must not contradict each other
 * (STATUS_USAGE).  Files (matrix, F) are the caller's to read. */
enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e);

#endif
