/*
 * The ground truth: the reflections and lattices of each simulated
 * frame, from one file or several.
 *
 * An NXmx file or its recording contains frames with their reflections.  Tables and streams are
 * made from such frames.  All reflections of other kinds of files are in memory.  For NXmx files
 * the reflections of only a few frames at a time are in memory, however many files there are.
 *
 *   truth_files.c  opens each kind of file, with truth_recording.c, truth_tables.c and truth_text.c
 *   truth_part.c   holds one file in memory
 *   truth.c        joins the files
 */
#ifndef BRAGG_SCORE_TRUTH_H
#define BRAGG_SCORE_TRUTH_H

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

/* What ground truth contains. */
struct truth_facts {
    const char *no_spots, *no_lattices, *no_detector;  // reason why it has no places of spots,
                                                       // lattices or detector; NULL: it has them
    bool no_rows;                                      // no frame has reflections
    bool no_F2;                                        // reflections have no structure factors
    bool no_background;                                // reflections have no background
    bool summed;  // each reflection is in only one frame, with its photons summed over all frames
                  // that it extends over
    bool sent;    // it is the file of bragg-serve --sent, which also records the fate of each frame
    double panel0;  // if there is no detector: direction of the fast axis of the first panel, from
                    // x to y, rad; NaN: not known
};

/* Checksums of a frame of an NXmx file: of its row and lattices, and those continued by its
 * reflections and their pixels. */
struct truth_sum {
    uint64_t number;  // of the frame
    uint32_t front, whole;
    uint64_t first_pixel, npixels;  // pixels of its reflections
};

struct truth_part {
    const char *path;        // borrowed
    struct nxmx_rows rows;   // frames and lattices; moved into the ground truth by truth_open
    size_t nframes;          // number of frames; stays valid when `rows` is moved
    uint64_t *first;         // owned: [nframes + 1], number of the first reflection of each
                             // frame
    struct truth_sum *sums;  // owned: [nframes], NULL: the file has no checksums
    size_t *place;           // owned: [nframes], place of each frame in the ground truth; SIZE_MAX:
                             // the frame is not in the ground truth
    struct nxmx_geometry detector;  // panels in the coordinate system of the beam
    double spindle[3];              // rotation axis in the coordinate system of the beam
    bool on_disk;                   // an NXmx file: reflections are read on demand
    bool stays_open;                // only if on_disk: the file stays open between reads; otherwise
                                    // it is opened for each read
    struct hdf5_file file;
    size_t block_frame, block_end;  // reflections of frames [block_frame, block_end) are in memory
    struct reflection_row *block;   // owned
    size_t nblock, block_room;      // number of rows, and allocated rows
    bool wanted;                    // the frame that truth_frame returns needs its reflections
    struct truth_facts facts;
    bool fills;  // frames that the file does not list were added as blanks
};

/* Opens a file of any kind.  The caller must call truth_part_close, also after an error.
 *
 * STATUS_INPUT: the file is not ground truth, or has no reflections. */
enum status truth_part_open(struct truth_part *p, const char *path, struct error *e);
void truth_part_close(struct truth_part *p);

/* Reads only the detector of an NXmx file or a recording: p->detector, with the true places of its
 * panels.  The caller calls truth_part_close in any case. */
enum status truth_part_detector(struct truth_part *p, const char *path, struct error *e);

/* Reads the reflections of frames [first, last] into memory, where they replace the previous ones.
 * Frames after `last` are read, too, as long as there are not more than `most` rows.
 *
 * STATUS_INPUT: the reflections cannot be read; the message names frame `number`. */
enum status truth_part_reach(struct truth_part *p, size_t first, size_t last, size_t most,
                             uint64_t number, struct error *e);

/* Returns the reflections of a frame, which must be in memory, and sets *nrows to their number. */
const struct reflection_row *truth_part_rows(const struct truth_part *p, size_t frame,
                                             size_t *nrows);

/* Adds the variance of the readout noise, which z contains, to the background of rows, so that
 * photons plus background is the variance of their sum.  Rows without z are unchanged. */
void truth_add_noise(struct reflection_row *rows, size_t count);

/* Frees the reflections that are in memory, and closes the file. */
void truth_part_forget(struct truth_part *p);

/* ==== building ground truth in memory ================================================ */

/* Appends a frame with its lattices, oriented as in the middle of the frame, and their reflections.
 * Reflections without photons are left out. */
void truth_add_frame(struct truth_part *p, uint64_t number, const struct answer *a);

/* Appends blank frames up to (not including) a frame number, for ground truth that does not list
 * frames without reflections. */
void truth_add_blanks(struct truth_part *p, uint64_t number);

