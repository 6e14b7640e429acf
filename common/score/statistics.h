/* Figures of many numbers. */
#ifndef BRAGG_SCORE_STATISTICS_H
#define BRAGG_SCORE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* Numbers that are kept. */
struct values {
    double *v;  // owned
    size_t n, room;
    bool sorted;
};

/* False when memory is out. */
bool values_add(struct values *x, double value);

/* The number below which `percent` of them are, between two neighbours in proportion; NaN when
 * there are none.  Sorts them. */
double values_percentile(struct values *x, double percent);

/* 1.4826 times the median distance from the median, which is sigma of a normal distribution; NaN
 * when there are none. */
double values_spread(struct values *x);

void values_free(struct values *x);

/* Numbers of which the sums are kept. */
struct mean {
    size_t n;
    double mean, squares;  // of distances from the mean
};

void mean_add(struct mean *m, double value);

/* The mean, NaN without numbers, and its standard error, NaN below two. */
double mean_value(const struct mean *m);
double mean_error(const struct mean *m);

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
