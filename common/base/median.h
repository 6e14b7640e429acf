/* The median of numbers. */
#ifndef BRAGG_BASE_MEDIAN_H
#define BRAGG_BASE_MEDIAN_H

#include <stddef.h>
#include <stdlib.h>

static inline int median_compare(const void *a, const void *b)
{
    const double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

/* Sorts values[n] and returns their median.  If n is even, the median is the mean of the middle
 * two values; if n is 0, it is 0. */
static inline double median(double *values, size_t n)
{
    if (!n)
        return 0.0;
    qsort(values, n, sizeof *values, median_compare);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

#endif
