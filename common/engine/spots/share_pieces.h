/*
 * Photons that reflections give to the pixels of a frame, as pieces.  Pieces are plain data, which
 * kernels of a GPU write, too.  A reflection is identified by a number, the key; the code that made
 * the pieces can name the reflection of a key.
 */
#ifndef BRAGG_ENGINE_SHARE_PIECES_H
#define BRAGG_ENGINE_SHARE_PIECES_H

#include <stddef.h>
#include <stdint.h>

/* Pixels of one reflection that follow each other. */
struct share_piece {
    uint32_t key;
    uint32_t pixel;  // item of the image, the first one
    uint32_t count;  // of pixels
    float photons;   // sum over the pixels, rounded in any order
};

struct share_pack {
    struct share_piece *pieces;  // owned, as all arrays
    size_t npieces, pieces_capacity;
    float *photons;  // of the pixels of all pieces; above 0
    float *turn;     // photons times the angle in rad; not set if angles do not count
    size_t count, capacity;
};

/* Pieces of one part of the frame, which is a row or less.  Pixels ascend from part to part, but
 * not within a part.  A reflection may have a pixel in several pieces. */
struct share_run {
    const struct share_pack *pack;  // NULL: none
    size_t begin, end;              // pieces
    size_t first;                   // pixel of the first one
};

#endif
