#include "refine/fit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { SWEEPS = 60 };
static const double SINGULAR = 1e-10;

/* Rotates rows and columns p and q of a[n x n] so that a[p][q] becomes 0 (Jacobi rotation). */
static void rotate(size_t n, double *a, double *vectors, size_t p, size_t q)
{
    const double apq = a[p * n + q];
    if (apq == 0.0)
        return;
    const double theta = 0.5 * (a[q * n + q] - a[p * n + p]) / apq;
    const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double kp = a[k * n + p], kq = a[k * n + q];
        a[k * n + p] = c * kp - s * kq;
        a[k * n + q] = s * kp + c * kq;
    }
    for (size_t k = 0; k < n; k++) {
        const double pk = a[p * n + k], qk = a[q * n + k];
        a[p * n + k] = c * pk - s * qk;
        a[q * n + k] = s * pk + c * qk;
    }
    for (size_t k = 0; k < n; k++) {
        const double kp = vectors[k * n + p], kq = vectors[k * n + q];
        vectors[k * n + p] = c * kp - s * kq;
        vectors[k * n + q] = s * kp + c * kq;
    }
}

static bool is_diagonal(size_t n, const double *a)
{
    double off = 0.0, all = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            all += a[i * n + k] * a[i * n + k];
            off += i == k ? 0.0 : a[i * n + k] * a[i * n + k];
        }
    return off <= 1e-32 * all;
}

/* Computes the eigenvalues values[n] of a[n x n], unsorted, and the eigenvectors as columns of
 * vectors[n x n].  *a is overwritten.  Jacobi rotations are used (Golub and Van Loan, Matrix
 * Computations, 8.5), whose results are the same on every machine. */
static void symmetric_eigen(size_t n, double *a, double *values, double *vectors)
{
    for (size_t i = 0; i < n * n; i++)
        vectors[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
    for (int sweep = 0; sweep < SWEEPS && !is_diagonal(n, a); sweep++)
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++)
                rotate(n, a, vectors, p, q);
    for (size_t i = 0; i < n; i++)
        values[i] = a[i * n + i];
}

/* Inverts a matrix that has been scaled to a unit diagonal.  Sets weakest[n] to the eigenvector
 * of its smallest eigenvalue.  Returns false if the matrix is not positive definite. */
static bool invert_scaled(size_t n, double *a, double *inverse, double *work, double *weakest)
{
    double *values = work, *vectors = work + n;
    size_t least = 0, most = 0;
    symmetric_eigen(n, a, values, vectors);
    for (size_t i = 1; i < n; i++) {
        least = values[i] < values[least] ? i : least;
        most = values[i] > values[most] ? i : most;
    }
    for (size_t i = 0; i < n; i++)
        weakest[i] = vectors[i * n + least];
    if (!(values[least] > SINGULAR * values[most]))
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            double sum = 0.0;
            for (size_t m = 0; m < n; m++)
                sum += vectors[i * n + m] * vectors[k * n + m] / values[m];
            inverse[i * n + k] = sum;
        }
    return true;
}

size_t symmetric_work(size_t n)
{
    return n + 2 * n * n;
}

bool symmetric_invert(size_t n, const double *a, double *inverse, double *work, double *weakest)
{
    for (size_t i = 0; i < n; i++)
        weakest[i] = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!(a[i * n + i] > 0.0)) {
            weakest[i] = 1.0;
            return false;
        }
    if (!n)
        return true;
    double *scaled = work + n + n * n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            scaled[i * n + k] = a[i * n + k] / sqrt(a[i * n + i] * a[k * n + k]);
    const bool good = invert_scaled(n, scaled, inverse, work, weakest);
    for (size_t i = 0; i < n && good; i++)
        for (size_t k = 0; k < n; k++)
            inverse[i * n + k] /= sqrt(a[i * n + i] * a[k * n + k]);
    return good;
}

enum { TRIALS_MAX = 200 };
static const double DAMPING_FIRST = 1e-3, DAMPING_MOST = 1e7, DAMPING_FACTOR = 5.0;
static const double DAMPING_STRONG = 1e3;  // with more damping than this, a step is too short to
                                           // show the possible gain
static const double MEAN_LEAST = 1e-9, FAR = 5.0;

struct fit_room {
    size_t count, pixels;
    double *means, *total, *steps, *away, *error, *weakest, *damped, *inverse, *work, *memory;
    float *slopes;
    struct fit_sums here, there;
    bool is_here;  // `means` and `slopes` are those of `here`, not those of `there`
};

