/*
 * The frame.  It consists of a recipe and of data that stages add to it.  From the intensity stage
 * on it has an image, and it may have reflections and derivative images.  A fit adds its results
 * instead of an image.
 */
#ifndef BRAGG_MODEL_FRAME_H
#define BRAGG_MODEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/recipe.h"

/*
 * GPU memory that processes of one host share, so that images stay there between stages.  The
 * interface is a table of functions, because the code that carries frames does not depend on a GPU.
 */

enum {
    CARD_UUID = 16,    // bytes of the name of a GPU
    CARD_HANDLE = 64,  // bytes of the name of memory on a GPU
};

/* The name of a buffer of GPU memory; another process opens the buffer with it. */
struct card_handle {
    unsigned char bytes[CARD_HANDLE];
};

/* An open GPU.  Its creator keeps it open as long as any thread uses its memory. */
struct card {
    unsigned char uuid[CARD_UUID];  // the same in all processes that use this GPU

    /* Allocates `bytes` bytes, and sets *handle to the name that other processes open.
     * STATUS_FAILED, with *memory NULL: out of memory. */
    enum status (*reserve)(const struct card *card, size_t bytes, void **memory,
                           struct card_handle *handle, struct error *e);
    void (*release)(const struct card *card, void *memory);

    /* Opens, for reading, memory that another process has reserved.  STATUS_FAILED, with *memory
     * NULL: no memory has this name, or it is smaller than `bytes`. */
    enum status (*open)(const struct card *card, const struct card_handle *handle, size_t bytes,
                        void **memory, struct error *e);
    void (*close)(const struct card *card, void *memory);

    /* Copies from GPU memory to memory of this process, and waits for the end of the copy.  Any
     * thread may call this function and `close`, at the same time as the other functions. */
    enum status (*fetch)(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e);
};

/* --- images -------------------------------------------------------------- */

enum pixel_type { PIXEL_F32, PIXEL_U16, PIXEL_U32, PIXEL_I32 };
enum pixel_unit { UNIT_PHOTONS, UNIT_ADU };

struct image;

/* An allocator of pixel buffers.  Images without an allocator use the heap. */
struct image_memory {
    /* Sets pixels, release and owner of *image.  Returns false if it has no buffer of `bytes`
     * bytes. */
    bool (*take)(struct image_memory *memory, size_t bytes, struct image *image);

    /* Like `take`, but the buffer is in GPU memory: sets `card`.  Returns false if the process that
     * gets the image cannot read it there.  NULL: there is no GPU. */
    bool (*take_on_card)(struct image_memory *memory, size_t bytes, struct image *image);

    /* Buffers are reused, and their memory stays mapped as long as frames are made. */
    bool lasting;
};

/* Pixels of all panels, little-endian, item first_pixel + s*fast_pixels + f. */
struct image {
    enum pixel_type type;
    enum pixel_unit unit;
    size_t count;                  // pixels
    void *pixels;                  // count items; NULL: no image yet
    void *card;                    // address of the pixels in GPU memory (`struct card`); the
                                   // items of `pixels` are undefined then.  NULL: they are at
                                   // `pixels`
    void (*release)(void *owner);  // frees the memory; NULL: there is nothing to free
    void *owner;
    const void *chunk;   // the pixels as they came, packed as a chunk of codec/bslz4.h:
    size_t chunk_bytes;  // borrowed, as long as the frame, and shorter than the pixels.
                         // NULL: they came as pixels
    bool has_sum;
    uint32_t sum;                 // CRC-32C of the pixels, if has_sum
    bool (*intact)(void *owner);  // see image_is_intact; NULL: they always are
    /* See image_was_read and image_was_summed.  `sum`: checksum of the first `bytes` bytes; NULL:
     * it is not known yet.  The callback is NULL if nothing needs the checksum. */
    void (*was_read)(void *owner, size_t bytes, const uint32_t *sum);
    struct image_memory *memory;  // source of new buffers; NULL: the heap
};

/* Returns the number of bytes of one pixel. */
size_t pixel_size(enum pixel_type type);

/* Gives *image a new buffer of `count` pixels from image->memory, and releases the old buffer.  The
 * new pixels are undefined.  Returns false, with *image unchanged, if memory runs out. */
bool image_reserve(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count);

/* Like image_reserve, but ends the process if memory runs out, as mem_array does.  Use it only
 * if neither a file nor a message decides the size of the image. */
void image_allocate(struct image *image, enum pixel_type type, enum pixel_unit unit, size_t count);

/* Like image_reserve, but in GPU memory.  Returns false, with *image unchanged, if image_reserve
 * must be used instead. */
bool image_reserve_on_card(struct image *image, enum pixel_type type, enum pixel_unit unit,
                           size_t count);

