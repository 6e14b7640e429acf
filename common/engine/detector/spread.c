#include "engine/detector/spread.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/alloc.h"
#include "base/isa.h"

enum { TERMS_MAX = 48 };  // no profile needs as many

struct spread {
    struct psf psf;
    const struct spread_kernels *kernels;
    int threads;
    /* the image at hand */
    int64_t nx, ny, half;
    int64_t pairs;   // half, rounded up to whole SPREAD_PAIRS
    int64_t stride;  // of a padded row
    int64_t rows;    // of a tile
    int64_t last;    // the result of spread_last
    int terms;
    double kept;    // share of the light within the square
    float *factor;  // terms rows of pairs + 1; 0 beyond half
    float *padded;  // the image with margins of 0 left and right
    float *strips;  // for each thread, one term along rows: rows + 2 half + 1 lines
};

static const struct spread_kernels *choose_kernels(const char *isa, struct error *e)
{
    static const struct spread_kernels *const all[ISA_COUNT] = ISA_TABLE(spread_kernels_);
    enum isa at;
    return isa_choose(&at, isa, e) ? NULL : all[at];
}

enum status spread_create(struct spread **spread, const struct psf *psf, const char *isa,
                          int threads, struct error *e)
{
    *spread = NULL;
    const struct spread_kernels *kernels = choose_kernels(isa, e);
    if (!kernels)
        return STATUS_USAGE;
    *spread = mem_array(1, sizeof **spread);
    **spread = (struct spread){.psf = *psf, .kernels = kernels, .threads = threads};
    return STATUS_OK;
}

static void forget_image(struct spread *s)
{
    mem_free(s->factor);
    mem_free(s->padded);
    mem_free(s->strips);
    s->factor = s->padded = s->strips = NULL;
    s->nx = 0;
}

void spread_destroy(struct spread **spread)
{
    if (*spread)
        forget_image(*spread);
    mem_free(*spread);
    *spread = NULL;
}

int64_t spread_last(const struct spread *s)
{
    return s->last;
}

int spread_terms(const struct spread *s)
{
    return s->terms;
}

int64_t spread_half(const struct psf *psf, double brightest, int64_t nx, int64_t ny)
{
    const int64_t widest = (nx > ny ? nx : ny) > 2 ? (nx > ny ? nx : ny) - 1 : 1;
    if (psf->radius_px > 0)
        return psf->radius_px < widest ? psf->radius_px : widest;
    int64_t half = 1;
    while (half < widest && brightest * psf_share(psf, (double)half, 0.0) > SPREAD_LEAST)
        half++;
    return half;
}

/* Returns an upper bound of the light that is misplaced if the factorisation stops here: the sum
 * over the square of the bounds sqrt(d_i d_j) of the remaining matrix. diagonal[] is its
 * diagonal. */
static double misplaced(const double *diagonal, int64_t half)
{
    double sum = sqrt(fmax(diagonal[0], 0.0));
    for (int64_t i = 1; i <= half; i++)
        sum += 2.0 * sqrt(fmax(diagonal[i], 0.0));
    return sum * sum;
}

/* Computes the next column of the factor, for the pivot `pivot`. `terms` columns of half + 1
 * elements are known. */
static void next_term(const struct psf *psf, int64_t half, int64_t pivot, int terms, double *term,
                      double *diagonal)
{
    const int64_t n = half + 1;
    const double root = sqrt(diagonal[pivot]);
    double *to = term + terms * n;
    for (int64_t i = 0; i < n; i++) {
        double rest = psf_share(psf, (double)i, (double)pivot);
        for (int k = 0; k < terms; k++)
            rest -= term[k * n + i] * term[k * n + pivot];
        to[i] = rest / root;
        diagonal[i] -= to[i] * to[i];
    }
    diagonal[pivot] = 0.0;
}

/* Computes the factorisation: sets s->terms, s->factor and s->kept. */
static void factorise(struct spread *s)
{
    const int64_t n = s->half + 1;
    double *term = mem_array((size_t)(n * TERMS_MAX), sizeof *term);
    double *diagonal = mem_array((size_t)n, sizeof *diagonal);
    s->factor = mem_array((size_t)((s->pairs + 1) * TERMS_MAX), sizeof *s->factor);
    for (int64_t i = 0; i < n; i++)
        diagonal[i] = psf_share(&s->psf, (double)i, (double)i);
    s->kept = 0.0;
    for (s->terms = 0; s->terms < TERMS_MAX; s->terms++) {
        if (misplaced(diagonal, s->half) < SPREAD_MISPLACED)
            break;
        int64_t pivot = 0;
        for (int64_t i = 1; i < n; i++)
            pivot = diagonal[i] > diagonal[pivot] ? i : pivot;
        next_term(&s->psf, s->half, pivot, s->terms, term, diagonal);
        const double *c = term + s->terms * n;
        double line = c[0];
        for (int64_t i = 0; i < n; i++) {
            s->factor[s->terms * (s->pairs + 1) + i] = (float)c[i];
            line += i ? 2.0 * c[i] : 0.0;
        }
        s->kept += line * line;
    }
    mem_free(term);
    mem_free(diagonal);
}

