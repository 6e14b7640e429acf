/*
 * One file of the answer key, in memory: how it is opened, how frames are put into it, and the
 * readers of the kinds of files that can be a key.  An NXmx file or its recording holds frames with
 * their reflections; tables and streams were made of such frames.  key.h joins several files.
 */
#ifndef BRAGG_SCORE_KEY_PART_H
#define BRAGG_SCORE_KEY_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx_geometry.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/frame.h"
#include "score/answer.h"

/* ==== a file ================================================================== */

/* What a key tells, and what not. */
struct key_tells {
    const char *no_spots, *no_lattices, *no_detector;  // why not; NULL: it does
    bool no_rows;                                      // of no frame are there reflections
    bool no_F2;                                        // reflections have no structure factors
    bool summed;    // each reflection is in one frame, with the photons of all that it reaches over
    bool sent;      // it is a key of bragg-serve, which tells what became of frames, too
    double panel0;  // where there is no detector: the fast axis of its first panel, from x to y,
                    // rad; NaN: not told
};

struct key_part {
    const char *path;               // borrowed
    struct nxmx_rows rows;          // frames and lattices, until the key has taken them
    size_t nframes;                 // ... of which the next two tell
    uint64_t *first;                // owned: [nframes + 1], first reflection of each frame
    size_t *place;                  // owned: [nframes], where it is in the key; SIZE_MAX: nowhere
    struct nxmx_geometry detector;  // panels in the frame of the beam
    double spindle[3];              // in the frame of the beam
    bool on_disk;                   // an NXmx file: reflections are read when they are asked for
    bool stays_open;                // ... and the file is open then, or only while it is read
    struct hdf5_file file;
    size_t block_frame, block_end;  // frames whose reflections are in memory
    struct reflection_row *block;   // owned
    size_t nblock, block_room;      // rows
    bool wanted;                    // by the frame that is asked for
    struct key_tells tells;
    bool fills;  // a frame that it does not name is taken for a blank
};

/* STATUS_INPUT for files that are none, or hold no reflections.  key_part_close frees *k, also
 * after an error. */
enum status key_part_open(struct key_part *k, const char *path, struct error *e);
void key_part_close(struct key_part *k);

/* Puts the reflections of frames [first, last] into memory, in the place of those that were there,
 * with those behind them as long as there are no more than `most` rows.  STATUS_INPUT, naming frame
 * `number`, when they cannot be read. */
enum status key_part_reach(struct key_part *k, size_t first, size_t last, size_t most,
                           uint64_t number, struct error *e);

/* The reflections of a frame in memory. */
const struct reflection_row *key_part_rows(const struct key_part *k, size_t frame, size_t *nrows);

/* Gives back the reflections that are in memory, and closes the file. */
void key_part_forget(struct key_part *k);

/* ==== frames that readers put into a key in memory ============================ */

/* A frame with its lattices, as they stand in its middle, and their reflections that have photons.
 * STATUS_FAILED when memory is out. */
enum status key_add_frame(struct key_part *k, uint64_t number, const struct answer *a,
                          struct error *e);

/* Blanks up to a number, for a key that names no frame without reflections. */
enum status key_add_blanks(struct key_part *k, uint64_t number, struct error *e);

/* The detector; nothing where there is one. */
enum status key_add_panels(struct key_part *k, const struct geom_panel *panels, size_t npanels,
                           struct error *e);

/* In the place of a detector: so many panels of unknown size. */
enum status key_add_unknown_panels(struct key_part *k, size_t npanels, struct error *e);

/* Puts all in the order of the numbers of frames; the first of several with a number stays where
 * the key is one of what was sent, else they are an error. */
enum status key_add_end(struct key_part *k, struct error *e);

/* ==== recordings of frames with reflections (bragg-recording(5)) ============== */

/* Whether a file begins as a recording does. */
bool key_recording_is(const char *path);

/* ==== streams: bragg-write --reflections=FILE.stream, bragg-serve --key ======= */

/* Whether a file begins as streams do; false when it cannot be read. */
bool key_stream_is(const char *path);

#endif
