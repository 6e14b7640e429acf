#include "physics/detector/psf.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

/* Half width at half maximum of the fiber profile is 1/0.652383... of g. */
static const double FIBER_G_PER_FWHM = 0.652383013252053;

/* An error of a tenth of the counting noise is allowed. */
static const double NOISE_SHARE = 10.0;

/* Returns the integral of the profile over the quadrant from (0, 0) to (x, y), up to a constant
 * factor that cancels. It is odd in x and in y. */
static double quadrant(const struct psf *psf, double g, double x, double y)
{
    if (psf->kind == PSF_GAUSS)
        return 0.125 * erf(2.0 * x * sqrt(log(2.0))) * erf(y * sqrt(log(16.0))) *
               sqrt(log(16.0) / log(2.0));
    return atan(x * y / (g * sqrt(g * g + x * x + y * y))) / 2.0 / M_PI;
}

/* Returns the double integral of a Gaussian cloud of rms `sigma`: over the position of its middle,
 * and over the positions that it reaches.  Only second differences of the result are used. */
static double cloud(double x, double sigma)
{
    return 0.5 * x * erf(x / (sigma * sqrt(2.0))) +
           sigma / sqrt(2.0 * M_PI) * exp(-0.5 * (x / sigma) * (x / sigma));
}

/* Returns the fraction of the charge of a pixel that is in the line of pixels at the distance d
 * from it. */
static double charge_share(double sigma, double d)
{
    return fmax(0.0, cloud(d + 1.0, sigma) - 2.0 * cloud(d, sigma) + cloud(d - 1.0, sigma));
}

double psf_share(const struct psf *psf, double dx, double dy)
{
    if (psf->kind == PSF_CHARGE) {
        const double sigma = psf->fwhm_px / sqrt(8.0 * log(2.0));
        return charge_share(sigma, dx) * charge_share(sigma, dy);
    }
    double g = psf->fwhm_px * FIBER_G_PER_FWHM, half = 0.5;
    if (psf->kind == PSF_GAUSS) {
        dx /= psf->fwhm_px;
        dy /= psf->fwhm_px;
        half /= psf->fwhm_px;
    }
    return quadrant(psf, g, dx + half, dy + half) - quadrant(psf, g, dx + half, dy - half) -
           quadrant(psf, g, dx - half, dy + half) + quadrant(psf, g, dx - half, dy - half);
}

int64_t psf_radius(const struct psf *psf, double photons)
{
    if (psf->radius_px > 0)
        return psf->radius_px;
    double lost = sqrt(photons) / NOISE_SHARE;
    double r = psf->kind == PSF_GAUSS
                   ? 1.0 + ceil(sqrt(-log(lost / photons) / log(16.0)) * psf->fwhm_px)
                   : 1.0 + ceil(psf->fwhm_px * FIBER_G_PER_FWHM * photons / lost);
    return r >= 1.0 ? r < 1e9 ? (int64_t)r : 1000000000 : 1;  // NaN for less light than noise
}

double psf_beyond(const struct psf *psf, double radius_px)
{
    if (psf->kind == PSF_GAUSS) {
        double x = radius_px / psf->fwhm_px;
        return exp(-log(16.0) * (x * x));
    }
    double g = psf->fwhm_px * FIBER_G_PER_FWHM;
    return g / sqrt(g * g + radius_px * radius_px);
}

struct kernel {
    int64_t half;   // largest dx and dy
    double *share;  // (2 half + 1)^2, a line for each step of the outer axis; 0 beyond the radius
};

static void make_kernel(const struct psf *psf, int64_t radius, int64_t half, bool columns,
                        struct kernel *k)
{
    const size_t side = (size_t)(2 * half + 1);
    k->half = half;
    k->share = mem_array(side, side * sizeof *k->share);
    double *share = k->share;
    for (int64_t a = -half; a <= half; a++)
        for (int64_t b = -half; b <= half; b++, share++)
            if (a * a + b * b <= radius * radius)
                *share = columns ? psf_share(psf, (double)a, (double)b)
                                 : psf_share(psf, (double)b, (double)a);
}