/* Returns the value of pixel number i. */
double image_value(const struct image *image, size_t i);

/* Stores the values of pixels `first` to `first` + count - 1 in values[count]. */
void image_values(const struct image *image, size_t first, size_t count, double *values);

/* The least, the largest and the sum of all pixels.  Without pixels: +infinity, -infinity and 0. */
struct image_range {
    double least, most, sum;
};
struct image_range image_range(const struct image *image);

/* Returns true if the buffer of the pixels is reused (image_memory.lasting). */
bool image_is_lasting(const struct image *image);

/* Returns true if the pixels that were read so far are those of the frame.  False has two causes:
 *   - The pixels are in the memory of another process, which presumed this process dead and stored
 *     another frame there.
 *   - The pixels that a sink got do not have the checksum that their producer computed. */
bool image_is_intact(const struct image *image);

/* Reports that the caller has read the first `count` pixels, in ascending order.  They may still be
 * in the caches, so their part of the checksum for image_is_intact is fast to compute now. */
void image_was_read(const struct image *image, size_t count);

/* Reports that the caller has read all pixels and found that their CRC-32C is `sum`.  A caller need
 * not form the checksum if image->was_read is NULL. */
void image_was_summed(const struct image *image, uint32_t sum);

/* Releases the pixels and clears *image, except its `memory`. */
void image_free(struct image *image);

/* --- derivative images --------------------------------------------------- */

/* Derivative images of a frame ("planes" in the code): float32 images next to that of the frame,
 * each with a name.  They hold the derivatives of the expected photons without background.  After
 * bragg-noise they hold the derivatives of the mean pixel values.  Either all of them have a value
 * for each pixel, or all have values for one list of pixels and are 0 elsewhere. */

enum { PLANE_NAME_SIZE = 32, PLANE_UNIT_SIZE = 16, PLANES_MAX = 64 };

struct plane {
    char name[PLANE_NAME_SIZE];  // name of the parameter
    char unit[PLANE_UNIT_SIZE];  // its unit: values are photons per unit; "": it has no unit
    size_t count;                // pixels of the image, or of the list
    float *values;               // owned: [count], in the order of the pixels
};

/* The pixels for which derivative images have values. */
struct planes_pixels {
    bool listed;  // false: all pixels; the other members are 0
    size_t count;
    uint32_t *numbers;  // owned: [count], ascending
};

struct planes {
    bool present;  // false: they were not requested; all other members are 0
    size_t count;
    struct plane *items;  // owned
    struct planes_pixels pixels;
};

/* Makes room for `count` derivative images, all zero.  *p must be empty.  Returns false if there is
 * no memory. */
bool planes_reserve(struct planes *p, size_t count);

/* Checks the derivative images of an image of `pixels` pixels.  Returns what is wrong, in words
 * that follow "has planes", or NULL if these rules hold:
 *   - there are at most PLANES_MAX;
 *   - each has a value for each pixel of the image, or of a list of ascending pixel numbers;
 *   - names differ and fit for files: small letters, digits, `_` and, except at the start, `.`;
 *   - values for a list are finite. */
const char *planes_fault(const struct planes *p, size_t pixels);

/* Gives derivative images with a list values for all `pixels` pixels of the image.  The caller has
 * checked them with planes_fault.  Without a list nothing changes. */
void planes_expand(struct planes *p, size_t pixels);

/* Frees the planes and clears *p. */
void planes_free(struct planes *p);

/* --- reflections --------------------------------------------------------- */

/* The ground truth of a frame: its reflections with their positions and intensities, before
 * background and noise.  The message of a frame carries them in addition to the pixels. */

/* A reflection of one lattice: the photons of all terms whose nearest index is hkl.  Messages
 * carry the 88 bytes of this struct unchanged.  Those of previous versions end before
 * `wavelength_A`, and are read with 0 for the members that follow. */
struct reflection_row {
    double fast, slow;  // px: centroid weighted by photons; pixel i covers [i, i+1)
    double photons;     // expected photons in the frame
    double phi_deg;     // rotation angle weighted by photons; 0 in a still
    double s_1_A;       // distance of the lattice point from the nearest Ewald sphere of the
                        // beam, at the middle of the rotation; positive inside; 0 between the
                        // spheres of the shortest and the longest wavelength
    int32_t lattice;    // number in the recipe
    int32_t hkl[3];
    int32_t panel;       // panel with most of the photons; the centroid is in it
    int32_t pixels;      // smallest number that holds REFLECTION_SHARE of the photons, >= 1
    float peak;          // photons of the brightest pixel
    float F2;            // squared structure factor of hkl, electrons^2
    float background;    // photons of these pixels that are not from the crystal
    float z;             // reflection_z; 0: not computed
    float wavelength_A;  // that the lattice point diffracts at the middle of the rotation, at most
                         // the longest and at least the shortest of the beam; 0: not known
    int32_t orders;      // number of rows of the lattice on the same ray: multiples of the same
                         // indices, with this row; 0: not known
};

