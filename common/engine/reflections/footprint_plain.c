/* The specification of the footprint: doubles, pixel by pixel, a panel or a part of it at once. */
#include <string.h>

#include "base/alloc.h"
#include "engine/reflections/footprint.h"
#include "engine/reflections/photons.h"
#include "physics/detector/pixel.h"

/* A part of a panel with its margin. */
struct sheet {
    const struct footprint_panel *panel;
    int64_t fast, slow;  // its first pixel, which may lie beyond the panel
    int64_t width, height;
    double *from, *to;  // owned
};

static int64_t floor_node(int64_t pixel)
{
    return (pixel - (pixel < 0 ? FOOTPRINT_NODE - 1 : 0)) / FOOTPRINT_NODE;
}

/* Weight n of a pass at a pixel, between the four nodes around it. */
static double weight_at(const struct footprint_panel *p, const struct footprint_pass *pass,
                        int64_t fast, int64_t slow, int n)
{
    const int64_t column = floor_node(fast), row = floor_node(slow);
    const double x = (double)(fast - column * FOOTPRINT_NODE) / FOOTPRINT_NODE;
    const double y = (double)(slow - row * FOOTPRINT_NODE) / FOOTPRINT_NODE;
    double value = 0.0;
    for (int corner = 0; corner < 4; corner++) {
        const int right = corner & 1, below = corner >> 1;
        const int64_t at = footprint_within(row + below, p->rows) * p->columns +
                           footprint_within(column + right, p->columns);
        value += (right ? x : 1.0 - x) * (below ? y : 1.0 - y) *
                 (double)pass->weight[at * (pass->reach + 1) + n];
    }
    return value;
}

static void add(const struct sheet *s, int64_t fast, int64_t slow, double photons)
{
    const int64_t f = fast - s->fast, t = slow - s->slow;
    if (f >= 0 && f < s->width && t >= 0 && t < s->height)
        s->to[t * s->width + f] += photons;
}

static void apply(struct sheet *s, const struct footprint_pass *pass)
{
    memset(s->to, 0, (size_t)(s->width * s->height) * sizeof *s->to);
    for (int64_t i = 0; i < s->width * s->height; i++) {
        const int64_t fast = i % s->width + s->fast, slow = i / s->width + s->slow;
        const double photons = s->from[i];
        for (int n = 0; n <= pass->reach && photons != 0.0; n++) {
            const double given = weight_at(s->panel, pass, fast, slow, n) * photons;
            add(s, fast + n * pass->fast, slow + n * pass->slow, given);
            if (n)
                add(s, fast - n * pass->fast, slow - n * pass->slow, given);
        }
    }
    double *const last = s->from;
    s->from = s->to;
    s->to = last;
}

/* The pixels of `part` of a panel, and its margin about them; false when memory is out.  Followed
 * by sheet_close in any case. */
static bool sheet_open(struct sheet *s, const struct footprint_panel *panel, const struct roi *part)
{
    const int64_t margin = panel->margin;
    *s = (struct sheet){.panel = panel,
                        .fast = part->fast_min - margin,
                        .slow = part->slow_min - margin,
                        .width = part->fast_max - part->fast_min + 1 + 2 * margin,
                        .height = part->slow_max - part->slow_min + 1 + 2 * margin};
    s->from = mem_array((size_t)(s->width * s->height), sizeof *s->from);
    s->to = mem_array((size_t)(s->width * s->height), sizeof *s->to);
    return s->from && s->to;
}

static void sheet_close(struct sheet *s)
{
    mem_free(s->from);
    mem_free(s->to);
}

static double *value_at(const struct sheet *s, int64_t fast, int64_t slow)
{
    return &s->from[(slow - s->slow) * s->width + fast - s->fast];
}

