/*
 * Makes pictures for people: dark spots on white, as beamline viewers show them.  A picture is
 * reduced by a whole factor, and has *inks*, which are colours over the gray values, for masked
 * and saturated pixels and for drawings.  Pictures are not suitable for measurements.
 */
#ifndef BRAGG_IO_PICTURE_H
#define BRAGG_IO_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

/* The inks of a picture.  Each has its own colour and covers the gray values. */
enum ink {
    INK_NONE,
    INK_PAPER,      // margin of letters and lines, in the colour of the background
    INK_MASKED,     // no pixel here is computed: masked, in a gap, outside of the ROI
    INK_SATURATED,  // a pixel has the largest ADU
    INK_RING,       // resolution rings and their d
    INK_BEAM,       // the beam, and the scale bar
    INK_TRUTH,      // reflections, of the first lattice if there are several
    INK_LATTICES = INK_TRUTH + 6,  // after the inks of further lattices
};

/* Colours of gray values: dark on white, white on black, or white over yellow, red and blue to
 * black. */
enum picture_colors { COLORS_INVERTED, COLORS_GRAY, COLORS_HEAT };

struct picture {
    int64_t width, height;  // pixels
    int64_t factor;         // edge of the block of image pixels that is one pixel of the picture
    int64_t zoom;           // edge of the square that shows a block
    enum picture_colors colors;
    uint8_t *gray;  // owned; height x width, 255 = white
    uint8_t *ink;   // owned; height x width, enum ink; NULL: no ink
    bool lattices;  // inks after INK_TRUTH are used, at the cost of gray values
};

struct picture_settings {
    int64_t edge_max;   // longest edge, 0: no reduction
    double saturation;  // largest value of a pixel, 0: none
    bool logarithmic;
};

/* Makes the picture of an image of a panel.  A block of pixels becomes one pixel of the picture.
 * It shows the largest pixel of the block, so that spots stay visible.  A block has INK_SATURATED
 * if its largest pixel is saturated, and INK_MASKED if none of its pixels is computed.
 *
 * White is the 1st percentile of the blocks that are not masked.  On the logarithmic scale, black
 * is the maximum.  On the linear scale, black is the larger of the 99.5th percentile and the
 * median plus ten times the spread, which is half the distance between the 16th and 84th
 * percentiles.  If both are not above white, black is the median of all values above white.
 *
 * *p is overwritten; picture_free frees it. */
void picture_make(struct picture *p, const struct image *image, const struct panel *panel,
                  const struct picture_settings *settings);

void picture_free(struct picture *p);

/* Write a picture as PNG or as binary PGM.  PNG is gray, or has a palette if the picture has inks
 * or other colours.  PGM has only the gray values, without inks.  STATUS_FAILED, with `path`:
 * writing failed. */
enum status picture_write_png(FILE *out, const struct picture *p, const char *path,
                              struct error *e);
enum status picture_write_pgm(FILE *out, const struct picture *p, const char *path,
                              struct error *e);

/* --- lines, circles and letters in ink; parts outside of the picture are left out --- */

/* Size of a letter with the gap after it, and height of the ring of the angstrom sign above the
 * other letters, in dots. */
enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 7, LETTER_ABOVE = 4 };

/* Enlarges a small picture: each pixel becomes a square of `zoom` x `zoom` pixels. */
void picture_enlarge(struct picture *p, int64_t zoom);

/* Adds an empty layer of ink to the picture if the picture has none.  The functions below need
 * the layer. */
void picture_ink(struct picture *p);

/* Draws a line from the pixel (x0, y0) to the pixel (x1, y1), `width` pixels wide. */
void picture_line(struct picture *p, int64_t x0, int64_t y0, int64_t x1, int64_t y1, int64_t width,
                  enum ink ink);

/* Draws a circle with the centre (x, y), one pixel wide.  Pixels that are dark keep their gray
 * value, so that a circle does not hide a spot. */
void picture_circle(struct picture *p, int64_t x, int64_t y, int64_t radius, enum ink ink);

/* Draws `text`, which has the characters 0-9 . m c u, spaces, and A, which is drawn as the angstrom
 * sign.  Each letter has a margin of one pixel in INK_PAPER.  (x, y) is the upper left corner of
 * the first letter, without the ring of the angstrom sign; a dot of a letter has `scale` pixels. */
void picture_text(struct picture *p, int64_t x, int64_t y, const char *text, int64_t scale,
                  enum ink ink);

/* --- loops: picture_loop.c, compiled once per instruction set ---------------- */

struct picture_kernels {
    /* Sets reduced[p->height x p->width] to the largest finite pixel of each block, or to 0 if
     * the block has none.  `row` has room for one row of the image in its pixel type. */
    void (*reduce)(const struct picture *p, const struct image *image, int64_t fast, int64_t slow,
                   void *row, float *reduced);
    /* Converts values to gray values, linearly from 255 for `white` to 0 for white + range. */
    void (*shade)(const float *values, size_t count, double white, double range, uint8_t *gray);
};

extern const struct picture_kernels picture_baseline, picture_avx2, picture_avx512;

#endif
