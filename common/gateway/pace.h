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

#include "base/error.h"

/* The parts of the time between two frames, without the wait until the frame is due. */
enum pace_part { PACE_INPUT, PACE_PACKING, PACE_CLIENTS, PACE_FAULTS, PACE_PARTS };

struct pace {
    double period_ns;               // 0: every frame is due at once
    uint64_t start_ns;              // time of frame 0, plus all delays that are not caught up
    uint64_t frames;                // number of frames that left
    uint64_t late;                  // number of frames that left more than half a period late
    uint64_t first_ns, last_ns;     // times of the first and the latest frame
    uint64_t spent[PACE_PARTS];     // ns of each part between first_ns and last_ns
    uint64_t said_ns, said_frames;  // time of the latest check by pace_warns, and `frames` then
};

/* Returns the time at which the next frame may leave, in ns of the monotonic clock. */
uint64_t pace_due(const struct pace *p);

/* Records that a frame left. */
void pace_out(struct pace *p, uint64_t now_ns);

/* Records that the next frame took `ns` for this part. */
void pace_spend(struct pace *p, enum pace_part part, uint64_t ns);

/* Returns true if the rate so far is lower than the requested rate.  `text` then gets a line
 * such as "rate: 3.1 of 10 frames/s, waiting for frames".  A delay of up to 5 %, or of up to two
 * periods, is ignored.  Returns false if no rate was requested. */
enum { PACE_TEXT = 96 };
bool pace_falls_short(const struct pace *p, char text[PACE_TEXT]);

/* Returns the result of pace_falls_short for the time since the last check.  The first check is
 * ten seconds after the first frame, and further checks follow once per minute.  All other calls
 * return false. */
bool pace_warns(struct pace *p, uint64_t now_ns, char text[PACE_TEXT]);

/*
 * A frame rate that rises until the client falls behind.  The rate rises linearly from the first
 * frame that a client took, and then stays at its final value.  The client is behind when due
 * frames have waited for it for three seconds and their number has grown, or when a frame was
 * dropped because there was no room.
 */

/* What limited the rate of a ramp. */
enum ramp_limit {
    RAMP_RISING,   // not known yet
    RAMP_NONE,     // nothing: the client kept up to the end
    RAMP_CLIENT,   // the client fell behind, or a frame was dropped
    RAMP_FRAMES,   // the previous stages sent too few frames
    RAMP_PACKING,  // the packing of messages was too slow
    RAMP_FAULTS,   // stalls and cuts of --inject held frames back
    RAMP_ENDED,    // there were no more frames
};

struct ramp {
    double from_hz, to_hz, seconds;              // the value of --ramp
    uint64_t start_ns, offered, taken, dropped;  // begin of the ramp; numbers of frames so far
    uint64_t kept_up_ns, kept_up_taken;  // latest time at which at most one frame waited, and the
                                         // number of taken frames then
    uint64_t spent[PACE_PARTS];          // ns of each part since kept_up_ns
    double halfway_lag;                  // number of waiting frames 1.5 s after kept_up_ns; 0: not
                                         // known yet
    enum ramp_limit limit;
    double sustained_hz, asked_hz;  // once the limit is known: the rate that clients sustained, and
                                    // the rate of the ramp at that time
};

/* Reads 'FROM:TO:SECONDS' in Hz, Hz and s.  STATUS_USAGE for any other text. */
enum status ramp_parse(struct ramp *r, const char *text, struct error *e);

/* Begins the ramp, when the first frame was taken. */
void ramp_start(struct ramp *r, uint64_t now_ns);

/* Return the current rate of the ramp in Hz, and the time in ns at which frame number `offered` is
 * due. */
double ramp_rate_hz(const struct ramp *r, uint64_t now_ns);
uint64_t ramp_due(const struct ramp *r);

/* Records that a frame was offered.  `spent`: the time in ns that each part took for this frame.
 * `taken`, `dropped`: numbers of all frames so far; frames that --inject drops are taken.  Returns
 * true once, when the limit becomes known. */
bool ramp_turn(struct ramp *r, uint64_t now_ns, uint64_t taken, uint64_t dropped,
               const uint64_t spent[PACE_PARTS]);

/* Ends the ramp, because there are no more frames.  If the limit was not known, it is
 * RAMP_ENDED. */
void ramp_end(struct ramp *r, uint64_t now_ns);

/* Return the name of a limit for JSON, such as "client", and its meaning as text for the user.
 * Both texts are static. */
const char *ramp_limit_name(enum ramp_limit limit);
const char *ramp_limit_text(enum ramp_limit limit);

#endif
