#include "physics/crystal/structure_factors.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "physics/crystal/cell.h"

/* --- form factors ----------------------------------------------------------------- */

static const double NEAR_1_A = 2.0;

const struct scatterer HYDROGEN = {{0.489918, 0.262003, 0.196767, 0.049879},
                                   {20.6593, 7.74039, 49.5519, 2.20159},
                                   0.001305,
                                   {0.413048, 0.294953, 0.187491, 0.080701, 0.023736},
                                   {15.569946, 32.398468, 5.711404, 61.889874, 1.334118},
                                   0.000049};
const struct scatterer CARBON = {{2.31, 1.02, 1.5886, 0.865},
                                 {20.8439, 10.2075, 0.5687, 51.6512},
                                 0.2156,
                                 {2.657506, 1.078079, 1.490909, -4.24107, 0.713791},
                                 {14.780758, 0.776775, 42.086843, -0.000294, 0.239535},
                                 4.297983};
const struct scatterer NITROGEN = {{12.2126, 3.1322, 2.0125, 1.1663},
                                   {0.0057, 9.8933, 28.9975, 0.5826},
                                   -11.529,
                                   {11.893780, 3.277479, 1.858092, 0.858927, 0.912985},
                                   {0.000158, 10.232723, 30.344690, 0.656065, 0.217287},
                                   -11.804902};
const struct scatterer OXYGEN = {{3.0485, 2.2868, 1.5463, 0.867},
                                 {13.2771, 5.7011, 0.3239, 32.9089},
                                 0.2508,
                                 {2.960427, 2.508818, 0.637853, 0.722838, 1.142756},
                                 {14.182259, 5.936858, 0.112726, 34.958481, 0.390240},
                                 0.027014};
const struct scatterer SULFUR = {{6.9053, 5.2034, 1.4379, 1.5863},
                                 {1.4679, 22.2151, 0.2536, 56.172},
                                 0.8669,
                                 {6.372157, 5.154568, 1.473732, 1.635073, 1.209372},
                                 {1.514347, 22.092528, 0.061373, 55.445176, 0.646925},
                                 0.154722};
const struct scatterer ARGON = {{7.4845, 6.7723, 0.6539, 1.6442},
                                {0.9072, 14.8407, 43.8983, 33.3929},
                                1.4445,
                                {7.188004, 6.638454, 0.454180, 1.929593, 1.523654},
                                {0.956221, 15.339877, 15.339862, 39.043824, 0.062409},
                                0.265954};

static double sum_gaussians(const double *a, const double *b, int count, double constant, double s)
{
    double sum = constant;
    for (int i = 0; i < count; i++)
        sum += a[i] * exp(-b[i] * s * s);
    return sum;
}

static double near_atom(const struct scatterer *f, double s)
{
    return sum_gaussians(f->a, f->b, 4, f->c, s);
}

static double far_atom(const struct scatterer *f, double s)
{
    return sum_gaussians(f->far_a, f->far_b, 5, f->far_c, s);
}

double form_factor(const struct scatterer *f, double s)
{
    return s <= NEAR_1_A ? near_atom(f, s)
                         : near_atom(f, NEAR_1_A) * far_atom(f, s) / far_atom(f, NEAR_1_A);
}

/* --- Wilson statistics ------------------------------------------------------------ */

double wilson_mean_sqr(double atoms, double B_A2, double d_A)
{
    /* Fractions of the non-hydrogen atoms of a mean protein. */
    static const struct {
        const struct scatterer *element;
        double fraction;
    } protein[] = {{&CARBON, 0.632}, {&NITROGEN, 0.174}, {&OXYGEN, 0.189}, {&SULFUR, 0.005}};
    const double s = 0.5 / d_A;
    double sum = 0.0;
    for (size_t i = 0; i < sizeof protein / sizeof *protein; i++) {
        const double f = form_factor(protein[i].element, s);
        sum += protein[i].fraction * f * f;
    }
    return atoms * sum * exp(-2.0 * B_A2 * s * s);
}

double wilson_F(double mean_sqr, bool centric, uint64_t seed, const int hkl[3])
{
    enum { BITS = 20 };  // of an index
    uint64_t place = 0;
    for (int i = 0; i < 3; i++)
        place = place << BITS | (uint64_t)(hkl[i] + (1 << (BITS - 1)));
    struct rng random = rng_stream(seed, RNG_AMPLITUDE, place, 0);
    const double sqr =
        centric ? pow(rng_normal(&random), 2.0) : -portable_log(rng_uniform(&random));
    return sqrt(mean_sqr * sqr);
}

/* --- anomalous scattering --------------------------------------------------------- */

/* Computes exp(2 pi i n x) of an atom at x for the indices n along each axis of a cell. */
struct waves {
    int first[3], count[3];
    double (*along[3])[2];  // owned: [noperators * count]
};

/* Sets G[] to the reciprocal metric in 1/A^2.  Returns false if the angles make no cell. */
static bool reciprocal_metric(const struct anomalous_cell *c, double G[9])
{
    double of_cell[9];
    const double volume = cell_volume(c->cell_A, c->cell_rad);
    if (!(volume > 0.0))
        return false;
    cell_metric(c->cell_A, c->cell_rad, of_cell);
    metric_reciprocal(of_cell, volume * volume, G);
    return true;
}

/* Returns s^2 = h G h. */
static double s_sqr(const double G[9], const int hkl[3])
{
    double sum = 0.0;
    for (int i = 0; i < 9; i++)
        sum += G[i] * hkl[i / 3] * hkl[i % 3];
    return sum;
}

static void waves_open(struct waves *w, size_t noperators, const int (*hkl)[3], size_t count)
{
    *w = (struct waves){0};
    for (int axis = 0; axis < 3; axis++) {
        int least = 0, most = 0;
        for (size_t r = 0; r < count; r++) {
            least = hkl[r][axis] < least ? hkl[r][axis] : least;
            most = hkl[r][axis] > most ? hkl[r][axis] : most;
        }
        w->first[axis] = least;
        w->count[axis] = most - least + 1;
        w->along[axis] = mem_array(noperators * (size_t)w->count[axis], sizeof *w->along[axis]);
    }
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
        return error_set(e, STATUS_INPUT,
                         "cell angles %.9g %.9g %.9g deg are impossible; expected each below the "
                         "sum of the other two, and a sum below 360",
                         rad_to_deg(cell->cell_rad[0]), rad_to_deg(cell->cell_rad[1]),
                         rad_to_deg(cell->cell_rad[2]));
    waves_open(&waves, cell->noperators, hkl, count);
    for (size_t i = 0; i < atoms->count; i++) {
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
    return STATUS_OK;
}
