/*
 * What one frame brings to a client, before a protocol gives it a form: named
 * values and one array of pixels.  Everything is borrowed from the frame, the
 * experiment and the options.
 */
#ifndef BRAGG_GATEWAY_DELIVERY_H
#define BRAGG_GATEWAY_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/peaks.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/incident.h"

enum { DELIVERY_VALUES_MAX = 40, DELIVERY_NUMBERS_MAX = 9, DELIVERY_DIMS_MAX = 3 };

/* The key of the list of peaks, where there is one. */
#define DELIVERY_PEAKS_KEY "peak_list"

enum value_type { VALUE_INT, VALUE_REAL, VALUE_TEXT, VALUE_REALS };

struct value {
    const char *key;
    enum value_type type;
    int64_t integer;
    const char *text;
    size_t count;                        // VALUE_REALS
    double reals[DELIVERY_NUMBERS_MAX];  // VALUE_REAL: the first
};

struct delivery {
    uint64_t id;       // frame number
    uint64_t time_ns;  // when it was handed over, Unix time
    char id_text[24];  // the number as text, for protocols that want it so
    bool has_train;    // the pulse has one:
    int64_t train;     // its trainId
    struct incident beam;
    size_t nvalues;  // may exceed DELIVERY_VALUES_MAX: then some are missing and the guard refuses
    struct value values[DELIVERY_VALUES_MAX];
    const struct peak *peaks;  // NULL: no list was asked for
    size_t npeaks;
    const char *image_key;
    enum pixel_type type;
    size_t ndims;
    size_t shape[DELIVERY_DIMS_MAX];  // slowest first: [slow, fast] or [module, slow, fast]
    const void *pixels;               // little-endian, the fast axis fastest
    size_t pixel_bytes;
};

/* Adds a value; keys and texts must outlive the delivery. */
void delivery_int(struct delivery *d, const char *key, int64_t value);
void delivery_real(struct delivery *d, const char *key, double value);
void delivery_text(struct delivery *d, const char *key, const char *value);
void delivery_reals(struct delivery *d, const char *key, const double *values, size_t count);

/* Starts *d for a frame: id, time and the image under `key`, with the shape of the
 * experiment's panels.  STATUS_INPUT when panels differ in size or the image has
 * another number of pixels. */
enum status delivery_start(struct delivery *d, const char *key, const struct experiment *x,
                           const struct frame *f, uint64_t time_ns, struct error *e);

/* Adds the truth about a frame in single values: seed, lineage, fluence (photons per m^2), hit
 * (0: blank), lattice_count and the numbers of its pulse; notes the train. */
void delivery_truth(struct delivery *d, const struct experiment *x, const struct recipe *r);

/* Adds the truth that needs arrays, for clients that take them: spectrum (shortest, mean and
 * longest wavelength, A), and of the first lattice rotation, reciprocal_cell (1/A, rows a*, b*,
 * c*) and unit_cell (A, deg), as far as there is one. */
void delivery_truth_arrays(struct delivery *d, const struct experiment *x, const struct recipe *r);

/* numpy's name of a type, "uint16". */
const char *delivery_dtype(enum pixel_type type);

#endif
