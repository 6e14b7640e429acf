/*
 * A rate that rises until the client falls behind.  From the first frame that a client took it
 * goes up evenly, and stays at its end.  The client is behind when frames that were due have
 * waited for it for three seconds, and have become more, or when one was refused for want of
 * room.
 */
#ifndef BRAGG_GATEWAY_RAMP_H
#define BRAGG_GATEWAY_RAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/pace.h"

enum ramp_limit {
    RAMP_RISING,   // not known yet
    RAMP_NONE,     // the client kept up to the end
    RAMP_CLIENT,   // it fell behind, or refused a frame
    RAMP_FRAMES,   // the stages before gave no more
    RAMP_PACKING,  // nor did the packing of messages
    RAMP_ENDED,    // there were no more frames
};

struct ramp {
    double from_hz, to_hz, seconds;
    uint64_t start_ns, offered, taken, dropped;
    uint64_t kept_up_ns, kept_up_taken;  // when at most one frame waited, last ...
    uint64_t spent[PACE_PARTS];          // ... and what took the time since then
    double halfway_lag;                  // frames that waited half of the three seconds later
    enum ramp_limit limit;
    double sustained_hz, asked_hz;  // once that is known: of the client, and at that time
};

/* Reads 'FROM:TO:SECONDS', Hz, Hz and s.  STATUS_USAGE. */
enum status ramp_parse(struct ramp *r, const char *text, struct error *e);

/* The first frame was taken: it begins. */
void ramp_start(struct ramp *r, uint64_t now_ns);

/* The rate that is asked for, Hz, and when frame number `offered` is due. */
double ramp_rate_hz(const struct ramp *r, uint64_t now_ns);
uint64_t ramp_due(const struct ramp *r);

/* A frame was offered, with what took time before that; `taken` and `dropped` of all so far.
 * True once, when the limit becomes known. */
bool ramp_turn(struct ramp *r, uint64_t now_ns, uint64_t taken, uint64_t dropped,
               const uint64_t spent[PACE_PARTS]);

/* There are no more frames: the limit is known. */
void ramp_end(struct ramp *r, uint64_t now_ns);

/* "client", as in JSON; and what that means, for people. */
const char *ramp_limit_name(enum ramp_limit limit);
const char *ramp_limit_text(enum ramp_limit limit);

#endif
