/* Previews: reduced pictures of frames for people, with marks: the beam, resolution rings, a scale
 * bar, and circles at the reflections. */
#ifndef BRAGG_STAGES_PREVIEW_H
#define BRAGG_STAGES_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "io/detectors/assembly.h"
#include "io/images/picture.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* Resolution rings that a user chooses, --rings=3,2,1.5 of bragg-write and bragg-view. */

enum { RINGS_MAX = 16 };

struct rings {
    int count;              // 0: the user chose none, and the program chooses round values
    double d_A[RINGS_MAX];  // d spacings in angstrom, in the order that was typed
};

/* Parses the value of --rings: 1 to RINGS_MAX d spacings from 0.1 to 1000 angstrom, separated by
 * commas.  A unit of length may follow a number (1.5A, 0.15nm).  NULL: no rings, count 0.
 * STATUS_USAGE names the option, the value and what is allowed. */
enum status rings_parse(const char *text, struct rings *r, struct error *e);

/* Warns once for each ring that does not cross `panel`, which stands for the detector in pictures:
 * its d is below half the wavelength, or its cone misses the panel.  `x` has the beam. */
void rings_warn(const struct rings *r, const struct experiment *x, const struct panel *panel);

struct preview_settings {
    double least_z;  // circles are drawn only around reflections with more z; 0: all
    bool truth;      // draw circles at the reflections of the frame, see preview_spots
    bool large;      // draw letters and lines that stay legible if the picture is reduced
    enum picture_colors colors;  // colors of the gray values
    struct rings rings;          // rings that the user chose; count 0: rings at round values of d
};

/* Panels that lie on no common grid, projected from the sample onto one plane across the beam. */
struct preview_plane {
    struct panel panel;  // mask is owned: 1 where the plane shows a computed pixel
    struct image image;  // owned, float32
};

/* The data that all previews of an experiment share. Before the first call all members are 0. */
struct preview {
    const struct experiment *of;  // experiment for which *this was opened; NULL: not opened yet
    bool assembled;               // panels are on one grid and are put together; false: they are
                                  // projected
    struct assembly assembly;
    struct preview_plane plane;
};

/* Prepares for frames of *x, which must stay in memory.  Does nothing if that was done before.  The
 * longer edge of projected panels gets at most `edge_max` pixels.
 * STATUS_FAILED: out of memory.  STATUS_INPUT: no panel can be shown. */
enum status preview_open(struct preview *p, const struct experiment *x, int64_t edge_max,
                         struct error *e);

/* Returns the one panel that stands for the detector in pictures.  *p owns it. */
const struct panel *preview_panel(const struct preview *p);

/* Returns in *image the image of that panel for the image of a frame: `from` itself, or an image of
 * *p, which the next call overwrites. */
enum status preview_image(struct preview *p, const struct image *from, const struct image **image,
                          struct error *e);

/* Writes the picture of a frame as PNG to `out`; `path` is the name of the file in messages.
 * STATUS_FAILED: out of memory, or the file cannot be written. */
enum status preview_write(struct preview *p, const struct preview_settings *settings,
                          const struct picture_settings *look, const struct experiment *x,
                          const struct frame *f, FILE *out, const char *path, struct error *e);

void preview_free(struct preview *p);

/* A reflection of a frame, in pixels of the panel that preview_panel returns, from its outer
 * corner. */
struct preview_spot {
    double fast, slow;
    double photons;  // 0 for a predicted reflection, whose photons are not known
    int32_t lattice, hkl[3];
};

/* Lists the reflections of a frame of *x on the panel `shown`, `most` of them at most: those of the
 * table that the frame carries whose z is above least_z (0: all), else those that its recipe
 * predicts up to the farthest corner.  The caller frees *spots with mem_free. */
void preview_spots(const struct experiment *x, const struct panel *shown, const struct frame *f,
                   double least_z, size_t most, struct preview_spot **spots, size_t *count);

#endif
