/* Formats of bragg-write, and the files of reflections.  A file of reflections is made in two
 * steps: each frame is packed into bytes, and the packed frames are joined to a file. */
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

/* Packs the reflections of a frame into *bytes, which the caller frees with mem_free.  FORMAT_REFL
 * and FORMAT_EXPT need the same bytes.  Error messages name `path`.
 * STATUS_INPUT: the frame has no reflections, or the format cannot store them. */
enum status reflections_pack(enum format format, const struct experiment *x, const struct frame *f,
                             const char *path, void **bytes, size_t *size, struct error *e);

/* Writes the file of all packed frames.  Files for DIALS name the `images` of the frames.
 * STATUS_FAILED: `out` cannot be written. */
enum status reflections_join(FILE *out, enum format format, const struct experiment *x,
                             struct dials_images images, const struct records *all,
                             const char *path, struct error *e);

/* Writes the file of a single frame, without names of images. */
enum status reflections_write(FILE *out, enum format format, const struct experiment *x,
                              const struct frame *f, const char *path, struct error *e);

#endif
