/*
 * Text headers of image files, written line by line, and the truth about a frame that
 * they carry.
 */
#ifndef BRAGG_IO_HEADER_TEXT_H
#define BRAGG_IO_HEADER_TEXT_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* A header; `length` counts all bytes to write.  Text that does not fit is cut off. */
struct header_text {
    size_t length;
    char text[8192];
};

__attribute__((format(printf, 2, 3))) void header_append(struct header_text *h, const char *format,
                                                         ...);

/* What stands before a key, between key and value, and behind the value. */
struct header_style {
    const char *before, *between, *behind;
};

/* Frame, seed, lineage and gain, then cell as asked for and orientation at phi 0 of the first
 * lattice (none without a crystal), under names that begin with BRAGG_: angstroms, degrees,
 * row-major matrices, numbers parted by spaces. */
void header_append_truth(struct header_text *h, const struct experiment *x, const struct recipe *r,
                         const struct header_style *style);

#endif
