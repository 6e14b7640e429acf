#include "refine/symmetric.h"

#include <math.h>

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

void symmetric_eigen(size_t n, double *a, double *values, double *vectors)
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
