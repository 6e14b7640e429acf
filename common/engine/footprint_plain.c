/* The specification of the footprint: doubles, pixel by pixel, the whole panel at once. */
#include <string.h>

#include "base/alloc.h"
#include "engine/footprint.h"
#include "engine/photons.h"
#include "physics/pixel.h"

/* A panel with its margin: pixel (fast, slow) is at (slow + margin) * width + fast + margin. */
struct sheet {
    const struct footprint_panel *panel;
    int64_t margin, width, height;
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
    const int64_t f = fast + s->margin, t = slow + s->margin;
    if (f >= 0 && f < s->width && t >= 0 && t < s->height)
        s->to[t * s->width + f] += photons;
}

static void apply(struct sheet *s, const struct footprint_pass *pass)
{
    memset(s->to, 0, (size_t)(s->width * s->height) * sizeof *s->to);
    for (int64_t i = 0; i < s->width * s->height; i++) {
        const int64_t fast = i % s->width - s->margin, slow = i / s->width - s->margin;
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

static enum status run_panel(const struct footprint *f, size_t index, float *pixels,
                             struct error *e)
{
    const struct panel *p = &f->x->panels[index];
    const int64_t margin = f->panel[index].margin;
    struct sheet s = {.panel = &f->panel[index],
                      .margin = margin,
                      .width = p->fast_pixels + 2 * margin,
                      .height = p->slow_pixels + 2 * margin};
    s.from = mem_array((size_t)(s.width * s.height), sizeof *s.from);
    s.to = mem_array((size_t)(s.width * s.height), sizeof *s.to);
    const bool good = s.from && s.to;
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels && good; i++)
        s.from[(i / p->fast_pixels + margin) * s.width + i % p->fast_pixels + margin] =
            (double)f->photons[p->first_pixel + i];
    for (size_t i = 0; i < s.panel->npasses && good; i++)
        apply(&s, &s.panel->pass[i]);
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels && good; i++) {
        const int64_t fast = i % p->fast_pixels, slow = i / p->fast_pixels;
        pixels[p->first_pixel + i] = pixel_is_computed(p, fast, slow)
                                         ? (float)s.from[(slow + margin) * s.width + fast + margin]
                                         : 0.0f;
    }
    mem_free(s.from);
    mem_free(s.to);
    return good ? STATUS_OK : error_memory(e, "the footprint");
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
