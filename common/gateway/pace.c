#include "gateway/pace.h"

#include <math.h>

uint64_t pace_due(const struct pace *p)
{
    return p->slot ? p->start_ns + (uint64_t)llround((double)p->slot * p->period_ns) : 0;
}

void pace_out(struct pace *p, uint64_t now_ns)
{
    if (!(p->period_ns > 0))
        return;
    if (!p->slot)
        p->start_ns = now_ns;
    else if ((double)now_ns > (double)pace_due(p) + p->period_ns / 2)
        p->late++;
    p->slot++;
    const double passed = (double)(now_ns - p->start_ns) / p->period_ns;
    if (passed > (double)p->slot)
        p->slot = (uint64_t)passed + 1;
}
