/* Makes detector, beam and crystals of an experiment from image files. */
#ifndef BRAGG_STAGES_REPLAY_SETUP_H
#define BRAGG_STAGES_REPLAY_SETUP_H

#include "base/error.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"

/* From an SMV or mini-CBF file: one panel perpendicular to the beam, with pixels below 0 masked.
 * Warns about missing entries.  STATUS_INPUT: the file is invalid. */
enum status replay_setup_header(const char *path, struct experiment *x, struct error *e);

/* From an NXmx file.  The crystals come from the lattices of *rows, if there are any.  Sets axes[9]
 * to the axes of NeXus in the laboratory frame, one per row.  STATUS_INPUT: the file is invalid. */
enum status replay_setup_nxmx(const char *path, const struct nxmx_rows *rows, struct experiment *x,
                              double axes[9], struct error *e);

#endif
