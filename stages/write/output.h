/* One output of bragg-write: a template, the format of the files that it names, and how they are
 * written and recognized. */
#ifndef BRAGG_STAGES_OUTPUT_H
#define BRAGG_STAGES_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/dials/dials.h"
#include "io/hdf5/spool.h"
#include "io/images/cbf.h"
#include "io/nxmx/nxmx_series.h"
#include "io/output/frame_index.h"
#include "io/output/output_file.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "stages/shared/preview.h"

/* --- formats, and files of reflections (reflections.c) ---------------------------------------
 *
 * A file of reflections is made in two steps: each frame is packed into bytes, and the packed
 * frames are joined to a file.
 */

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

/* Writes the file of a single frame, without names of images.  Peaks of a stream are the
 * reflections whose z is above `least_z`; 0: all. */
enum status reflections_write(FILE *out, enum format format, const struct experiment *x,
                              const struct frame *f, double least_z, const char *path,
                              struct error *e);

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
    double least_z;       // peaks of a stream have more z; 0: all reflections are peaks
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

/*
 * What the log says at the end of a run about the true reflections of all frames: their number,
 * their photons, and how many of them are visible or overlap a neighbour.
 */

enum {
    SUMMARY_OCTAVES = 256,
    SUMMARY_FINE = 32,  // bins for each factor of 2
    SUMMARY_BINS = SUMMARY_OCTAVES * SUMMARY_FINE
};

struct reflections_summary {
    uint64_t frames, count;       // number of frames with a reflection table; of reflections
    double least_z;               // reflections with more z are visible
    uint64_t visible;             // number of visible reflections
    double finest_A;              // smallest d spacing of these; 0: not known
    uint64_t overlapping;         // number of reflections that overlap another one of their frame
    double least, most;           // fewest and most photons of a reflection
    uint64_t bins[SUMMARY_BINS];  // number of reflections by the logarithm of their photons
};

/* Adds the reflections of a frame. */
void reflections_summary_add(struct reflections_summary *s, const struct frame *f);

/* Writes the line, if there are reflections. */
void reflections_summary_log(const struct reflections_summary *s);

/* --- an output (output.c) ---------------------------------------------------------------- */

struct output {
    struct template name;
    enum format format;
    int64_t edge_max;           // longest edge of a preview in pixels; 0: a picture of full size
    struct clipped clipped;     // pixels that --scale clipped, for the message at the end
    struct cbf_scratch cbf;     // buffers that CBF frames reuse
    struct preview shown;       // previews: what all frames share
    struct nxmx_series series;  // FORMAT_NXMX: files of many frames
    struct run_table run;       // reflections without a number: one file of the run
};

/* Settings that all outputs share. */
struct output_settings {
    bool log;  // pictures: logarithmic grey scale
    struct preview_settings preview;
    bool fsync;        // wait until files are on the disk
    bool overwrite;    // replace files that the index does not list
    double least_z;    // peaks are reflections with more z; 0: all reflections
    double scale;      // --scale in ADU per photon; 0: pixels are not converted
    char lineage[17];  // lineage of the files, 16 hexadecimal digits
    enum cbf_header cbf_header;
};

/* Parses a template.  FORMAT_AUTO: the suffix selects the format.
 * STATUS_USAGE: the name or its suffix is wrong.
 * STATUS_FAILED: the folder does not exist or cannot be written to. */
enum status output_parse(struct output *o, const char *text, enum format format, int64_t edge_max,
                         struct error *e);

/* Returns true for formats that store one image of one panel.  The caller assembles several panels
 * for them.  Other formats take the panels as they are. */
bool output_is_image(const struct output *o);

/* Returns true for a reflection table of the whole run, which the caller writes with
 * run_table_begin and so on.
 */
bool output_is_of_run(const struct output *o);

/* Puts the path of the file of frame `id` into path[TEMPLATE_PATH_MAX]. */
void output_path(const struct output *o, uint64_t id, char *path);

/* Begins the NXmx series, with the gain of --scale: see nxmx_series_begin. */
enum status output_begin_series(struct output *o, const struct output_settings *settings,
                                const struct experiment *x, const struct nxmx_settings *given,
                                struct error *e);

/* Writes a frame to `path`, completely or not at all.  If output_is_image, the frame must have one
 * panel.  FORMAT_NXMX: only compresses the image, see nxmx_series_pack.
 * STATUS_INPUT: the format cannot store the image.  STATUS_FAILED: any other failure. */
enum status output_write(struct output *o, const struct output_settings *settings,
                         const struct experiment *x, const struct frame *f, const char *path,
                         struct error *e);

/* Writes a frame like output_write, but leaves the file under its temporary name in *file.  The
 * caller then calls replace_commit or replace_abort, unless file->path is NULL (NXmx). */
enum status output_put(struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct frame *f, const char *path,
                       struct replace *file, struct error *e);

/* Frees everything that *o holds. */
void output_close(struct output *o);

/* Writes each derivative image as raw float32 (io/images/raw.h).  The path is that of the image
 * with `.NAME` before its suffix: a_0.rot_x.raw next to a_0.raw.  Each file is complete or missing.
 * If the image is a device, nothing is written.
 * `guarded`: existing files are not replaced, see io/output/output_file.h.
 * STATUS_FAILED: a file cannot be written. */
enum status output_planes_write(const struct planes *planes, const char *path, bool sync,
                                bool guarded, struct error *e);

/* Returns true if the existing file at `path` is the one of the index entry.  SMV and CBF: compares
 * frame number and lineage in the header.  Raw files and nanoBragg's SMV: compares the checksum of
 * the pixels.  Always true for pictures, which contain neither, and for NXmx, see
 * nxmx_series_holds. */
bool output_is_entered(const struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct index_entry *entry,
                       const char *path);

#endif
