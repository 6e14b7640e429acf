/*
 * Lines that are redrawn at the same place of a terminal: the screen of bragg-top, and the progress
 * bar of bragg-run with a table of the stages, from the status of the source.
 */
#ifndef BRAGG_RUN_TERMINAL_H
#define BRAGG_RUN_TERMINAL_H

#include <stdbool.h>
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

/* --- the progress bar ---------------------------------------------------------- */

struct bar {
    bool on;
    uint64_t shown_ns;  // when it was drawn last
    struct view view;
    struct screen screen;
};

/* Opens the bar.  It draws only if `wanted` is true and stderr is a terminal. */
void bar_open(struct bar *b, bool wanted);

/* Takes ownership of the content of the next status, and draws at most a few times per second. */
void bar_show(struct bar *b, struct run_status *r, uint64_t now_ns);

/* Prints a line above the bar.  After the last frame, prints below the bar, which then remains. */
void bar_say(struct bar *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Closes the bar; the last drawing remains on the terminal. */
void bar_close(struct bar *b);

#endif
