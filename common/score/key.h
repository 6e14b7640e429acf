/*
 * The answer key: which reflections and lattices frames hold, from one file or several.  Of NXmx
 * files the reflections of a few frames at a time are in memory, however many files there are.
 */
#ifndef BRAGG_SCORE_KEY_H
#define BRAGG_SCORE_KEY_H

#include "score/key_part.h"

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
