/*
 * The frame: a recipe and, from the intensity stage on, its image and perhaps its reflections and
 * planes; or what was fitted to its image.
 */
#ifndef BRAGG_MODEL_FRAME_H
#define BRAGG_MODEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/recipe.h"

/* --- images -------------------------------------------------------------- */

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

/* --- derivative images --------------------------------------------------- */

/* Planes of a frame: images of float32 beside its own, each with a name.  They hold the derivatives
 * of its expected photons without background; after noise, of those that pixels count on average.
 * Either all have a value for each pixel, or all for those of one list, and are 0 elsewhere. */

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

/* --- reflections --------------------------------------------------------- */

/* The answer key of a frame: its reflections, where they are and how strong, before background and
 * noise.  They travel with the frame, beside its pixels. */

/* A reflection of one lattice: what pixels get at steps whose nearest index is hkl.  Travels as it
 * lies here, 80 bytes. */
struct reflection_row {
    double fast, slow;  // px: centroid weighted by photons; pixel i covers [i, i+1)
    double photons;     // expected, in the frame
    double phi_deg;     // rotation angle weighted by photons; 0 in a still
    double s_1_A;       // of the lattice point from the Ewald sphere of the mean wavelength, at the
                        // middle of the rotation; positive inside
    int32_t lattice;    // number in the recipe
    int32_t hkl[3];
    int32_t panel;      // that gets most of the photons; the centroid is in it
    int32_t pixels;     // fewest that hold REFLECTION_SHARE of the photons, at least 1
    float peak;         // photons of the brightest pixel
    float F2;           // squared structure factor of hkl, electrons^2
    float background;   // photons of these pixels that are not the crystal's
    uint32_t reserved;  // 0
};

#define REFLECTION_SHARE 0.99

/* In labels, photons below which a pixel belongs to no reflection. */
#define LABEL_LEAST_PHOTONS 0.1

struct reflection_table {
    bool present;                 // false: nobody asked for it, all else is 0
    double least_photons;         // rows have more
    double rest_photons;          // of the frame, that are in no row
    size_t count;                 // rows, ascending by lattice, h, k, l
    struct reflection_row *rows;  // owned
    size_t npixels;               // the sum of the pixels of all rows, or 0: they are not listed
    uint32_t *pixels;             // owned: items of the image, row after row, ascending in each
    bool has_slopes;              // false: the next is NULL
    float *slopes;                // owned: [npixels], of each listed pixel the derivative of its
                                  // photons by |F| of the row, photons per electron
    size_t nlabels;               // 0, or pixels of the image
    uint32_t *labels;             // owned: for each pixel the number, from 1, of the row that gives
                                  // it most photons; 0: none gives LABEL_LEAST_PHOTONS
};

/* Frees the arrays and clears *t. */
void reflection_table_free(struct reflection_table *t);

/* Adds to each row's background the photons of its pixels, where these are listed, in
 * background[items], an image of as many pixels as the frame. */
void reflection_table_add(struct reflection_table *t, const float *background);

/* --- the result of a fit ------------------------------------------------- */

enum { REFINED_WHY_SIZE = 120, REFINED_COUNT_MAX = 1000 };

/* What a fit to a frame found, on its way to the process that combines the fits of many frames. */
struct refined {
    bool present;      // false: nobody fitted the frame, all else is 0
    uint32_t verdict;  // of bragg-refine, 0: good
    char why[REFINED_WHY_SIZE];
    size_t lattices, pixels, far, steps;
    double photons, chi2;
    bool settled;
    size_t count, local;  // parameters, those of the frame alone first
    double *numbers;      // owned: [refined_numbers(count)], see there
};

/* How many numbers tell of so many parameters: of each its start, value, error bar, step, and the
 * gradient of ln likelihood by steps; of each pair its Fisher information.
 * SIZE_MAX for more than REFINED_COUNT_MAX. */
size_t refined_numbers(size_t count);

/* Frees the numbers and clears *r. */
void refined_free(struct refined *r);

/* --- clipped pixels ------------------------------------------------------ */

/* Counts of pixels that do not fit into the whole numbers of an image, for one message.  All 0 at
 * first. */
struct clipped {
    uint64_t frames;     // that were looked at ...
    uint64_t clipped;    // ... those of them with such pixels
    uint64_t saturated;  // pixels that read the largest value
    uint64_t below;      // pixels below 0 before they became 0
    double largest_adu;  // the largest value
};

/* Adds the pixels of one frame. */
void clipped_add(struct clipped *c, uint64_t saturated, uint64_t below);

/* Reports the counts in one line, as a notice; nothing when all pixels fitted.  The line begins
 * with the name of a file, `where`, unless that is NULL. */
void clipped_say(const struct clipped *c, const char *where);

/* --- frames -------------------------------------------------------------- */

struct frame {
    struct recipe recipe;
    struct image image;
    struct reflection_table reflections;
    struct planes planes;
    struct refined refined;
};

/* Frees all that *f has and clears it. */
void frame_free(struct frame *f);

#endif
