/* The progress bar on a terminal, with a table of the stages, from the status of the source. */
#ifndef BRAGG_RUN_BAR_H
#define BRAGG_RUN_BAR_H

#include <stdbool.h>

#include "run/display/screen.h"
#include "run/display/view.h"

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
