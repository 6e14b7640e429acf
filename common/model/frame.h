/*
 * The frame: a recipe and, from the intensity stage on, its image and perhaps its reflections and
 * planes; or what was fitted to its image.
 */
#ifndef BRAGG_MODEL_FRAME_H
#define BRAGG_MODEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/planes.h"
#include "model/recipe.h"
#include "model/refined.h"
#include "model/reflections.h"

enum pixel_type { PIXEL_F32, PIXEL_U16, PIXEL_U32, PIXEL_I32 };
enum pixel_unit { UNIT_PHOTONS, UNIT_ADU };

struct image;

/* Where images get their memory, if not from the heap. */
struct image_memory {
    /* Sets pixels, release and owner of *image; false: it has none for so many bytes. */
    bool (*take)(struct image_memory *memory, size_t bytes, struct image *image);

    /* The same, and sets `card`: false where those who get the image cannot read it there.  NULL:
     * there is no card. */
    bool (*take_on_card)(struct image_memory *memory, size_t bytes, struct image *image);

    /* What it gives comes again and again, from memory that stays mapped as long as frames
     * are made. */
    bool lasting;
};

/* Pixels of all panels, little-endian, item first_pixel + s*fast_pixels + f. */
struct image {
    enum pixel_type type;
    enum pixel_unit unit;
    size_t count;                  // pixels
    void *pixels;                  // count items; NULL: no image yet
    void *card;                    // they lie there, on a GPU (model/card.h), and `pixels` holds
                                   // anything; NULL: they lie at `pixels`
    void (*release)(void *owner);  // gives the memory back; NULL: nothing to do
    void *owner;
    bool has_sum;
    uint32_t sum;                                 // CRC-32C of the pixels, if their maker formed it
    bool (*intact)(void *owner);                  // see image_is_intact; NULL: always
    void (*was_read)(void *owner, size_t bytes);  // see image_was_read; NULL: nobody cares
    struct image_memory *memory;                  // of buffers to come; NULL: the heap
};

struct frame {
    struct recipe recipe;
    struct image image;
    struct reflection_table reflections;
    struct planes planes;
    struct refined refined;
};

/* Bytes of one pixel. */
size_t pixel_size(enum pixel_type type);

/* Gives *image a new buffer of `count` pixels from image->memory, whose content is
 * anything, and releases the old one; false, with *image untouched, when memory is out. */
bool image_reserve(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count);

/* The same on the card; false, with *image untouched, where it has to be image_reserve. */
bool image_reserve_on_card(struct image *image, enum pixel_type type, enum pixel_unit unit,
                           size_t count);

/* Pixel number i as a number. */
double image_value(const struct image *image, size_t i);

/* Pixels `first` to `first` + count - 1 likewise. */
void image_values(const struct image *image, size_t first, size_t count, double *values);

/* The least, the largest and the sum of all pixels; of no pixels +infinity, -infinity and 0. */
struct image_range {
    double least, most, sum;
};
struct image_range image_range(const struct image *image);

/* True when the pixels lie in memory that is lasting. */
bool image_is_lasting(const struct image *image);

/* True when the pixels read so far are those of the frame.  Pixels in the memory of
 * another process, which took this one for dead, may have become those of another frame; a
 * sink's may not have the sum that their maker formed. */
bool image_is_intact(const struct image *image);

/* Says that the first `count` pixels have been read, in this order, and may still be in the
 * caches: then their part of the sum for image_is_intact costs little. */
void image_was_read(const struct image *image, size_t count);

/* Releases the pixels and clears *image but for its memory. */
void image_free(struct image *image);

/* Frees all that *f has and clears it. */
void frame_free(struct frame *f);

#endif
