/* Formats of bragg-write, and those of reflections: each frame is packed, and files are put
 * together of what was packed. */
#ifndef BRAGG_STAGES_REFLECTIONS_FILES_H
#define BRAGG_STAGES_REFLECTIONS_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "io/dials/dials.h"
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
    FORMAT_REFLECTIONS,  // no image: see io/output/reflections_text.h
    FORMAT_STREAM,       // nor here: see io/output/reflections_stream.h
    FORMAT_REFL,         // see io/dials/dials.h
    FORMAT_EXPT
};

static inline bool format_is_reflections(enum format format)
{
    return format >= FORMAT_REFLECTIONS;
}

/* What a file of that format needs of a frame: *bytes, which the caller frees with mem_free; the
 * same for FORMAT_REFL and FORMAT_EXPT.  STATUS_INPUT for a frame without reflections and what the
 * format cannot hold; errors name `path`. */
enum status reflections_pack(enum format format, const struct experiment *x, const struct frame *f,
                             const char *path, void **bytes, size_t *size, struct error *e);

/* The file of the frames that were packed; what DIALS reads names their images.  STATUS_FAILED when
 * `out` cannot be written. */
enum status reflections_join(FILE *out, enum format format, const struct experiment *x,
                             struct dials_images images, const struct records *all,
                             const char *path, struct error *e);

/* The file of one frame: both in one, without images. */
enum status reflections_write(FILE *out, enum format format, const struct experiment *x,
                              const struct frame *f, const char *path, struct error *e);

#endif
