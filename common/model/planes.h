/*
 * Planes of a frame: images of float32 beside its own, each with a name.  They hold the derivatives
 * of its expected photons without background; after noise, of those that pixels count on average.
 * Either all have a value for each pixel, or all for those of one list, and are 0 elsewhere.
 */
#ifndef BRAGG_MODEL_PLANES_H
#define BRAGG_MODEL_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLANE_NAME_SIZE = 32, PLANE_UNIT_SIZE = 16, PLANES_MAX = 64 };

struct plane {
    char name[PLANE_NAME_SIZE];  // of the parameter
    char unit[PLANE_UNIT_SIZE];  // of the parameter: values are photons per unit; "" for a number
    size_t count;                // pixels of the image, or of the list
    float *values;               // owned: [count], in their order
};

/* Which pixels of the image planes have values for. */
struct planes_pixels {
    bool listed;  // false: all, the rest is 0
    size_t count;
    uint32_t *numbers;  // owned: [count], ascending
};

struct planes {
    bool present;  // false: nobody asked for them, all else is 0
    size_t count;
    struct plane *items;  // owned
    struct planes_pixels pixels;
};

/* Room for `count` planes, all zero; *p is empty before.  false when memory is out. */
bool planes_reserve(struct planes *p, size_t count);

/* What is wrong with planes of an image of `pixels` pixels, in words that follow "has planes";
 * NULL: there are at most PLANES_MAX, of a value for each of their pixels, which are the image's
 * or ascend among them; names differ and are fit for files: small letters, digits, `_` and, but as
 * the first, `.`; listed values are finite. */
const char *planes_fault(const struct planes *p, size_t pixels);

/* Gives planes of a list, which are sound, values for all `pixels` of the image; does nothing to
 * others.  false when memory is out: some are as they were, and *p is only good for planes_free. */
bool planes_expand(struct planes *p, size_t pixels);

/* Frees the planes and clears *p. */
void planes_free(struct planes *p);

#endif
