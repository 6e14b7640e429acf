/* Lines that are drawn again and again at the same place of a terminal. */
#ifndef BRAGG_RUN_SCREEN_H
#define BRAGG_RUN_SCREEN_H

#include <stdio.h>

#include "run/display/view.h"

struct screen {
    FILE *out;
    int lines;  // that stand there now, the cursor behind the last
};

/* Clears what stands there, so that something else can be written. */
void screen_clear(struct screen *s);

/* Draws `heading` and, if the terminal has room, the rows of the view. */
void screen_draw(struct screen *s, const char *heading, const struct view *v);

/* Leaves what stands there, and goes on below. */
void screen_end(struct screen *s);

#endif
