/* Statistics that are computed while numbers arrive: samples and percentiles, weighted means,
 * correlations, and receiver operating characteristics.  Also the resolution shells of the score.
 */
#ifndef BRAGG_SCORE_STATISTICS_H
#define BRAGG_SCORE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes of samples.  A sample of VALUES_KEPT gives the median to 1 % of the scatter of the numbers.
 * VALUES_KEPT_GROUP, for each of dozens of groups, gives the median to 2 %. */
enum { VALUES_KEPT = 1 << 14, VALUES_KEPT_GROUP = 1 << 12 };

/* A collection of numbers.  Up to `most` numbers are kept.  If more are added, a random sample of
 * `most` is kept, which is the same in each run for the same numbers. */
struct values {
    double *v;    // owned
    size_t n;     // numbers that were added
    size_t most;  // maximum size of the sample; 0: VALUES_KEPT
    size_t room;
    double greatest;
    bool sorted;
};

/* Reservoir sampling: returns the place in a sample of at most `kept` items that number n (from 0)
 * goes to, where it replaces an earlier item.  If the result is `kept` or more, the number is not
 * stored.  The result depends only on the arguments. */
size_t sample_place(size_t n, size_t kept);

/* Adds a number. */
void values_add(struct values *x, double value);

/* Returns how many numbers are stored in v[]. */
size_t values_kept(const struct values *x);

/* Returns the number below which `percent` of the numbers are, interpolated linearly between two
 * neighbours. 100 gives the greatest number of all.  Returns NaN if there are no numbers.  Sorts
 * v[]. */
double values_percentile(struct values *x, double percent);

/* Returns the median absolute deviation from the median; NaN if there are no numbers.  Sorts v[].
 */
double values_mad(struct values *x);

void values_free(struct values *x);

/* Weighted mean and scatter, computed from running sums. */
struct mean {
    size_t n;
    double weight, weight_squares;  // sums of weights and of their squares
    double mean, squares;           // weighted mean, and weighted sum of squared distances from it
};

/* Adds a number.  `weight` must be greater than 0: 1 / variance, in any unit. */
void mean_add(struct mean *m, double value, double weight);

/* mean_value returns the weighted mean; NaN if there are no numbers.  mean_error returns its
 * standard error from the scatter; NaN if there are fewer than two numbers. */
double mean_value(const struct mean *m);
double mean_error(const struct mean *m);

/* Offsets along fast and slow, in px: weighted means, and the numbers themselves. */
struct offsets {
    struct mean fast, slow;
    struct values all_fast, all_slow;
};

/* Adds an offset in px with its weight, which must be greater than 0. */
void offsets_add(struct offsets *o, double fast, double slow, double weight);

void offsets_free(struct offsets *o);

/* Correlation and regression of measured values against true values. */
struct agreement {
    size_t n;                              // number of pairs
    double x, y, xx, xy, yy;               // means, and sums of products of distances from the
                                           // means
    double weighted_xx, weighted_xy, chi;  // sums over pairs with a sigma
    size_t with_sigma;
};

void agreement_add(struct agreement *a, double truth, double measured, double sigma);

/* Results of an agreement, NaN if there are too few pairs:
 *
 *   cc     Pearson's correlation coefficient
 *   slope  measured / true, fitted with weights 1 / sigma^2
 *   chi2   mean of ((measured - truth) / sigma)^2 */
double agreement_cc(const struct agreement *a);
double agreement_slope(const struct agreement *a);
double agreement_chi2(const struct agreement *a);

/* Receiver operating characteristic: how well a number separates right items from wrong ones. */

enum { ROC_STEPS = 100, ROC_POINTS = 2 * ROC_STEPS + 2 };

/* Numbers of the wrong items, of[0], and of the right items, of[1].  If there are many, a random
 * sample of the numbers is kept. */
struct roc {
    struct values of[2];
};

/* Adds the number of an item that is right or wrong. */
void roc_add(struct roc *r, bool right, double value);

/* Returns the area under the curve: the probability that a right item has the greater number.
 * Equal numbers count half.  Returns NaN unless there are items of both kinds. */
double roc_area(struct roc *r);

/* Accepted fractions of the wrong and the right items if all items from `threshold` on are
 * accepted. */
struct roc_point {
    double threshold, other, right;
};

/* Computes the curve, highest threshold first.  The last point accepts all items.  There is a point
 * wherever a fraction has grown by 1 / ROC_STEPS.  Returns the number of points; 0 unless there are
 * items of both kinds. */
size_t roc_points(struct roc *r, struct roc_point points[ROC_POINTS]);

void roc_free(struct roc *r);

/* Measured intensities against true photons: means, and robust metrics that do not change with a
 * few outliers. */

struct intensities {
    struct agreement all;
    struct values ratios;  // measured / photons, for reflections with at least 10 photons
    struct values chi2s;   // ((measured - photons) / sigma)^2
};

/* Adds a reflection. sigma = 0: not given. */
void intensities_add(struct intensities *i, double photons, double measured, double sigma);

/* Returns the median of chi2s divided by the median that a normal distribution gives.  It is 1 if
 * the sigmas are correct, and NaN if there are no sigmas. */
double intensities_chi2_robust(struct intensities *i);

void intensities_free(struct intensities *i);

/* --- resolution shells -------------------------------------------------------------------- */

enum { SCORE_SHELLS = 7 };  // shell i begins at d = score_shells_A[i]
extern const int score_shells_A[SCORE_SHELLS];

/* Returns 1/d^2 of a reflection in 1/A^2.  The columns of a_matrix[9] are a*, b*, c* in 1/A. */
double score_inverse_d2(const double a_matrix[9], const int32_t hkl[3]);

/* Returns the shell of a reflection from its 1/d^2, 0 to SCORE_SHELLS - 1. */
int score_shell(double inverse_d2);

#endif
