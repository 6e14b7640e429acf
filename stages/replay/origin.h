/* What is known of a frame that was made once: how, as which number, and where it lies. */
#ifndef BRAGG_STAGES_ORIGIN_H
#define BRAGG_STAGES_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "wire/recording.h"

enum { ORIGIN_FILES_MAX = 8, ORIGIN_PATH_MAX = 4096 };

struct origin {
    uint64_t id;
    char history[EXPERIMENT_HISTORY_SIZE];  // of the stages before bragg-write, all or in brief
    bool brief;                             // see history_brief
    char lineage[17];                       // of the frames that these made; "" when not known
    double scale;                           // of bragg-write; 0: none
    bool recorded;                          // in `recording`, not in files
    struct recording recording;
    int nfiles;
    char files[ORIGIN_FILES_MAX][ORIGIN_PATH_MAX];
};

/* Of `target`: FILE:K for frame K of a recording, of an index of bragg-write or of NXmx, or a FILE
 * that is an image with its truth in the header or holds one frame.
 * STATUS_INPUT when it tells too little.  Always followed by origin_close. */
enum status origin_open(struct origin *o, const char *target, struct error *e);
void origin_close(struct origin *o);

#endif
