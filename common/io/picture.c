#include "io/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "io/raw.h"

enum { SAMPLES = 1 << 16 };  // that percentiles are taken from

/* Scale of gray values: 0 at `white`, 1 at `black`. */
struct scale {
    double white, black;
    bool logarithmic;
};

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(const float *sorted, size_t n, double percent)
{
    return (double)sorted[(size_t)(percent / 100.0 * (double)(n - 1) + 0.5)];
}

static enum status find_scale(const float *pixels, size_t n, struct scale *scale, struct error *e)
{
    const size_t stride = (n + SAMPLES - 1) / SAMPLES, count = (n + stride - 1) / stride;
    float *sorted = mem_array(count, sizeof *sorted);
    if (!sorted)
        return error_memory(e, "the picture");
    float largest = pixels[0];
    for (size_t i = 0; i < n; i++)
        largest = fmaxf(largest, pixels[i]);
    for (size_t i = 0; i < count; i++)
        sorted[i] = pixels[i * stride];
    qsort(sorted, count, sizeof *sorted, compare);
    const double spread = 0.5 * (percentile(sorted, count, 84.0) - percentile(sorted, count, 16.0));
    scale->white = percentile(sorted, count, 1.0);
    scale->black =
        fmax(percentile(sorted, count, 99.5), percentile(sorted, count, 50.0) + 10.0 * spread);
    if (scale->logarithmic || !(scale->black > scale->white))
        scale->black = (double)largest;
    mem_free(sorted);
    return STATUS_OK;
}

/* The logarithmic scale spans three decades below black. */
static uint8_t gray(const struct scale *scale, float value)
{
    const double range = scale->black - scale->white;
    double t = range > 0.0 ? ((double)value - scale->white) / range : 0.0;
    t = fmin(fmax(t, 0.0), 1.0);
    if (scale->logarithmic)
        t = log1p(999.0 * t) / log(1000.0);
    return (uint8_t)(255.5 - 255.0 * t);
}

/* Largest finite pixel of a block; 0 if there is none. */
static float block_maximum(const struct image *image, int64_t fast, int64_t slow, int64_t f0,
                           int64_t s0, int64_t factor)
{
    float largest = -INFINITY;
    for (int64_t s = s0; s < s0 + factor && s < slow; s++)
        for (int64_t f = f0; f < f0 + factor && f < fast; f++) {
            const float value = (float)image_value(image, (size_t)(s * fast + f));
            if (isfinite(value) && value > largest)
                largest = value;
        }
    return isfinite(largest) ? largest : 0.0f;
}

enum status picture_make(struct picture *p, const struct image *image, int64_t fast, int64_t slow,
                         int64_t edge_max, bool logarithmic, struct error *e)
{
    const int64_t edge = fast > slow ? fast : slow;
    const int64_t factor = edge_max > 0 ? (edge + edge_max - 1) / edge_max : 1;
    *p = (struct picture){.width = (fast + factor - 1) / factor,
                          .height = (slow + factor - 1) / factor,
                          .factor = factor};
    const size_t n = (size_t)(p->width * p->height);
    float *reduced = mem_array(n, sizeof *reduced);
    p->gray = mem_array(n, 1);
    struct scale scale = {.logarithmic = logarithmic};
    enum status s = STATUS_OK;
    if (!reduced || !p->gray)
        s = error_memory(e, "the picture");
    for (int64_t y = 0; s == STATUS_OK && y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++)
            reduced[y * p->width + x] =
                block_maximum(image, fast, slow, x * factor, y * factor, factor);
    if (s == STATUS_OK)
        s = find_scale(reduced, n, &scale, e);
    for (size_t i = 0; s == STATUS_OK && i < n; i++)
        p->gray[i] = gray(&scale, reduced[i]);
    mem_free(reduced);
    return s;
}

void picture_free(struct picture *p)
{
    mem_free(p->gray);
    *p = (struct picture){0};
}

enum status picture_write_pgm(FILE *out, const struct picture *p, const char *path, struct error *e)
{
    const size_t n = (size_t)(p->width * p->height);
    if (fprintf(out, "P5\n%" PRId64 " %" PRId64 "\n255\n", p->width, p->height) < 0 ||
        fwrite(p->gray, 1, n, out) != n)
        return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return STATUS_OK;
}
