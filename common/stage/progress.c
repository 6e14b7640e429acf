/* Shows the progress of a sink: a line on a terminal, and the totals at the end. */
#include "stage/worker.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

static const uint64_t INTERVAL_NS = 200000000;

void progress_open(struct worker *w)
{
    w->progress.tells = role_is_sink(&w->stage.role) && !w->stage.speaks && log_is_watched();
    w->progress.draws = w->progress.tells && isatty(STDERR_FILENO);
}

static void see_light(struct progress *p, const struct image *image)
{
    const struct image_range r = image_range(image);
    p->brightest = p->images++ ? fmax(p->brightest, r.most) : r.most;
    p->unit = image->unit;
    p->sum += r.sum;
}

static struct made made_so_far(const struct worker *w, uint64_t all)
{
    struct made made = {.frames = all};
    if (w->stage.made)
        w->stage.made(w->state, &made);
    return made;
}

/* Compares the size that all files will have, from the size of those so far, with the room on the
 * disk. */
static void plan(struct worker *w, uint64_t frames, uint64_t total)
{
    const struct made made = made_so_far(w, total);
    struct statvfs disk;
    char all[READABLE_SIZE], room[READABLE_SIZE];
    w->progress.planned = true;
    if (!made.bytes || total <= frames || statvfs(made.folder, &disk) != 0)
        return;
    const double each = ((double)made.bytes - made.heads) / (double)frames,
                 sum = each * (double)total + made.all_heads,
                 free = (double)disk.f_bavail * (double)disk.f_frsize;
    const bool fits = made.replaces || sum - (double)made.bytes <= free;
    readable_bytes(sum, all);
    readable_bytes(free, room);
    if (w->progress.tells || !fits)
        log_line(fits ? LOG_TELL : LOG_WARNING, "%" PRIu64 " frames need about %s, %s%s free",
                 total, all, fits ? "" : "only ", room);
}

/* Writes ", 12.3/s" to `text`, and returns the number of frames per second.  Writes "" and returns
 * 0 while the rate is not known. */
static double rate(const struct progress *p, uint64_t frames, char text[READABLE_SIZE])
{
    const double s = (double)(p->last_ns - p->start_ns) / 1e9,
                 per_s = s > 0 ? (double)(frames - 1) / s : 0;
    text[0] = 0;
    if (per_s > 0)
        (void)snprintf(text, READABLE_SIZE, ", %.1f/s", per_s);
    return per_s;
}

static void draw(struct progress *p, uint64_t frames, const struct exchange_view *view)
{
    char total[32] = "", speed[READABLE_SIZE], left[READABLE_SIZE + 8] = "", time[READABLE_SIZE];
    const double per_s = rate(p, frames, speed);
    if (view->total_known)
        (void)snprintf(total, sizeof total, " of %" PRIu64, view->total);
    if (per_s > 0 && view->total > frames) {
        readable_time((double)(view->total - frames) / per_s, time);
        (void)snprintf(left, sizeof left, ", %s left", time);
    }
    p->drawn_ns = p->last_ns;
    fprintf(stderr, "\r%s: frame %" PRIu64 "%s%s%s \033[K", log_program(), frames, total, speed,
            left);
}

void progress_show(struct worker *w, const struct image *image)
{
    struct progress *p = &w->progress;
    const uint64_t frames = w->rt.links.meter.frames + 1;  // this one is counted later
    if (p->tells && image->count)
        see_light(p, image);
    if (p->planned && !p->tells)
        return;
    p->last_ns = clock_ns();
    if (!p->start_ns)
        p->start_ns = p->last_ns;
    const struct exchange_view view = exchange_look(&w->rt.links.exchange);
    if (!p->planned && view.total_known)
        plan(w, frames, view.total);
    if (p->draws && p->last_ns - p->drawn_ns >= INTERVAL_NS)
        draw(p, frames, &view);
}

/* Writes a text such as ", brightest pixel 2311 ADU, 4.3e+05 photons a frame". */
static void say_light(const struct progress *p, const struct experiment *x, char *text, size_t size)
{
    const bool counts = p->unit == UNIT_ADU && x->gain > 0;
    const double each = p->sum / (double)p->images,
                 dark = x->adc_offset * (double)experiment_pixels(x);
    (void)snprintf(
        text, size, ", brightest pixel %.5g%s%s, %.3g photons a frame", p->brightest,
        counts ? " ADU" : "",
        counts && x->saturation > 0 && p->brightest >= floor(x->saturation) ? " (saturated)" : "",
        counts ? (each - dark) / x->gain : each);
}

void progress_end(struct worker *w, bool whole)
{
    const struct progress *p = &w->progress;
    const uint64_t frames = w->rt.links.meter.frames;
    char light[128] = "", speed[READABLE_SIZE], bytes[READABLE_SIZE];
    if (!p->tells || !frames)
        return;
    if (p->images)
        say_light(p, &w->experiment, light, sizeof light);
    (void)rate(p, frames, speed);
    log_line(LOG_TELL, "%" PRIu64 " frame%s%s%s%s", frames, frames == 1 ? "" : "s",
             log_is_part() ? " of this process" : "", speed, light);
    const struct made made = made_so_far(w, 0);
    readable_bytes((double)made.bytes, bytes);
    if (made.bytes)
        log_line(LOG_TELL, "%s in %s%s", bytes, made.names,
                 whole || !w->stage.have ? "" : "; --resume continues");
}
