/* Detector, beam and crystals of image files, by what these say of them. */
#ifndef BRAGG_STAGES_REPLAY_SETUP_H
#define BRAGG_STAGES_REPLAY_SETUP_H

#include "base/error.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"

/* Of an SMV or mini-CBF file: one panel across the beam; its pixels below 0 are masked.  What the
 * header does not say is said on stderr.  STATUS_INPUT. */
enum status replay_setup_header(const char *path, struct experiment *x, struct error *e);

/* Of an NXmx file; crystals by the lattices of *rows, none without.  axes[9]: rows are NeXus' axes
 * in the lab.  STATUS_INPUT. */
enum status replay_setup_nxmx(const char *path, const struct nxmx_rows *rows, struct experiment *x,
                              double axes[9], struct error *e);

#endif
