/* Files of a series get their names. */
#ifndef BRAGG_IO_NXMX_FINISH_H
#define BRAGG_IO_NXMX_FINISH_H

#include "io/nxmx/nxmx_filling.h"
#include "io/nxmx/nxmx_series.h"

/* Takes what `kind` says of images, of frame `id`; STATUS_INPUT when others differ. */
enum status nxmx_series_settle(struct nxmx_series *s, const struct nxmx_kind *kind, uint64_t id,
                               struct error *e);

/* Writes the file of a spool that this process holds, with the frames of the file that is there,
 * and the master, enters the frames in the index and removes the spool; *g is gone then.  When a
 * step fails the spool is as it was, and released. */
enum status nxmx_series_finish(struct nxmx_series *s, struct nxmx_filling *g, struct error *e);

#endif
