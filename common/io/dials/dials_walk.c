/* Frames put together: sweeps, and reflections over the frames of a sweep. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/dials/dials.h"

struct spots {
    struct dials_spot *all;  // owned
    size_t count, room;
};

struct walk {
    const struct dials_visitor *to;
    struct dials_sweep sweep;  // the one that goes on
    void *start;               // owned: its first frame, without spots
    struct spots open, next;   // those of the last frame, which may go on, and of this one
};

/* Nobody turns a crystal by more than this part of an image between two. */
#define PHI_TOLERANCE 1e-6

static size_t head_size(const struct dials_frame *f)
{
    const size_t mosaic = f->has_mosaic ? sizeof(struct dials_mosaic) : 0;
    return sizeof *f + f->nlattices * (9 * sizeof(double) + mosaic);
}

static bool continues(const struct dials_sweep *s, const struct dials_frame *f)
{
    const struct dials_frame *start = s->start;
    return start && f->osc_rad != 0.0 && f->osc_rad == start->osc_rad &&
           f->id == start->id + s->count && f->wavelength_A == start->wavelength_A &&
           memcmp(f->shift_m, start->shift_m, sizeof f->shift_m) == 0 &&
           fabs(f->phi_rad - start->phi_rad - (double)s->count * f->osc_rad) <=
               PHI_TOLERANCE * fabs(f->osc_rad) &&
           f->nlattices == start->nlattices &&
           memcmp(start + 1, f + 1, head_size(f) - sizeof *f) == 0;
}

/* Of one lattice, by h, k, l. */
static int compare(const struct dials_spot *a, const struct dials_spot *b)
{
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (a->hkl[i] != b->hkl[i])
            return a->hkl[i] < b->hkl[i] ? -1 : 1;
    return 0;
}

static void put(const struct walk *w, struct dials_spot s, bool last)
{
    const bool first = (uint64_t)s.box[4] == w->sweep.start->id;
    s.cut = w->sweep.count > 1 && (first || last);
    if (w->to->spot)
        w->to->spot(w->to->state, &s);
}

static double mean(double a, double in_a, double b, double in_b)
{
    return (a * in_a + b * in_b) / (in_a + in_b);
}

static struct dials_spot join(const struct dials_spot *a, const struct dials_spot *b)
{
    struct dials_spot s = *a;
    s.fast = mean(a->fast, a->photons, b->fast, b->photons);
    s.slow = mean(a->slow, a->photons, b->slow, b->photons);
    s.image = mean(a->image, a->photons, b->image, b->photons);
    s.phi_rad = mean(a->phi_rad, a->photons, b->phi_rad, b->photons);
    s.photons += b->photons;
    s.background += b->background;
    s.pixels += b->pixels;
    for (int i = 0; i < 6; i += 2) {
        s.box[i] = b->box[i] < s.box[i] ? b->box[i] : s.box[i];
        s.box[i + 1] = b->box[i + 1] > s.box[i + 1] ? b->box[i + 1] : s.box[i + 1];
    }
    return s;
}

/* Those of the next frame of the sweep: open ones go on in it or have ended. */
static bool add_spots(struct walk *w, const struct dials_frame *f)
{
    const struct dials_spot *spots = dials_spots(f);
    const struct spots open = w->open;
    struct dials_spot *next = mem_grow(w->next.all, 0, f->nspots, sizeof *next, &w->next.room);
    if (!next && f->nspots)
        return false;
    w->next.all = next;
    w->next.count = f->nspots;
    size_t k = 0;
    for (size_t i = 0; i < f->nspots; i++) {
        struct dials_spot s = spots[i];
        s.id += (int32_t)w->sweep.experiment;
        for (; k < open.count && compare(&open.all[k], &s) < 0; k++)
            put(w, open.all[k], false);
        if (k < open.count && compare(&open.all[k], &s) == 0 && open.all[k].side == s.side &&
            open.all[k].panel == s.panel)
            s = join(&open.all[k++], &s);
        next[i] = s;
    }
    for (; k < open.count; k++)
        put(w, open.all[k], false);
    w->open = w->next;
    w->next = open;
    return true;
}

static void end_sweep(struct walk *w)
{
    if (!w->sweep.start)
        return;
    for (size_t i = 0; i < w->open.count; i++)
        put(w, w->open.all[i], true);
    w->open.count = 0;
    if (w->to->sweep)
        w->to->sweep(w->to->state, &w->sweep);
    w->sweep.experiment += w->sweep.start->nlattices;
    w->sweep.place += w->sweep.count;
    w->sweep.start = NULL;
}

static bool begin_sweep(struct walk *w, const struct dials_frame *f)
{
    mem_free(w->start);
    w->start = mem_copy(f, 1, head_size(f));
    w->sweep.start = w->start;
    w->sweep.count = 0;
    return w->start != NULL;
}

enum status dials_walk(const struct records *all, const struct dials_visitor *to, struct error *e)
{
    struct walk w = {.to = to};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < all->count && !s; i++) {
        const void *bytes;
        size_t size;
        s = all->read(all->state, i, &bytes, &size, e);
        if (s)
            break;
        const struct dials_frame *f = bytes;
        bool good = true;
        if (!continues(&w.sweep, f)) {
            end_sweep(&w);
            good = begin_sweep(&w, f);
        }
        w.sweep.count++;
        if (!good || (to->spot && !add_spots(&w, f)))
            s = error_memory(e, "a table of reflections");
    }
    if (s == STATUS_OK)
        end_sweep(&w);
    mem_free(w.start);
    mem_free(w.open.all);
    mem_free(w.next.all);
    return s;
}
