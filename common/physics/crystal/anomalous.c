#include "physics/crystal/anomalous.h"

#include <math.h>

#include "base/alloc.h"
#include "physics/crystal/cell.h"

/* Computes exp(2 pi i n x) of an atom at x for the indices n along each axis of a cell. */
struct waves {
    int first[3], count[3];
    double (*along[3])[2];  // owned: [noperators * count]
};

/* Returns s^2 = h G h, where G is the reciprocal metric in 1/A^2. */
static bool reciprocal_metric(const struct anomalous_cell *c, double G[9])
{
    double g[9];  // of the cell itself
    const double volume = cell_volume(c->cell_A, c->cell_rad);
    if (!(volume > 0.0))
        return false;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            g[3 * i + k] =
                c->cell_A[i] * c->cell_A[k] * (i == k ? 1.0 : cos(c->cell_rad[3 - i - k]));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            const double cofactor =
                g[3 * i1 + k1] * g[3 * i2 + k2] - g[3 * i1 + k2] * g[3 * i2 + k1];
            G[3 * i + k] = cofactor / (volume * volume);
        }
    return true;
}

static double s_sqr(const double G[9], const int hkl[3])
{
    double sum = 0.0;
    for (int i = 0; i < 9; i++)
        sum += G[i] * hkl[i / 3] * hkl[i % 3];
    return sum;
}

static bool waves_open(struct waves *w, size_t noperators, const int (*hkl)[3], size_t count)
{
    *w = (struct waves){0};
    bool good = true;
    for (int axis = 0; axis < 3; axis++) {
        int least = 0, most = 0;
        for (size_t r = 0; r < count; r++) {
            least = hkl[r][axis] < least ? hkl[r][axis] : least;
            most = hkl[r][axis] > most ? hkl[r][axis] : most;
        }
        w->first[axis] = least;
        w->count[axis] = most - least + 1;
        w->along[axis] = mem_array(noperators * (size_t)w->count[axis], sizeof *w->along[axis]);
        good = good && w->along[axis];
    }
    return good;
}

static void waves_close(struct waves *w)
{
    for (int axis = 0; axis < 3; axis++)
        mem_free(w->along[axis]);
}

static void waves_of(struct waves *w, const struct anomalous_cell *c, const double x[3])
{
    for (size_t o = 0; o < c->noperators; o++)
        for (int axis = 0; axis < 3; axis++) {
            const int *R = c->operators[o].R + 3 * axis;
            const double at = R[0] * x[0] + R[1] * x[1] + R[2] * x[2] + c->operators[o].t[axis];
            double(*to)[2] = w->along[axis] + o * (size_t)w->count[axis];
            for (int n = 0; n < w->count[axis]; n++) {
                const double turns = at * (n + w->first[axis]);
                const double angle = 2.0 * M_PI * (turns - floor(turns));
                to[n][0] = cos(angle);
                to[n][1] = sin(angle);
            }
        }
}

/* Returns the sum of exp(2 pi i h.x) over the symmetry operators. */
static void sum_waves(const struct waves *w, size_t noperators, const int hkl[3], double sum[2])
{
    sum[0] = sum[1] = 0.0;
    for (size_t o = 0; o < noperators; o++) {
        const double *a = w->along[0][o * (size_t)w->count[0] + (size_t)(hkl[0] - w->first[0])];
        const double *b = w->along[1][o * (size_t)w->count[1] + (size_t)(hkl[1] - w->first[1])];
        const double *c = w->along[2][o * (size_t)w->count[2] + (size_t)(hkl[2] - w->first[2])];
        const double real = a[0] * b[0] - a[1] * b[1], imaginary = a[0] * b[1] + a[1] * b[0];
        sum[0] += real * c[0] - imaginary * c[1];
        sum[1] += real * c[1] + imaginary * c[0];
    }
}

struct friedel_pair friedel_pair_of(double F0, double phase_rad)
{
    const double real = F0 * cos(phase_rad), imaginary = F0 * sin(phase_rad);
    return (struct friedel_pair){{real, imaginary}, {real, -imaginary}};
}

enum status anomalous_add(const struct atoms *atoms, const struct anomalous_cell *cell,
                          const int (*hkl)[3], size_t count, struct friedel_pair *pairs,
                          struct error *e)
{
    struct waves waves;
    double G[9];
    if (!reciprocal_metric(cell, G))
        return error_set(e, STATUS_INPUT, "the angles of the cell are impossible");
    const bool good = waves_open(&waves, cell->noperators, hkl, count);
    for (size_t i = 0; i < atoms->count && good; i++) {
        const struct atom *atom = &atoms->list[i];
        waves_of(&waves, cell, atom->x);
        for (size_t r = 0; r < count; r++) {
            double wave[2];
            sum_waves(&waves, cell->noperators, hkl[r], wave);
            const double part = atom->occupancy * exp(-0.25 * atom->B_A2 * s_sqr(G, hkl[r]));
            const double c = part * wave[0], s = part * wave[1];
            pairs[r].plus[0] += atom->f[0] * c - atom->f[1] * s;
            pairs[r].plus[1] += atom->f[0] * s + atom->f[1] * c;
            pairs[r].minus[0] += atom->f[0] * c + atom->f[1] * s;
            pairs[r].minus[1] += atom->f[1] * c - atom->f[0] * s;
        }
    }
    waves_close(&waves);
    return good ? STATUS_OK : error_memory(e, "the atoms' waves");
}
