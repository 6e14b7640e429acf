/* The progress bar on a terminal and what each stage does, as the source tells it. */
#ifndef BRAGG_RUN_BAR_H
#define BRAGG_RUN_BAR_H

#include <stdbool.h>
#include <stdint.h>

#include "run/screen.h"
#include "run/view.h"
#include "stage/watch.h"

struct bar {
    bool on;
    const char *folder;  // borrowed; of the run, where the source will listen
    bool connected, ended;
    struct watch watch;
    uint64_t asked_ns;
    struct view view;
    struct screen screen;
};

/* Draws only when `wanted` and stderr is a terminal. */
void bar_open(struct bar *b, bool wanted, const char *folder);

/* Asks the source now and then, takes its answers in and draws. */
void bar_turn(struct bar *b, uint64_t now_ns);

/* Clears what is drawn, so that something else can be written. */
void bar_clear(struct bar *b);

/* Takes the last answers in; what is drawn stays. */
void bar_close(struct bar *b);

#endif
