#include "base/number.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * A whole number up to 2^53 times or divided by a power of ten up to 10^22 is one operation on
 * two doubles that are exact, so that its result is the nearest double (W. D. Clinger, "How to
 * read floating point numbers accurately", PLDI 1990).  All else is left to the C library.
 */
#define EXACT (UINT64_C(1) << 53)
enum { POWER_MAX = 22 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind white space and a sign. */
static const char *skip(const char *at, bool *negative)
{
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    *negative = *at == '-';
    return at + (*at == '-' || *at == '+');
}

/* Appends digits to *value; behind them, or sooner when *value is above EXACT. */
static const char *digits(const char *at, uint64_t *value)
{
    for (; is_digit(*at) && *value <= EXACT; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    return at;
}

/* Adds the exponent at *at, if there is one, to *power, and goes behind it. */
static void exponent(const char **at, int64_t *power)
{
    if (**at != 'e' && **at != 'E')
        return;
    const bool down = (*at)[1] == '-';
    const char *first = *at + 1 + (down || (*at)[1] == '+');
    uint64_t value = 0;
    const char *end = digits(first, &value);
    if (end == first)
        return;
    *at = end;
    *power += down ? -(int64_t)value : (int64_t)value;
}

double number_real(const char *text, const char **end)
{
    static const double ten[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative;
    uint64_t mantissa = 0;
    const char *first = skip(text, &negative), *at = digits(first, &mantissa);
    int64_t given = at - first, power = 0;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = digits(fraction, &mantissa);
        given += at - fraction;
        power = fraction - at;
    }
    exponent(&at, &power);
    if (!given || mantissa > EXACT || power < -POWER_MAX || power > POWER_MAX || *at == 'x' ||
        *at == 'X') {
        char *behind;
        const double value = strtod(text, &behind);
        *end = behind;
        return value;
    }
    *end = at;
    const double value = power < 0 ? (double)mantissa / ten[-power] : (double)mantissa * ten[power];
    return negative ? -value : value;
}

intmax_t number_whole(const char *text, const char **end)
{
    bool negative;
    uint64_t value = 0;
    const char *first = skip(text, &negative), *at = digits(first, &value);
    if (at == first || value > EXACT) {
        char *behind;
        const intmax_t whole = strtoimax(text, &behind, 10);
        *end = behind;
        return whole;
    }
    *end = at;
    return negative ? -(intmax_t)value : (intmax_t)value;
}
