/* The frames in flight: their state, losses and order; and a forecast of the end of the run. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "control/stream.h"

void window_open(struct window *w, uint64_t size, uint32_t attempts)
{
    static const struct id_set none;
    *w = (struct window){.size = size,
                         .attempts = attempts,
                         .frames = mem_array((size_t)size, sizeof *w->frames),
                         .list = &none};
}

void window_close(struct window *w)
{
    mem_free(w->frames);
    id_set_clear(&w->places);
}

void window_take_list(struct window *w, const struct id_set *list)
{
    struct id_range *places = mem_array(list->count + 1, sizeof *places);
    id_set_clear(&w->places);
    w->places = (struct id_set){.count = list->count, .ranges = places};
    w->list = list;
    w->changed = true;
    w->total = w->lowest = 0;
    for (size_t i = 0; i < list->count; i++) {
        places[i].first = w->total;
        w->total += list->ranges[i].last - list->ranges[i].first + 1;
        places[i].last = w->total - 1;
    }
}

uint64_t window_id(const struct window *w, uint64_t place)
{
    const size_t at = id_set_find(&w->places, place);
    return w->list->ranges[at].first + (place - w->places.ranges[at].first);
}

/* Returns the number of ids of the list that are below `id`.  If the list contains `id`, this is
 * its place. */
static uint64_t place_of(const struct window *w, uint64_t id)
{
    const size_t at = id_set_find(w->list, id);
    if (at == w->list->count)
        return w->total;
    const uint64_t first = w->list->ranges[at].first;
    return w->places.ranges[at].first + (id > first ? id - first : 0);
}

bool window_covers(const struct window *w, struct id_range range, uint64_t places, uint64_t *other)
{
    const size_t at = id_set_find(w->list, range.first);
    *other = range.first;
    if (at == w->list->count || w->list->ranges[at].first > range.first)
        return false;
    const struct id_range in = w->list->ranges[at];
    const uint64_t place = w->places.ranges[at].first + (range.first - in.first);
    if (place >= places)
        return false;
    const uint64_t issued = places - place;  // ids from range.first on
    const uint64_t last = in.last - range.first < issued ? in.last : range.first + (issued - 1);
    *other = last + 1;
    return range.last <= last;
}

uint64_t window_end(const struct window *w)
{
    return w->total - w->lowest < w->size ? w->total : w->lowest + w->size;
}

struct frame_state *window_at(const struct window *w, uint64_t place)
{
    return &w->frames[place % w->size];
}

/* Returns true if all groups that must have a frame have acknowledged it. */
static bool is_done(const struct window *w, const struct frame_state *f)
{
    return (f->acked & w->required) == w->required;
}

struct id_range window_clip(const struct window *w, struct id_range range)
{
    uint64_t first = place_of(w, range.first),
             end = range.last == UINT64_MAX ? w->total : place_of(w, range.last + 1);
    if (first < w->lowest)
        first = w->lowest;
    if (end > window_end(w))
        end = window_end(w);
    return first < end ? (struct id_range){first, end - 1} : (struct id_range){1, 0};
}

void window_ack(struct window *w, struct id_range range, uint64_t groups, uint64_t places)
{
    const struct id_range clipped = window_clip(w, range);
    for (uint64_t place = clipped.first; place <= clipped.last && place < places; place++) {
        struct frame_state *f = window_at(w, place);
        w->changed |= groups & ~f->acked;
        f->acked |= groups;
    }
}

void window_retract(struct window *w, struct id_range range, uint64_t groups)
{
    const struct id_range places = window_clip(w, range);
    for (uint64_t place = places.first; place <= places.last; place++)
        window_at(w, place)->acked &= ~groups;
    w->changed = true;
}

void window_listed(struct window *w, struct id_range range, bool left, uint64_t now_ns)
{
    const struct id_range places = window_clip(w, range);
    for (uint64_t place = places.first; place <= places.last; place++) {
        window_at(w, place)->listed_ns = now_ns;
        window_at(w, place)->out |= left;
    }
}

void window_advance(struct window *w)
{
    while (w->lowest < w->total && is_done(w, window_at(w, w->lowest)))
        *window_at(w, w->lowest++) = (struct frame_state){0};  // window_ack has set `changed`
}

uint64_t window_count_done(const struct window *w)
{
    uint64_t done = w->lowest;
    for (uint64_t place = w->lowest; place < window_end(w); place++)
        done += is_done(w, window_at(w, place));
    return done;
}

void window_to_come(const struct window *w, uint64_t group, uint64_t from, size_t ranges_max,
                    struct id_set *ids, uint64_t *until)
{
    uint64_t place = from > w->lowest ? from : w->lowest;
    for (; place < window_end(w); place++) {
        if (is_done(w, window_at(w, place)) || window_at(w, place)->acked & group)
            continue;
        if (ids->count == ranges_max)
            break;
        id_set_add(ids, window_id(w, place));
    }
    *until = place < w->total ? window_id(w, place) : UINT64_MAX;
}

const struct frame_state *window_lose(struct window *w, uint64_t place, bool at_work)
{
    struct frame_state *f = window_at(w, place);
    if (!f->out || is_done(w, f))
        return NULL;
    f->deaths += at_work;
    f->given_up = at_work && f->deaths >= w->attempts && f->attempt > 0;
    if (f->given_up) {
        f->acked = UINT64_MAX;
        w->changed = true;
        return f;
    }
    f->attempt++;
    f->out = false;
    return f;
}

/*
 * How long a frame and the whole run take, from the heartbeats of processes: a process that counts
 * finished rows reports the expected time of a frame long before its first frame is finished.
 */

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
