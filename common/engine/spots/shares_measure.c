/* Where a reflection is and how large, from the photons of its pixels. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/spots/shares.h"

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

/* Adds the pixels of one row from item i on; returns the first item behind them. */
static size_t add_row(struct part *part, const struct panel *p, const struct lit_pixel *lit,
                      size_t count, size_t i)
{
    const int64_t slow = (lit[i].pixel - p->first_pixel) / p->fast_pixels;
    const int64_t begin = p->first_pixel + slow * p->fast_pixels;
    for (; i < count && lit[i].pixel < begin + p->fast_pixels; i++) {
        part->photons += lit[i].photons;
        part->fast += lit[i].photons * ((double)(lit[i].pixel - begin) + 0.5);
        part->slow += lit[i].photons * ((double)slow + 0.5);
    }
    return i;
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
        while (i < count && panel_holds(p, lit[i].pixel))
            i = add_row(&part, p, lit, count, i);
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

/* Classes of brightness below a peak, 16 for each power of 2; the last one has all that is darker.
 */
enum { CLASSES = 256 };

static int brightness(float photons)
{
    uint32_t bits;
    memcpy(&bits, &photons, sizeof bits);
    return (int)(bits >> 19);
}

static int class_of(const struct lit_pixel *lit, int peak)
{
    const int below = peak - brightness((float)lit->photons);
    return below < CLASSES ? below : CLASSES - 1;
}

/* The darkest of the brightest pixels that hold the share.  Only those of its class are sorted, in
 * `spare`. */
static struct lit_pixel find_darkest(const struct lit_pixel *lit, size_t count,
                                     struct lit_pixel *spare, const struct reflection_row *row)
{
    const int peak = brightness(row->peak);
    double held[CLASSES] = {0}, sum = 0.0;
    size_t n = 0, last = 0;
    int class = 0;
    for (size_t i = 0; i < count; i++)
        held[class_of(&lit[i], peak)] += lit[i].photons;
    while (class < CLASSES - 1 && sum + held[class] < REFLECTION_SHARE * row->photons)
        sum += held[class ++];
    for (size_t i = 0; i < count; i++)
        if (class_of(&lit[i], peak) == class)
            spare[n++] = lit[i];
    qsort(spare, n, sizeof *spare, brighter);
    for (sum += spare[0].photons; last + 1 < n && sum < REFLECTION_SHARE * row->photons;)
        sum += spare[++last].photons;
    return spare[last];
}

/* Numbers above 0 are in the order of their bits. */
static int64_t bits_of(double photons)
{
    int64_t bits;
    memcpy(&bits, &photons, sizeof bits);
    return bits;
}

/* The brightest pixels that hold the share, as few as can. */
static bool find_pixels(const struct lit_pixel *lit, size_t count, struct lit_pixel *spare,
                        struct reflection_row *row, struct reflection_table *table,
                        size_t *capacity)
{
    const struct lit_pixel darkest = find_darkest(lit, count, spare, row);
    uint32_t *pixels = mem_grow(table->pixels, table->npixels, count, sizeof *pixels, capacity);
    if (!pixels)
        return false;
    table->pixels = pixels;
    pixels += table->npixels;
    const int64_t least = bits_of(darkest.photons);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {  // no branch: which ones they are cannot be foreseen
        pixels[n] = (uint32_t)lit[i].pixel;
        n += bits_of(lit[i].photons) + (lit[i].pixel <= darkest.pixel) > least;
    }
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
    return find_pixels(lit, count, spare, row, table, capacity);
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
