/* Origin of a stored frame: how it was made, its number, and its files. */
#ifndef BRAGG_STAGES_PROVENANCE_H
#define BRAGG_STAGES_PROVENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "wire/recording.h"

enum { PROVENANCE_FILES_MAX = 8, PROVENANCE_PATH_MAX = 4096 };

struct provenance {
    uint64_t id;
    char history[EXPERIMENT_HISTORY_SIZE];  // history of the stages before bragg-write
    bool brief;                             // the history is in brief form, see history_brief
    char lineage[17];                       // lineage of the frames; "": unknown
    double scale;                           // --scale of bragg-write; 0: not used
    bool recorded;                          // the frame is in `recording`, not in `files`
    struct recording recording;
    int nfiles;
    char files[PROVENANCE_FILES_MAX][PROVENANCE_PATH_MAX];
};

/* Reads the origin of `target`: FILE:K for frame K of a recording, an index of bragg-write or an
 * NXmx file; or FILE, if it is an image with a history in its header, or contains one frame.
 * STATUS_INPUT: the file does not contain enough information.  Call provenance_close afterwards,
 * also after an error. */
enum status provenance_open(struct provenance *o, const char *target, struct error *e);
void provenance_close(struct provenance *o);

#endif
