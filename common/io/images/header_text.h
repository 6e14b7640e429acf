/*
 * Writes text headers of image files, line by line, and the ground truth of a frame in them.
 */
#ifndef BRAGG_IO_HEADER_TEXT_H
#define BRAGG_IO_HEADER_TEXT_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* A header.  `length` is the number of bytes to write.  There is room for the history of the
 * stages, and for the ground truth of the largest number of lattices in a message, with up to 560
 * bytes each.  Longer text is cut off. */
struct header_text {
    size_t length;
    char text[131072 + EXPERIMENT_HISTORY_SIZE];
};

__attribute__((format(printf, 2, 3))) void header_append(struct header_text *h, const char *format,
                                                         ...);

/* The text before a key, between key and value, and after the value. */
struct header_style {
    const char *before, *between, *behind;
};

/* Appends the ground truth of a frame.  All keys begin with BRAGG_:
 *   - frame, seed, numbers of the pulse if it has any (each after its name), lineage, gain, photons
 *     per m^2, spectrum (number of sources; shortest, mean and longest wavelength), number of
 *     lattices;
 *   - STAGE_1, STAGE_2, ...: the options of the stages (history_brief, with ~ for =);
 *   - for each lattice: crystal, cell as given by the user, weight (share) if it is not 1, and
 *     orientation at phi 0.
 * Lengths are in A, angles in degrees.  Matrices are row-major.  Numbers are separated by spaces.
 * Keys of lattice 0 have no suffix, those of lattice 1 end with _1 and so on.  The header grows to
 * at most `most` bytes: stages and last lattices that do not fit are left out. */
void header_append_truth(struct header_text *h, const struct experiment *x, const struct recipe *r,
                         size_t most, const struct header_style *style);

#endif
