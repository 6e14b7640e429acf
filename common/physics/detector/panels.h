/*
 * Detectors of several panels: panels at places of their own, or cut from one; real detectors by
 * name (presets.c); how a detector moves from frame to frame; and where a ray meets a panel.
 */
#ifndef BRAGG_PHYSICS_PANELS_H
#define BRAGG_PHYSICS_PANELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
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

/* --- presets.c: real detectors, with sizes, gaps, sensor and what a pixel can count --- */

/* Where a module stands in front of the beam, in pixels from it: x along the fast axis of the
 * axis convention, y = beam x x. */
struct preset_stand {
    double corner_px[2];      // outer corner of pixel (0,0)
    double fast[2], slow[2];  // unit vectors
};

/* A detector; the layout is of the whole of it, or of each module where modules stand at
 * places of their own. */
struct preset_detector {
    const char *name;  // as --detector takes it
    struct layout layout;
    double pixel_m;
    double silicon_m;   // thickness of the sensor; 0: no silicon, all photons are caught
    double saturation;  // largest count of a pixel
    bool panels;        // what its files hold: the modules, else one image with masked gaps
    size_t nplaces;     // modules at places of their own; 0: all lie in one plane
    struct preset_stand (*stand)(size_t module);  // of these
    bool counts;  // photons above a threshold, else it adds up their energies
};

/* Number `index` of the list, NULL after its end. */
const struct preset_detector *preset_at(size_t index);

/* The detector of this name: letters and digits count, capitals, blanks, - and _ do not, so that
 * "Eiger 4M" is eiger-4m.  NULL: there is none. */
const struct preset_detector *preset_named(const char *name);

/* *places of the modules of a detector that has them, at a distance of distance_m, for the
 * caller to free.  STATUS_FAILED when memory is out. */
enum status preset_places(const struct preset_detector *d, double distance_m, struct place **places,
                          struct error *e);

/* --- from frame to frame ---------------------------------------------------------- */

/* Where the detector stands from frame to frame: an offset of the camera length, and shifts across
 * the beam.  A jet that moves past a detector that stands is the same. */

/* Options.  If all are 0, the detector stands where the experiment has it.  Options that are given
 * add up. */
struct shift {
    double coffset_m;         // along the beam, away from the sample
    double coffset_jitter_m;  // rms along the beam, normal
    double jitter_m;          // rms along x and y of the frame of the beam, normal
    double (*listed_m)[3];    // owned by the caller: of frame 0, 1, ... in turn, in that frame
    size_t nlisted;
};

/* Whether any option moves the detector. */
bool shift_moves(const struct shift *s);

/* Whether the detector may stand there, without jitter: STATUS_INPUT when a panel is curved or
 * would not be behind the sample. */
enum status shift_check(const struct shift *s, const struct experiment *x, struct error *e);

/* The shift of frame r->id of *x, a pure function of (r->seed, r->id); none where nothing moves. */
void shift_make(const struct shift *s, const struct experiment *x, struct recipe *r);

/* --- from directions to pixels ---------------------------------------------------- */

/* Where the ray from the sample along `direction`, of any length, meets the panel's plane or, of a
 * curved panel, its sphere about the sample: *fast, *slow in pixels from the outer corner of
 * pixel (0,0), also outside of the panel.  `beam`: unit vector of propagation.  false: nowhere. */
bool ray_to_pixel(const struct panel *p, const double beam[3], const double direction[3],
                  double *fast, double *slow);

/* The unit vector at `twotheta_rad` from the unit vector `beam`, at `azimuth_rad` about it. */
void ray_on_cone(const double beam[3], double twotheta_rad, double azimuth_rad,
                 double direction[3]);

#endif
