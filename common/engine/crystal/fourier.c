#include "engine/crystal/fourier.h"

#include <math.h>
#include <stdint.h>

#include "base/alloc.h"

enum { MOST_FACTOR = 5 };

static int smallest_factor(int n)
{
    for (int r = 2; r <= MOST_FACTOR; r++)
        if (n % r == 0)
            return r;
    return n;
}

int fourier_size(int n)
{
    for (;; n++) {
        int rest = n;
        while (rest > 1 && smallest_factor(rest) <= MOST_FACTOR)
            rest /= smallest_factor(rest);
        if (rest <= 1)
            return n;
    }
}

/* Lines side by side: each operation is done for all of them, in the order in which it would be for
 * one alone. */
enum { LANES = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
struct waves {
    lanes re, im;
};

static inline __attribute__((always_inline)) struct waves turned(struct waves a, struct wave b)
{
    return (struct waves){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Lines of n items, every `stride`-th of `in`: by the smallest factor of n, which divides them into
 * lines of which each is transformed likewise.  `roots` are the N-th roots of 1, and N is n times
 * stride. */
static void transform(const struct waves *in, struct waves *out, const struct wave *roots, int n,
                      int stride)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    const int r = smallest_factor(n), m = n / r;
    for (int j = 0; j < r; j++)
        transform(in + (int64_t)j * stride, out + j * m, roots, m, stride * r);
    for (int k = 0; k < m; k++) {
        struct waves part[MOST_FACTOR];
        for (int j = 0; j < r; j++)
            part[j] = turned(out[j * m + k], roots[j * k * stride]);
        for (int q = 0; q < r; q++) {
            struct waves sum = part[0];
            for (int j = 1; j < r; j++) {
                const struct waves next = turned(part[j], roots[j * q % r * m * stride]);
                sum.re += next.re;
                sum.im += next.im;
            }
            out[q * m + k] = sum;
        }
    }
}

/* Where the item `k` of line `i` is, of lines of `count` items that lie `step` apart. */
static int64_t place(int64_t i, int64_t k, int count, int64_t step)
{
    return i / step * step * count + i % step + k * step;
}

/* `n` lines from line `first` on, by way of room[2 count]. */
static void transform_some(struct wave *z, int64_t first, int n, int count, int64_t step,
                           const struct wave *roots, struct waves *room)
{
    int64_t at[LANES];
    for (int i = 0; i < LANES; i++)
        at[i] = place(first + (i < n ? i : 0), 0, count, step);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < LANES; i++) {
            room[k].re[i] = z[at[i] + k * step].re;
            room[k].im[i] = z[at[i] + k * step].im;
        }
    transform(room, room + count, roots, count, 1);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < n; i++)
            z[at[i] + k * step] = (struct wave){room[count + k].re[i], room[count + k].im[i]};
}

/* All lines along one axis: `count` items that lie `step` apart. */
static bool along(struct wave *z, int64_t total, int count, int64_t step, int threads)
{
    const int64_t lines = total / count;
    struct wave *roots = mem_array((size_t)count, sizeof *roots);
    bool good = roots;
    for (int i = 0; i < count && good; i++)
        roots[i] =
            (struct wave){(float)cos(2.0 * M_PI * i / count), (float)-sin(2.0 * M_PI * i / count)};
#pragma omp parallel num_threads(threads) reduction(&& : good)
    {
        struct waves *room = mem_array(2 * (size_t)count, sizeof *room);
        good = good && room;
#pragma omp for
        for (int64_t i = 0; i < lines; i += LANES)
            if (good)
                transform_some(z, i, lines - i < LANES ? (int)(lines - i) : LANES, count, step,
                               roots, room);
        mem_free(room);
    }
    mem_free(roots);
    return good;
}

bool fourier_box(struct wave *z, const int n[3], int threads)
{
    const int64_t total = (int64_t)n[0] * n[1] * n[2];
    return along(z, total, n[2], 1, threads) && along(z, total, n[1], n[2], threads) &&
           along(z, total, n[0], (int64_t)n[1] * n[2], threads);
}