static enum status run_panel(const struct footprint *f, size_t index, float *pixels,
                             struct error *e)
{
    const struct panel *p = &f->x->panels[index];
    const struct roi whole = {0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
    struct sheet s;
    const bool good = sheet_open(&s, &f->panel[index], &whole);
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels && good; i++)
        *value_at(&s, i % p->fast_pixels, i / p->fast_pixels) =
            (double)f->photons[p->first_pixel + i];
    for (size_t i = 0; i < s.panel->npasses && good; i++)
        apply(&s, &s.panel->pass[i]);
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels && good; i++) {
        const int64_t fast = i % p->fast_pixels, slow = i / p->fast_pixels;
        pixels[p->first_pixel + i] =
            pixel_is_computed(p, fast, slow) ? (float)*value_at(&s, fast, slow) : 0.0f;
    }
    sheet_close(&s);
    return good ? STATUS_OK : error_memory(e, "the footprint");
}

/* ---- of some pixels ----------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The rectangle about pixels of a panel. */
static struct roi around(const struct panel *p, const struct lit_pixel *lit, size_t count)
{
    struct roi r = {INT64_MAX, 0, INT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        const int64_t pixel = lit[i].pixel - p->first_pixel;
        const int64_t fast = pixel % p->fast_pixels, slow = pixel / p->fast_pixels;
        r = (struct roi){least(r.fast_min, fast), largest(r.fast_max, fast),
                         least(r.slow_min, slow), largest(r.slow_max, slow)};
    }
    return r;
}

/* Puts the lit pixels of a sheet, of those that are computed, behind *spread. */
static bool collect(const struct sheet *s, const struct panel *p, struct lit_pixel **spread,
                    size_t *count, size_t *capacity)
{
    for (int64_t i = 0; i < s->width * s->height; i++) {
        const int64_t fast = i % s->width + s->fast, slow = i / s->width + s->slow;
        if (!(s->from[i] > 0.0) || !pixel_is_computed(p, fast, slow))
            continue;
        struct lit_pixel *items = mem_grow(*spread, *count, 1, sizeof *items, capacity);
        if (!items)
            return false;
        items[*count] =
            (struct lit_pixel){p->first_pixel + slow * p->fast_pixels + fast, s->from[i]};
        *spread = items;
        ++*count;
    }
    return true;
}

/* Those of one panel. */
static bool spread_part(const struct footprint *f, size_t index, const struct lit_pixel *lit,
                        size_t count, struct lit_pixel **spread, size_t *nspread, size_t *capacity)
{
    const struct panel *p = &f->x->panels[index];
    const struct roi part = around(p, lit, count);
    struct sheet s;
    bool good = sheet_open(&s, &f->panel[index], &part);
    for (size_t i = 0; i < count && good; i++)
        *value_at(&s, (lit[i].pixel - p->first_pixel) % p->fast_pixels,
                  (lit[i].pixel - p->first_pixel) / p->fast_pixels) = lit[i].photons;
    for (size_t i = 0; i < s.panel->npasses && good; i++)
        apply(&s, &s.panel->pass[i]);
    good = good && collect(&s, p, spread, nspread, capacity);
    sheet_close(&s);
    return good;
}

bool footprint_spread(const struct footprint *f, const struct lit_pixel *lit, size_t count,
                      struct lit_pixel **spread, size_t *nspread)
{
    size_t capacity = 0;
    bool good = true;
    *spread = NULL;
    *nspread = 0;
    for (size_t i = 0, end; i < count && good; i = end) {
        size_t index = 0;
        while (!panel_holds(&f->x->panels[index], lit[i].pixel))
            index++;
        for (end = i; end < count && panel_holds(&f->x->panels[index], lit[end].pixel);)
            end++;
        good = spread_part(f, index, lit + i, end - i, spread, nspread, &capacity);
    }
    if (good) {
        struct lit_pixel *items =
            mem_grow(*spread, *nspread, *nspread + 1, sizeof *items, &capacity);
        good = items;
        *spread = items ? items : *spread;
    }
    if (!good) {
        mem_free(*spread);
        *spread = NULL;
    }
    return good;
}

enum status footprint_end_plainly(struct footprint *f, const struct recipe *r, float *pixels,
                                  struct error *e)
{
    enum status s = STATUS_OK;
    if (!f || !f->is_seen)
        return STATUS_OK;
    for (size_t i = 0; i < f->x->npanels && !s; i++)
        s = run_panel(f, i, pixels, e);
    return s ? s : photons_check(f->x, r->id, pixels, e);
}
