/*
 * Stores the frame that was packed last, in a thread of its own, while the series packs the next
 * one.
 *
 * The thread locks the spool, appends the record, and releases the spool.  It uses only the spool
 * and the sets of its open file; meanwhile nothing else may use them.  Everything else about the
 * frame, such as completing its data file, is for the series (nxmx_series_settle).
 */
#ifndef BRAGG_IO_NXMX_NXMX_LATE_H
#define BRAGG_IO_NXMX_NXMX_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errand.h"
#include "base/error.h"
#include "io/nxmx/nxmx_spool.h"

struct nxmx_late {
    struct errand errand;
    struct nxmx_open_file *file;  // whose spool gets the record; NULL: no frame is being stored
    struct nxmx_parcel parcel;
    bool sync;          // wait for the disk
    uint64_t per_file;  // frames of a complete data file
    /* the result */
    bool gone;           // the spool was removed: the record is not stored
    bool due;            // the data file is complete: the spool is still held
    enum status status;  // of the record
    struct error error;
};

/* Begins to store l->parcel in the spool of l->file.  Copies images that came packed, so that their
 * owner may free them.  A small record is stored before the function returns, because a thread
 * would take longer. */
void nxmx_late_begin(struct nxmx_late *l);

/* Waits for the result. */
void nxmx_late_wait(struct nxmx_late *l);

/* Stores the record again, after nxmx_late_wait, in this thread: its spool was `gone`, and l->file
 * is another one. */
void nxmx_late_repeat(struct nxmx_late *l);

/* Waits for the result, and frees *l.  Keeps l->file. */
void nxmx_late_close(struct nxmx_late *l);

#endif
