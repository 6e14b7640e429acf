#include "gateway/pace.h"

#include <math.h>

static const double CATCH_UP_NS = 1e9;

uint64_t pace_due(const struct pace *p)
{
    return p->frames ? p->start_ns + (uint64_t)llround((double)p->frames * p->period_ns) : 0;
}

void pace_out(struct pace *p, uint64_t now_ns)
{
    if (!p->frames)
        p->start_ns = now_ns;
    const uint64_t due_ns = pace_due(p);
    const double delay_ns = now_ns > due_ns ? (double)(now_ns - due_ns) : 0;
    const double most_ns = fmax(CATCH_UP_NS, p->period_ns);
    p->frames++;
    if (!(p->period_ns > 0) || p->frames == 1)
        return;
    p->late += delay_ns > p->period_ns / 2;
    if (delay_ns > most_ns)
        p->start_ns += (uint64_t)(delay_ns - most_ns);
}
