/*
 * What DIALS wrote about frames: an experiment list (.expt) and a reflection table (.refl), frame
 * by frame.  A frame is known by the place of its image in a file of several, by the number in the
 * name of a file of one, and in files of bragg-write without images by their identifiers.
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

/* What is said about an image: that an experiment has it, or a row of the table. */
struct dials_entry {
    uint64_t image;
    uint32_t experiment;
    uint32_t row;   // from 1; 0: of the experiment
    int32_t place;  // of the image in its sequence, from 0
};

struct dials_files {
    const char *expt_path, *refl_path;  // borrowed
    struct expt_list list;
    struct refl table;
    struct geom_panel *panels;  // owned: of the list, in the frame of the beam
    bool by_place;              // images are places in a file, else numbers of frames
    bool all_measured;          // intensities count without a flag: the table is a key
    size_t nentries, entries_room, next;
    struct dials_entry *entries;  // owned: by images
    size_t nids, nsets;
    int64_t *experiment_of;         // owned: [nids], of the ids of the table, -1: none
    int64_t *experiment_of_images;  // owned: [nsets], of sets of images
    const struct refl_column *id, *imageset, *panel, *flags, *observed, *predicted, *hkl, *box,
        *sum, *sum_variance, *profile, *profile_variance;
};

/* Errors name the file; STATUS_INPUT for files that are none, do not belong together, or do not
 * tell which frames they are of.  dials_close frees *f, also after an error. */
enum status dials_open(struct dials_files *f, const char *expt_path, const char *refl_path,
                       struct error *e);

/* Reads the next frame into *a, in ascending order; *more is false at the end. */
enum status dials_next(struct dials_files *f, struct answer *a, bool *more, struct error *e);

void dials_close(struct dials_files *f);

/* The frame that an identifier of bragg-write names, LINEAGE-FRAME-LATTICE; false for others. */
bool dials_told_frame(const char *identifier, uint64_t *frame);

#endif
