/*
 * The content of one frame for a client, before a protocol encodes it: named values and one array
 * of pixels.  A delivery borrows all its memory from the frame, the experiment and the options.
 */
#ifndef BRAGG_GATEWAY_DELIVERY_H
#define BRAGG_GATEWAY_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* --- bright spots, for clients that read a list of peaks (peaks.c) ----------------------- */

struct peak {
    double fast, slow;  // centroid in the whole array, pixels; the centre of pixel i is i
    double intensity;   // sum above the background, in the unit of the pixels
};

/*
 * Writes the `most` brightest peaks into peaks[], the brightest first, and their number into
 * *found.  STATUS_FAILED if memory runs out.
 *
 * A peak is the largest of the 5 x 5 pixels around it.  The inner 3 x 3 pixels must be computed and
 * must belong to one panel.  The peak pixel, one of the four squares of 2 x 2 pixels that contain
 * it, or the 3 x 3 pixels must have significantly more photons than the background: chance exceeds
 * the limit in one of 20 million places of a blank image.  The background is the mean of the pixels
 * at a distance of 3 to 5, which are 96 or fewer; the test includes the uncertainty of this mean.
 * If these pixels scatter more than counting statistics explain, the limit is higher.  For images
 * in ADU, photons follow from the offset and the gain of *x.  Centroid and intensity are those of
 * the 3 x 3 pixels.
 */
size_t peaks_find(const struct experiment *x, const struct image *image, struct peak *peaks,
                  size_t most);

/* --- the content of a frame (delivery.c) ------------------------------------------------- */

enum { DELIVERY_VALUES_MAX = 40, DELIVERY_NUMBERS_MAX = 9, DELIVERY_DIMS_MAX = 3 };

/* Key under which clients find the list of peaks. */
#define DELIVERY_PEAKS_KEY "peak_list"

enum value_type { VALUE_INT, VALUE_BOOL, VALUE_REAL, VALUE_TEXT, VALUE_REALS };

/* A named value of a frame. */
struct value {
    const char *key;
    enum value_type type;
    int64_t integer;  // VALUE_BOOL: 1 is true, 0 is false
    const char *text;
    size_t count;                        // VALUE_REALS: number of items of reals[]
    double reals[DELIVERY_NUMBERS_MAX];  // VALUE_REAL uses reals[0]
};

struct delivery {
    uint64_t id;       // frame number
    uint64_t time_ns;  // when the frame was offered, Unix time
    char id_text[24];  // the frame number as text, for protocols that need text
    bool has_train;    // the pulse has a train number
    int64_t train;     // train number, if `has_train`
    struct incident beam;
    enum probe probe;  // particles of the beam
    size_t
        nvalues;  // if it exceeds DELIVERY_VALUES_MAX, values are missing, and delivery_check fails
    struct value values[DELIVERY_VALUES_MAX];
    const struct peak *peaks;  // NULL if no list was asked for
    size_t npeaks;
    const char *image_key;
    enum pixel_type type;
    size_t ndims;
    size_t shape[DELIVERY_DIMS_MAX];  // slowest first: [slow, fast] or [module, slow, fast]
    const void *pixels;               // little-endian; the fast axis varies fastest
    size_t pixel_bytes;
    const struct image *image;  // image of the frame, whose pixels `pixels` are unless a fault on
                                // purpose replaced them; see delivery_image
};

/* Add a value with a key to *d.  The key and a text must stay valid as long as the delivery.
 * Numbers are copied; `count` is at most DELIVERY_NUMBERS_MAX. */
void delivery_int(struct delivery *d, const char *key, int64_t value);
void delivery_bool(struct delivery *d, const char *key, bool value);
void delivery_real(struct delivery *d, const char *key, double value);
void delivery_text(struct delivery *d, const char *key, const char *value);
void delivery_reals(struct delivery *d, const char *key, const double *values, size_t count);

/* Begins a delivery *d of a frame: sets its number, its time (Unix time in ns), and its image
 * with the key `key` and the shape of the panels of *x.  STATUS_INPUT: the panels differ in
 * size, or the image has another number of pixels than the detector. */
enum status delivery_start(struct delivery *d, const char *key, const struct experiment *x,
                           const struct frame *f, uint64_t time_ns, struct error *e);

/* Returns the image whose pixels the delivery contains.  NULL: the delivery contains other pixels,
 * or not all of them. */
const struct image *delivery_image(const struct delivery *d);

/* Adds the ground truth of a frame as single values: seed, lineage, fluence (photons per m^2), hit
 * (0 for a blank frame), lattice_count and the numbers of the pulse.  Sets the train number. */
void delivery_truth(struct delivery *d, const struct experiment *x, const struct recipe *r);

/* Adds the ground truth that needs arrays, for clients that read arrays: spectrum (shortest, mean
 * and longest wavelength, A), and of the first lattice rotation, reciprocal_cell (1/A, rows a*, b*,
 * c*) and unit_cell (A, deg).  A blank frame has only the spectrum. */
void delivery_truth_arrays(struct delivery *d, const struct experiment *x, const struct recipe *r);

/* Adds the number of the pulse with the key `key`, by which clients sort; without numbered pulses
 * it is the frame number.  Adds laser_on if there is a pump laser. */
void delivery_pulse(struct delivery *d, const char *key, const struct experiment *x,
                    const struct recipe *r);

/* Adds saturated_pixels: how many pixels have the largest value of the detector or more.  The
 * largest value of an unsigned type means "no data" and does not count. */
void delivery_saturated(struct delivery *d, const struct experiment *x, const struct image *image);

/* Returns the name that numpy has for a type, such as "uint16"; a static text. */
const char *delivery_dtype(enum pixel_type type);

/* Converts pixels for clients that read few types: makes *to, an image with the values of *from and
 * pixels of `type`.  The caller frees *to with image_free.  STATUS_INPUT if a value has no exact
 * form in `type`, because nothing is rounded or clipped; STATUS_FAILED if memory runs out.
 *
 * Integers that mean "no data" keep this meaning.  -1 and -2 of signed pixels (in CBF files of
 * Pilatus detectors a gap and a bad pixel) become the largest value of unsigned pixels.  The
 * largest value of uint32 becomes the largest value of uint16.  In int32 all of these become
 * `no_data`.  If there was such a pixel, *masked becomes true; otherwise *masked stays as it was.
 */
enum status pixels_convert(const struct image *from, enum pixel_type type, int32_t no_data,
                           struct image *to, bool *masked, struct error *e);

/* Checks a delivery before it is sent to a third-party program.  A delivery must not contradict
 * itself, because clients do not check it:
 *   - the type of the pixels is known and in `allowed` (one bit per enum pixel_type);
 *   - the size of the pixels follows from shape and type;
 *   - every number is finite;
 *   - no key is empty or the beginning of another key, which CrystFEL would confuse.
 * STATUS_INPUT: a condition is violated; the message names it. */
enum status delivery_check(const struct delivery *d, unsigned allowed, struct error *e);

#endif
