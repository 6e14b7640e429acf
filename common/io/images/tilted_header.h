/*
 * Writes the axes of a tilted panel into headers, for readers that otherwise assume a panel across
 * the beam.  Keys are those that DIALS and bragg-replay read.
 *
 * Coordinates of both formats: z is from the sample to the source, and x is along the rotation
 * axis.
 */
#ifndef BRAGG_IO_IMAGES_TILTED_HEADER_H
#define BRAGG_IO_IMAGES_TILTED_HEADER_H

#include <stdbool.h>

#include "io/images/header_text.h"
#include "model/experiment.h"
#include "model/frame.h"

/* Returns true if the first panel is not across the beam.  Headers of other panels need no axes. */
bool header_is_tilted(const struct experiment *x);

/* Appends the tables of a full CBF header (imgCIF): the axes of detector, rotation and source.  In
 * the file they come before the lines of the mini-CBF header. */
void header_append_imgcif(struct header_text *h, const struct experiment *x, const struct frame *f);

/* Appends the keys of d*TREK to an SMV header.  DIALS reads these keys only for the Saturn
 * detectors of Rigaku, so the description of the detector contains the word Saturn.  `type` names
 * the type of the pixels, such as unsigned_short. */
void header_append_dtrek(struct header_text *h, const struct experiment *x, const struct frame *f,
                         const char *type);

enum { HEADER_TIME_SIZE = 32 };

/* Writes an artificial time of a frame into `text`, because some programs need a time.  `form` is a
 * format of strftime.  Frame 0 is at the beginning of 1970, and the next frames follow at intervals
 * of 1 s.  Returns `text`. */
const char *header_time(uint64_t id, const char *form, char text[HEADER_TIME_SIZE]);

#endif
