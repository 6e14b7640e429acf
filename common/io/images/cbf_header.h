/*
 * The text in front of the pixels of a mini-CBF file.
 *
 * The generic kind is for detectors of any size.  A maker's kind makes programs treat the frame
 * as one of that detector: with its gaps, and with a sensor in which photons are absorbed at
 * different depths.  So only frames of its true sizes may have it, and the sensor is said to be
 * as thick as it looks, see panel_depth_m.
 */
#ifndef BRAGG_IO_CBF_HEADER_H
#define BRAGG_IO_CBF_HEADER_H

#include "base/error.h"
#include "io/images/header_text.h"
#include "model/frame.h"

enum cbf_header { CBF_GENERIC, CBF_PILATUS, CBF_EIGER };
#define CBF_HEADERS "generic|pilatus|eiger"  // in that order

/* Whether a maker has a detector with so many pixels, of that size, as the one panel of *x;
 * STATUS_INPUT if not. */
enum status cbf_header_check(enum cbf_header kind, const struct experiment *x, struct error *e);

/* What kind the header of a file is of, by what it says: `text` is its beginning. */
enum cbf_header cbf_header_kind(const char *text);

/* Puts all that stands before the `bytes` bytes of the encoded image of a frame into *h; `kind` is
 * one that cbf_header_check allows. */
void cbf_header_make(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                     const struct frame *f, size_t bytes);

#endif
