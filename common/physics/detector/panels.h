/* Several panels: by their places, or cut from others. */
#ifndef BRAGG_PHYSICS_PANELS_H
#define BRAGG_PHYSICS_PANELS_H

#include "base/error.h"
#include "model/experiment.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

#define LIMIT_PANELS 1000  // of a detector: so many, with masks, fit into a message

/* Rows x, y, z of the frame of the beam (see struct place) in the lab: z along the
 * beam, x along the convention's fast axis, for CUSTOM along that of panel 0, as far as
 * that is across the beam.  Needs a panel only for CUSTOM. */
void panels_frame(const struct experiment *x, double frame[9]);

/* Pixels along fast (0) or slow (1) of the detector that a layout with sizes describes. */
int64_t layout_pixels(const struct layout *l, int along);

/* *mask of the whole detector, for the caller to free: 0 in the gaps of the layout, which
 * has sizes.  STATUS_FAILED when memory is out. */
enum status layout_mask(const struct layout *l, uint8_t **mask, struct error *e);

/* Puts panels at the places of *r in place of panel 0, whose sensor they get; the masks
 * move.  x->beam.direction must be set.  STATUS_INPUT for places that face away, are too
 * many or too large. */
enum status panels_place(const struct detector_request *r, struct experiment *x, struct error *e);

/* Cuts every panel by the layout, row by row of modules; nothing where it is empty.  ROI and
 * mask are cut too; a part without a pixel of the ROI has an empty one.
 * STATUS_INPUT for curved panels, more parts than pixels, or too many panels. */
enum status panels_cut(const struct layout *l, struct experiment *x, struct error *e);

#endif
