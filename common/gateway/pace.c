#include "gateway/pace.h"

#include <math.h>
#include <stdio.h>

static const double CATCH_UP_NS = 1e9;
static const uint64_t FIRST_LOOK_NS = UINT64_C(10000000000), LOOK_NS = UINT64_C(60000000000);

uint64_t pace_due(const struct pace *p)
{
    return p->frames ? p->start_ns + (uint64_t)llround((double)p->frames * p->period_ns) : 0;
}

void pace_out(struct pace *p, uint64_t now_ns)
{
    if (!p->frames) {
        p->start_ns = p->first_ns = p->said_ns = now_ns;
        for (int i = 0; i < PACE_PARTS; i++)
            p->spent[i] = 0;  // the time before frame 0 filled the pipeline
    }
    p->last_ns = now_ns;
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

void pace_spend(struct pace *p, enum pace_part part, uint64_t ns)
{
    p->spent[part] += ns;
}

/* Whether `frames` periods took too long.  `text` then gets the rate and the slowest part. */
static bool falls_short(const struct pace *p, uint64_t frames, uint64_t time_ns,
                        char text[PACE_TEXT])
{
    static const char *const waits[] = {"waiting for frames", "packing them",
                                        "waiting for clients"};
    const double due_ns = (double)frames * p->period_ns, delay_ns = (double)time_ns - due_ns;
    if (!(p->period_ns > 0) || delay_ns <= fmax(due_ns / 20, 2 * p->period_ns))
        return false;
    int most = 0;
    for (int i = 1; i < PACE_PARTS; i++)
        most = p->spent[i] > p->spent[most] ? i : most;
    (void)snprintf(text, PACE_TEXT, "rate: %.3g of %g frames/s, %s",
                   (double)frames * 1e9 / (double)time_ns, 1e9 / p->period_ns, waits[most]);
    return true;
}

bool pace_falls_short(const struct pace *p, char text[PACE_TEXT])
{
    return p->frames > 1 && falls_short(p, p->frames - 1, p->last_ns - p->first_ns, text);
}

bool pace_warns(struct pace *p, uint64_t now_ns, char text[PACE_TEXT])
{
    const uint64_t pause_ns = p->said_ns == p->first_ns ? FIRST_LOOK_NS : LOOK_NS;
    if (!p->frames || now_ns < p->said_ns + pause_ns)
        return false;
    const bool warns = falls_short(p, p->frames - p->said_frames, now_ns - p->said_ns, text);
    p->said_ns = now_ns;
    p->said_frames = p->frames;
    return warns;
}
