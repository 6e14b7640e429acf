/*
 * Reads and writes the files of nanoBragg, nonBragg and noisify: raw floats, SMV with 16- or 32-bit
 * pixels, and PGM.  The functions in physics/noise/noisify.h compute the images:
 *
 *     legacy_statistics(...)  legacy_ideal(...)  legacy_preview(...)  legacy_noise(...)
 *     nanobragg_write_float(...)  nanobragg_write_smv(...)  ...
 *
 * Every file is written under a temporary name and then renamed.  Functions that write return
 * STATUS_FAILED if writing fails; no file is left then.
 */
#ifndef BRAGG_IO_NANOBRAGG_FILES_H
#define BRAGG_IO_NANOBRAGG_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/images/smv.h"

/* Writes `count` pixels as float32 in native byte order, without a header. */
enum status nanobragg_write_float(const char *path, const float *pixels, size_t count,
                                  struct error *e);

/* Writes an SMV header, then `count` pixels of `pixel_bytes` (2 or 4) bytes in native byte order.
 */
enum status nanobragg_write_smv(const char *path, const struct header_text *header,
                                const void *pixels, size_t count, size_t pixel_bytes,
                                struct error *e);

/* Writes a binary PGM file.  The comment line of the file contains `scale`. */
enum status nanobragg_write_pgm(const char *path, const uint8_t *pixels, int64_t width,
                                int64_t height, double scale, struct error *e);

/* Checks that the file `path` is long enough for `count` raw floats.  Only the length of ordinary
 * files is checked.  STATUS_INPUT: the file is shorter.  STATUS_FAILED: the file cannot be
 * examined. */
enum status nanobragg_check_float(const char *path, size_t count, struct error *e);

/* Reads `count` raw floats from the beginning of the file `path` into pixels[].  Errors are those
 * of nanobragg_check_float; STATUS_FAILED also if the file cannot be read. */
enum status nanobragg_read_float(const char *path, float *pixels, size_t count, struct error *e);

#endif
