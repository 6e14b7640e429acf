/* Finds peaks in an image, for protocols whose messages contain them. */
#include "gateway/delivery.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

/* The background of a pixel is measured in a square ring of pixels that are more than NEAR and
 * at most FAR pixels away.  At least RING_MIN of these pixels must be computed.  ROWS rows are
 * in memory at a time. */
enum { NEAR = 2, FAR = 5, ROWS = 2 * FAR + 1, RING_MIN = 24 };

static const double LN_CHANCE = -16.8112;  // ln of 5e-8, the chance that a window of a blank image
                                           // is a peak

/* A panel of an image, and the ROWS rows of it around the current row, converted to photons. */
struct view {
    const struct image *image;
    const struct panel *panel;
    double none, one;  // pixel value of no photons, and the difference that one photon makes
    float *row[ROWS];  // photons, from FAR rows before the current row to FAR rows after it; NAN
                       // for pixels that are not computed
};

struct ring {
    double pixels, sum, squares;  // number of pixels; sums of their photons and of the squares of
                                  // these
};

static void take_photons(const struct view *v, size_t first, float *to)
{
    const size_t n = (size_t)v->panel->fast_pixels;
    const float none = (float)v->none, scale = (float)(1 / v->one);
#define TAKE(TYPE)                 \
    for (size_t i = 0; i < n; i++) \
    to[i] = ((float)((const TYPE *)v->image->pixels)[first + i] - none) * scale
    switch (v->image->type) {
    case PIXEL_F32:
        TAKE(float);
        break;
    case PIXEL_U16:
        TAKE(uint16_t);
        break;
    case PIXEL_U32:
        TAKE(uint32_t);
        break;
    case PIXEL_I32:
        TAKE(int32_t);
        break;
    }
#undef TAKE
}

/* Moves the rows of the view by one, and reads row `s` of the panel as the last one.  Pixels
 * that are not computed, and rows beyond the panel, become NAN. */
static void next_row(struct view *v, int64_t s)
{
    const int64_t n = v->panel->fast_pixels;
    float *to = v->row[0];
    memmove(v->row, v->row + 1, (ROWS - 1) * sizeof *v->row);
    v->row[ROWS - 1] = to;
    if (s >= v->panel->slow_pixels) {
        for (int64_t f = 0; f < n; f++)
            to[f] = NAN;
        return;
    }
    take_photons(v, (size_t)(v->panel->first_pixel + s * n), to);
    for (int64_t f = 0; f < n; f++)
        if (!panel_computes(v->panel, f, s))
            to[f] = NAN;
}

/* Returns true if a pixel is the maximum of the 3 x 3 pixels around it: larger than the four
 * neighbours before it, and not smaller than the four neighbours after it.  Returns false if one
 * of these pixels is NAN. */
static bool is_maximum(const float *up, const float *at, const float *down)
{
    const float c = *at;
    return (c > at[-1]) & (c >= at[1]) & (c > up[-1]) & (c > up[0]) & (c > up[1]) &
           (c >= down[-1]) & (c >= down[0]) & (c >= down[1]);
}

/* Returns true if a pixel is also the maximum of the 5 x 5 pixels around it, without those that
 * are NAN.  Of equal pixels, the first one counts.  This test is needed because a weak spot has
 * more than one maximum of 3 x 3 pixels. */
static bool is_only_maximum(const struct view *v, int64_t f)
{
    const float c = v->row[FAR][f];
    bool only = true;
    for (int64_t i = -NEAR; i <= NEAR; i++)
        for (int64_t k = -NEAR; k <= NEAR; k++) {
            const float other = v->row[FAR + i][f + k];
            only &= !(other > c) && (i > 0 || (i == 0 && k >= 0) || !(other == c));
        }
    return only;
}

/* Adds the pixels on the border of a square to the ring.  distance: from pixel `f` of the
 * current row to the border, in pixels. */
static void add_ring(const struct view *v, int64_t f, int64_t distance, struct ring *r)
{
    for (int64_t i = -distance; i <= distance; i++) {
        const float *at = v->row[FAR + i] + f;
        const int64_t step = i == -distance || i == distance ? 1 : 2 * distance;
        for (int64_t k = -distance; k <= distance; k += step) {
            const double x = (double)at[k];
            if (isnan(x))
                continue;
            r->pixels++;
            r->sum += x;
            r->squares += x * x;
        }
    }
}

/* Returns the variance of a pixel that counting statistics do not explain, plus the standard error
 * with which the ring determines this variance.  Returns 0 if the variance is smaller than its
 * standard error. */
static double excess(const struct ring *r)
{
    const double mean = fmax(r->sum / r->pixels, 0);
    const double variance = (r->squares - r->sum * r->sum / r->pixels) / (r->pixels - 1);
    const double more = variance - mean;
    if (more <= 0 || more * more * r->pixels < 2 * mean * mean + mean)
        return 0;
    return more + variance * sqrt(2 / r->pixels);
}

/*
 * Returns true if a window with `photons` photons has significantly more than the background.
 * The window is `ratio` times as large as the ring, which has `ring` photons.  If both have the
 * same mean, the number of the photons of both that are in the window has a binomial
 * distribution (Przyborowski and Wilenski 1940, Biometrika 31, 313).  The tail of this
 * distribution is at most a geometric series that begins with the first term.
 */
