/* The progress bar on a terminal, fed by what a sink says on its own. */
#ifndef BRAGG_RUN_BAR_H
#define BRAGG_RUN_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct bar {
    bool on, shown;
    uint64_t frames, total;
    double rate;  // frames/s
};

/* Draws only when `wanted` and stderr is a terminal. */
void bar_open(struct bar *b, bool wanted);

/* True for "PROGRAM: frame N of M, R/s", which is taken in and drawn. */
bool bar_take(struct bar *b, const char *text);

/* Clears the line, so that something else can be written; ends it. */
void bar_clear(struct bar *b);
void bar_end(struct bar *b);

#endif
