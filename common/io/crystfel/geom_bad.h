/* The pixels of a panel that are never computed, as bad regions of a CrystFEL geometry file. */
#ifndef BRAGG_IO_GEOM_BAD_H
#define BRAGG_IO_GEOM_BAD_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/* Writes rectangles that together are what is masked or outside of the ROI of panel number
 * `panel`, called "p0" and so on, whose rows begin at row `first_row` of the data.  *count numbers
 * the regions of the file, from 0, and grows.  STATUS_INPUT when the file would have more than
 * GEOM_BAD_MAX (io/crystfel/geom.h), STATUS_FAILED when memory is out. */
enum status geom_write_bad(FILE *out, const struct panel *p, size_t panel, int64_t first_row,
                           size_t *count, struct error *e);

#endif
