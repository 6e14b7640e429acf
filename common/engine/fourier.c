#include "engine/fourier.h"

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

static struct wave product(struct wave a, struct wave b)
{
    return (struct wave){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* One line of n items, every `stride`-th of `in`: by the smallest factor of n, which divides it
 * into lines of which each is transformed likewise.  `roots` are the N-th roots of 1, and N is
 * n times stride. */
static void line(const struct wave *in, struct wave *out, const struct wave *roots, int n,
                 int stride)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    const int r = smallest_factor(n), m = n / r;
    for (int j = 0; j < r; j++)
        line(in + (int64_t)j * stride, out + j * m, roots, m, stride * r);
    for (int k = 0; k < m; k++) {
        struct wave part[MOST_FACTOR];
        for (int j = 0; j < r; j++)
            part[j] = product(out[j * m + k], roots[j * k * stride]);
        for (int q = 0; q < r; q++) {
            struct wave sum = part[0];
            for (int j = 1; j < r; j++) {
                const struct wave turned = product(part[j], roots[j * q % r * m * stride]);
                sum.re += turned.re;
                sum.im += turned.im;
            }
            out[q * m + k] = sum;
        }
    }
}

/* All lines along one axis: `count` items that lie `step` apart. */
static bool along(struct wave *z, int64_t total, int count, int64_t step, int threads)
{
    struct wave *roots = mem_array((size_t)count, sizeof *roots);
    bool good = roots;
    for (int i = 0; i < count && good; i++)
        roots[i] =
            (struct wave){(float)cos(2.0 * M_PI * i / count), (float)-sin(2.0 * M_PI * i / count)};
#pragma omp parallel num_threads(threads) reduction(&& : good)
    {
        struct wave *in = mem_array(2 * (size_t)count, sizeof *in);
        good = good && in;
#pragma omp for
        for (int64_t i = 0; i < total / count; i++) {
            struct wave *first = z + i / step * step * count + i % step, *out = in + count;
            if (!good)
                continue;
            for (int k = 0; k < count; k++)
                in[k] = first[k * step];
            line(in, out, roots, count, 1);
            for (int k = 0; k < count; k++)
                first[k * step] = out[k];
        }
        mem_free(in);
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
