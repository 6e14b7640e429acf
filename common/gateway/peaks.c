#include "gateway/peaks.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { RING = 3, EDGE = 4 };
static const double SIGMAS = 6;

/* One panel of an image. */
struct view {
    const struct image *image;
    const struct panel *panel;
};

static double value(const struct view *v, int64_t f, int64_t s)
{
    return image_value(v->image, (size_t)(v->panel->first_pixel + s * v->panel->fast_pixels + f));
}

/* Larger than those before it, and not smaller than those after it. */
static bool is_maximum(const struct view *v, int64_t f, int64_t s)
{
    const double centre = value(v, f, s);
    for (int64_t i = -1; i <= 1; i++)
        for (int64_t k = -1; k <= 1; k++) {
            const bool before = i < 0 || (i == 0 && k < 0);
            const double other = value(v, f + k, s + i);
            if ((i || k) && (before ? other >= centre : other > centre))
                return false;
        }
    return true;
}

/* Mean and standard deviation on the ring. */
static void background(const struct view *v, int64_t f, int64_t s, double *mean, double *sigma)
{
    double sum = 0, squares = 0, n = 0;
    for (int64_t i = -RING; i <= RING; i++) {
        const int64_t step = i == -RING || i == RING ? 1 : 2 * RING;
        for (int64_t k = -RING; k <= RING; k += step) {
            const double x = value(v, f + k, s + i);
            sum += x;
            squares += x * x;
            n++;
        }
    }
    *mean = sum / n;
    *sigma = sqrt(fmax(squares / n - *mean * *mean, 0));
}

static bool measure(const struct view *v, int64_t f, int64_t s, struct peak *p)
{
    double mean, sigma, weight = 0, fast = 0, slow = 0;
    background(v, f, s, &mean, &sigma);
    if (!(value(v, f, s) - mean > SIGMAS * sigma))
        return false;
    for (int64_t i = -1; i <= 1; i++)
        for (int64_t k = -1; k <= 1; k++) {
            const double w = fmax(value(v, f + k, s + i) - mean, 0);
            weight += w;
            fast += w * (double)k;
            slow += w * (double)i;
        }
    const double first_row = (double)(v->panel->first_pixel / v->panel->fast_pixels);
    *p = (struct peak){(double)f + fast / weight, first_row + (double)s + slow / weight, weight};
    return true;
}

/* Keeps peaks[] sorted; the least bright falls out when it is full. */
static size_t insert(struct peak *peaks, size_t n, size_t most, struct peak p)
{
    if (n == most && p.intensity <= peaks[n - 1].intensity)
        return n;
    size_t at = n < most ? n : n - 1;
    for (; at && peaks[at - 1].intensity < p.intensity; at--)
        peaks[at] = peaks[at - 1];
    peaks[at] = p;
    return n < most ? n + 1 : n;
}

size_t peaks_find(const struct experiment *x, const struct image *image, struct peak *peaks,
                  size_t most)
{
    size_t n = 0;
    struct peak p;
    for (size_t i = 0; i < x->npanels && most; i++) {
        const struct view v = {image, &x->panels[i]};
        for (int64_t s = EDGE; s < v.panel->slow_pixels - EDGE; s++)
            for (int64_t f = EDGE; f < v.panel->fast_pixels - EDGE; f++)
                if (is_maximum(&v, f, s) && measure(&v, f, s, &p))
                    n = insert(peaks, n, most, p);
    }
    return n;
}
