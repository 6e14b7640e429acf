/*
 * Pictures for people: dark spots on white as beamline viewers show them, reduced by a whole
 * factor, with some inks of colour over the gray.  Not for measuring.
 */
#ifndef BRAGG_IO_PICTURE_H
#define BRAGG_IO_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

/* What lies over the gray, each in a colour of its own. */
enum ink {
    INK_NONE,
    INK_PAPER,      // white about letters and lines
    INK_MASKED,     // no pixel here is computed: masked, in a gap, outside of the ROI
    INK_SATURATED,  // a pixel has the largest ADU
    INK_RING,       // resolution rings and their d
    INK_BEAM,       // the beam, and the scale bar
    INK_TRUTH,      // predicted reflections
    INKS
};

/* Colours of gray values: dark on white, white on black, or white over yellow, red and blue to
 * black. */
enum picture_colors { COLORS_INVERTED, COLORS_GRAY, COLORS_HEAT };

struct picture {
    int64_t width, height;  // pixels
    int64_t factor;         // edge of the block of pixels that became one
    int64_t zoom;           // edge of the square that a block became
    enum picture_colors colors;
    uint8_t *gray;  // owned; height x width, 255 = white
    uint8_t *ink;   // owned; likewise, enum ink; NULL: none anywhere
};

struct picture_settings {
    int64_t edge_max;   // longest edge, 0: no reduction
    double saturation;  // largest value of a pixel, 0: none
    bool logarithmic;
};

/* Makes the picture of an image of a panel.  A block shows its largest pixel, so that spots
 * stay, in INK_SATURATED where that is saturated; one without a computed pixel is INK_MASKED.
 * White is the 1st percentile of the rest.  Black, on the linear scale, is the
 * larger of the 99.5th percentile and the median plus ten times the spread
 * (half the distance of the 16th and 84th percentiles), or, where these are not above white,
 * the median of all that is; on the `logarithmic` scale it is the maximum.  *p is overwritten;
 * picture_free frees it. */
enum status picture_make(struct picture *p, const struct image *image, const struct panel *panel,
                         const struct picture_settings *settings, struct error *e);

void picture_free(struct picture *p);

/* Writes PNG (libpng; gray, or a palette where there are inks or other colours) or binary PGM,
 * which knows gray only; STATUS_FAILED with `path` when that fails. */
enum status picture_write_png(FILE *out, const struct picture *p, const char *path,
                              struct error *e);
enum status picture_write_pgm(FILE *out, const struct picture *p, const char *path,
                              struct error *e);

/* --- lines, circles and letters in ink; parts outside of the picture are left out --- */

/* Size of a letter with the gap after it, and height of the ring of the angstrom sign above the
 * other letters, in dots. */
enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 7, LETTER_ABOVE = 4 };

/* Makes a square of `zoom` x `zoom` pixels of each, for small pictures. */
enum status picture_enlarge(struct picture *p, int64_t zoom, struct error *e);

/* Gives the picture an empty layer of ink where it has none. */
enum status picture_ink(struct picture *p, struct error *e);

/* From pixel to pixel, `width` wide. */
void picture_line(struct picture *p, int64_t x0, int64_t y0, int64_t x1, int64_t y1, int64_t width,
                  enum ink ink);

/* One pixel thin. */
void picture_circle(struct picture *p, int64_t x, int64_t y, int64_t radius, enum ink ink);

/* Draws `text`, which has the characters 0-9 . m c u, spaces, and A, which is drawn as the angstrom
 * sign.  Each letter has a margin of one pixel in INK_PAPER.  (x, y) is the upper left corner of
 * the first letter, without the ring of the angstrom sign; a dot of a letter has `scale` pixels. */
void picture_text(struct picture *p, int64_t x, int64_t y, const char *text, int64_t scale,
                  enum ink ink);

/* --- loops: picture_loop.c, compiled once per instruction set ---------------- */

struct picture_kernels {
    /* reduced[p->height x p->width] = largest finite pixel of each block, 0 if it has none;
     * `row` has room for one row of the image in its type. */
    void (*reduce)(const struct picture *p, const struct image *image, int64_t fast, int64_t slow,
                   void *row, float *reduced);
    /* Gray from 255 for `white` down to 0 for white + range, linearly. */
    void (*shade)(const float *values, size_t count, double white, double range, uint8_t *gray);
};

extern const struct picture_kernels picture_baseline, picture_avx2, picture_avx512;

#endif
