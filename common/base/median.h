/* The middle of numbers. */
#ifndef BRAGG_BASE_MEDIAN_H
#define BRAGG_BASE_MEDIAN_H

#include <stddef.h>

/* The median of values[n], which are put in order; of an even number the mean of the middle two;
 * 0 of none. */
double median(double *values, size_t n);

#endif