/* Sets the detector to a copy of panels[npanels].  Does nothing if the part already has a detector.
 */
void truth_add_panels(struct truth_part *p, const struct geom_panel *panels, size_t npanels);

/* Sets the detector to `npanels` panels of unknown size, for ground truth without a detector. */
void truth_add_unknown_panels(struct truth_part *p, size_t npanels);

/* Sorts the frames by number.  If frames have the same number, the first is kept if the file is one
 * of bragg-serve; otherwise this is an error. */
enum status truth_add_end(struct truth_part *p, struct error *e);

/* ==== recordings of frames with reflections (bragg-recording(5)) ============== */

/* Returns true if a file begins as a recording does. */
bool truth_recording_is(const char *path);

/* ==== streams: bragg-write --reflections=FILE.stream, bragg-serve --sent ======= */

/* Returns true if a file begins as a CrystFEL stream does.  Returns false if it cannot be read. */
bool truth_stream_is(const char *path);

/* ==== all files ======================================================= */

/* Position of a frame in the parts and in the ground truth. */
struct truth_place {
    size_t part, frame;  // frame number `frame` (from 0) of file number `part`
    size_t lattice;      // first lattice of the frame in `rows` of the ground truth
};

struct truth {
    char *path;  // owned: name for messages
    size_t nparts;
    struct truth_part *parts;    // owned
    struct nxmx_rows rows;       // frames and lattices of all files; two frames may have the same
                                 // number
    struct truth_place *places;  // owned: [rows.nframes]
    int32_t *one_of;        // owned: [rows.nlattices], number of each lattice in its frame when
                            // equal lattices are counted once (see truth_frame); NULL: all
                            // lattices are different
    struct nxmx_frame one;  // the frame that truth_frame returned last, if equal lattices were
                            // joined
    size_t one_rows, one_lattices;         // allocated items
    struct reflection_row *rows_of_one;    // owned
    struct nxmx_lattice *lattices_of_one;  // owned
    const struct nxmx_geometry *detector;  // borrowed from one of the parts
    double spindle[3];                     // rotation axis in the coordinate system of the beam
    struct truth_facts facts;
};

/* A frame of the ground truth.  The pointers are valid until the next call of truth_frame.
 *
 * Lattices with the same rotation and cell, such as the dark and the pumped part of one crystal,
 * are equal.  Only the first of them is listed, with the photons of all. */
struct truth_frame {
    size_t place;
    bool has_ones;  // some of its lattices were joined from several
    const struct nxmx_frame *frame;
    const char *path;                     // path of its file
    const struct nxmx_lattice *lattices;  // [frame->lattices]
    const struct reflection_row *rows;
    size_t nrows;
};

/* Opens all files, of which there must be at least one.  The caller must call truth_close, also
 * after an error.
 *
 * STATUS_INPUT:
 *
 *   - a file is not ground truth, or has no reflections
 *   - the files contain different kinds of data, or have different detectors or crystals
 *   - a frame number is in two files, and results cannot name the file.  They can if both
 *     are NXmx files of stills with different frames of this number */
enum status truth_open(struct truth *t, const char *const paths[], size_t npaths, struct error *e);
void truth_close(struct truth *t);

/* Sets *f to the frame at `place`, which must be less than t->rows.nframes.  Also reads the frames
 * up to `reach` places before and after it into memory. */
enum status truth_frame(struct truth *t, size_t place, size_t reach, struct truth_frame *f,
                        struct error *e);

/* Finds a reflection of the frame at `place`, which a call of truth_frame must have read.  Returns
 * false if there is no such reflection. */
bool truth_find(const struct truth *t, size_t place, int32_t lattice, const int32_t hkl[3],
                struct reflection_row *row);

/* Finds the place of a frame from its number.  If several frames have this number, the one in part
 * `named` is used (NULL: none).  Sets *place to -1 if there is no such frame.  STATUS_INPUT:
 * several frames have this number and `named` is none of their parts; the message names two files.
 */
enum status truth_number(const struct truth *t, uint64_t number, const struct truth_part *named,
                         int64_t *place, struct error *e);

/* Finds the part that an analysis means with the name of a file, which the analysis may know by
 * another path.  Sets *part to NULL if there is none.  STATUS_INPUT: there are several. */
enum status truth_named(const struct truth *t, const char *file, const struct truth_part **part,
                        struct error *e);

/* Computes the orientation of a lattice in the middle of a frame: columns a*, b*, c* in 1/A, in the
 * coordinate system of the beam (x along the fast axis, z along the beam). */
void truth_a_matrix(const struct truth *t, const struct nxmx_frame *f, const struct nxmx_lattice *l,
                    double a_matrix[9]);

#endif
