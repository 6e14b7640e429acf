/*
 * The kernels at the nodes of a band (physics/detector/smear.h), in rows of nodes.  They are kept
 * from frame to frame, or computed when a tile needs them (smear_tiles.h).
 */
#ifndef BRAGG_ENGINE_SMEAR_NODES_H
#define BRAGG_ENGINE_SMEAR_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "engine/smear/smear_bands.h"
#include "physics/detector/smear.h"

/* Loops may read this number of weights before and after those of a row of nodes. */
enum { SMEAR_NODES_PAD = 16 };

/* The kernels of nodes that are next to each other along fast. */
struct smear_nodes {
    size_t count;
    struct smear_kernel *kernel;  // owned
    struct smear_span *rows;      // owned: those of all kernels
    double *weights;              // owned: likewise
    size_t bytes;                 // of these arrays, as far as they are used
    size_t kernel_room, rows_room, weights_room;
};

/* Computes the kernels of `count` nodes, of which the first has these numbers along fast and slow,
 * or how they change (change: NULL, or see smear_kernel_change).  Memory of *n is used again.
 * smear_nodes_close frees it. */
void smear_nodes_set(struct smear_nodes *n, const struct smear_band *b,
                     const struct smear_change *change, const int64_t first[2], size_t count,
                     enum isa isa);
void smear_nodes_close(struct smear_nodes *n);

/* The cells of a band along fast and slow.  A cell has the number of the node before it. */
struct smear_grid {
    int64_t first[2], count[2];
    int64_t origin[2];  // first pixel of the first cell, which can be outside the panel
};

struct smear_grid smear_grid_of(const struct smear_band *b);

/* The kernels of all nodes of a band. */
struct smear_kernels {
    size_t count;
    struct smear_nodes *row;  // owned: rows of nodes
    size_t bytes;
};

/* Returns about the memory in bytes that smear_kernels_open needs, and not less. */
size_t smear_kernels_bytes(const struct smear_band *b);

/* Computes the kernels of all nodes of a band.  smear_kernels_close frees them. */
void smear_kernels_open(struct smear_kernels *k, const struct smear_band *b, int threads);
void smear_kernels_close(struct smear_kernels *k);

#endif
