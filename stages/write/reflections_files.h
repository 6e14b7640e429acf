/* Formats of bragg-write, and the files of reflections.  A file of reflections is made in two
 * steps: each frame is packed into bytes, and the packed frames are joined to a file. */
#ifndef BRAGG_STAGES_REFLECTIONS_FILES_H
#define BRAGG_STAGES_REFLECTIONS_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/idset.h"
#include "io/dials/dials.h"
#include "io/hdf5/spool.h"
#include "io/output/frame_index.h"
#include "model/experiment.h"
#include "model/frame.h"

enum format {
    FORMAT_AUTO,
    FORMAT_SMV,
    FORMAT_CBF,
    FORMAT_RAW,
    FORMAT_PGM,
    FORMAT_PNG,
    FORMAT_NXMX,
    /* formats without images */
    FORMAT_REFLECTIONS,  // text, see io/output/truth.h
    FORMAT_STREAM,       // CrystFEL, see io/output/truth.h
    FORMAT_REFL,         // reflection table of DIALS, see io/dials/dials.h
    FORMAT_EXPT          // experiment list of DIALS, the second file of FORMAT_REFL
};

static inline bool format_is_reflections(enum format format)
{
    return format >= FORMAT_REFLECTIONS;
}

/* Writes the file of a single frame, without names of images. */
enum status reflections_write(FILE *out, enum format format, const struct experiment *x,
                              const struct frame *f, const char *path, struct error *e);

/*
 * Writes the reflections of a whole run to one file; for DIALS also the experiment list.
 *
 * Frames may arrive in any order, and are stored in a spool, PATH.part (io/hdf5/spool.h).  The
 * files are written at the end of the run.  After a crash the spool is still there, and the next
 * run with --resume continues it.
 */

/* Set by the caller before run_table_begin. */
struct run_table_settings {
    enum format format;               // not FORMAT_EXPT: `expt` names that file of FORMAT_REFL
    const char *path;                 // path of the table
    const char *expt;                 // path of the experiment list; NULL: none
    const struct experiment *x;       // must stay valid
    struct dials_images images;       // images that the experiment list names
    const struct frame_index *index;  // must stay valid
    const char *lineage;  // lineage of the frames; a spool of another lineage is in the way
    uint64_t run;         // number of the run
    bool resume;          // continue an existing spool
    bool overwrite;       // replace files that are in the way
    bool sync;            // wait until data are on the disk
};

struct run_table {
    struct run_table_settings settings;
    struct spool spool;
    struct id_set held;  // frames that the spool had when it was opened
    bool begun;          // the spool is open
    bool finished;       // an earlier run finished the table; it is not written again
    bool guarded;        // existing files are not replaced
};

/* Opens the spool.  STATUS_FAILED: a file that is not of these frames is in the way. */
enum status run_table_begin(struct run_table *t, const struct run_table_settings *settings,
                            struct error *e);

/* Returns true if the table or its spool had this frame when it was opened. */
bool run_table_has(const struct run_table *t, uint64_t id);

/* Stores a frame in the spool.  On return the frame survives a crash.
 * STATUS_FAILED: the frame cannot be stored, or the table is finished and does not have the frame.
 */
enum status run_table_add(struct run_table *t, const struct frame *f, struct error *e);

/* At the end of the run: writes the files, if this is the last process that has the spool open. */
enum status run_table_end(struct run_table *t, struct error *e);

/* Frees everything that *t holds.  Frames that are not in the table yet stay in the spool. */
void run_table_close(struct run_table *t);

#endif
