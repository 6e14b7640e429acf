/* The answer key: the truth about frames, from an NXmx file of bragg-write with reflections, its
 * reflection tables, a recording, or a table of what lattices frames hold. */
#ifndef BRAGG_SCORE_KEY_H
#define BRAGG_SCORE_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/hdf5_file.h"
#include "io/nxmx_geometry.h"
#include "io/nxmx_rows.h"
#include "model/reflections.h"

struct key {
    const char *path;               // borrowed
    struct hdf5_file file;          // open, where it is one
    struct nxmx_rows rows;          // frames and lattices
    uint64_t *first;                // owned: [nframes + 1], first reflection of each frame
    struct nxmx_geometry detector;  // panels in the frame of the beam
    double spindle[3];              // in the frame of the beam
    size_t block_frame, block_end;  // frames whose reflections are in memory
    struct reflection_row *block;   // owned
    size_t nblock, block_room;      // rows, where all are in it
    /* What the key does not tell, and why; NULL: it does. */
    const char *no_spots, *no_lattices, *no_detector;
    bool no_rows;   // of no frame are there reflections
    bool no_F2;     // reflections have no structure factors
    bool summed;    // each reflection is in one frame, with the photons of all that it reaches over
    bool sent;      // it is a key of bragg-serve, which tells what became of frames, too
    double panel0;  // where there is no detector: the fast axis of its first panel, from x to y,
                    // rad; NaN: not told
};

/* A frame of the key; pointers last until the next one is asked for. */
struct key_frame {
    const struct nxmx_frame *frame;
    const struct nxmx_lattice *lattices;  // [frame->lattices]
    const struct reflection_row *rows;
    size_t nrows;
};

/* STATUS_INPUT for files that are none, or hold no reflections.  key_close frees *k, also after
 * an error. */
enum status key_open(struct key *k, const char *path, struct error *e);
void key_close(struct key *k);

/* Frame number `place`, below k->rows.nframes; those up to `reach` before and behind it are in
 * memory, too. */
enum status key_frame(struct key *k, size_t place, size_t reach, struct key_frame *f,
                      struct error *e);

/* A reflection of frame `place`, which key_frame reached; NULL: there is none. */
const struct reflection_row *key_find(const struct key *k, size_t place, int32_t lattice,
                                      const int32_t hkl[3]);

/* Its lattice as it stands in the middle of the frame: columns a*, b*, c* in 1/A, in the frame of
 * the beam (x along the fast axis, z along the beam). */
void key_a_matrix(const struct key *k, const struct nxmx_frame *f, const struct nxmx_lattice *l,
                  double a_matrix[9]);

#endif
