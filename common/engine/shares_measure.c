/* Where a reflection is and how large, from the photons of its pixels. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/shares.h"

/* The panel that has the pixel; *panel is where the last one was found. */
static void find_panel(const struct experiment *x, int64_t pixel, size_t *panel)
{
    while (!panel_holds(&x->panels[*panel], pixel))
        *panel = (*panel + 1) % x->npanels;
}

/* Photons on one panel, and what they sum up to along its axes, in px. */
struct part {
    double photons, fast, slow;
};

static void add(struct part *part, const struct panel *p, const struct lit_pixel *lit)
{
    const int64_t at = lit->pixel - p->first_pixel;
    part->photons += lit->photons;
    part->fast += lit->photons * ((double)(at % p->fast_pixels) + 0.5);
    part->slow += lit->photons * ((double)(at / p->fast_pixels) + 0.5);
}

/* Pixels of a panel follow one another. */
static void find_centroid(const struct experiment *x, const struct lit_pixel *lit, size_t count,
                          struct reflection_row *row)
{
    double best = 0.0;
    size_t panel = 0;
    for (size_t i = 0; i < count;) {
        struct part part = {0};
        find_panel(x, lit[i].pixel, &panel);
        const struct panel *p = &x->panels[panel];
        for (; i < count && panel_holds(p, lit[i].pixel); i++)
            add(&part, p, &lit[i]);
        if (!(part.photons > best))
            continue;
        best = part.photons;
        row->panel = (int32_t)panel;
        row->fast = part.fast / part.photons;
        row->slow = part.slow / part.photons;
    }
}

static int brighter(const void *a, const void *b)
{
    const struct lit_pixel *p = a, *q = b;
    if (p->photons != q->photons)
        return p->photons > q->photons ? -1 : 1;
    return p->pixel < q->pixel ? -1 : p->pixel > q->pixel;
}

static int earlier(const void *a, const void *b)
{
    const uint32_t *p = a, *q = b;
    return *p < *q ? -1 : *p > *q;
}

/* The brightest pixels that hold the share, `spare` being all of them. */
static bool find_pixels(struct lit_pixel *spare, size_t count, struct reflection_row *row,
                        struct reflection_table *table, size_t *capacity)
{
    double sum = 0.0;
    size_t n = 0;
    qsort(spare, count, sizeof *spare, brighter);
    while (n < count && (!n || sum < REFLECTION_SHARE * row->photons))
        sum += spare[n++].photons;
    uint32_t *pixels = mem_grow(table->pixels, table->npixels, n, sizeof *pixels, capacity);
    if (!pixels)
        return false;
    table->pixels = pixels;
    pixels += table->npixels;
    for (size_t i = 0; i < n; i++)
        pixels[i] = (uint32_t)spare[i].pixel;
    qsort(pixels, n, sizeof *pixels, earlier);
    table->npixels += n;
    row->pixels = (int32_t)n;
    return true;
}

bool reflection_measure(const struct experiment *x, const struct lit_pixel *lit, size_t count,
                        struct lit_pixel *spare, struct reflection_row *row,
                        struct reflection_table *table, size_t *capacity)
{
    double photons = 0.0, peak = 0.0;
    for (size_t i = 0; i < count; i++) {
        photons += lit[i].photons;
        peak = lit[i].photons > peak ? lit[i].photons : peak;
    }
    row->photons = photons;
    row->peak = (float)peak;
    find_centroid(x, lit, count, row);
    memcpy(spare, lit, count * sizeof *lit);
    return find_pixels(spare, count, row, table, capacity);
}

void reflection_label(struct reflection_table *table, float *most, size_t row,
                      const struct lit_pixel *lit, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t at = lit[i].pixel;
        if (lit[i].photons < LABEL_LEAST_PHOTONS || (float)lit[i].photons <= most[at])
            continue;
        most[at] = (float)lit[i].photons;
        table->labels[at] = (uint32_t)row + 1;
    }
}
