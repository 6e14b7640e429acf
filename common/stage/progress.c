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
static const uint64_t QUIET_NS = 1000000000;  // the I/O thread draws the line if it is older

void progress_open(struct worker *w)
{
    (void)pthread_mutex_init(&w->progress.mutex, NULL);
    w->rt.progress = &w->progress;
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

/* Estimates the size that all files will have, from the size of the files so far, and compares
 * it with the room on the disk.  Warns if the room is not enough; otherwise logs both sizes if
 * the sink shows its progress. */
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

/* Writes ", 12.3/s", or ", 43 s a frame" if frames are slow, to `text`, and returns the number of
 * frames per second.  Writes "" and returns 0 while the rate is not known. */
static double rate(const struct progress *p, uint64_t frames, char text[READABLE_SIZE])
{
    const double s = (double)(p->last_ns - p->start_ns) / 1e9,
                 per_s = s > 0 ? (double)(frames - 1) / s : 0;
    text[0] = 0;
    if (per_s >= 0.1)
        (void)snprintf(text, READABLE_SIZE, ", %.1f/s", per_s);
    else if (per_s > 0)
        (void)snprintf(text, READABLE_SIZE, ", %.0f s a frame", 1 / per_s);
    return per_s;
}

/* Draws the progress line.  x: the forecast of the source; NULL: the remaining time is computed
 * from the finished frames. */
static void draw_line(struct progress *p, uint64_t frames, const struct exchange_view *view,
                      const struct expected *x, uint64_t now_ns)
{
    char total[32] = "", speed[READABLE_SIZE], next[32] = "", left[READABLE_SIZE + 8] = "",
         time[READABLE_SIZE];
    const double per_s = rate(p, frames, speed);
    double left_s = x ? (double)x->left_ns / 1e9 : 0;
    if (view->total_known)
        (void)snprintf(total, sizeof total, " of %" PRIu64, view->total);
    if (x && x->all_rows)
        (void)snprintf(next, sizeof next, ", %.0f %% of the next",
                       100.0 * (double)x->rows / (double)x->all_rows);
    if (!x && per_s > 0 && view->total > frames)
        left_s = (double)(view->total - frames) / per_s;
    if (left_s > 0) {
        readable_time(left_s, time);
        (void)snprintf(left, sizeof left, ", %s left", time);
    }
    p->drawn_ns = now_ns;
    fprintf(stderr, "\r%s: frame %" PRIu64 "%s%s%s%s \033[K", log_program(), frames, total, speed,
            next, left);
}

/* Returns true if the forecast is still that of the frame that this sink got last: the next frame
 * has fewer finished rows.  p->mutex must be locked. */
static bool is_former(struct progress *p, const struct expected *x)
{
    if (p->arrived)
        p->former_rows = p->rows;
    p->arrived = false;
    p->rows = x->rows;
    if (x->rows < p->former_rows)
        p->former_rows = 0;
    return p->former_rows > 0;
}

void progress_wait(struct runtime *rt, uint64_t now_ns)
{
    struct progress *p = rt->progress;
    const struct expected *x = &rt->member.expected;
    if (!p || !p->tells || !x->all_rows)
        return;
    (void)pthread_mutex_lock(&p->mutex);
    const bool former = is_former(p, x);
    if (p->draws && now_ns >= p->drawn_ns + QUIET_NS) {
        const struct exchange_view view = exchange_look(&rt->links.exchange);
        draw_line(p, meter_read(&rt->links.meter).frames, &view, former ? NULL : x, now_ns);
    }
    (void)pthread_mutex_unlock(&p->mutex);
}

void progress_show(struct worker *w, const struct image *image)
{
    struct progress *p = &w->progress;
    const uint64_t frames = w->rt.links.meter.frames + 1;  // this frame is counted later
    if (p->tells && image->count)
        see_light(p, image);
    if (p->planned && !p->tells)
        return;
    const struct exchange_view view = exchange_look(&w->rt.links.exchange);
    (void)pthread_mutex_lock(&p->mutex);
    p->arrived = true;
    p->last_ns = clock_ns();
    if (!p->start_ns)
        p->start_ns = p->last_ns;
    if (!p->planned && view.total_known)
        plan(w, frames, view.total);
    if (p->draws && p->last_ns - p->drawn_ns >= INTERVAL_NS)
        draw_line(p, frames, &view, NULL, p->last_ns);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* Writes a text such as ", brightest pixel 2311 ADU, 4.3e+05 photons a frame" to `text`, from
 * the images so far. */
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
    struct progress *p = &w->progress;
    (void)pthread_mutex_lock(&p->mutex);
    p->draws = false;
    (void)pthread_mutex_unlock(&p->mutex);
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