static bool is_more(double photons, double ring, double ratio)
{
    const double more = photons - ring * ratio, all = photons + ring;
    if (more <= 0 || more * more < 25 * ratio * all)
        return false;
    const double first = lgamma(all + 1) - lgamma(photons + 1) - lgamma(ring + 1) +
                         photons * log(ratio) - all * log1p(ratio);
    return first - log1p(-ring * ratio / (photons + 1)) < LN_CHANCE;
}

/* Returns the number of photons in the brightest of the four squares of 2 x 2 pixels that
 * contain a pixel.  `at` points to the pixel; `up` and `down` point to its neighbours in the
 * rows before and after. */
static double brightest_four(const float *up, const float *at, const float *down)
{
    const double row[2] = {(double)at[0] + (double)at[-1], (double)at[0] + (double)at[1]};
    double most = -INFINITY;
    for (int i = 0; i < 2; i++) {
        most = fmax(most, row[i] + (double)up[0] + (double)up[2 * i - 1]);
        most = fmax(most, row[i] + (double)down[0] + (double)down[2 * i - 1]);
    }
    return most;
}

static bool stands_out(const struct view *v, int64_t f, double *mean)
{
    struct ring ring = {0};
    const float *up = v->row[FAR - 1] + f, *at = v->row[FAR] + f, *down = v->row[FAR + 1] + f;
    add_ring(v, f, NEAR + 1, &ring);
    *mean = ring.sum / fmax(ring.pixels, 1);
    const double above = (double)*at - *mean;
    if (above < 1 || above * above < 4 * *mean)
        return false;  // rejects most maxima of a background at low cost
    for (int64_t distance = NEAR + 2; distance <= FAR; distance++)
        add_ring(v, f, distance, &ring);
    if (ring.pixels < RING_MIN)
        return false;
    *mean = ring.sum / ring.pixels;
    double nine = 0;
    for (int k = -1; k <= 1; k++)
        nine += (double)up[k] + (double)at[k] + (double)down[k];
    /* A count whose variance exceeds its mean is nearly Poisson distributed when the excess is
     * added to count and mean (Huang et al. 2013, Nature Methods 10, 653). */
    const double add = excess(&ring), all = fmax(ring.sum, 0) + ring.pixels * add;
    return is_more(*at + add, all, 1 / ring.pixels) ||
           is_more(brightest_four(up, at, down) + 4 * add, all, 4 / ring.pixels) ||
           is_more(nine + 9 * add, all, 9 / ring.pixels);
}

static struct peak measure_peak(const struct view *v, int64_t f, int64_t s, double mean)
{
    double weight = 0, fast = 0, slow = 0;
    for (int64_t i = -1; i <= 1; i++)
        for (int64_t k = -1; k <= 1; k++) {
            const double w = fmax((double)v->row[FAR + i][f + k] - mean, 0);
            weight += w;
            fast += w * (double)k;
            slow += w * (double)i;
        }
    const double first_row = (double)(v->panel->first_pixel / v->panel->fast_pixels);
    return (struct peak){(double)f + fast / weight, first_row + (double)s + slow / weight,
                         weight * v->one};
}

/* Inserts a peak into a list of `n` peaks, sorted by intensity, brightest first.  A full list
 * (`most` peaks) loses its weakest peak.  Returns the new number of peaks. */
static size_t insert_peak(struct peak *peaks, size_t n, size_t most, struct peak p)
{
    if (n == most && p.intensity <= peaks[n - 1].intensity)
        return n;
    size_t at = n < most ? n : n - 1;
    for (; at && peaks[at - 1].intensity < p.intensity; at--)
        peaks[at] = peaks[at - 1];
    peaks[at] = p;
    return n < most ? n + 1 : n;
}

/* Finds the peaks of one panel, and inserts them into the list of *n peaks.  The rows of *v have
 * room for FAR pixels before and after the pixels of the panel. */
static void search(struct view *v, struct peak *peaks, size_t most, size_t *n)
{
    double mean;
    for (int64_t s = -FAR; s < v->panel->slow_pixels - 1; s++) {
        next_row(v, s + FAR);
        const float *up = v->row[FAR - 1], *at = v->row[FAR], *down = v->row[FAR + 1];
        for (int64_t f = 1; s > 0 && f < v->panel->fast_pixels - 1; f++)
            if (is_maximum(up + f, at + f, down + f) && stands_out(v, f, &mean) &&
                is_only_maximum(v, f))
                *n = insert_peak(peaks, *n, most, measure_peak(v, f, s, mean));
    }
}

size_t peaks_find(const struct experiment *x, const struct image *image, struct peak *peaks,
                  size_t most)
{
    const bool counted = image->unit == UNIT_ADU;
    size_t found = 0;
    for (size_t i = 0; i < x->npanels && most; i++) {
        struct view v = {.image = image,
                         .panel = &x->panels[i],
                         .none = counted ? x->adc_offset : 0,
                         .one = counted ? x->gain : 1};
        const size_t width = (size_t)v.panel->fast_pixels + 2 * FAR;
        float *rows = mem_array(ROWS * width, sizeof *rows);
        for (size_t k = 0; k < ROWS * width; k++)
            rows[k] = NAN;
        for (size_t k = 0; k < ROWS; k++)
            v.row[k] = rows + k * width + FAR;
        search(&v, peaks, most, &found);
        mem_free(rows);
    }
    return found;
}
