/*
 * Reads results of DIALS frame by frame: an experiment list (.expt) and a reflection table (.refl).
 *
 * A frame is identified in one of three ways: by the place of its image in a file with several
 * images, by the number in the name of a file with one image, or by the experiment identifier in
 * files that bragg-write made without images.
 */
#ifndef BRAGG_SCORE_DIALS_FILES_H
#define BRAGG_SCORE_DIALS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/dials/expt.h"
#include "io/dials/refl.h"
#include "score/answer.h"

/* How far the analysis went that wrote a table. */
enum dials_level {
    DIALS_FOUND,      // spots without indices
    DIALS_INDEXED,    // at least one row is of a lattice
    DIALS_INTEGRATED  // at least one row has an integrated intensity
};

/* One statement about an image: an experiment contains it, or a row of the table refers to it. */
struct dials_entry {
    uint64_t image;
    uint32_t experiment;
    uint32_t row;   // row of the table, from 1; 0: the entry is about the experiment
    int32_t place;  // place of the image in its sequence, from 0
};

struct dials_files {
    const char *expt_path, *refl_path;  // borrowed
    struct expt_list list;
    struct refl table;
    struct geom_panel *panels;  // owned: panels of the list, in the coordinate system of the beam
    bool by_place;              // `image` is the place of an image in a file; otherwise it is a
                                // frame number
    bool all_measured;          // intensities are used even without a flag, because the table is an
                                // ground truth
    enum dials_level level;
    bool all_indexed;  // all rows are of lattices
    size_t nentries, entries_room, next;
    struct dials_entry *entries;  // owned: sorted by image
    bool *taken;  // owned: [nentries], true at the first entry of an image whose spots were taken
                  // by dials_take_spots; NULL: none
    size_t nids, nsets;
    int64_t *experiment_of;         // owned: [nids], experiment of each id of the table; -1: none
    int64_t *experiment_of_images;  // owned: [nsets], first experiment of each set of images
    const struct refl_column *id, *imageset, *panel, *flags, *observed, *predicted, *hkl, *box,
        *sum, *sum_variance, *profile, *profile_variance;
};

/* Opens a table and its experiment list.  The caller must call dials_close, also after an error.
 * Messages name the file.
 *
 * STATUS_INPUT: a file is of another type, the files do not belong together, or they do not
 * identify their frames. */
enum status dials_open(struct dials_files *f, const char *expt_path, const char *refl_path,
                       struct error *e);

/* Sets *level to that of a table.  STATUS_INPUT: the file is not a reflection table. */
enum status dials_level_read(const char *refl_path, enum dials_level *level, struct error *e);

/* Sets *has to true if *f contains the frame of an answer from another table.  In this case
 * dials_next skips this frame, and with `replace` the spots of the answer are replaced by those
 * of *f.
 *
 * STATUS_INPUT: a row of *f is not possible.  STATUS_FAILED: out of memory. */
enum status dials_take_spots(struct dials_files *f, struct answer *a, bool replace, bool *has,
                             struct error *e);

/* Reads the next frame into *a, in ascending order.  Sets *more to false at the end. */
enum status dials_next(struct dials_files *f, struct answer *a, bool *more, struct error *e);

void dials_close(struct dials_files *f);

/* Reads the frame number from an identifier of bragg-write, LINEAGE-FRAME-LATTICE.  Returns false
 * for other identifiers. */
bool dials_told_frame(const char *identifier, uint64_t *frame);

#endif
