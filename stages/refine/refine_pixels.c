/* Chooses the pixels of a frame that are fitted, and finds the background between the spots. */
#include <math.h>

#include "base/alloc.h"
#include "refine.h"

enum { TILE = 16, TILE_LEAST = 40 };  // edge of a square, px; minimum number of pixels for a mean
static const double LEAST_PHOTONS = 1.0 / 3.0;

enum status refine_pixels_open(struct refine_pixels *p, size_t all, struct error *e)
{
    p->all = all;
    p->list.listed = mem_array(all, sizeof *p->list.listed);
    float **arrays[] = {&p->counts, &p->blurred, &p->background, &p->list.counts,
                        &p->list.background};
    bool good = p->list.listed;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        good = (*arrays[i] = mem_array(all, sizeof **arrays[i])) && good;
    return good ? STATUS_OK : error_memory(e, "the pixels");
}

void refine_list_free(struct refine_list *list)
{
    mem_free(list->listed);
    mem_free(list->counts);
    mem_free(list->background);
    *list = (struct refine_list){0};
}

void refine_pixels_close(struct refine_pixels *p)
{
    mem_free(p->counts);
    mem_free(p->blurred);
    mem_free(p->background);
    refine_list_free(&p->list);
    *p = (struct refine_pixels){0};
}

/* Returns true if a pixel is marked as not measured.  Detectors mark such pixels with the
 * largest number of the type, or with -1 and -2. */
static bool is_marked(const struct image *image, double value)
{
    switch (image->type) {
    case PIXEL_U16:
        return value >= UINT16_MAX;
    case PIXEL_U32:
        return value >= UINT32_MAX;
    case PIXEL_I32:
        return value < 0;
    default:
        return !isfinite(value);
    }
}

static void count_panel(struct refine_pixels *p, const struct experiment *x,
                        const struct panel *panel, double gain, double adc_offset,
                        const struct image *image)
{
    const int64_t pixels = panel->fast_pixels * panel->slow_pixels;
    for (int64_t k = 0; k < pixels; k++) {
        const size_t i = (size_t)(panel->first_pixel + k);
        const double value = image_value(image, i);
        const bool saturated = x->saturation > 0.0 && value >= x->saturation;
        const bool counts = panel_computes(panel, k % panel->fast_pixels, k / panel->fast_pixels) &&
                            !saturated && !is_marked(image, value);
        p->counts[i] = counts ? (float)((value - adc_offset) / gain) : NAN;
    }
}

void refine_pixels_count(struct refine_pixels *p, const struct experiment *x, double gain,
                         double adc_offset, const struct image *image)
{
    for (size_t i = 0; i < x->npanels; i++)
        count_panel(p, x, &x->panels[i], gain, adc_offset, image);
    p->list.brightest = 0.0;
    for (size_t i = 0; i < p->all; i++)
        p->list.brightest = fmax(p->list.brightest, (double)p->counts[i]);  // fmax ignores NaN
}

/* ---- background ------------------------------------------------------------------------- */

/* Returns the mean background of a square in photons, from the pixels that no spot reaches.
 * Returns NaN if there are fewer than TILE_LEAST such pixels. */
static double tile_mean(const struct refine_pixels *p, const struct panel *panel, int64_t fast,
                        int64_t slow)
{
    double sum = 0.0;
    int n = 0;
    for (int64_t s = slow; s < slow + TILE && s < panel->slow_pixels; s++)
        for (int64_t f = fast; f < fast + TILE && f < panel->fast_pixels; f++) {
            const size_t i = (size_t)(panel->first_pixel + s * panel->fast_pixels + f);
            if (isnan(p->counts[i]) || (double)p->blurred[i] > LEAST_PHOTONS)
                continue;
            sum += (double)p->counts[i] - (double)p->blurred[i];
            n++;
        }
    return n >= TILE_LEAST ? fmax(sum / n, 0.0) : NAN;
}

/* Returns the background at a place, interpolated between the centres of the four nearest
 * squares.  Squares without a mean are ignored.  If none of the four has a mean, returns
 * `otherwise`. */
static double between(const double *tiles, int64_t across, int64_t down, double fast, double slow,
                      double otherwise)
{
    const double u = fast / TILE - 0.5, v = slow / TILE - 0.5;
    const int64_t i = (int64_t)floor(u), k = (int64_t)floor(v);
    double sum = 0.0, weights = 0.0;
    for (int64_t b = k; b < k + 2; b++)
        for (int64_t a = i; a < i + 2; a++) {
            const double w = (1.0 - fabs(u - (double)a)) * (1.0 - fabs(v - (double)b));
            const int64_t column = a < 0 ? 0 : a >= across ? across - 1 : a;
            const int64_t row = b < 0 ? 0 : b >= down ? down - 1 : b;
            const double mean = tiles[row * across + column];
            if (isnan(mean) || !(w > 0.0))
                continue;
            sum += w * mean;
            weights += w;
        }
    return weights > 0.0 ? sum / weights : otherwise;
}

static void find_panel_background(struct refine_pixels *p, const struct panel *panel)
{
    const int64_t across = (panel->fast_pixels + TILE - 1) / TILE;
    const int64_t down = (panel->slow_pixels + TILE - 1) / TILE;
    double *tiles = mem_array((size_t)(across * down), sizeof *tiles), sum = 0.0;
    int n = 0;
    if (!tiles)
        return;
    for (int64_t i = 0; i < across * down; i++) {
        tiles[i] = tile_mean(p, panel, i % across * TILE, i / across * TILE);
        sum += isnan(tiles[i]) ? 0.0 : tiles[i];
        n += !isnan(tiles[i]);
    }
    const double otherwise = n ? sum / n : 0.0;
    for (int64_t k = 0; k < panel->fast_pixels * panel->slow_pixels; k++)
        p->background[panel->first_pixel + k] =
            (float)between(tiles, across, down, (double)(k % panel->fast_pixels) + 0.5,
                           (double)(k / panel->fast_pixels) + 0.5, otherwise);
    mem_free(tiles);
}

bool refine_pixels_choose(struct refine_pixels *p, const struct experiment *x, double flat,
                          bool keeps)
{
    struct refine_list *list = &p->list;
    for (size_t i = 0; i < list->count && keeps; i++)
        p->blurred[list->listed[i]] = INFINITY;
    for (size_t i = 0; i < x->npanels && isnan(flat); i++)
        find_panel_background(p, &x->panels[i]);
    const size_t before = list->count;
    bool changed = false;
    list->count = 0;
    for (size_t i = 0; i < p->all; i++) {
        if (isnan(p->counts[i]) || !((double)p->blurred[i] > LEAST_PHOTONS))
            continue;
        changed = changed || list->count >= before || list->listed[list->count] != (int64_t)i;
        list->listed[list->count] = (int64_t)i;
        list->counts[list->count] = p->counts[i];
        list->background[list->count++] = isnan(flat) ? p->background[i] : (float)flat;
    }
    return changed || list->count != before;
}

enum status refine_list_copy(struct refine_list *to, const struct refine_list *from,
                             struct error *e)
{
    to->count = from->count;
    to->brightest = from->brightest;
    to->listed = mem_copy(from->listed, from->count, sizeof *to->listed);
    to->counts = mem_copy(from->counts, from->count, sizeof *to->counts);
    to->background = mem_copy(from->background, from->count, sizeof *to->background);
    return to->listed && to->counts && to->background ? STATUS_OK : error_memory(e, "the pixels");
}
