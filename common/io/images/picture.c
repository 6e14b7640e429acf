#include "io/images/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "io/images/picture_loop.h"

enum { SAMPLES = 1 << 13 };  // that percentiles are taken from

/* Scale of gray values. */
struct scale {
    double white, black;
};

static const struct picture_kernels *choose(void)
{
    static const struct picture_kernels *const all[ISA_COUNT] = {&picture_baseline, &picture_avx2,
                                                                 &picture_avx512};
    return all[isa_best()];
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(const float *sorted, size_t n, double percent)
{
    return (double)sorted[(size_t)(percent / 100.0 * (double)(n - 1) + 0.5)];
}

static double largest(const float *pixels, size_t n)
{
    float most = pixels[0];
    for (size_t i = 1; i < n; i++)
        most = pixels[i] > most ? pixels[i] : most;
    return (double)most;
}

/* Moves values above `white` to the front; returns how many there are. */
static size_t keep_above(float *values, size_t n, double white)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((double)values[i] > white)
            values[kept++] = values[i];
    return kept;
}

/* Where nearly all pixels are equal, as in few photons: half of the others are black. */
static double black_of_few(float *pixels, size_t n, double white)
{
    const size_t kept = keep_above(pixels, n, white);
    if (!kept)
        return white;
    qsort(pixels, kept, sizeof *pixels, compare);
    return percentile(pixels, kept, 50.0);
}

/* Of values that may be put in another order. */
static struct scale find_scale(float *pixels, size_t n, bool logarithmic)
{
    if (!n)
        return (struct scale){0};
    const size_t stride = (n + SAMPLES - 1) / SAMPLES, count = (n + stride - 1) / stride;
    float sorted[SAMPLES];
    for (size_t i = 0; i < count; i++)
        sorted[i] = pixels[i * stride];
    qsort(sorted, count, sizeof *sorted, compare);
    const double spread = 0.5 * (percentile(sorted, count, 84.0) - percentile(sorted, count, 16.0));
    struct scale scale = {
        .white = percentile(sorted, count, 1.0),
        .black =
            fmax(percentile(sorted, count, 99.5), percentile(sorted, count, 50.0) + 10.0 * spread),
    };
    if (logarithmic)
        scale.black = largest(pixels, n);
    else if (!(scale.black > scale.white))
        scale.black = black_of_few(pixels, n, scale.white);
    return scale;
}

/* --- the logarithmic scale ------------------------------------------------- */

/* It spans three decades below black.  Gray is looked up by exponent and leading bits of
 * 1 + 999 t, which goes from 1 to 1000: less than a twentieth of a gray value off. */
enum { LEADING = 10, DROPPED = 23 - LEADING, ENTRIES = (10 << LEADING) };
static const uint32_t bits_of_1 = 0x3f800000;

static void make_table(uint8_t table[ENTRIES])
{
    for (uint32_t i = 0; i < ENTRIES; i++) {
        const uint32_t middle = bits_of_1 + (i << DROPPED) + (1u << (DROPPED - 1));
        float x;
        memcpy(&x, &middle, sizeof x);
        table[i] = (uint8_t)(255.5 - 255.0 * fmin(log((double)x) / log(1000.0), 1.0));
    }
}

static void shade_logarithmic(const float *values, size_t count, double white, double range,
                              uint8_t *gray)
{
    uint8_t table[ENTRIES];
    make_table(table);
    for (size_t i = 0; i < count; i++) {
        const double t = ((double)values[i] - white) / range;
        const float x = (float)(1.0 + 999.0 * (t > 0.0 ? t : 0.0));
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        gray[i] = t >= 1.0 ? 0 : table[(bits - bits_of_1) >> DROPPED];
    }
}

/* --- inks ------------------------------------------------------------------ */

