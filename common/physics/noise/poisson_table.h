/*
 * Counts of whole means by Walker's method of aliases (A. J. Walker, ACM Trans. Math. Softw. 3
 * (1977) 253-256): a place is drawn, which has two outcomes, then which of them it is.  16 bits
 * decide unless the digits of that chance tie with those of its place's; then 52 more do.
 *
 * The outcomes are the likeliest counts; what is left out is below 5e-16.
 */
#ifndef BRAGG_PHYSICS_POISSON_TABLE_H
#define BRAGG_PHYSICS_POISSON_TABLE_H

#include <stdint.h>

#include "physics/noise/poisson.h"

enum {
    POISSON_WHOLE_LEAST = (int)POISSON_NEAR_MEAN,  // means of the first table; below there is none
    POISSON_WHOLES = (int)POISSON_SMALL_MEAN - POISSON_WHOLE_LEAST,
    POISSON_PLACES = 128,
    POISSON_DIGIT_BITS = 9,  // of 16; the others choose the place
    POISSON_DIGITS = 1 << POISSON_DIGIT_BITS,
};

struct poisson_table {
    /* Of a place: its own count << 10, the other one << 18, and the first digits of the chance of
     * its own, 0 to POISSON_DIGITS. */
    uint32_t entry[1 + POISSON_WHOLES][POISSON_PLACES];  // the first one's counts are 0
    double chance[1 + POISSON_WHOLES][POISSON_PLACES];   // all digits
};

/* The table, the same numbers on every machine; made by the first call. */
const struct poisson_table *poisson_table(void);

/* Number of the first entry of a whole mean, which may be 0; and of that for 16 bits. */
HD uint32_t poisson_row(uint32_t whole)
{
    const uint32_t row = whole ? whole - (POISSON_WHOLE_LEAST - 1) : 0;
    return row * POISSON_PLACES;
}
HD uint32_t poisson_entry(uint32_t row, uint32_t bits)
{
    return row + (bits >> POISSON_DIGIT_BITS);
}

/* Whether these bits do not decide between the two outcomes. */
HD bool poisson_ties(uint32_t entry, uint32_t bits)
{
    return (entry & 1023) == (bits & (POISSON_DIGITS - 1));
}

/* The count of an entry; is_own: the place's own. */
HD uint32_t poisson_outcome(uint32_t entry, bool is_own)
{
    return (is_own ? entry >> 10 : entry >> 18) & 255;
}

/* The count for bits that do not tie. */
HD uint32_t poisson_decide(uint32_t entry, uint32_t bits)
{
    return poisson_outcome(entry, (bits & (POISSON_DIGITS - 1)) < (entry & 1023));
}

#endif