/* Makes factors and buffers for an image, unless those of the previous image can be used. */
static void prepare(struct spread *s, int64_t nx, int64_t ny, int64_t half)
{
    if (s->nx == nx && s->ny == ny && s->half == half)
        return;
    forget_image(s);
    s->half = half;
    s->pairs = (half + SPREAD_PAIRS - 1) / SPREAD_PAIRS * SPREAD_PAIRS;
    s->stride = (nx + SPREAD_TILE - 1) / SPREAD_TILE * SPREAD_TILE + 2 * s->pairs;
    s->rows = 64 + 4 * half < ny ? 64 + 4 * half : ny;
    s->padded = mem_array((size_t)s->stride, (size_t)ny * sizeof *s->padded);
    s->strips = mem_array((size_t)(s->rows + 2 * half + 1) * SPREAD_TILE,
                          (size_t)s->threads * sizeof *s->strips);
    factorise(s);
    s->nx = nx;
    s->ny = ny;
}

/* Applies one term along a row of a tile. The row starts at `from` of the padded image. */
static void along_row(const struct spread *s, const float *from, const float *factor, float *to)
{
    s->kernels->start(to, from, factor[0], 1);
    for (int64_t d = 1; d <= s->pairs; d += SPREAD_PAIRS) {
        const float *before[SPREAD_PAIRS], *after[SPREAD_PAIRS];
        for (int k = 0; k < SPREAD_PAIRS; k++) {
            before[k] = from - (d + k);
            after[k] = from + (d + k);
        }
        s->kernels->add(to, before, after, factor + d);
    }
}

/* The rows of a tile after one term was applied along rows. line[] begins with row `first` of
 * the image and contains `count` rows. `dark` is a row without light, for all other rows. */
struct strip {
    const float *line, *dark;
    int64_t first, count;
};

static const float *strip_row(const struct strip *t, int64_t row)
{
    return row < t->first || row >= t->first + t->count ? t->dark
                                                        : t->line + (row - t->first) * SPREAD_TILE;
}

/* Adds one term along the columns for row `row`. */
static void along_columns(const struct spread *s, const struct strip *t, int64_t row,
                          const float *factor, float *to)
{
    s->kernels->start(to, strip_row(t, row), factor[0], 0);
    for (int64_t d = 1; d <= s->pairs; d += SPREAD_PAIRS) {
        const float *before[SPREAD_PAIRS], *after[SPREAD_PAIRS];
        for (int k = 0; k < SPREAD_PAIRS; k++) {
            before[k] = strip_row(t, row - (d + k));
            after[k] = strip_row(t, row + d + k);
        }
        s->kernels->add(to, before, after, factor + d);
    }
}

/* Spreads the tile that begins at column x and row y. Each pixel also gets the light `even`,
 * which the truncated factorisation would lose. */
static void spread_tile(const struct spread *s, int64_t x, int64_t y, float even, float *image)
{
    const int64_t end = y + s->rows < s->ny ? y + s->rows : s->ny;
    const int64_t first = y > s->half ? y - s->half : 0;
    const int64_t last = end + s->half < s->ny ? end + s->half : s->ny;
    const int64_t columns = x + SPREAD_TILE < s->nx ? SPREAD_TILE : s->nx - x;
    float *dark = s->strips + omp_get_thread_num() * (s->rows + 2 * s->half + 1) * SPREAD_TILE;
    float *lines = dark + SPREAD_TILE;
    const struct strip strip = {lines, dark, first, last - first};
    for (int k = 0; k < s->terms; k++) {
        const float *factor = s->factor + k * (s->pairs + 1);
        for (int64_t row = first; row < last; row++)
            along_row(s, s->padded + row * s->stride + s->pairs + x, factor,
                      lines + (row - first) * SPREAD_TILE);
        for (int64_t row = y; row < end; row++) {
            float out[SPREAD_TILE];
            float *to = image + row * s->nx + x;
            for (int64_t i = 0; i < SPREAD_TILE; i++)
                out[i] = i >= columns || k == 0 ? even : to[i];
            along_columns(s, &strip, row, factor, out);
            memcpy(to, out, (size_t)columns * sizeof *to);
        }
    }
}

/* Spreads an image. `sum` is the sum of its pixels. */
static void spread_image(struct spread *s, float *image, int64_t nx, int64_t ny, int64_t half,
                         double sum)
{
    prepare(s, nx, ny, half);
    const float even = (float)(fmax(0.0, 1.0 - s->kept) * sum / (double)(nx * ny));
    const int64_t across = (nx + SPREAD_TILE - 1) / SPREAD_TILE;
    const int64_t tiles = across * ((ny + s->rows - 1) / s->rows);
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(static)
        for (int64_t row = 0; row < ny; row++)
            memcpy(s->padded + row * s->stride + s->pairs, image + row * nx,
                   (size_t)nx * sizeof *image);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < tiles; i++)
            spread_tile(s, i % across * SPREAD_TILE, i / across * s->rows, even, image);
    }
}

void spread_apply(struct spread *s, float *image, int64_t nx, int64_t ny)
{
    double sum, brightest;
    s->kernels->light(image, nx * ny, &sum, &brightest);
    s->last = spread_half(&s->psf, brightest, nx, ny);
    if (brightest > 0.0)
        spread_image(s, image, nx, ny, s->last, sum);
}

void spread_signed(struct spread *s, float *image, int64_t nx, int64_t ny, int64_t half)
{
    double sum, brightest;
    s->kernels->light(image, nx * ny, &sum, &brightest);
    spread_image(s, image, nx, ny, half, sum);
}