/* The image that is being made, as lines along the inner axis, side by side along the outer
 * axis. Lines are rows, which are faster, or columns. */
struct spread {
    const struct kernel *kernel;
    float *out;
    int64_t nx, ny;
    bool columns;
    int64_t wrap;  // 1: x = nx is inside; it is the first pixel of the next row
};

static void add_line(float *out, int64_t stride, const double *share, int64_t count, double v)
{
    if (stride == 1)
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)((double)out[i] + v * share[i]);
    else
        for (int64_t i = 0; i < count; i++)
            out[i * stride] = (float)((double)out[i * stride] + v * share[i]);
}

/* Returns the number of pixels inside along the inner axis, for one position on the outer axis.
 * Light cannot enter a row after the last one. */
static int64_t line_end(const struct spread *s, int64_t outer)
{
    if (s->columns)
        return s->ny - (outer == s->nx);
    return s->nx + (outer < s->ny - 1 ? s->wrap : 0);
}

/* Adds the light `v` of pixel (x0, y0), within `radius` of it, rounded to float
 * after every term. */
static void scatter(const struct spread *s, int64_t x0, int64_t y0, double v, int64_t radius)
{
    const int64_t half = s->kernel->half, r = radius < half ? radius : half;
    const int64_t outer = s->columns ? x0 : y0, inner = s->columns ? y0 : x0;
    const int64_t outer_end = s->columns ? s->nx + s->wrap : s->ny;
    const int64_t outer_stride = s->columns ? 1 : s->nx, inner_stride = s->columns ? s->nx : 1;
    for (int64_t a = outer > r ? -r : -outer; a <= r && outer + a < outer_end; a++) {
        const int64_t circle = (int64_t)sqrt((double)(radius * radius - a * a));
        const int64_t reach = circle < half ? circle : half;
        const int64_t end = line_end(s, outer + a);
        const int64_t first = inner > reach ? -reach : -inner;
        const int64_t last = inner + reach < end ? reach : end - 1 - inner;
        add_line(s->out + (outer + a) * outer_stride + (inner + first) * inner_stride, inner_stride,
                 s->kernel->share + (a + half) * (2 * half + 1) + half + first, last - first + 1,
                 v);
    }
}

static double brightest(const float *image, int64_t count)
{
    double max = 0.0;
    for (int64_t i = 0; i < count; i++)
        if ((double)image[i] > max)
            max = (double)image[i];
    return max;
}

static void spread_all(const struct psf *psf, const struct spread *s, const float *in)
{
    int64_t count = s->nx * s->ny, widest = s->nx > s->ny ? s->nx : s->ny;
    double lost = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double v = (double)in[i];
        if (!(v > 0.0))
            continue;
        int64_t radius = psf_radius(psf, v);
        if (psf->radius_px <= 0 && radius > widest)
            radius = widest;
        scatter(s, i % s->nx, i / s->nx, v, radius);
        lost += v * psf_beyond(psf, (double)radius);
    }
    lost /= (double)count;
    for (int64_t i = 0; i < count; i++)
        s->out[i] = (float)((double)s->out[i] + lost);
}

void psf_apply(const struct psf *psf, float *image, int64_t nx, int64_t ny)
{
    int64_t count = nx * ny, widest = nx > ny ? nx : ny;
    double max = brightest(image, count);
    if (psf->kind == PSF_NONE || max <= 0.0)
        return;
    int64_t radius = psf_radius(psf, max);
    if (psf->radius_px <= 0 && radius > widest)
        radius = widest;
    float *in = mem_copy(image, (size_t)count, sizeof *image);
    /* noisify goes by columns.  Rows give the same sums unless one pixel's light can
     * reach a place twice, once wrapped: then the order of the two counts. */
    const bool columns = psf->loose_bounds && 2 * radius >= nx;
    struct kernel kernel;
    make_kernel(psf, radius, radius < widest ? radius : widest, columns, &kernel);
    const struct spread s = {&kernel, image, nx, ny, columns, psf->loose_bounds ? 1 : 0};
    memset(image, 0, (size_t)count * sizeof *image);
    spread_all(psf, &s, in);
    mem_free(kernel.share);
    mem_free(in);
}