void fit_room_free(struct fit_room **room)
{
    if (!*room)
        return;
    mem_free((*room)->memory);
    mem_free((*room)->slopes);
    mem_free(*room);
    *room = NULL;
}

static void open_room(const struct fit *f, struct fit_room **room)
{
    const size_t n = f->count, square = n * n;
    if (*room && (*room)->count == n && (*room)->pixels >= f->pixels)
        return;
    fit_room_free(room);
    struct fit_room *r = *room = mem_array(1, sizeof *r);
    r->count = n;
    r->pixels = f->pixels;
    r->slopes = mem_array(n * f->pixels + 1, sizeof *r->slopes);
    double *at = r->memory =
        mem_array(f->pixels + 7 * n + 4 * square + symmetric_work(n) + 1, sizeof *at);
    double **vectors[] = {&r->away,    &r->total,         &r->steps,         &r->error,
                          &r->weakest, &r->here.gradient, &r->there.gradient};
    double **matrices[] = {&r->damped, &r->inverse, &r->here.fisher, &r->there.fisher};
    r->means = at;
    at += f->pixels;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++, at += n)
        *vectors[i] = at;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++, at += square)
        *matrices[i] = at;
    r->work = at;
}

/* ---- sums ------------------------------------------------------------------------------- */

static void add_pixel(const struct fit *f, const double *means, const float *slopes, size_t i,
                      struct fit_sums *s)
{
    const size_t n = f->count;
    const double mean = fmax(means[i] + f->variance, MEAN_LEAST);
    const double count = fmax((double)f->counts[i] + f->variance, 0.0);
    const double pull = count / mean - 1.0;
    s->likelihood += mean - count * log(mean);
    for (size_t k = 0; k < n; k++) {
        const double slope = (double)slopes[k * f->pixels + i];
        s->gradient[k] += slope * pull;
        const double weighted = slope / mean;
        for (size_t m = 0; m <= k; m++)
            s->fisher[k * n + m] += weighted * (double)slopes[m * f->pixels + i];
    }
}

void fit_sum(const struct fit *f, const double *means, const float *slopes, const double *away,
             struct fit_sums *s)
{
    const size_t n = f->count;
    s->likelihood = 0.0;
    memset(s->gradient, 0, n * sizeof *s->gradient);
    memset(s->fisher, 0, n * n * sizeof *s->fisher);
    for (size_t i = 0; i < f->pixels; i++)
        add_pixel(f, means, slopes, i, s);
    for (size_t k = 0; k < n; k++) {
        s->likelihood += 0.5 * f->prior[k] * away[k] * away[k];
        s->gradient[k] -= f->prior[k] * away[k];
        s->fisher[k * n + k] += f->prior[k];
        for (size_t m = 0; m < k; m++)
            s->fisher[m * n + k] = s->fisher[k * n + m];
    }
}

