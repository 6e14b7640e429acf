/* Facts about a detector and a series that both Streams of Dectris' detectors report: V1
 * (dectris1.c) in JSON, V2 (dectris2.c) in CBOR. */
#ifndef BRAGG_GATEWAY_DECTRIS_H
#define BRAGG_GATEWAY_DECTRIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/delivery.h"
#include "gateway/protocol.h"
#include "model/experiment.h"
#include "model/frame.h"

#define DECTRIS_SERIAL "0"  // serial number of the detector

enum {
    DECTRIS_READOUT_NS =
        100,  // time between two exposures, in which the detector reads its counters
    DECTRIS_DATE_SIZE = 48,
};

/* The axes, in the order of their names. */
enum { DECTRIS_CHI, DECTRIS_KAPPA, DECTRIS_OMEGA, DECTRIS_PHI, DECTRIS_TWO_THETA, DECTRIS_AXES };

/* An axis of the goniometer or of the detector. */
struct dectris_axis {
    const char *name;      // static text
    double start_deg;      // angle at which image 0 begins
    double increment_deg;  // rotation during an image
};

/* The settings of the detector that the start message reports. */
struct dectris_setup {
    size_t fast, slow;  // pixels of the image
    const char *dtype;  // type of the pixels, static text
    unsigned bits;      // of a pixel
    double pixel_m;
    double beam_center_x, beam_center_y;  // from the outer corner of the first pixel, in pixels
    double translation_m[3];              // beam centre x, beam centre y, distance
    double wavelength_A, energy_eV;
    size_t nchannels;  // at least one
    double threshold_eV[CONTENT_THRESHOLDS_MAX];
    double frame_time_s, count_time_s;       // the count time is shorter by the time for readout
    struct dectris_axis axes[DECTRIS_AXES];  // chi, kappa, omega, phi, two_theta
    uint64_t cutoff;                         // largest value that means photons
    const char *material;                    // of the sensor, borrowed
    double thickness_m;                      // of the sensor
    char date[DECTRIS_DATE_SIZE];            // when the series began
};

/* When an image was exposed, in ns after the series began. */
struct dectris_times {
    uint64_t start_ns, stop_ns, real_ns;
};

/* Fills in *d for the series o->series, whose first frame is *f.  STATUS_INPUT: the detector has
 * several panels, which do not fit into an image of two dimensions. */
enum status dectris_describe(struct dectris_setup *d, const struct content_options *o,
                             const struct experiment *x, const struct frame *f, struct error *e);

/* STATUS_INPUT: the number of panels is not 1. */
enum status dectris_check_panels(size_t npanels, struct error *e);

/* Returns when image `id` was exposed. */
struct dectris_times dectris_times(const struct series *s, uint64_t id);

/* Writes a Unix time in ns as text with a resolution of 1 ms, and returns `text`. */
const char *dectris_date(uint64_t time_ns, char text[DECTRIS_DATE_SIZE]);

/* Fills an array of the size of the image with the flat field, which is 1. */
void dectris_fill_flat(const struct dectris_setup *d, float *flat);

/* Fills an array of the size of the image with the words of the mask, which are o->mask or those of
 * *x, and returns the number of masked pixels. */
uint64_t dectris_fill_mask(const struct content_options *o, const struct experiment *x,
                           uint32_t *mask);

/* Packs `count` items of `size` bytes with bitshuffle and LZ4 into out[bslz4_bound(count, size)],
 * and returns the length.  `image`: the image whose pixels the items are; NULL: there is none.  If
 * it came packed and has no blanks, its chunk is copied.  Otherwise its checksum is formed in the
 * same pass.  `blanks`: items that get another value; NULL: none. */
size_t dectris_pack(const struct image *image, const void *items, size_t count, size_t size,
                    const struct bslz4_blanks *blanks, uint8_t *out);

/* Sets *counted to true if a channel counts the photons of a frame: their energy is above its
 * threshold.  STATUS_INPUT: the threshold is within the spectrum of the frame. */
enum status dectris_counts(const struct content_options *o, const struct delivery *d,
                           size_t channel, bool *counted, struct error *e);

#endif
