/*
 * Planes of a frame: images of float32 beside its own, each with a name.  They hold the derivatives
 * of its expected photons without background; after noise, of those that pixels count on average.
 */
#ifndef BRAGG_MODEL_PLANES_H
#define BRAGG_MODEL_PLANES_H

#include <stdbool.h>
#include <stddef.h>

enum { PLANE_NAME_SIZE = 32, PLANE_UNIT_SIZE = 16, PLANES_MAX = 64 };

struct plane {
    char name[PLANE_NAME_SIZE];  // of the parameter
    char unit[PLANE_UNIT_SIZE];  // of the parameter: values are photons per unit; "" for a number
    size_t count;                // pixels of the image
    float *values;               // owned: [count], as the image's pixels
};

struct planes {
    bool present;  // false: nobody asked for them, all else is 0
    size_t count;
    struct plane *items;  // owned
};

/* Room for `count` planes, all zero; *p is empty before.  false when memory is out. */
bool planes_reserve(struct planes *p, size_t count);

/* Whether there are at most PLANES_MAX, each of `pixels` values, with names that differ and are fit
 * for files: small letters, digits, `_` and, but as the first, `.`. */
bool planes_are_sound(const struct planes *p, size_t pixels);

/* Frees the planes and clears *p. */
void planes_free(struct planes *p);

#endif
