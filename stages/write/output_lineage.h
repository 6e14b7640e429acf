/* Whether a file that the index names is the one that was entered there. */
#ifndef BRAGG_STAGES_OUTPUT_LINEAGE_H
#define BRAGG_STAGES_OUTPUT_LINEAGE_H

#include "io/output/frame_index.h"
#include "output.h"

/* What the file at `path`, which is there, says of itself: SMV and CBF frame and lineage in the
 * header, raw and nanoBragg's SMV by the sum of their pixels.  True for pictures, which say
 * nothing, and for NXmx: see nxmx_series_holds. */
bool output_is_entered(const struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct index_entry *entry,
                       const char *path);

#endif
