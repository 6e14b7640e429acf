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

/* What takes time between two frames, beside waiting until the next one is due. */
enum pace_part { PACE_INPUT, PACE_PACKING, PACE_CLIENTS, PACE_PARTS };

struct pace {
    double period_ns;               // 0: every frame is due at once
    uint64_t start_ns;              // when frame 0 went out, later by all delays that were left out
    uint64_t frames;                // that went out
    uint64_t late;                  // of these, more than half a period after they were due
    uint64_t first_ns, last_ns;     // when the first and the latest of them did
    uint64_t spent[PACE_PARTS];     // ns between these two
    uint64_t said_ns, said_frames;  // when the rate was looked at last
};

/* When the next frame may go out (monotonic). */
uint64_t pace_due(const struct pace *p);

/* A frame went out. */
void pace_out(struct pace *p, uint64_t now_ns);

/* So long went by with that, for the next frame. */
void pace_spend(struct pace *p, enum pace_part part, uint64_t ns);

/* Into `text`, what is to be said of the rate, as "rate: 3.1 of 10 frames/s, waiting for frames";
 * false: it is reached, within 5 % and two frames, or there is none. */
enum { PACE_TEXT = 96 };
bool pace_falls_short(const struct pace *p, char text[PACE_TEXT]);

/* Likewise now and then: after ten seconds, and every minute, for the time since it was asked. */
bool pace_warns(struct pace *p, uint64_t now_ns, char text[PACE_TEXT]);

#endif