/* Evaluates the model at the place that is `steps` away, and computes the sums *s there. */
static enum status evaluate(const struct fit *f, struct fit_room *r, const double *steps,
                            struct fit_sums *s, struct error *e)
{
    const enum status status = f->evaluate(f->model, steps, r->means, r->slopes, e);
    for (size_t k = 0; k < f->count; k++)
        r->away[k] = r->total[k] + steps[k] - f->centre[k];
    if (!status)
        fit_sum(f, r->means, r->slopes, r->away, s);
    return status;
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Copies the block of the Fisher matrix for the parameters that are not fixed to r->damped. */
static void take_block(const struct fit *f, struct fit_room *r)
{
    const size_t n = f->count - f->held;
    for (size_t k = 0; k < n; k++)
        memcpy(r->damped + k * n, r->here.fisher + k * f->count, n * sizeof *r->damped);
}

/* Sets r->steps to the damped step from `here`, shortened if it exceeds a limit.  Returns false
 * if the data do not determine the step, even with damping. */
static bool choose_step(const struct fit *f, struct fit_room *r, double damping, bool *limited)
{
    const size_t n = f->count - f->held;
    double share = 1.0;
    take_block(f, r);
    for (size_t k = 0; k < n; k++)
        r->damped[k * n + k] *= 1.0 + damping;
    if (!symmetric_invert(n, r->damped, r->inverse, r->work, r->weakest))
        return false;
    for (size_t k = 0; k < n; k++) {
        r->steps[k] = 0.0;
        for (size_t m = 0; m < n; m++)
            r->steps[k] += r->inverse[k * n + m] * r->here.gradient[m];
        share = fmin(share, f->limit[k] / fmax(fabs(r->steps[k]), 1e-300));
    }
    *limited = share < 1.0;
    for (size_t k = 0; k < n; k++)
        r->steps[k] *= share;
    return true;
}

static void take_step(const struct fit *f, struct fit_room *r)
{
    const struct fit_sums there = r->there;
    r->there = r->here;
    r->here = there;
    r->is_here = true;
    for (size_t k = 0; k < f->count; k++)
        r->total[k] += r->steps[k];
    f->accept(f->model);
}

/* Returns the minimum gain in ln likelihood of r->steps, if ln likelihood is a parabola. */
static double foresee(const struct fit *f, const struct fit_room *r)
{
    double sum = 0.0;
    for (size_t k = 0; k < f->count - f->held; k++)
        sum += r->here.gradient[k] * r->steps[k];
    return 0.5 * sum;
}

/* Returns true if a step that gained nothing was too small to matter.  In mixed precision the
 * likelihood of a poor fit has errors up to 1e-3.  Therefore a small predicted gain is also
 * sufficient. */
static bool is_small(const struct fit *f, const struct fit_room *r, double gain, double damping)
{
    const bool foreseen = isfinite(gain) && damping < DAMPING_STRONG;
    return fabs(gain) < f->gain_least || (foreseen && foresee(f, r) < f->gain_least);
}

static enum status descend(const struct fit *f, struct fit_room *r, struct fit_result *result,
                           struct error *e)
{
    double damping = DAMPING_FIRST;
    while (!result->converged && result->trials < TRIALS_MAX && damping < DAMPING_MOST) {
        bool limited;
        if (!choose_step(f, r, damping, &limited)) {
            damping *= DAMPING_FACTOR;
            continue;
        }
        const enum status s = evaluate(f, r, r->steps, &r->there, e);
        r->is_here = false;
        if (s)
            return s;
        result->trials++;
        const double gain = r->here.likelihood - r->there.likelihood;
        if (!(gain >= 0.0)) {
            result->converged = is_small(f, r, gain, damping) && !limited;
            damping *= DAMPING_FACTOR;
            continue;
        }
        take_step(f, r);
        damping /= DAMPING_FACTOR;
        result->steps++;
        result->limited = limited;
        result->converged = gain < f->gain_least && !limited;
    }
    return STATUS_OK;
}

/* ---- the end ---------------------------------------------------------------------------- */

void fit_judge(const struct fit *f, const double *means, double *chi2, size_t *far)
{
    double sum = 0.0;
    *far = 0;
    for (size_t i = 0; i < f->pixels; i++) {
        const double mean = fmax(means[i] + f->variance, MEAN_LEAST);
        const double off = (double)f->counts[i] + f->variance - mean;
        sum += off * off / mean;
        *far += off * off > FAR * FAR * mean;
    }
    *chi2 = f->pixels ? sum / (double)f->pixels : 0.0;
}

/* Computes covariance and error bars, which are 0 for fixed parameters.  Returns false if the
 * data do not determine all parameters that are not fixed. */
static bool find_errors(const struct fit *f, struct fit_room *r)
{
    const size_t n = f->count, free = n - f->held;
    take_block(f, r);
    const bool told = symmetric_invert(free, r->damped, r->inverse, r->work, r->weakest);
    for (size_t i = n * n; i-- > 0;) {
        const size_t row = i / n, column = i % n;
        r->inverse[i] = row < free && column < free ? r->inverse[row * free + column] : 0.0;
    }
    for (size_t k = 0; k < n; k++)
        r->error[k] = k >= free ? 0.0 : told ? sqrt(r->inverse[k * n + k]) : INFINITY;
    for (size_t k = free; k < n; k++)
        r->weakest[k] = 0.0;
    return told;
}

enum status fit_run(const struct fit *f, struct fit_room **room, const double *total,
                    struct fit_result *result, struct error *e)
{
    const size_t n = f->count;
    *result = (struct fit_result){0};
    open_room(f, room);
    struct fit_room *r = *room;
    for (size_t k = 0; k < n; k++)
        r->total[k] = total ? total[k] : 0.0;
    memset(r->steps, 0, n * sizeof *r->steps);
    enum status s = evaluate(f, r, r->steps, &r->here, e);
    r->is_here = true;
    s = s ? s : descend(f, r, result, e);
    memset(r->steps, 0, n * sizeof *r->steps);
    if (!s && !r->is_here)
        s = evaluate(f, r, r->steps, &r->here, e);
    if (s)
        return s;
    fit_judge(f, r->means, &result->chi2, &result->far);
    result->told = find_errors(f, r);
    result->total = r->total;
    result->error = r->error;
    result->inverse = r->inverse;
    result->sums = &r->here;
    result->weakest = r->weakest;
    return STATUS_OK;
}
