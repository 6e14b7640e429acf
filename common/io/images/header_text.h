/*
 * Text headers of image files, written line by line, and the truth about a frame that
 * they carry.
 */
#ifndef BRAGG_IO_HEADER_TEXT_H
#define BRAGG_IO_HEADER_TEXT_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* A header; `length` counts all bytes to write.  It has room for all that an
 * experiment tells of its stages, and the truth about as many lattices as a message holds, each of
 * up to 560 bytes; text beyond that is cut off. */
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

/* Frame, seed, numbers of the pulse if it has any (each after its name), lineage, gain, photons
 * per m^2, spectrum (number of sources; shortest, mean and longest wavelength) and number of
 * lattices; STAGE_1, _2, ...: how the stages were told to make the frame (history_brief, with ~ for
 * =); then crystal, cell as asked for, share where it is not 1, and orientation at phi 0 of each
 * lattice.  All names begin with BRAGG_: angstroms, degrees, row-major matrices, numbers parted by
 * spaces.  Keys of the first lattice are bare, those of lattice 1 end with _1 and so on.  The
 * header grows to `most` bytes: what stages or last lattices would go beyond that is left out. */
void header_append_truth(struct header_text *h, const struct experiment *x, const struct recipe *r,
                         size_t most, const struct header_style *style);

#endif
