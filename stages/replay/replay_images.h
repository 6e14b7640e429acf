/*
 * Image files that are played, as the files of this folder share them: replay_list.c finds their
 * frames, replay_setup.c makes the experiment, replay_images.c compares headers, and
 * replay_frames.c reads frames.
 */
#ifndef BRAGG_STAGES_REPLAY_REPLAY_IMAGES_H
#define BRAGG_STAGES_REPLAY_REPLAY_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/images/image_file.h"
#include "io/nxmx/cxi_images.h"
#include "io/nxmx/nexus_images.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"
#include "stages/replay/replay.h"

/* Image files that are played, and the experiment that was made from the first one. */
struct replay_images {
    struct image_entry *entries;  // owned
    size_t count, room;
    struct replay_geometry geometry;  // another file has detector and beam; no path: it does not
    struct cxi_images cxi;            // the only file, if it is CXI of another program
    struct image_header start;        // of the start message of Stream V2; else 0
    struct nexus_images nexus;        // the only file, if it is NXmx of another program
    bool numbered;            // there is one file, and it is NXmx: frames keep their numbers
    struct nxmx_rows rows;    // metadata of that file
    double axes[9];           // axes of NeXus in the laboratory frame, one per row
    struct experiment setup;  // experiment from replay_images_open; replay_images_begin moves it
    char digest[17];
};

/* --- the list of frames (replay_list.c) --------------------------------------------- */

/* Takes the detector from a start message of Stream V2, unless another file has it.  STATUS_INPUT:
 * there are several start messages. */
enum status replay_list_find_start(struct replay_images *r, const char *const *paths, size_t count,
                                   struct error *e);

/* Adds the frames of `path`, one of `files` files, to the list.  Extends *hash by the name, the
 * size and the time of the file.  STATUS_INPUT: the file is no image, has no geometry or two, or
 * must be alone.  STATUS_FAILED: it cannot be opened. */
enum status replay_list_add(struct replay_images *r, const char *path, size_t files, uint64_t *hash,
                            struct error *e);

/* --- the experiment in the files (replay_setup.c) ----------------------------------- */

#define REPLAY_NO_AXIS "Give --geometry-from=FILE, such as the .expt of dials.import"

/* Makes the experiment *x from an SMV or CBF file.  The detector is one panel, with pixels below 0
 * masked.  Warns about missing entries.  STATUS_INPUT: the file is invalid, or has a turned arm
 * without its axis. */
enum status replay_setup_header(const char *path, struct experiment *x, struct error *e);

/* Makes the experiment *x from an NXmx file.  The crystals come from the lattices of *rows, if
 * there are any.  Sets axes[9] to the axes of NeXus in the laboratory frame, one per row.
 * STATUS_INPUT: the file is invalid. */
enum status replay_setup_nxmx(const char *path, const struct nxmx_rows *rows, struct experiment *x,
                              double axes[9], struct error *e);

#endif
