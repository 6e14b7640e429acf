/*
 * The files of nanoBragg, nonBragg and noisify: raw floats, SMV with 16- or
 * 32-bit pixels, PGM.  The images themselves are computed by
 * physics/noise/noisify.h:
 *
 *     legacy_statistics(...)  legacy_ideal(...)  legacy_preview(...)  legacy_noise(...)
 *     nanobragg_write_float(...)  nanobragg_write_smv(...)  ...
 *
 * Every file is written under a temporary name and then renamed.  All
 * functions: STATUS_FAILED when a step fails, and then no file is left.
 */
#ifndef BRAGG_IO_NANOBRAGG_FILES_H
#define BRAGG_IO_NANOBRAGG_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/images/smv.h"

/* Raw float32 in native order, no header. */
enum status nanobragg_write_float(const char *path, const float *pixels, size_t count,
                                  struct error *e);

/* Header, then `count` pixels of `pixel_bytes` (2 or 4) bytes in native order. */
enum status nanobragg_write_smv(const char *path, const struct header_text *header,
                                const void *pixels, size_t count, size_t pixel_bytes,
                                struct error *e);

/* Binary PGM; `scale` goes into the comment line. */
enum status nanobragg_write_pgm(const char *path, const uint8_t *pixels, int64_t width,
                                int64_t height, double scale, struct error *e);

/* Whether `path` can hold `count` raw floats: a shorter file is STATUS_INPUT, one
 * that cannot be examined STATUS_FAILED.  Only ordinary files have a length. */
enum status nanobragg_check_float(const char *path, size_t count, struct error *e);

/* Reads `count` raw floats from the start of `path` into `pixels`; errors as above. */
enum status nanobragg_read_float(const char *path, float *pixels, size_t count, struct error *e);

#endif
