#include "base/median.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

double median(double *values, size_t n)
{
    if (!n)
        return 0.0;
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}
