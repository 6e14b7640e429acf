/*
 * A steady rate.  Frame k is due k periods after the first frame on the monotonic clock, so the
 * rate does not drift.  A late frame leaves at once, and the frames after it catch up.  They catch
 * up a delay of one second at most, or of one period if that is longer: a burst after a long pause
 * helps no client.
 */
#ifndef BRAGG_GATEWAY_PACE_H
#define BRAGG_GATEWAY_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* The parts of the time between two frames, without the wait until the frame is due. */
enum pace_part { PACE_INPUT, PACE_PACKING, PACE_CLIENTS, PACE_PARTS };

struct pace {
    double period_ns;               // 0: every frame is due at once
    uint64_t start_ns;              // when frame 0 left, plus all delays that are not caught up
    uint64_t frames;                // that left
    uint64_t late;                  // frames that left more than half a period after they were due
    uint64_t first_ns, last_ns;     // when the first and the latest frame left
    uint64_t spent[PACE_PARTS];     // ns between first_ns and last_ns
    uint64_t said_ns, said_frames;  // when pace_warns last checked the rate, and frames until then
};

/* When the next frame may leave, in ns of the monotonic clock. */
uint64_t pace_due(const struct pace *p);

/* Records that a frame left. */
void pace_out(struct pace *p, uint64_t now_ns);

/* Records that the next frame took `ns` for this part. */
void pace_spend(struct pace *p, enum pace_part part, uint64_t ns);

/* Whether the rate is not reached.  `text` then gets a line such as "rate: 3.1 of 10 frames/s,
 * waiting for frames".  A shortfall of 5 % or of two frames is ignored.  False without a rate. */
enum { PACE_TEXT = 96 };
bool pace_falls_short(const struct pace *p, char text[PACE_TEXT]);

/* As pace_falls_short, for the time since the last check.  The first check is after ten seconds,
 * and one follows every minute; all other calls return false. */
bool pace_warns(struct pace *p, uint64_t now_ns, char text[PACE_TEXT]);

#endif
