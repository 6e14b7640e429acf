/*
 * The answer key: which reflections and lattices frames hold, from one file or several.  Of NXmx
 * files the reflections of a few frames at a time are in memory, however many files there are. An
 * NXmx file or its recording holds frames with their reflections; tables and streams were made of
 * such frames. key_files.c opens each kind of file, key_part.c holds one in memory, and key.c joins
 * them.
 */
#ifndef BRAGG_SCORE_KEY_H
#define BRAGG_SCORE_KEY_H

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

/* ==== the key: all files ======================================================= */

/* Where all of a frame stands. */
struct key_place {
    size_t part, frame;  // number `frame` of this file
    size_t lattice;      // its first one in the key's rows
};

struct key {
    char *path;  // owned: what messages call it
    size_t nparts;
    struct key_part *parts;    // owned
    struct nxmx_rows rows;     // frames and lattices of all; a number may be there twice
    struct key_place *places;  // owned: [rows.nframes]
    int32_t *one_of;           // owned: [rows.nlattices], see key_frame; NULL: all are different
    struct nxmx_frame one;     // the frame with lattices that are one, as key_frame gives it
    size_t one_rows, one_lattices;         // room
    struct reflection_row *rows_of_one;    // owned
    struct nxmx_lattice *lattices_of_one;  // owned
    const struct nxmx_geometry *detector;  // of the parts
    double spindle[3];                     // in the frame of the beam
    struct key_tells tells;
};

/* A frame of the key; pointers last until the next one is asked for.  Lattices with the same
 * rotation and cell, such as the dark and the pumped part of one crystal, are one: the first, with
 * the photons of all. */
struct key_frame {
    size_t place;
    bool has_ones;  // some of its lattices were several
    const struct nxmx_frame *frame;
    const char *path;                     // of its file
    const struct nxmx_lattice *lattices;  // [frame->lattices]
    const struct reflection_row *rows;
    size_t nrows;
};

/* Opens all files, 1 or more.  STATUS_INPUT for files that are none, or hold no reflections; that
 * tell different things, or of different detectors or crystals; and for a frame in two of them,
 * unless results can tell which: both are NXmx files, and hold different frames of this number.
 * key_close frees *k, also after an error. */
enum status key_open(struct key *k, const char *const paths[], size_t npaths, struct error *e);
void key_close(struct key *k);

/* Frame number `place`, below k->rows.nframes; those up to `reach` before and behind it are in
 * memory, too. */
enum status key_frame(struct key *k, size_t place, size_t reach, struct key_frame *f,
                      struct error *e);

/* A reflection of frame `place`, which key_frame reached; false: there is none. */
bool key_find(const struct key *k, size_t place, int32_t lattice, const int32_t hkl[3],
              struct reflection_row *row);

/* The place of the only frame with this number, or of the one in the part that is `named` (NULL:
 * none); -1: there is none.  STATUS_INPUT when there are several, naming two files. */
enum status key_number(const struct key *k, uint64_t number, const struct key_part *named,
                       int64_t *place, struct error *e);

/* The part that an analysis means by the name of a file, which it may know by another path: NULL
 * when there is none, STATUS_INPUT when there are several. */
enum status key_named(const struct key *k, const char *file, const struct key_part **part,
                      struct error *e);

/* Its lattice as it stands in the middle of the frame: columns a*, b*, c* in 1/A, in the frame of
 * the beam (x along the fast axis, z along the beam). */
void key_a_matrix(const struct key *k, const struct nxmx_frame *f, const struct nxmx_lattice *l,
                  double a_matrix[9]);

#endif
