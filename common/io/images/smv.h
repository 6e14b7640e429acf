/*
 * SMV: a text header in braces, padded to HEADER_BYTES, then raw pixels.
 *
 * Reads 16-bit images for masks and headers; writes the headers of nanoBragg,
 * nonBragg and noisify byte for byte, and a header of our own that DIALS reads
 * right.  Lengths in m and angles in rad here, mm and degrees in the files.
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

/* Reads the header of `path` and, if `with_pixels`, the pixels.  *smv is
 * overwritten; smv_free frees it, also after an error.  Checks that every number that
 * nanoBragg looks for is finite, that the header does not contradict itself, and, with
 * pixels, that these are unsigned_short and that the file is exactly as long as the header
 * says.  Pixels are little-endian where the header has no BYTE_ORDER.
 * Errors: STATUS_FAILED when it cannot be opened, else STATUS_INPUT. */
enum status smv_read(const char *path, bool with_pixels, struct smv *smv, struct error *e);

/* What a header that smv_read has read from `path` says of the pixels.  STATUS_INPUT for a
 * BYTE_ORDER that is missing or unknown, and for a TYPE or Data_type (d*TREK) that is
 * unknown or contradicts the other.  *said: the header names the type; *type is kept where
 * it does not. */
enum status smv_is_big_endian(const char *path, const struct smv *smv, bool *big, struct error *e);
enum status smv_type(const char *path, const struct smv *smv, enum pixel_type *type, bool *said,
                     struct error *e);

/* STATUS_INPUT unless a file of `file_bytes` bytes holds the header and the pixels, and no more. */
enum status smv_check_bytes(const char *path, const struct smv *smv, size_t file_bytes,
                            size_t pixel_bytes, struct error *e);

/* Edge of a pixel in m; 0 where the header does not have PIXEL_SIZE. */
double smv_pixel_m(const struct smv *smv);

/* STATUS_INPUT where a file, called `name` in the error, says pixels of `said_m`, and the detector
 * has pixels of `pixel_m`: the file is of another detector.  A file with 0 does not say it. */
enum status smv_compare_pixel(const char *name, double said_m, double pixel_m, struct error *e);

/* Takes the number after the last textual occurrence of "KEY=", as nanoBragg
 * does: DISTANCE finds CLOSE_DISTANCE when that comes later.  False, and
 * *value untouched, when there is none.  Units are those of the file. */
bool smv_value(const struct smv *smv, const char *key, double *value);

/* Makes a mask of the pixels: 0 where the pixel is 0, else 1.  The caller frees *mask with
 * mem_free.  STATUS_FAILED: out of memory. */
enum status smv_mask(const struct smv *smv, uint8_t **mask, struct error *e);

void smv_free(struct smv *smv);

/* --- headers ------------------------------------------------------------- */

/* nanoBragg's own.  Padded to 512 bytes; a longer text stays as long as it is
 * while HEADER_BYTES still says 512, as in nanoBragg.  The slow size is that
 * of the detector as asked for, which need not be a whole number of pixels; the
 * angles are the start of the rotation and its width. */
void smv_header_nanobragg(struct header_text *h, const struct panel *p, double slow_size_m,
                          double wavelength_m, double phi_rad, double osc_rad);

/* nonBragg's own, from the same values; padded likewise. */
void smv_header_nonbragg(struct header_text *h, const struct panel *p, double slow_size_m,
                         double wavelength_m, double phi_rad, double osc_rad);

/* What noisify knows of the geometry. */
struct smv_noisify {
    int64_t fast_pixels, slow_pixels;
    double pixel_m, distance_m, wavelength_m;
    double beam_x_m, beam_y_m;  // from the left and the bottom edge
    int bits;                   // 16 or 32, for TYPE
    double phi_deg, osc_deg;
};

/* noisify's own; padded likewise. */
void smv_header_noisify(struct header_text *h, const struct smv_noisify *n);

/* Ours: keys and units that DIALS (format class of BEAMLINE=fake) reads, then
 * the truth about the frame under names that begin with BRAGG_.  BEAM_CENTER is
 * what dxtbx expects: it adds a pixel to X, and takes Y as counted from the far
 * edge, less a pixel.  WAVELENGTH is that of the frame.  Keys of the first lattice are
 * bare, those of lattice 1 end with _1 and so on.  HEADER_BYTES is the true length, 1024
 * or, if need be, more in steps of 512.  Needs one panel: else STATUS_INPUT. */
enum status smv_header_modern(struct header_text *h, const struct experiment *x,
                              const struct frame *f, struct error *e);

/* --- files --------------------------------------------------------------- */

/* Header and pixels of a frame with an image, with smv_header_modern.  Any pixel
 * type is written as it is; TYPE names it.  Errors: STATUS_INPUT for more than one
 * panel or an image of another size, STATUS_FAILED when a write fails. */
enum status smv_write_modern(FILE *out, const struct experiment *x, const struct frame *f,
                             struct error *e);

/* The same with smv_header_nanobragg, for faithful mode; 16-bit images only. */
enum status smv_write_nanobragg(FILE *out, const struct experiment *x, const struct frame *f,
                                struct error *e);

#endif
