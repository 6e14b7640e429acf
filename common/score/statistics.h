/* Figures of many numbers. */
#ifndef BRAGG_SCORE_STATISTICS_H
#define BRAGG_SCORE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
