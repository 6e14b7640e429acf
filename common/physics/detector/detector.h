/*
 * Set-up of the detector: counts [1.2], conventions [1.3], beam centre [1.4], pivot [1.5],
 * rotations [1.6], origin [1.7], sensor layers [1.10].
 *
 * Detectors of several panels: panels at their own places, or cut from one panel; real detectors by
 * name; motion of a detector from frame to frame; and where a ray meets a panel.
 */
#ifndef BRAGG_PHYSICS_DETECTOR_H
#define BRAGG_PHYSICS_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/request.h"

/* The axes that a convention fixes [1.3]: unit vectors in its laboratory frame. */
struct frame_axes {
    double beam[3];  // propagation
    double fast[3], slow[3], normal[3];
    double twotheta[3];  // axis of the two-theta arm
    double polar[3];     // E field
    double spindle[3];
    enum pivot pivot;
};

/* Returns the row of table 1.3 for a convention.  For CUSTOM it has the axes to use if nothing else
 * is given. */
const struct frame_axes *convention_axes(enum convention convention);

/* Sets *axes to the row of the convention, in which vectors given for CUSTOM replace its own, and
 * normalises all vectors.  STATUS_INPUT: vectors that give no direction. */
enum status detector_axes(const struct request *r, struct frame_axes *axes, struct error *e);

/* Builds the one panel of *r from unit axes.  *p is cleared first.  The mask of the request is
 * moved, not copied. */
enum status detector_panel(const struct request *r, const struct frame_axes *axes, struct panel *p,
                           struct error *e);

/* Sets the distances and centres of *p that follow from its origin, axes and normal.  The distance
 * along the beam is the shortest distance divided by `ratio`. */
void detector_derive(struct panel *p, const double beam[3], double ratio);

/* Returns that ratio, the cosine of the angle between beam and normal; 1 for a panel parallel to
 * the beam, which has no distance along the beam. */
double detector_ratio(const struct panel *p, const double beam[3]);

/* --- several panels (panels.c) ----------------------------------------------------------- */

#define LIMIT_PANELS 1000  // of a detector; with masks they fit into a message

/* Sets the rows of `frame` to the axes x, y, z of the coordinate system of the beam (see struct
 * place), in the laboratory frame.  z is along the beam.  x is the component across the beam of the
 * fast axis of the convention or, for CUSTOM, of panel 0.  Only CUSTOM needs a panel. */
void panels_frame(const struct experiment *x, double frame[9]);

/* Returns the number of pixels along fast (0) or slow (1) of a detector with this layout, which
 * must have sizes. */
int64_t layout_pixels(const struct layout *l, int along);

/* Sets *mask to a mask of the whole detector, 0 in the gaps of the layout, which must have sizes.
 * The caller frees it. */
void layout_mask(const struct layout *l, uint8_t **mask);

/* Replaces panel 0 by panels at the places of *r.  They get the sensor of panel 0, and the masks of
 * the places move to them.  x->beam.direction must be set.  STATUS_INPUT: places face away from the
 * sample, or are too many or too large. */
enum status panels_place(const struct detector_request *r, struct experiment *x, struct error *e);

/* Cuts every panel into the modules of the layout, row by row; does nothing if the layout is empty.
 * The ROI and the mask are cut, too.  A part without a pixel of the ROI gets an empty ROI.
 * STATUS_INPUT: curved panels, more parts than pixels, or too many panels. */
enum status panels_cut(const struct layout *l, struct experiment *x, struct error *e);

/* --- built-in detectors: sizes, gaps, sensor and largest count (preset_detectors.c) -------- */

/* The place of a module relative to the beam, in pixels: x is along the fast axis of the
 * convention, y = beam x x. */
struct preset_stand {
    double corner_px[2];      // outer corner of pixel (0,0)
    double fast[2], slow[2];  // unit vectors
};

/* A detector.  The layout describes the whole detector or, if modules have their own places, each
 * module. */
struct preset_detector {
    const char *name;  // as --detector takes it
    struct layout layout;
    double pixel_m;
    double silicon_m;   // thickness of the sensor; 0: not silicon, all photons are absorbed
    double saturation;  // largest count of a pixel
    bool panels;        // its files have one panel per module, else one image with masked gaps
    size_t nplaces;     // number of modules with their own places; 0: all are in one plane
    struct preset_stand (*stand)(size_t module);  // place of each of these modules
    bool counts;  // counts photons above a threshold, else adds up their energies
};

/* Sets member[npanels] to the number of the group that each panel belongs to, for the groups
 * `name`: "modules" or "quadrants".  The panels are those of a detector whose modules have places
 * of their own.  Returns the number of groups; 0: the detector has no such groups. */
size_t preset_groups(const struct preset_detector *d, const char *name, size_t npanels,
                     int32_t *member);

/* Returns number `index` of the list, or NULL after its end. */
const struct preset_detector *preset_at(size_t index);

/* Returns the detector with this name, or NULL.  Only letters and digits count; capitals, blanks, -
 * and _ do not, so that "Eiger 4M" is eiger-4m. */
const struct preset_detector *preset_named(const char *name);

/* Sets *places to the places of the modules, for a detector whose modules have places, at a
 * distance of distance_m.  The caller frees them. */
void preset_places(const struct preset_detector *d, double distance_m, struct place **places);

/* --- shifts from frame to frame (panels.c) ------------------------------------------ */

/* The position of the detector from frame to frame: an offset of the camera length, and shifts
 * across the beam.  A jet that moves in front of a fixed detector has the same effect. */

/* Options.  If all are 0, the detector is where the experiment has it.  Options that are given add
 * up. */
struct shift {
    double coffset_m;         // along the beam, away from the sample
    double across_m[2];       // along x and y of the frame of the beam
    double coffset_jitter_m;  // rms along the beam, normal
    double jitter_m;          // rms along x and y of the frame of the beam, normal
    double (*listed_m)[3];    // owned by the caller: of frame 0, 1, ... in turn, in that frame
    size_t nlisted;
};

/* Returns true if any option moves the detector. */
bool shift_moves(const struct shift *s);

/* Checks the position of the detector, without jitter.  STATUS_INPUT: a panel is curved or would
 * not be behind the sample. */
enum status shift_check(const struct shift *s, const struct experiment *x, struct error *e);

/* Sets the shift of frame r->id of *x, a pure function of (r->seed, r->id); no shift if nothing
 * moves. */
void shift_make(const struct shift *s, const struct experiment *x, struct recipe *r);

/* --- from directions to pixels ---------------------------------------------------- */

/* Sets *fast, *slow to where the ray from the sample along `direction`, of any length, meets the
 * plane of the panel, in pixels from the outer corner of pixel (0,0), also outside of the panel.
 * For a curved panel it is the sphere of the panel around the sample.  `beam`: unit vector of
 * propagation.  Returns false if the ray does not meet it. */
bool ray_to_pixel(const struct panel *p, const double beam[3], const double direction[3],
                  double *fast, double *slow);

/* Sets direction[] to the unit vector at `twotheta_rad` from the unit vector `beam`, at
 * `azimuth_rad` around it. */
void ray_on_cone(const double beam[3], double twotheta_rad, double azimuth_rad,
                 double direction[3]);

#endif
