/* Lines, circles and letters in ink over a picture.  What lies outside of it is left out. */
#ifndef BRAGG_IO_PICTURE_DRAW_H
#define BRAGG_IO_PICTURE_DRAW_H

#include "io/images/picture.h"

/* Size of a letter with the gap behind it, in pixels of the picture. */
enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 7 };

/* Makes a square of `zoom` x `zoom` pixels of each, for small pictures. */
enum status picture_enlarge(struct picture *p, int64_t zoom, struct error *e);

/* Gives the picture an empty layer of ink where it has none. */
enum status picture_ink(struct picture *p, struct error *e);

/* From pixel to pixel, `width` wide. */
void picture_line(struct picture *p, int64_t x0, int64_t y0, int64_t x1, int64_t y1, int64_t width,
                  enum ink ink);

/* One pixel thin. */
void picture_circle(struct picture *p, int64_t x, int64_t y, int64_t radius, enum ink ink);

/* `text` of 0-9 . m c u and A, which is drawn as the angstrom's letter, on paper one pixel wider
 * than the letters; x, y is the left upper corner of the first.  `scale`: pixels to a dot. */
void picture_text(struct picture *p, int64_t x, int64_t y, const char *text, int64_t scale,
                  enum ink ink);

#endif
