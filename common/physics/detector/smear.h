/*
 * The smear of a thick sensor [1.10].  A photon that meets the front of a flat panel stops deeper,
 * and farther from the foot of the normal from the sample.  The image of a thick sensor is the
 * image of a thin one, and each photon of it is distributed along its ray.
 *
 * Places on a panel are in subpixels from the corner of its plane, along fast and slow.  Kernels
 * are computed at nodes, which are counted from the foot of the normal.  So they do not depend on
 * how a file describes the panels: as one image or as modules, and where the corner of a panel is.
 */
#ifndef BRAGG_PHYSICS_SMEAR_H
#define BRAGG_PHYSICS_SMEAR_H

#include "base/error.h"
#include "base/isa.h"
#include "model/experiment.h"
#include "physics/request.h"

/* At most this is the sum of the absolute weights of a kernel: those of set_cubic are 1.25 together
 * along each axis. */
#define SMEAR_WEIGHTS 1.5625

enum {
    SMEAR_NODE = 32,        // largest distance between nodes in pixels
    SMEAR_WIDEST = 256,     // largest distance along fast or slow that a ray may move
    SMEAR_PARTS_LEAST = 4,  // smallest number of parts into which the sensor is divided
    SMEAR_PARTS_STEP = 4,   // number of parts for each subpixel that the ray moves
};

/* A panel as the rays from the sample see it. */
struct smear {
    const struct panel *panel;
    int oversample;      // subpixels along the edge of a pixel
    int node;            // distance between nodes in pixels, a power of two
    double foot[2];      // the point nearest to the sample along the normal: node 0, 0
    int64_t base[2];     // the first pixel whose middle is not before the foot
    double part[2];      // how far that middle is behind the foot, in pixels: 0 to 1
    double distance_m;   // from the sample to the front, along the normal
    double skew;         // cosine of the angle between fast and slow
    double lean[2];      // cosines of the angles between fast and slow and the normal
    double thickness_m;  // the part of the sensor that stops photons; 0: no sensor
    double deepest;      // thickness_m / (distance_m + thickness_m)
};

/* A row of the weights of a kernel. */
struct smear_span {
    int fast;   // its first subpixel: the number of subpixels away along fast
    int begin;  // index of its first weight
};

/* The weights with which subpixels of the thin image are summed to one subpixel of the thick image.
 * They are those near the ray, in rows of subpixels.  Row number j is slow + j subpixels away. */
struct smear_kernel {
    int slow, rows;
    struct smear_span *row;  // [rows + 1], in memory of the caller; the last one ends the weights
    double *weight;          // likewise
};

/* Checks a request for a smeared sensor and the panels *x that were made of it.  STATUS_INPUT: the
 * image is faithful, a panel is curved, the sensor is divided into layers, or no panel has a
 * sensor. */
enum status smear_check(const struct detector_request *d, const struct experiment *x,
                        struct error *e);

/* Returns why a complete experiment, whose panels have the layers of sensor_divide, is computed in
 * layers if the request leaves the choice: the end of a sentence such as "the detector is curved".
 * NULL: its sensor is smeared, because the request has no number of layers, a panel needs more than
 * one, panels are flat and face the sample, spots have no sharp edges and are at least three
 * subpixels wide (`wanted` subpixels along the edge of a pixel), and the image is not faithful. */
const char *smear_obstacle(const struct detector_request *d, double wanted,
                           const struct experiment *x);

/* Sets sampling.smears, if the request leaves the choice and smear_obstacle returns NULL. */
void smear_choose(const struct detector_request *d, double wanted, struct experiment *x);

/* Checks a complete experiment; does nothing if its sensor is not smeared.  STATUS_INPUT: the spots
 * of a crystal have sharp edges (TOPHAT), between which no weights can interpolate, or smear_open
 * refuses a panel. */
enum status smear_check_experiment(const struct experiment *x, struct error *e);

/* Returns true if a panel has more than one layer.  If its sensor is smeared, the layers are for
 * frames and requests that cannot be smeared. */
bool smear_has_layers(const struct experiment *x);

/* Returns STATUS_INPUT if the sensor of *x is smeared and has no layers, which `name` ("derivatives
 * do") cannot compute. */
enum status smear_refuse(const struct experiment *x, const char *name, struct error *e);

/* Sets *s for a flat panel, which must outlive it.  Foot, distance and cosines are rounded, far
 * below what an image shows, so that the last digits of a description of a panel do not change a
 * bit of a kernel.  STATUS_INPUT: the sample is not in front of the panel, or a ray to the panel
 * moves by more than SMEAR_WIDEST subpixels. */
enum status smear_open(struct smear *s, const struct experiment *x, const struct panel *p,
                       struct error *e);

/* Sets *s like smear_open, but without rounding, for a panel that differs a little from one that
 * smear_open accepted.  Its nodes are those of the accepted panel. */
void smear_view(struct smear *s, const struct panel *p, int oversample);

/* Returns the place of a node along axis 0 (fast) or 1 (slow). */
static inline double smear_node_place(const struct smear *s, int axis, int64_t node)
{
    return s->foot[axis] + (double)(node * s->node * s->oversample);
}

/* Returns the first pixel along an axis whose middle is not before a node. */
static inline int64_t smear_node_pixel(const struct smear *s, int axis, int64_t node)
{
    return s->base[axis] + node * s->node;
}

/* Returns the last node along an axis that is not behind the middle of a pixel. */
static inline int64_t smear_pixel_node(const struct smear *s, int axis, int64_t pixel)
{
    const int64_t from_base = pixel - s->base[axis];
    return from_base / s->node - (from_base % s->node < 0);
}

/* Returns the place, along axis 0 (fast) or 1 (slow), where the ray to place `at` at the back of
 * the sensor meets the front. */
static inline double smear_front(const struct smear *s, int axis, double at)
{
    return at - s->deepest * (at - s->foot[axis]);
}

/* Sets the subpixels from which the ray to a place comes along axis 0 or 1, relative to the place:
 * from *first to *end - 1. */
void smear_reach(const struct smear *s, int axis, double at, int *first, int *end);

/* Computes the kernel at a place.  k->row and k->weight must have the room of smear_room.  The sum
 * of the weights is the fraction of photons that stop in the sensor, times the ratio of the solid
 * angles of a pixel at the depth where they stop and at the front; it has the same bits on all
 * machines and with any instruction set that this CPU has. */
void smear_kernel(const struct smear *s, const double at[2], enum isa isa, struct smear_kernel *k);

/* A change of a panel: the same panel a little before and after it. */
struct smear_change {
    struct smear before, after;
    double factor;  // on the difference of their weights
};

/* Computes how the kernel of smear_kernel changes: the weights after the change less those before,
 * times the factor.  Both kernels divide the sensor into as many parts as that of *s does, and both
 * changed panels are so near to *s that rays move by less than a subpixel more. */
void smear_kernel_change(const struct smear *s, const struct smear_change *change,
                         const double at[2], enum isa isa, struct smear_kernel *k);

/* The largest sizes of kernels. */
struct smear_room {
    size_t rows, weights;  // items of smear_kernel.row and of smear_kernel.weight
};

/* Returns the room for the kernels at all places between `low` and `high`.  changes: those of
 * smear_kernel_change. */
struct smear_room smear_room(const struct smear *s, const double low[2], const double high[2],
                             bool changes);

#endif
