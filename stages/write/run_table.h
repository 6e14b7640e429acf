/*
 * The reflections of a whole run in one file, with that of its experiments beside it: frames come
 * in any order and are kept in a spool, PATH.part; at the end of the run they are put together.
 * What is killed leaves the spool, which is continued.
 */
#ifndef BRAGG_STAGES_RUN_TABLE_H
#define BRAGG_STAGES_RUN_TABLE_H

#include "base/idset.h"
#include "io/hdf5/spool.h"
#include "io/output/frame_index.h"
#include "reflections_files.h"

/* Set by the caller before run_table_begin. */
struct run_table_settings {
    enum format format;          // no FORMAT_EXPT: that is the other file of FORMAT_REFL
    const char *path, *expt;     // NULL: no such
    const struct experiment *x;  // these two must last
    struct dials_images images;  // that go with it
    const struct frame_index *index;
    const char *lineage;
    uint64_t run;
    bool resume, overwrite, sync;
};

struct run_table {
    struct run_table_settings settings;
    struct spool spool;
    struct id_set held;  // frames, when it began
    bool begun;          // the spool is open
    bool finished;       // it was whole before, and stays
    bool guarded;        // the files do not replace others
};

/* STATUS_FAILED when a file is in the way that is not of these frames. */
enum status run_table_begin(struct run_table *t, const struct run_table_settings *settings,
                            struct error *e);

/* Whether it had a frame when it began. */
bool run_table_has(const struct run_table *t, uint64_t id);

/* Takes a frame, which is kept when this returns.  STATUS_FAILED when it cannot be, and for a frame
 * that a table lacks which is finished. */
enum status run_table_add(struct run_table *t, const struct frame *f, struct error *e);

/* At the end of the run, when this is the last process at work on it: writes the files. */
enum status run_table_end(struct run_table *t, struct error *e);

/* Frees; frames that are in no file yet stay in the spool. */
void run_table_close(struct run_table *t);

#endif