/* Size of the rows of previous versions. */
enum { REFLECTION_ROW_BEFORE = 80 };

#define REFLECTION_SHARE 0.99

/* A reflection is visible if its z is above this number: spot finders find half of the reflections
 * at a z of 4.3 to 5.9. */
#define REFLECTION_VISIBLE_Z 5.0

/* Returns z, the photons of a reflection relative to the noise of their sum over its pixels:
 * P / sqrt(P + B + n r^2), for P photons, B other photons in its n pixels, and a readout noise of r
 * photons.  0: it has no photons. */
double reflection_z(const struct reflection_row *row, double readout_photons);

/* A pixel with fewer photons of a reflection does not get the label of that reflection. */
#define LABEL_LEAST_PHOTONS 0.1

struct reflection_table {
    bool present;                 // false: it was not requested; all other members are 0
    double least_photons;         // limit: each row has more photons
    double rest_photons;          // photons of the frame that are in no row
    uint64_t row_bytes;           // of messages: size of a row; 0: REFLECTION_ROW_BEFORE
    size_t count;                 // number of rows; they ascend by lattice, h, k, l
    struct reflection_row *rows;  // owned
    size_t npixels;               // sum of the pixels of all rows; 0: pixels are not listed
    uint32_t *pixels;             // owned: pixel numbers, row after row, ascending in each
    bool has_slopes;              // false: `slopes` is NULL
    float *slopes;                // owned: [npixels], for each listed pixel the derivative of its
                                  // photons with respect to |F| of the row, photons per electron
    size_t nlabels;               // 0, or number of pixels of the image
    uint32_t *labels;             // owned: for each pixel the number, from 1, of the row that gives
                                  // it most photons; 0: none gives LABEL_LEAST_PHOTONS
};

/* Frees the arrays and clears *t. */
void reflection_table_free(struct reflection_table *t);

/* Adds background[items], an image with the pixels of the frame, to the `background` of each row:
 * the sum over the listed pixels of the row.  Does nothing if pixels are not listed.  Clears their
 * z. */
void reflection_table_add(struct reflection_table *t, const float *background);

/* Computes z of rows whose z is 0, for the readout noise of *x and with photons of other rows. */
void reflection_table_rate(struct reflection_table *t, const struct experiment *x);

/* Sets z of all rows to 0, because their noise changes. */
void reflection_table_unrate(struct reflection_table *t);

/* --- the result of a fit ------------------------------------------------- */

enum { REFINED_WHY_SIZE = 120, REFINED_COUNT_MAX = 1000 };

/* The result of a fit to one frame.  bragg-refine sends it to the process that combines the fits of
 * many frames. */
struct refined {
    bool present;      // false: the frame was not fitted; all other members are 0
    uint32_t verdict;  // verdict of bragg-refine; 0: good
    char why[REFINED_WHY_SIZE];
    size_t lattices, pixels, far, steps;
    double photons, chi2;
    bool settled;
    size_t count, local;  // numbers of all parameters, and of those of this frame, which come first
    double *numbers;      // owned: [refined_numbers(count)], see there
};

/* Returns the length of `numbers` for `count` parameters.  Each parameter has its start, value,
 * error bar, step, and the gradient of ln likelihood in units of the step.  Each pair has its
 * Fisher information.  Returns SIZE_MAX if `count` is above REFINED_COUNT_MAX. */
size_t refined_numbers(size_t count);

/* --- clipped pixels ------------------------------------------------------ */

/* Counts pixels that do not fit into the integers of an image, for one message.  Begins as {0}. */
struct clipped {
    uint64_t frames;     // number of frames that were checked
    uint64_t clipped;    // number of frames that have clipped pixels
    uint64_t saturated;  // number of pixels with the largest value
    uint64_t below;      // number of pixels that were below 0 and became 0
    double largest_adu;  // the largest value of the integers
};

/* Adds the numbers of pixels of one frame. */
void clipped_add(struct clipped *c, uint64_t saturated, uint64_t below);

/* Logs the counts in one line, as a notice.  Logs nothing if all pixels fitted.  The line begins
 * with `where`, the name of a file, unless that is NULL. */
void clipped_say(const struct clipped *c, const char *where);

/* --- frames -------------------------------------------------------------- */

struct frame {
    struct recipe recipe;
    struct image image;
    struct reflection_table reflections;
    struct planes planes;
    struct refined refined;
};

/* Frees everything that *f owns and clears *f. */
void frame_free(struct frame *f);

#endif
