/*
 * How long a frame and the whole run take, from the heartbeats of processes: a process that counts
 * finished rows reports the expected time of a frame long before its first frame is finished.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"

static const double SLOW_S = 5.0;  // frames that take longer are reported

static bool has_frames(const struct peer *p)
{
    return p->standing == PEER_IN && p->hello.gives;
}

static const struct peer *find_slowest(const struct stream *s)
{
    const struct peer *slowest = NULL;
    for (const struct peer *p = s->roster.first; p; p = p->next)
        if (has_frames(p) && p->frame_ns && (!slowest || p->frame_ns > slowest->frame_ns))
            slowest = p;
    return slowest;
}

struct forecast forecast_make(const struct stream *s)
{
    struct forecast f = {.slowest = s->open_ns ? find_slowest(s) : NULL};
    double processes = 0.0;
    if (!f.slowest)
        return f;
    f.frame_s = (double)f.slowest->frame_ns / 1e9;
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        if (!has_frames(p) || strcmp(p->hello.group, f.slowest->hello.group) != 0)
            continue;
        processes++;
        f.per_s += 1e9 / (double)(p->frame_ns ? p->frame_ns : f.slowest->frame_ns);
        f.part += p->all_rows && p->held ? (double)p->rows / (double)p->all_rows : 0.0;
    }
    const double left = (double)(s->window.total - window_count_done(&s->window));
    const double rounds_s = f.frame_s * fmax(1.0 - f.part / processes, 0.0);
    if (left > 0.0)
        f.left_s = fmax(fmax(left * s->run->outlook.computed - f.part, 0.0) / f.per_s, rounds_s);
    return f;
}

void forecast_say(struct stream *s)
{
    const struct forecast f = forecast_make(s);
    if (s->foretold || s->free_ns || s->run->interrupts || !(f.frame_s > SLOW_S))
        return;
    const uint64_t total = s->window.total;
    const struct outlook *o = &s->run->outlook;
    char time[READABLE_SIZE], all[READABLE_SIZE + 48] = "";
    readable_time(fmax((double)total * o->computed / f.per_s, f.frame_s), time);
    if (total > 1)
        (void)snprintf(all, sizeof all, ", %s for all %" PRIu64 " frames", time, total);
    log_line(LOG_NOTICE, "%s takes about %.*f s a frame%s.%s%s", f.slowest->hello.stage,
             f.frame_s < 10.0, f.frame_s, all, *o->faster ? " " : "", o->faster);
    s->foretold = true;
}
