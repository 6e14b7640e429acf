/* Lattices that an indexing program found, by frames: what bragg-refine starts from. */
#ifndef BRAGG_STAGES_REFINE_INDEXED_H
#define BRAGG_STAGES_REFINE_INDEXED_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct indexed_lattice {
    uint64_t frame;
    double a_matrix[9];  // in the middle of the frame: columns a*, b*, c* in 1/A, in the lab
};

/* Zeroed: none. */
struct indexed {
    size_t count, room;
    struct indexed_lattice *lattices;  // owned; by frames
};

/* Reads results as bragg-score does (.stream, .refl with .expt, folders of them) for frames of
 * *x.  An image is known by the number of its frame where the analysis passes that on; else by its
 * place in its file, which stands for the number of the frame there if that is an NXmx file that
 * can be read, or is the number.  STATUS_INPUT for files that are none, or hold no lattice.
 * indexed_free in any case. */
enum status indexed_read(struct indexed *d, const struct opt_texts *paths,
                         const struct experiment *x, struct error *e);

void indexed_free(struct indexed *d);

/* The lattices of a frame, borrowed; *count may be 0. */
const struct indexed_lattice *indexed_find(const struct indexed *d, uint64_t frame, size_t *count);

/* Makes of `pattern`, a recipe with lattices for frames of *x, in *start (overwritten) the one
 * whose lattices lie as the `count` found ones do; their cells, sizes and brightness are those of
 * the pattern's lattice that fits best.  Axes may be named otherwise than in the pattern, and edges
 * differ by 5 %: a lattice beyond that is left out, so *start may have none.  STATUS_FAILED when
 * memory is out; the caller frees *start in any case. */
enum status indexed_start(const struct experiment *x, const struct recipe *pattern,
                          const struct indexed_lattice *found, size_t count, struct recipe *start,
                          struct error *e);

#endif
