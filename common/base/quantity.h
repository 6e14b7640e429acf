/* Units behind numbers, as people type them: 120mm, 12.4keV, 0.1deg, 1e12ph/s. */
#ifndef BRAGG_BASE_QUANTITY_H
#define BRAGG_BASE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

/* Turns *value from the unit named `typed` (such as um, its u also as a mu) into that of `metavar`,
 * what stands there before a |, in capitals or not; by a power of ten where both are decimal, so
 * that 100um are 0.1 mm to the last bit.  False when `typed` is no unit of that kind. */
bool quantity_convert(const char *typed, const char *metavar, double *value);

/* The units that `metavar` takes, as "mm, m, cm, um, nm, A"; "" for none. */
void quantity_names(const char *metavar, char *text, size_t size);

#endif
