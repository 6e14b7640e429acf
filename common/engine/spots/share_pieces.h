/*
 * What reflections give to the pixels of a frame, as pieces: plain data, which kernels of a GPU
 * write, too.  Reflections have numbers, which whoever made them can name.
 */
#ifndef BRAGG_ENGINE_SHARE_PIECES_H
#define BRAGG_ENGINE_SHARE_PIECES_H

#include <stddef.h>
#include <stdint.h>

/* Pixels that follow each other. */
struct share_piece {
    uint32_t key;
    uint32_t pixel;  // item of the image, the first one
    uint32_t count;  // of pixels
    float photons;   // of them together, rounded in any order
};

struct share_pack {
    struct share_piece *pieces;  // owned, as all
    size_t npieces, pieces_capacity;
    float *photons;  // of the pixels of all pieces; above 0
    float *turn;     // times the angle in rad; not set where angles do not count
    size_t count, capacity;
};

/* Pieces of one part of the frame after the other, of rows or less.  Pixels ascend from part to
 * part only; a reflection may have a pixel in several pieces. */
struct share_run {
    const struct share_pack *pack;  // NULL: none
    size_t begin, end;              // pieces
    size_t first;                   // pixel of the first one
};

#endif
