#include "stage/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static const uint64_t INTERVAL_NS = 200000000;

void progress_open(struct progress *p, bool wanted)
{
    *p = (struct progress){.on = wanted && isatty(STDERR_FILENO)};
}

void progress_show(struct progress *p, uint64_t frames, struct exchange *x)
{
    if (!p->on)
        return;
    const uint64_t now = clock_ns();
    if (!p->start_ns)
        p->start_ns = now;
    const struct exchange_view view = exchange_look(x);
    const bool last = view.total_known && frames == view.total;
    if (!last && now - p->last_ns < INTERVAL_NS)
        return;
    p->last_ns = now;
    p->shown = true;
    const double seconds = (double)(now - p->start_ns) / 1e9;
    const double rate = frames > 1 && seconds > 0 ? (double)(frames - 1) / seconds : 0;
    if (view.total_known)
        fprintf(stderr, "\r%s: frame %" PRIu64 " of %" PRIu64 ", %.1f/s \033[K", log_program(),
                frames, view.total, rate);
    else
        fprintf(stderr, "\r%s: frame %" PRIu64 ", %.1f/s \033[K", log_program(), frames, rate);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputc('\n', stderr);
    p->shown = false;
}
