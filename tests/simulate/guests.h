/* Who has no place in the pipeline and speaks to it: a stranger that says whatever comes to its
 * mind, and a watcher that asks how far the run is. */
#ifndef BRAGG_SIMULATE_GUESTS_H
#define BRAGG_SIMULATE_GUESTS_H

#include "world.h"

/* They come, if the plan has them. */
void guests_begin(void);

/* One of them has its turn. */
void guests_go(unsigned which);

/* True when a program is the stranger's. */
bool guests_is_stranger(const char *stage);

#endif
