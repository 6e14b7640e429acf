/* One kind of file that bragg-write makes of each frame: its name and format. */
#ifndef BRAGG_STAGES_OUTPUT_H
#define BRAGG_STAGES_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clipped.h"
#include "base/error.h"
#include "io/images/cbf.h"
#include "io/nxmx/nxmx_series.h"
#include "io/output/replace.h"
#include "io/output/template.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "run_table.h"
#include "stages/shared/preview.h"

struct output {
    struct template name;
    enum format format;
    int64_t edge_max;        // pictures: longest edge in pixels, 0 = full size; else of a preview
    struct clipped clipped;  // what --scale had to cut
    struct cbf_scratch cbf;
    struct preview shown;       // of previews
    struct nxmx_series series;  // NXmx: many frames a file
    struct run_table run;       // reflections without a number: one file for the run
};

/* What holds for all outputs of a program. */
struct output_settings {
    bool log;  // pictures: logarithmic scale
    struct preview_settings preview;
    bool fsync;        // wait for the disk
    bool overwrite;    // files that are not of this run are replaced
    double scale;      // ADU per photon
    char lineage[17];  // of the files
    enum cbf_header cbf_header;
};

/* Takes a template; FORMAT_AUTO goes by its suffix.  The folder must be there and
 * writable (STATUS_FAILED), name and format must be clear (STATUS_USAGE). */
enum status output_parse(struct output *o, const char *text, enum format format, int64_t edge_max,
                         struct error *e);

/* Whether it holds one image, of one panel; else it takes panels as they are. */
bool output_is_image(const struct output *o);

/* Whether it is one file, of reflections, for all frames: see run_table.h, with which the caller
 * writes it. */
bool output_is_of_run(const struct output *o);

/* Puts the path of the file of frame `id` into path[TEMPLATE_PATH_MAX]. */
void output_path(const struct output *o, uint64_t id, char *path);

/* Begins a series: see nxmx_series_begin. */
enum status output_begin_series(struct output *o, const struct output_settings *settings,
                                const struct experiment *x, const struct nxmx_settings *given,
                                struct error *e);

/* Writes the image of a frame, of one panel where output_is_image, to `path`, complete or not at
 * all; NXmx only packs it: see nxmx_series_pack.  STATUS_INPUT when the format cannot hold it,
 * STATUS_FAILED when a step fails. */
enum status output_write(struct output *o, const struct output_settings *settings,
                         const struct experiment *x, const struct frame *f, const char *path,
                         struct error *e);

/* Likewise without giving the file its name: followed by replace_commit or replace_abort, unless
 * its path is NULL, for NXmx. */
enum status output_put(struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct frame *f, const char *path,
                       struct replace *file, struct error *e);

/* Frees what it holds between frames. */
void output_close(struct output *o);

#endif