static bool is_partial(const struct panel *p)
{
    return p->mask || p->roi.fast_min > 0 || p->roi.slow_min > 0 ||
           p->roi.fast_max < p->fast_pixels - 1 || p->roi.slow_max < p->slow_pixels - 1;
}

/* INK_MASKED wherever no pixel of a block is computed; others keep their ink. */
static void ink_masked(struct picture *p, const struct panel *panel)
{
    if (!is_partial(panel))
        return;
    memset(p->ink, INK_MASKED, (size_t)(p->width * p->height));
    for (int64_t s = 0; s < panel->slow_pixels; s++) {
        uint8_t *row = p->ink + s / p->factor * p->width;
        for (int64_t f = 0; f < panel->fast_pixels; f++)
            if (panel_computes(panel, f, s))
                row[f / p->factor] = INK_NONE;
    }
}

/* As largest pixels count as float32, so does the limit. */
static void ink_saturated(struct picture *p, const float *reduced, double saturation)
{
    for (int64_t i = 0; i < p->width * p->height && saturation > 0.0; i++)
        if (reduced[i] >= (float)saturation && p->ink[i] == INK_NONE)
            p->ink[i] = INK_SATURATED;
}

static void drop_unused_ink(struct picture *p)
{
    const uint8_t *ink = p->ink;
    for (int64_t i = 0; i < p->width * p->height; i++)
        if (ink[i])
            return;
    mem_free(p->ink);
    p->ink = NULL;
}

/* --- picture --------------------------------------------------------------- */

/* The values that are not masked, at `kept`. */
static size_t copy_computed(const struct picture *p, const float *reduced, float *kept)
{
    size_t count = 0;
    for (int64_t i = 0; i < p->width * p->height; i++)
        if (p->ink[i] != INK_MASKED)
            kept[count++] = reduced[i];
    return count;
}

static void shade(struct picture *p, const float *reduced, const struct scale *scale,
                  bool logarithmic)
{
    const size_t n = (size_t)(p->width * p->height);
    const double range = scale->black - scale->white;
    if (range > 0.0)
        (logarithmic ? shade_logarithmic : choose()->shade)(reduced, n, scale->white, range,
                                                            p->gray);
    else
        memset(p->gray, 255, n);
    for (size_t i = 0; i < n; i++)
        if (p->ink[i] == INK_MASKED)
            p->gray[i] = 255;
}

enum status picture_make(struct picture *p, const struct image *image, const struct panel *panel,
                         const struct picture_settings *settings, struct error *e)
{
    const int64_t fast = panel->fast_pixels, slow = panel->slow_pixels;
    const int64_t edge = fast > slow ? fast : slow, edge_max = settings->edge_max;
    const int64_t factor = edge_max > 0 ? (edge + edge_max - 1) / edge_max : 1;
    *p = (struct picture){.width = (fast + factor - 1) / factor,
                          .height = (slow + factor - 1) / factor,
                          .factor = factor,
                          .zoom = 1};
    const size_t n = (size_t)(p->width * p->height);
    float *reduced = mem_array(n, sizeof *reduced), *kept = mem_array(n, sizeof *kept);
    void *row = mem_array((size_t)fast, pixel_size(image->type));
    p->gray = mem_array(n, 1);
    p->ink = mem_array(n, 1);
    const bool has_memory = reduced && kept && row && p->gray && p->ink;
    if (has_memory) {
        choose()->reduce(p, image, fast, slow, row, reduced);
        ink_masked(p, panel);
        ink_saturated(p, reduced, settings->saturation);
        const struct scale scale =
            find_scale(kept, copy_computed(p, reduced, kept), settings->logarithmic);
        shade(p, reduced, &scale, settings->logarithmic);
        drop_unused_ink(p);
    }
    mem_free(reduced);
    mem_free(kept);
    mem_free(row);
    return has_memory ? STATUS_OK : error_memory(e, "the picture");
}

void picture_free(struct picture *p)
{
    mem_free(p->gray);
    mem_free(p->ink);
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
