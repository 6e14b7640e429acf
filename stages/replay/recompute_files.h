/* The files of a frame that was computed again, against those that are there. */
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
    double scale;        // of bragg-write; 0: none
};

/* Writes the frame again as the file `path` is and says whether both are the same, or where they
 * differ: *differs.  NXmx: the packed image and what its tables say of the frame.  Pictures are
 * not compared: how they were drawn is not known. */
enum status recompute_compare_file(const struct recomputed *r, const char *path, bool *differs,
                                   struct error *e);

#endif
