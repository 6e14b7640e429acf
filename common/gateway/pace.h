/*
 * A steady rate: frame k is due at k periods after the first, on the monotonic
 * clock, so that nothing drifts.  A frame that comes later goes out at once, and
 * those after it catch up, but for a second of delay at most (or one period): what
 * goes beyond is left out, as there is no use in a burst after a long pause.
 */
#ifndef BRAGG_GATEWAY_PACE_H
#define BRAGG_GATEWAY_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    double period_ns;   // 0: every frame is due at once
    uint64_t start_ns;  // when frame 0 went out, later by all delays that were left out
    uint64_t frames;    // that went out
    uint64_t late;      // of these, more than half a period after they were due
};

/* When the next frame may go out (monotonic). */
uint64_t pace_due(const struct pace *p);

/* A frame went out. */
void pace_out(struct pace *p, uint64_t now_ns);

#endif
