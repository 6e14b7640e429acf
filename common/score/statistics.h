/* Figures of many numbers. */
#ifndef BRAGG_SCORE_STATISTICS_H
#define BRAGG_SCORE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of many numbers a sample tells the median to a hundredth of their scatter; of a group of them,
 * one of dozens, to a fiftieth. */
enum { VALUES_KEPT = 1 << 14, VALUES_KEPT_GROUP = 1 << 12 };

/* Many numbers: all of them up to `most`, and beyond a random sample of so many, always the same
 * for the same numbers. */
struct values {
    double *v;    // owned
    size_t n;     // that were added
    size_t most;  // that are kept; 0: VALUES_KEPT
    size_t room;
    double greatest;
    bool sorted;
};

/* Where number n, from 0, goes in a fair sample of at most `kept`, in the place of what is there;
 * `kept` or more: nowhere.  The same n always goes to the same place. */
size_t sample_place(size_t n, size_t kept);

/* False when memory is out. */
bool values_add(struct values *x, double value);

/* How many are kept in v[]. */
size_t values_kept(const struct values *x);

/* The number below which `percent` of them are, between two neighbours in proportion; NaN when
 * there are none.  Sorts them.  100 is the greatest of all. */
double values_percentile(struct values *x, double percent);

/* The median of their distances from their median, NaN when there are none.  Sorts them. */
double values_mad(struct values *x);

/* Sorts them, the least first; returns how many are kept in v[]. */
size_t values_sort(struct values *x);

void values_free(struct values *x);

/* Numbers of which the sums are kept. */
struct mean {
    size_t n;
    double weight, weight_squares;  // sums
    double mean, squares;           // weighted squares of distances from the mean
};

/* `weight`, above 0, is that of the number: 1 / variance in any unit. */
void mean_add(struct mean *m, double value, double weight);

/* The weighted mean, NaN without numbers, and its standard error by their scatter, NaN below two.
 */
double mean_value(const struct mean *m);
double mean_error(const struct mean *m);

/* Distances along fast and slow, px: weighted means, and the numbers themselves. */
struct offsets {
    struct mean fast, slow;
    struct values all_fast, all_slow;
};

/* False when memory is out. */
bool offsets_add(struct offsets *o, double fast, double slow, double weight);

void offsets_free(struct offsets *o);

/* Measured values against true ones. */
struct agreement {
    size_t n;                              // pairs
    double x, y, xx, xy, yy;               // means, and sums of products of distances from them
    double weighted_xx, weighted_xy, chi;  // over those with a sigma
    size_t with_sigma;
};

void agreement_add(struct agreement *a, double truth, double measured, double sigma);

/* Pearson's correlation; the factor on the truth that fits best, by 1 / sigma^2; the mean of
 * ((measured - truth) / sigma)^2.  NaN where there are too few. */
double agreement_cc(const struct agreement *a);
double agreement_slope(const struct agreement *a);
double agreement_chi2(const struct agreement *a);

/* How well a number tells right items from others: the receiver operating characteristic. */

enum { ROC_STEPS = 100, ROC_POINTS = 2 * ROC_STEPS + 2 };

/* The numbers of the others [0] and of the right ones [1]: a fair sample where there are many. */
struct roc {
    struct values of[2];
};

/* False when memory is out. */
bool roc_add(struct roc *r, bool right, double value);

/* The chance that a right one has the greater number, half for equal ones; NaN unless there are
 * both. */
double roc_area(struct roc *r);

/* What is taken when all from `threshold` on are: shares of the others and of the right ones. */
struct roc_point {
    double threshold, other, right;
};

/* The curve, the highest threshold first; at the last one all are taken.  A point where a share
 * has grown by 1 / ROC_STEPS.  Returns how many; none unless there are both. */
size_t roc_points(struct roc *r, struct roc_point points[ROC_POINTS]);

void roc_free(struct roc *r);

/* Measured intensities against true photons: means, and figures that a few wild ones leave alone.
 */

struct intensities {
    struct agreement all;
    struct values ratios;  // measured / photons, of those with at least 10 photons
    struct values chi2s;   // ((measured - photons) / sigma)^2
};

/* Without a sigma it is 0.  False when memory is out. */
bool intensities_add(struct intensities *i, double photons, double measured, double sigma);

/* The median of the squares, by that of a normal distribution: 1 when the errors are honest; NaN
 * without a sigma. */
double intensities_chi2_robust(struct intensities *i);

void intensities_free(struct intensities *i);

/* --- shells of reflections, by the distance of their lattice planes -------------------- */

enum { SCORE_SHELLS = 7 };  // of d: from score_shells_A[i] on
extern const int score_shells_A[SCORE_SHELLS];

/* 1/d^2 of a reflection, 1/A^2, with the reciprocal cell as columns of a_matrix[9], 1/A. */
double score_inverse_d2(const double a_matrix[9], const int32_t hkl[3]);

/* The shell of that 1/d^2, 0 to SCORE_SHELLS - 1. */
int score_shell(double inverse_d2);

#endif
