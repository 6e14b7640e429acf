/* Lines that are redrawn at the same place of a terminal. */
#ifndef BRAGG_RUN_SCREEN_H
#define BRAGG_RUN_SCREEN_H

#include <stdio.h>

#include "run/display/view.h"

struct screen {
    FILE *out;
    int lines;  // number of lines drawn now; the cursor is after the last one
};

/* Clears the lines, so that other text can be written. */
void screen_clear(struct screen *s);

/* Draws `heading` and, if the terminal is large enough, the rows of the view. */
void screen_draw(struct screen *s, const char *heading, const struct view *v);

/* Leaves the lines on the terminal and moves the cursor below them. */
void screen_end(struct screen *s);

#endif
