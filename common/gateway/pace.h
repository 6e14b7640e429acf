/*
 * A steady rate: slots at fixed distances on the monotonic clock.  A frame goes
 * out at its slot.  One that comes later goes out at once, and slots that passed
 * meanwhile stay empty: the rate neither drifts nor is made up for.
 */
#ifndef BRAGG_GATEWAY_PACE_H
#define BRAGG_GATEWAY_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    double period_ns;   // 0: every frame is due at once
    uint64_t start_ns;  // of slot 0
    uint64_t slot;      // of the next frame; 0 before the first, which starts the clock
    uint64_t late;      // frames that went out more than half a period after their slot
};

/* When the next frame may go out (monotonic). */
uint64_t pace_due(const struct pace *p);

/* A frame went out. */
void pace_out(struct pace *p, uint64_t now_ns);

#endif
