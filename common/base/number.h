/* Decimal numbers in text: the values of strtod and strtoimax, bit for bit, in less time. */
#ifndef BRAGG_BASE_NUMBER_H
#define BRAGG_BASE_NUMBER_H

#include <stdint.h>

/* The longest beginning of `text` that is a number, as strtod of the C locale takes it: behind
 * white space, perhaps hexadecimal, infinite or NaN.  *end is behind it, or `text` when there is
 * none (the value is 0 then).  errno is set, to ERANGE, where strtod sets it. */
double number_real(const char *text, const char **end);

/* The same for a whole number of base 10, as strtoimax takes it. */
intmax_t number_whole(const char *text, const char **end);

#endif
