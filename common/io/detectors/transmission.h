/* Maps of what passes on the way to each pixel: foils, windows, holders of beam stops. */
#ifndef BRAGG_IO_TRANSMISSION_H
#define BRAGG_IO_TRANSMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct transmission {
    int64_t fast_pixels;           // 0: the file does not tell
    size_t count;                  // pixels
    float *passes;                 // owned; shares from 0 to 1
    double pixel_m, wavelength_m;  // that the file says; 0: it does not
};

/* Reads `path`: HDF5 with numbers in /transmission, the last of its two or three dimensions along
 * fast; SMV of 16 bits, of which 65535 stands for 1; or raw float32.  STATUS_INPUT for what is
 * none of these, for units other than a share, for what is no share or cannot be float32 of this
 * byte order, and for a map through which nothing passes at all.
 * transmission_free frees *t, also after an error. */
enum status transmission_read(const char *path, struct transmission *t, struct error *e);
void transmission_free(struct transmission *t);

#endif
