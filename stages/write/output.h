/* One output of bragg-write: a template, the format of the files that it names, and how they are
 * written and recognized. */
#ifndef BRAGG_STAGES_OUTPUT_H
#define BRAGG_STAGES_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/images/cbf.h"
#include "io/nxmx/nxmx_series.h"
#include "io/output/frame_index.h"
#include "io/output/replace.h"
#include "io/output/template.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "reflections_files.h"
#include "stages/shared/preview.h"

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
 * `guarded`: existing files are not replaced, see io/output/replace.h.
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
