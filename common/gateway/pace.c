#include "gateway/pace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"

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

/* Returns true if `frames` frames took the time `time_ns`, which is too long for the requested
 * rate.  `text` then gets the rate and the slowest part. */
static bool falls_short(const struct pace *p, uint64_t frames, uint64_t time_ns,
                        char text[PACE_TEXT])
{
    static const char *const waits[] = {"waiting for frames", "encoding messages",
                                        "waiting for clients", "stalls and cuts of --inject"};
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

static const double BEHIND_S = 3, SLACK_S = 0.1, RATE_MIN_HZ = 1e-3, RATE_MAX_HZ = 1e6,
                    SECONDS_MAX = 86400;

enum status ramp_parse(struct ramp *r, const char *text, struct error *e)
{
    char word[3][32] = {"", "", ""};
    int used = 0;
    *r = (struct ramp){0};
    if (sscanf(text, "%31[^:]:%31[^:]:%31[^:]%n", word[0], word[1], word[2], &used) != 3 ||
        text[used])
        return error_set(e, STATUS_USAGE,
                         "--ramp: '%.60s' is malformed; expected FROM:TO:SECONDS, such as 1:100:60",
                         text);
    enum status s = parse_real(word[0], RATE_MIN_HZ, RATE_MAX_HZ, "--ramp, FROM", &r->from_hz, e);
    if (s == STATUS_OK)
        s = parse_real(word[1], RATE_MIN_HZ, RATE_MAX_HZ, "--ramp, TO", &r->to_hz, e);
    if (s == STATUS_OK)
        s = parse_real(word[2], 1, SECONDS_MAX, "--ramp, SECONDS", &r->seconds, e);
    if (s == STATUS_OK && r->to_hz <= r->from_hz)
        s = error_set(e, STATUS_USAGE, "--ramp: TO is not above FROM (got TO %g and FROM %g)",
                      r->to_hz, r->from_hz);
    return s;
}

void ramp_start(struct ramp *r, uint64_t now_ns)
{
    r->start_ns = r->kept_up_ns = now_ns;
}

static double seconds(uint64_t since_ns, uint64_t now_ns)
{
    return now_ns > since_ns ? (double)(now_ns - since_ns) * 1e-9 : 0;
}

double ramp_rate_hz(const struct ramp *r, uint64_t now_ns)
{
    const double t = r->start_ns ? fmin(seconds(r->start_ns, now_ns), r->seconds) : 0;
    return r->from_hz + (r->to_hz - r->from_hz) * t / r->seconds;
}

/* Returns the number of frames that are due after t seconds. */
static double frames_due(const struct ramp *r, double t)
{
    const double rising = fmin(t, r->seconds);
    const double slope = (r->to_hz - r->from_hz) / r->seconds;
    return r->from_hz * rising + slope * rising * rising / 2 + r->to_hz * (t - rising);
}

uint64_t ramp_due(const struct ramp *r)
{
    const double k = (double)r->offered, whole = frames_due(r, r->seconds);
    const double slope = (r->to_hz - r->from_hz) / r->seconds;
    const double t = k > whole
                         ? r->seconds + (k - whole) / r->to_hz
                         : 2 * k / (r->from_hz + sqrt(r->from_hz * r->from_hz + 2 * slope * k));
    return r->start_ns ? r->start_ns + (uint64_t)llround(t * 1e9) : 0;
}

/* Returns what limits the rate: the part that took most of the time since the client kept up
 * last.  If frames wait in a queue, the client is the limit. */
static enum ramp_limit blame(const struct ramp *r)
{
    static const enum ramp_limit limits[] = {[PACE_INPUT] = RAMP_FRAMES,
                                             [PACE_PACKING] = RAMP_PACKING,
                                             [PACE_CLIENTS] = RAMP_CLIENT,
                                             [PACE_FAULTS] = RAMP_FAULTS};
    int most = 0;
    for (int i = 1; i < PACE_PARTS; i++)
        most = r->spent[i] > r->spent[most] ? i : most;
    return r->offered > r->taken + r->dropped + 1 ? RAMP_CLIENT : limits[most];
}

static bool settle_rate(struct ramp *r, enum ramp_limit limit, uint64_t now_ns, double hz)
{
    r->limit = limit;
    r->asked_hz = ramp_rate_hz(r, now_ns);
    r->sustained_hz = fmin(hz, r->asked_hz);
    return true;
}

/* Returns the rate of taken frames in Hz since the client kept up last. */
static double taken_hz(const struct ramp *r, uint64_t now_ns)
{
    const double t = seconds(r->kept_up_ns, now_ns);
    return t > 0 ? (double)(r->taken - r->kept_up_taken) / t : 0;
}

bool ramp_turn(struct ramp *r, uint64_t now_ns, uint64_t taken, uint64_t dropped,
               const uint64_t spent[PACE_PARTS])
{
    if (r->limit != RAMP_RISING || !r->start_ns)
        return false;
    const double t = seconds(r->start_ns, now_ns), rate_hz = ramp_rate_hz(r, now_ns);
    const bool refused = dropped > r->dropped;
    r->offered++;
    r->taken = taken;
    r->dropped = dropped;
    for (int i = 0; i < PACE_PARTS; i++)
        r->spent[i] += spent[i];
    if (refused)
        return settle_rate(r, RAMP_CLIENT, now_ns, taken_hz(r, now_ns));
    const double lag = frames_due(r, t) + 1 - (double)(taken + dropped);  // frame 0 is due at 0
    if (lag < 2) {
        r->kept_up_ns = now_ns;
        r->kept_up_taken = taken;
        r->halfway_lag = 0;
        memset(r->spent, 0, sizeof r->spent);
        return t >= r->seconds && settle_rate(r, RAMP_NONE, now_ns, r->to_hz);
    }
    const double behind_s = seconds(r->kept_up_ns, now_ns);
    if (behind_s >= BEHIND_S / 2 && !(r->halfway_lag > 0))
        r->halfway_lag = lag;
    if (behind_s >= BEHIND_S && lag > r->halfway_lag && lag > SLACK_S * rate_hz)
        return settle_rate(r, blame(r), now_ns, taken_hz(r, now_ns));
    return false;
}

void ramp_end(struct ramp *r, uint64_t now_ns)
{
    if (r->limit == RAMP_RISING)
        (void)settle_rate(r, RAMP_ENDED, now_ns, ramp_rate_hz(r, r->kept_up_ns));
}

const char *ramp_limit_name(enum ramp_limit limit)
{
    static const char *const names[] = {"", "none", "client", "frames", "packing", "faults", "end"};
    return names[limit];
}

const char *ramp_limit_text(enum ramp_limit limit)
{
    static const char *const texts[] = {
        "",
        "clients kept up to the end of the ramp",
        "clients fell behind",
        "the previous stages sent too few frames",
        "messages could not be encoded faster",
        "stalls and cuts of --inject held frames back",
        "there were no more frames, and clients kept up until then",
    };
    return texts[limit];
}
