#include "io/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "io/picture_loop.h"

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

static struct scale find_scale(const float *pixels, size_t n, bool logarithmic)
{
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
    if (logarithmic || !(scale.black > scale.white))
        scale.black = largest(pixels, n);
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

/* --- picture --------------------------------------------------------------- */

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
    void *row = mem_array((size_t)fast, pixel_size(image->type));
    p->gray = mem_array(n, 1);
    const bool has_memory = reduced && row && p->gray;
    if (has_memory) {
        const struct picture_kernels *kernels = choose();
        kernels->reduce(p, image, fast, slow, row, reduced);
        const struct scale scale = find_scale(reduced, n, logarithmic);
        const double range = scale.black - scale.white;
        if (range > 0.0)
            (logarithmic ? shade_logarithmic : kernels->shade)(reduced, n, scale.white, range,
                                                               p->gray);
        else
            memset(p->gray, 255, n);
    }
    mem_free(reduced);
    mem_free(row);
    return has_memory ? STATUS_OK : error_memory(e, "the picture");
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
