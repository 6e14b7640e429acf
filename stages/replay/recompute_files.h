/* Compares the files of a recomputed frame with the stored files. */
#ifndef BRAGG_STAGES_RECOMPUTE_FILES_H
#define BRAGG_STAGES_RECOMPUTE_FILES_H

#include <stdbool.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

struct recomputed {
    const struct experiment *experiment;
    const struct frame *frame;
    const char *folder;  // for temporary files
    double scale;        // --scale of bragg-write; 0: not used
};

/* Writes the frame in the format of the file `path`, compares both, and prints the result.  Sets
 * *differs if they differ.  For NXmx the compressed image and the metadata of the frame are
 * compared. Pictures are skipped, because the options that drew them are unknown. */
enum status recompute_compare_file(const struct recomputed *r, const char *path, bool *differs,
                                   struct error *e);

#endif
