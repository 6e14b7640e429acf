/* Checks, for --resume, that a file is the one that the index lists. */
#ifndef BRAGG_STAGES_OUTPUT_LINEAGE_H
#define BRAGG_STAGES_OUTPUT_LINEAGE_H

#include "io/output/frame_index.h"
#include "output.h"

/* Returns true if the existing file at `path` is the one of the index entry.  SMV and CBF: compares
 * frame number and lineage in the header.  Raw files and nanoBragg's SMV: compares the checksum of
 * the pixels.  Always true for pictures, which contain neither, and for NXmx, see
 * nxmx_series_holds. */
bool output_is_entered(const struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct index_entry *entry,
                       const char *path);

#endif
