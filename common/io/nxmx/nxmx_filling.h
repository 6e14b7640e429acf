/*
 * Files of a series of NXmx files that are being filled: what their frames bring is kept in their
 * spools, which all processes of the run share.
 */
#ifndef BRAGG_IO_NXMX_FILLING_H
#define BRAGG_IO_NXMX_FILLING_H

#include "io/hdf5/spool.h"
#include "io/nxmx/nxmx_kept.h"
#include "io/nxmx/nxmx_series.h"

struct nxmx_filling {
    uint64_t file;  // its number
    struct spool spool;
    size_t seen;         // so many of its entries are in the next
    struct id_set kept;  // frames in the spool
    struct id_set held;  // these, and those that stay in the file that is there
    uint64_t bytes;      // that this process has put in
};

/* Opens the spool of a file, as the settings of the series say: see spool_open. */
enum status nxmx_spool_open(const struct nxmx_series *s, uint64_t file, struct spool *spool,
                            struct error *e);

/* The spool of a file, which this process holds then, until nxmx_filling_release or it is closed or
 * finished.  Another one may be closed for it.  STATUS_FAILED when that cannot be. */
enum status nxmx_filling_hold(struct nxmx_series *s, uint64_t file, struct nxmx_filling **g,
                              struct error *e);
void nxmx_filling_release(struct nxmx_filling *g);

/* Appends the frame that was packed to it, while it is held. */
enum status nxmx_filling_add(struct nxmx_series *s, struct nxmx_filling *g,
                             const struct nxmx_note *note, const struct reflection_table *t,
                             struct error *e);

/* Leaves the spool to others, or removes it. */
void nxmx_filling_close(struct nxmx_series *s, struct nxmx_filling *g);
void nxmx_filling_remove(struct nxmx_series *s, struct nxmx_filling *g);

#endif
