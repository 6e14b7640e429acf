/* The progress bar on a terminal and what each stage does, as the source tells it. */
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

/* Draws only when `wanted` and stderr is a terminal. */
void bar_open(struct bar *b, bool wanted);

/* Takes the next status over, and draws, a few times a second at most. */
void bar_show(struct bar *b, struct run_status *r, uint64_t now_ns);

/* Writes a line above what is drawn; once all frames are there, below it, and that stays. */
void bar_say(struct bar *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is drawn stays. */
void bar_close(struct bar *b);

#endif
