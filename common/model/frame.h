/*
 * The frame: a recipe and, from the intensity stage on, its image.
 */
#ifndef BRAGG_MODEL_FRAME_H
#define BRAGG_MODEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/recipe.h"

enum pixel_type { PIXEL_F32, PIXEL_U16, PIXEL_U32, PIXEL_I32 };
enum pixel_unit { UNIT_PHOTONS, UNIT_ADU };

/* Pixels of all panels, little-endian, item first_pixel + s*fast_pixels + f. */
struct image {
    enum pixel_type type;
    enum pixel_unit unit;
    size_t count;                  // pixels
    void *pixels;                  // count items; NULL: no image yet
    void (*release)(void *owner);  // gives the memory back; NULL: nothing to do
    void *owner;
};

struct frame {
    struct recipe recipe;
    struct image image;
};

/* Bytes of one pixel. */
size_t pixel_size(enum pixel_type type);

/* Gives *image a new zeroed buffer of `count` pixels and releases the old one;
 * false, with *image untouched, when memory is out. */
bool image_reserve(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count);

/* Pixel number i as a number. */
double image_value(const struct image *image, size_t i);

/* Releases the pixels and clears *image. */
void image_free(struct image *image);

/* Frees recipe and image and clears *f. */
void frame_free(struct frame *f);

#endif
