/*
 * The grid of the halos of a crystal in reciprocal space, and Fourier transforms of boxes in
 * single precision, which convolve halos on this grid.
 */
#include "engine/crystal/diffuse.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "physics/crystal/hkl.h"

/* ---- Fourier transforms of boxes ------------------------------------------------------------ */

struct wave {
    float re, im;
};

enum { MOST_FACTOR = 5 };

static int smallest_factor(int n)
{
    for (int r = 2; r <= MOST_FACTOR; r++)
        if (n % r == 0)
            return r;
    return n;
}

/* Returns the smallest number >= n without a prime factor above 5. */
static int fourier_size(int n)
{
    for (;; n++) {
        int rest = n;
        while (rest > 1 && smallest_factor(rest) <= MOST_FACTOR)
            rest /= smallest_factor(rest);
        if (rest <= 1)
            return n;
    }
}

/* Number of lines that are transformed side by side. Each operation is done for all of them, in
 * the same order as for a single line. */
enum { LANES = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
struct waves {
    lanes re, im;
};

static inline __attribute__((always_inline)) struct waves turned(struct waves a, struct wave b)
{
    return (struct waves){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Transforms lines of n items, which are every `stride`-th item of in[]. The smallest factor of
 * n divides them into shorter lines, which are transformed in the same way. roots[] are the N-th
 * roots of 1, with N = n times stride. */
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

/* Returns the index of item `k` of line `i`. A line has `count` items at distances of `step`. */
static int64_t line_index(int64_t i, int64_t k, int count, int64_t step)
{
    return i / step * step * count + i % step + k * step;
}

/* Transforms `n` lines from line `first` on. Uses room[2 count]. */
static void transform_some(struct wave *z, int64_t first, int n, int count, int64_t step,
                           const struct wave *roots, struct waves *room)
{
    int64_t at[LANES];
    for (int i = 0; i < LANES; i++)
        at[i] = line_index(first + (i < n ? i : 0), 0, count, step);
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

/* Transforms all lines along one axis: `count` items at distances of `step`. */
static void along(struct wave *z, int64_t total, int count, int64_t step, int threads)
{
    const int64_t lines = total / count;
    struct wave *roots = mem_array((size_t)count, sizeof *roots);
    for (int i = 0; i < count; i++)
        roots[i] =
            (struct wave){(float)cos(2.0 * M_PI * i / count), (float)-sin(2.0 * M_PI * i / count)};
#pragma omp parallel num_threads(threads)
    {
        struct waves *room = mem_array(2 * (size_t)count, sizeof *room);
#pragma omp for
        for (int64_t i = 0; i < lines; i += LANES)
            transform_some(z, i, lines - i < LANES ? (int)(lines - i) : LANES, count, step, roots,
                           room);
        mem_free(room);
    }
    mem_free(roots);
}

/* Transforms z[n0 n1 n2] in place, with sizes as above; the last index varies fastest.  The result
 * is the sum over x of z(x) exp(-2 pi i k x/n).  The bytes are the same for any number of threads.
 */
static void fourier_box(struct wave *z, const int n[3], int threads)
{
    const int64_t total = (int64_t)n[0] * n[1] * n[2];
    along(z, total, n[2], 1, threads);
    along(z, total, n[1], n[2], threads);
    along(z, total, n[0], (int64_t)n[1] * n[2], threads);
}

/* ---- motions ------------------------------------------------------------------------------- */

/* Sets the unit vectors a, c* x a and c* as rows. */
static void crystal_axes(const double star[9], double axes[9])
{
    vec_cross(star + 3, star + 6, axes);
    vec_unit(axes, axes);
    vec_unit(star + 6, axes + 6);
    vec_cross(axes + 6, axes, axes + 3);
}

/* Computes the symmetric matrix m with h . m h = 4 pi^2 |t g|^2, where g = h a* + k b* + l c* in
 * 1/A, and t is in A along a, c* x a and c*. */
static void motion_metric(const struct crystal *c, const double t_A[3], double m[9])
{
    double axes[9];
    crystal_axes(c->reciprocal_A, axes);
    memset(m, 0, 9 * sizeof *m);
    for (int i = 0; i < 3; i++) {
        double along[3];
        for (int k = 0; k < 3; k++)
            along[k] = 2.0 * M_PI * t_A[i] * vec_dot(axes + 3 * i, c->reciprocal_A + 3 * k);
        for (int k = 0; k < 9; k++)
            m[k] += along[k / 3] * along[k % 3];
    }
}

/* Returns h . m h. */
static double motion_quadratic(const double m[9], const double hkl[3])
{
    double turned[3];
    mat_apply(m, hkl, turned);
    return vec_dot(turned, hkl);
}

/* Returns the number of orders m that are needed so that less than a thousandth of e^X - 1 is
 * missing, for all X up to this one. */
static int count_orders(double X)
{
    double term = X, rest = expm1(X) - X;
    int m = 1;
    while (rest > 1e-3 * expm1(X)) {
        term *= X / ++m;
        rest -= term;
    }
    return m;
}

/* n/V times 8 pi det(gamma): what the sum over m of X^m/(m-1)! / (m^2 + u)^2 is multiplied by, for
 * u = 4 pi^2 |gamma ds|^2. */
static double halo_scale(const struct crystal *c)
{
    const double *N = c->cells, *x = c->cells_across, *gamma = c->diffuse_gamma_A;
    const double cells =
        mat_determinant((const double[9]){N[0], x[0], x[2], x[0], N[1], x[1], x[2], x[1], N[2]});
    /* the volume is 1 over that of the reciprocal cell */
    return cells * fabs(mat_determinant(c->reciprocal_A)) * 8.0 * M_PI * gamma[0] * gamma[1] *
           gamma[2];
}

bool diffuse_damp(struct crystal *c)
{
    const struct hkl_table *t = &c->table;
    double m[9], *F = t->F;
    motion_metric(c, c->diffuse_sigma_A, m);
    for (int h = 0; h < t->count[0]; h++)
        for (int k = 0; k < t->count[1]; k++)
            for (int l = 0; l < t->count[2]; l++, F++) {
                const double hkl[3] = {t->min[0] + h, t->min[1] + k, t->min[2] + l};
                const double X = motion_quadratic(m, hkl);
                if (*F != 0.0 && X > DIFFUSE_MOST_X)
                    return false;
                *F *= exp(-0.5 * X);
            }
    return true;
}

/* ---- the grid ------------------------------------------------------------------------------- */

enum { MOST_NODES = 1 << 26, MARGIN = 4 };

static size_t nodes_of(const struct halo *h)
{
    return (size_t)h->count[0] * (size_t)h->count[1] * (size_t)h->count[2];
}

/* Sets the range of indices: those of the table, or those that the detector can see, plus a
 * margin for the width of halos. */
static enum status set_box(struct halo *h, const struct crystal *c, double reach, struct error *e)
{
    const struct hkl_table *t = &c->table;
    double nodes = 1.0, direct[9], least = c->diffuse_gamma_A[0];
    for (int i = 1; i < 3; i++)
        least = fmin(least, c->diffuse_gamma_A[i]);
    mat_invert(c->reciprocal_A, direct);  // columns a, b, c
    for (int i = 0; i < 3; i++) {
        const double edge = vec_length((const double[3]){direct[i], direct[3 + i], direct[6 + i]});
        const double most = fmin(ceil(edge * reach), 1e6);
        const bool listed = t->F && t->default_F == 0.0;
        const double low = listed ? fmax(t->min[i], -most) : -most;
        const double high = listed ? fmin(t->min[i] + t->count[i] - 1, most) : most;
        const double margin = MARGIN + fmin(ceil(edge / least), 32.0);
        h->min[i] = (int)(low - margin);
        h->count[i] = fourier_size((int)(fmax(high - low, 0.0) + 2.0 * margin) + 1);
        nodes *= h->count[i];
    }
    if (nodes > MOST_NODES)
        return error_set(e, STATUS_INPUT,
                         "the diffuse scattering has %d x %d x %d reflections; expected at most "
                         "%d. Increase --dmin, or list fewer reflections",
                         h->count[0], h->count[1], h->count[2], (int)MOST_NODES);
    return STATUS_OK;
}

static void node_indices(const struct halo *h, size_t node, double hkl[3])
{
    const size_t n2 = (size_t)h->count[2], n1 = (size_t)h->count[1];
    hkl[0] = h->min[0] + (double)(node / n2 / n1);
    hkl[1] = h->min[1] + (double)(node / n2 % n1);
    hkl[2] = h->min[2] + (double)(node % n2);
}

/* Sets F^2 and X of all nodes, and h->orders, the number of orders that the node with the
 * largest X needs. STATUS_INPUT: the motions are too large. */
static enum status fill_nodes(struct halo *h, const struct crystal *c, double reach,
                              struct error *e)
{
    double sigma[9], most = 0.0;
    motion_metric(c, c->diffuse_sigma_A, sigma);
    for (size_t i = 0; i < nodes_of(h); i++) {
        double hkl[3], g[3] = {0};
        node_indices(h, i, hkl);
        for (int k = 0; k < 9; k++)
            g[k % 3] += hkl[k / 3] * c->reciprocal_A[k];
        const double F = vec_length(g) <= reach ? hkl_nearest(&c->table, hkl) : 0.0;
        const double X = motion_quadratic(sigma, hkl);
        h->F_sqr[i] = (float)(F * F);
        h->X[i] = F != 0.0 ? (float)X : 0.0f;
        if (F != 0.0 && X > most)
            most = X;
    }
    h->orders = count_orders(most);
    if (most > DIFFUSE_MOST_X)
        return error_set(e, STATUS_INPUT,
                         "the motion weakens reflections by e^-%.3g; expected e^-%g at most. "
                         "Reduce --diffuse-sigma (in A), or increase --dmin",
                         most, DIFFUSE_MOST_X);
    return STATUS_OK;
}

/* Returns the largest X for which `orders` orders are enough. */
static double largest_X(int orders)
{
    double low = 0.0, high = 2.0 * DIFFUSE_MOST_X;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        *(count_orders(middle) <= orders ? &low : &high) = middle;
    }
    return low;
}

/* Sets h->needed[] to the number of orders of each node, and then to the maximum over the
 * HALO_EDGE nodes from this node on along each axis. */
static void fill_needed(struct halo *h)
{
    const size_t count = nodes_of(h), strides[3] = {h->nodes.step[0], h->nodes.step[1], 1};
    float limit[256];
    for (int m = 0; m < h->orders; m++)
        limit[m] = (float)largest_X(m + 1);
    for (size_t i = 0; i < count; i++)
        while (h->needed[i] + 1 < h->orders && h->X[i] > limit[h->needed[i]])
            h->needed[i]++;
    for (size_t i = 0; i < count; i++)
        h->needed[i]++;
    for (int axis = 0; axis < 3; axis++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 1; k < HALO_EDGE && i + k * strides[axis] < count; k++)
                if (h->needed[i] < h->needed[i + k * strides[axis]])
                    h->needed[i] = h->needed[i + k * strides[axis]];
}

/* Returns the offset, along one axis, of a node from the corner of the periodic box: the shorter
 * of the two ways. */
static int wrapped(int at, int count)
{
    return 2 * at > count ? at - count : at;
}

/* Returns 1/(m^2 + u)^2 at the offset d[], in indices. `square` is m^2. */
static float kernel(const struct halo *h, const float d[3], float square)
{
    const float *w = h->nodes.width;
    const float t = square + w[0] * d[0] * d[0] + w[1] * d[1] * d[1] + w[2] * d[2] * d[2] +
                    w[3] * d[0] * d[1] + w[4] * d[0] * d[2] + w[5] * d[1] * d[2];
    return 1.0f / (t * t);
}

/* Returns the part of the kernel that is not summed at the points themselves (see halo_share),
 * for a node at the offset d[]. It is the mean over all points that are interpolated from this
 * node, weighted with the interpolation weights, so that no photons are lost between the nodes. */
static float rest_about(const struct halo *h, const float d[3], float square)
{
    enum { PARTS = 8 };
    float sum = 0.0f;
    for (int i = 0; i < PARTS * PARTS * PARTS; i++) {
        const int part[3] = {i / PARTS / PARTS, i / PARTS % PARTS, i % PARTS};
        float at[3], weight = 8.0f / (PARTS * PARTS * PARTS), share = 1.0f;
        for (int k = 0; k < 3; k++) {
            const float off = ((float)part[k] + 0.5f) * (2.0f / PARTS) - 1.0f;
            at[k] = d[k] + off;
            weight *= 1.0f - fabsf(off);
            share *= halo_share(at[k]);
        }
        sum += weight * (1.0f - share) * kernel(h, at, square);
    }
    return sum;
}

/* Returns the kernel of `far` at the offset of a node from the corner of the box. Returns 0 if
 * the offset is half the box along an axis, where its sign is not defined. */
static float far_kernel(const struct halo *h, size_t node, float square)
{
    const int n1 = h->count[1], n2 = h->count[2];
    const int at[3] = {(int)(node / (size_t)n2 / (size_t)n1), (int)(node / (size_t)n2) % n1,
                       (int)(node % (size_t)n2)};
    float d[3];
    bool near = true;
    for (int i = 0; i < 3; i++) {
        if (2 * at[i] == h->count[i])
            return 0.0f;
        d[i] = (float)wrapped(at[i], h->count[i]);
        near = near && fabsf(d[i]) <= 3.0f;
    }
    return near ? rest_about(h, d, square) : kernel(h, d, square);
}

static float source(const struct halo *h, size_t node, int m)
{
    float term = h->F_sqr[node] * h->X[node];
    for (int k = 1; k < m; k++)
        term *= h->X[node] / (float)k;
    return term;
}

/* Returns the node whose offset from the corner of the periodic box is the negative of that of
 * `node`. */
static size_t opposite(const struct halo *h, size_t node)
{
    const size_t *n =
        (const size_t[3]){(size_t)h->count[0], (size_t)h->count[1], (size_t)h->count[2]};
    const size_t i = node / n[2] / n[1], j = node / n[2] % n[1], k = node % n[2];
    return ((n[0] - i) % n[0] * n[1] + (n[1] - j) % n[1]) * n[2] + (n[2] - k) % n[2];
}

/* Adds the Fourier transforms of the convolutions of the orders m and m + 1 to sum[]. Sources
 * and kernels are real, and kernels are even. One transform therefore handles the sources of
 * both orders, as real and imaginary part, and another transform the kernels of both. */
static void add_orders(const struct halo *h, int m, int threads, struct wave *z, struct wave *k,
                       struct wave *sum)
{
    const size_t count = nodes_of(h);
    const bool both = m < h->orders;
    for (size_t i = 0; i < count; i++) {
        z[i] = (struct wave){source(h, i, m), both ? source(h, i, m + 1) : 0.0f};
        k[i] = (struct wave){far_kernel(h, i, (float)(m * m)),
                             both ? far_kernel(h, i, (float)((m + 1) * (m + 1))) : 0.0f};
    }
    fourier_box(z, h->count, threads);
    fourier_box(k, h->count, threads);
    for (size_t i = 0; i < count; i++) {
        const struct wave a = z[i], b = z[opposite(h, i)];
        /* the transformed sources are (a + b*)/2 for order m, and (a - b*)/2i for order m + 1 */
        sum[i].re += 0.5f * ((a.re + b.re) * k[i].re + (a.im + b.im) * k[i].im);
        sum[i].im += 0.5f * ((a.im - b.im) * k[i].re - (a.re - b.re) * k[i].im);
    }
}

static void fill_far(struct halo *h, int threads)
{
    const size_t count = nodes_of(h);
    struct wave *z = mem_array(count, sizeof *z), *k = mem_array(count, sizeof *k);
    struct wave *sum = mem_array(count, sizeof *sum);
    for (int m = 1; m <= h->orders; m += 2)
        add_orders(h, m, threads, z, k, sum);
    fourier_box(sum, h->count, threads);
    /* applying the same transform twice maps each node to the opposite node */
    for (size_t i = 0; i < count; i++)
        h->far[opposite(h, i)] = fmaxf(0.0f, sum[i].re / (float)count);
    mem_free(z);
    mem_free(k);
    mem_free(sum);
}

enum status halo_open(struct halo *h, const struct crystal *c, double reach, int threads,
                      struct error *e)
{
    *h = (struct halo){.scale = halo_scale(c)};
    double gamma[9];
    enum status s = set_box(h, c, reach, e);
    if (s)
        return s;
    const size_t count = nodes_of(h);
    h->F_sqr = mem_array(count, sizeof *h->F_sqr);
    h->X = mem_array(count, sizeof *h->X);
    h->far = mem_array(count, sizeof *h->far);
    h->needed = mem_array(count, sizeof *h->needed);
    motion_metric(c, c->diffuse_gamma_A, gamma);
    const double width[6] = {gamma[0],       gamma[4],       gamma[8],
                             2.0 * gamma[1], 2.0 * gamma[2], 2.0 * gamma[5]};
    for (int i = 0; i < 6; i++)
        h->nodes.width[i] = (float)width[i];
    h->nodes.step[0] = (size_t)h->count[1] * (size_t)h->count[2];
    h->nodes.step[1] = (size_t)h->count[2];
    h->nodes.F_sqr = h->F_sqr;
    h->nodes.X = h->X;
    h->nodes.far = h->far;
    h->nodes.orders = h->needed;
    if ((s = fill_nodes(h, c, reach, e)))
        return s;
    fill_needed(h);
    fill_far(h, threads);
    return STATUS_OK;
}

void halo_close(struct halo *h)
{
    mem_free(h->F_sqr);
    mem_free(h->X);
    mem_free(h->far);
    mem_free(h->needed);
    *h = (struct halo){0};
}
