/*
 * Reads and writes SMV files: a text header in braces, padded to HEADER_BYTES, then raw pixels.
 *
 * Reads 16-bit images for masks and headers.  Writes the headers of nanoBragg, nonBragg and noisify
 * byte for byte, and a header of braggpipe that DIALS reads correctly.  Lengths are in m and angles
 * in rad here, but in mm and degrees in the files.
 */
#ifndef BRAGG_IO_SMV_H
#define BRAGG_IO_SMV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "io/images/header_text.h"
#include "model/experiment.h"
#include "model/frame.h"

/* --- reading ------------------------------------------------------------- */

struct smv {
    char *header;         // owned; text of HEADER_BYTES bytes, zero-terminated
    size_t header_bytes;  // offset of the pixels in the file
    int64_t fast_pixels, slow_pixels;
    uint16_t *pixels;  // owned; slow_pixels x fast_pixels, host byte order; NULL: not read
};

/* Reads the header of the file `path` and, if `with_pixels` is true, the pixels.  *smv is
 * overwritten; smv_free frees it, also after an error.  Pixels are little-endian if the header
 * has no BYTE_ORDER.
 *
 * STATUS_FAILED: the file cannot be opened or read, or there is not enough memory.  STATUS_INPUT:
 * a number that nanoBragg searches for is not finite, the header contradicts itself, the pixels
 * are not unsigned_short, or the file is not exactly as long as the header says.  The last two
 * are checked only for `with_pixels`. */
enum status smv_read(const char *path, bool with_pixels, struct smv *smv, struct error *e);

/* Find the byte order and the type of the pixels in a header that smv_read has read from `path`.
 * *said: the header names the type; otherwise *type is not changed.  STATUS_INPUT: BYTE_ORDER is
 * missing or unknown, or TYPE or Data_type (d*TREK) is unknown, or they contradict each other. */
enum status smv_is_big_endian(const char *path, const struct smv *smv, bool *big, struct error *e);
enum status smv_type(const char *path, const struct smv *smv, enum pixel_type *type, bool *said,
                     struct error *e);

/* Checks that a file of `file_bytes` bytes has exactly the header and the pixels, with
 * `pixel_bytes` bytes each.  STATUS_INPUT: the file is longer or shorter. */
enum status smv_check_bytes(const char *path, const struct smv *smv, size_t file_bytes,
                            size_t pixel_bytes, struct error *e);

/* Returns the edge of a pixel in m.  0: the header does not have PIXEL_SIZE. */
double smv_pixel_m(const struct smv *smv);

/* Compares the edge of a pixel in a file, said_m, with that of the detector, pixel_m.  said_m =
 * 0: the file does not have the edge.  STATUS_INPUT: they differ by more than 0.1 %, so the file
 * is of another detector.  `name` is the name of the file in the error. */
enum status smv_compare_pixel(const char *name, double said_m, double pixel_m, struct error *e);

/* Gets the number after the last occurrence of the text "KEY=", as nanoBragg does.  The key
 * DISTANCE therefore also finds CLOSE_DISTANCE, if that occurs later.  Units are those of the
 * file.  Returns false, and does not change *value, if the text does not occur. */
bool smv_value(const struct smv *smv, const char *key, double *value);

/* Makes a mask of the pixels: 0 where the pixel is 0, else 1.  The caller frees *mask with
 * mem_free.  STATUS_FAILED: out of memory. */
enum status smv_mask(const struct smv *smv, uint8_t **mask, struct error *e);

void smv_free(struct smv *smv);

/* --- headers ------------------------------------------------------------- */

/* Makes the header of nanoBragg, padded to 512 bytes.  A longer text is not cut off, but
 * HEADER_BYTES is still 512, as in nanoBragg.  slow_size_m is the requested size of the detector,
 * which need not be a whole number of pixels.  phi_rad is the start of the rotation, osc_rad its
 * width. */
void smv_header_nanobragg(struct header_text *h, const struct panel *p, double slow_size_m,
                          double wavelength_m, double phi_rad, double osc_rad);

/* Makes the header of nonBragg, from the same values and padded in the same way as that of
 * nanoBragg. */
void smv_header_nonbragg(struct header_text *h, const struct panel *p, double slow_size_m,
                         double wavelength_m, double phi_rad, double osc_rad);

/* The geometry that the header of noisify contains. */
struct smv_noisify {
    int64_t fast_pixels, slow_pixels;
    double pixel_m, distance_m, wavelength_m;
    double beam_x_m, beam_y_m;  // from the left and the bottom edge
    int bits;                   // 16 or 32, for TYPE
    double phi_deg, osc_deg;
};

/* Makes the header of noisify, padded in the same way as that of nanoBragg. */
void smv_header_noisify(struct header_text *h, const struct smv_noisify *n);

/* Makes the header of braggpipe.  It has the keys and units that DIALS reads (format class of
 * BEAMLINE=fake), then the ground truth of the frame under keys that begin with BRAGG_ (see
 * header_append_truth).  BEAM_CENTER follows the convention of dxtbx, which adds a pixel to X,
 * and measures Y from the far edge, minus a pixel.  WAVELENGTH is that of the frame.
 * HEADER_BYTES is the true length: 1024, or more in steps of 512.  STATUS_INPUT: the detector
 * does not have exactly one panel. */
enum status smv_header_modern(struct header_text *h, const struct experiment *x,
                              const struct frame *f, struct error *e);

/* --- files --------------------------------------------------------------- */

/* Writes a frame with its image and the header of smv_header_modern.  Pixels of any type are
 * written unchanged; TYPE names the type.  STATUS_INPUT: more than one panel, or an image of
 * another size.  STATUS_FAILED: writing failed. */
enum status smv_write_modern(FILE *out, const struct experiment *x, const struct frame *f,
                             struct error *e);

/* Writes a frame with its image and the header of smv_header_nanobragg, for faithful mode.
 * STATUS_INPUT: as for smv_write_modern, or the pixels are not uint16.  STATUS_FAILED: writing
 * failed. */
enum status smv_write_nanobragg(FILE *out, const struct experiment *x, const struct frame *f,
                                struct error *e);

#endif
