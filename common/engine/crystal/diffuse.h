/*
 * Diffuse halos: unit cells move together, rms sigma along the axes a, c* x a and c*, and less
 * alike by exp(-r/gamma) with the distance r (liquid-like motions; Caspar et al. 1988, Nature 332,
 * 659).  Every reflection h then lights its surroundings, in units of F^2 F_latt^2, by
 *
 *     (n/V) F_h^2 sum over m of X^m/m! L_m(s - h),    X = 4 pi^2 |sigma h|^2
 *     L_m(ds) = 8 pi det(gamma/m) / (1 + 4 pi^2 |gamma ds/m|^2)^2
 *
 * for n cells of volume V and a table F that is damped by the motion itself, as that of a refined
 * model is: F^2 = F_0^2 e^-X.  The integral of L_m is 1.
 *
 * A halo is computed once for each phi step and each pixel, or for the nodes of a mesh of pixels:
 *
 *   - at the centre of the pixel, in the depth of the sensor that background_point returns,
 *   - for the mean wavelength and the mean direction of the beam; only the absorption in the sensor
 *     is computed for each wavelength,
 *   - for the mean orientation of the mosaic domains.
 *
 * The halos of reflections near a point are summed exactly.  The sum of all other halos is smooth.
 * It is interpolated between whole indices, where a convolution gives it once per crystal.
 */
#ifndef BRAGG_ENGINE_DIFFUSE_H
#define BRAGG_ENGINE_DIFFUSE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* Largest X that is accepted. A larger X would damp the table by more than e^-20. */
#define DIFFUSE_MOST_X 20.0

/* Multiplies the listed F by e^(-X/2): for tables without the motion.  False where there is an X
 * beyond DIFFUSE_MOST_X. */
bool diffuse_damp(struct crystal *c);

struct diffuse;

/* Returns true if a crystal has halos. */
bool diffuse_wanted(const struct experiment *x);

/* Returns STATUS_INPUT if a crystal has halos, which the engine `name` cannot compute. */
enum status diffuse_refuse(const struct experiment *x, const char *name, struct error *e);

/* Prepares *d for an experiment, which must outlive it.  Sets *d to NULL if no crystal has halos.
 * `isa` as in struct engine_options.  STATUS_INPUT: the motions are too large, or there are too
 * many reflections.  STATUS_FAILED: memory cannot be allocated. */
enum status diffuse_create(struct diffuse **d, const struct experiment *x, const char *isa,
                           int threads, struct error *e);
void diffuse_destroy(struct diffuse **d);

/* Adds the halos of a recipe, which recipe_check has accepted, to photons[experiment_pixels()].
 * Does nothing if `d` is NULL.  The bytes are the same for any number of threads and any
 * instruction set, and do not depend on earlier frames. */
enum status diffuse_add(struct diffuse *d, const struct recipe *r, int threads, float *photons,
                        struct error *e);

/* Returns the sum of the halos of a crystal at the indices `hkl`, which need not be whole numbers,
 * in units of F^2 F_latt^2; 0 outside the grid. */
double diffuse_at(const struct diffuse *d, size_t crystal, const double hkl[3]);

/* ---- inside: halos at a point, the loop of diffuse_loop.c ----------------------------------- */

enum {
    HALO_EDGE = 4  // number of nodes along an axis from which a point is interpolated
};

/* The halos of a crystal on the grid of its indices; the last index varies fastest. */
struct halo_nodes {
    size_t step[2];      // number of items from node to node along h and k
    const float *F_sqr;  // electrons^2
    const float *X;
    const float *far;             // the halos that are not summed at the point itself
    float width[6];               // u = w0 h^2 + w1 k^2 + w2 l^2 + w3 h k + w4 h l + w5 k l
    const unsigned char *orders;  // number of orders that the HALO_NODES nodes from a node on need;
                                  // the loop computes orders in pairs
};

/* Returns the part of a reflection d indices away along an axis that is summed at the point itself.
 * The part in three dimensions is the product over the axes. */
static inline float halo_share(float d)
{
    const float left = 2.0f - fabsf(d);
    return left < 0.0f ? 0.0f : left > 1.0f ? 1.0f : left;
}

/* Returns the sum over m of F^2 X^m/(m-1)! / (m^2 + u)^2 of all reflections, at the point `at` (0
 * to 1 along each axis) of the cube whose corner is 1, 1, 1 nodes from node `first`. */
typedef float halo_sum(const struct halo_nodes *n, size_t first, const float at[3]);

/* The loop, compiled for one instruction set.  All instruction sets give the same bytes. */
struct diffuse_kernels {
    halo_sum *sum;
};

extern const struct diffuse_kernels diffuse_kernels_baseline, diffuse_kernels_avx2,
    diffuse_kernels_avx512;

/* ---- inside: the grid of a crystal ---------------------------------------------------------- */

/* The grid of halos of a crystal. */
struct halo {
    int min[3], count[3];  // smallest indices and numbers of nodes
    struct halo_nodes nodes;
    float *F_sqr, *X, *far;  // owned
    unsigned char *needed;   // owned: nodes.orders
    int orders;              // largest number of orders of any node
    double scale;            // factor from a sum to units of F^2 F_latt^2
};

/* Computes the grid of a crystal for scattering vectors up to `reach` 1/A. The caller calls
 * halo_close, also after an error. */
enum status halo_open(struct halo *h, const struct crystal *c, double reach, int threads,
                      struct error *e);
void halo_close(struct halo *h);

/* ---- inside: a mesh of pixels ----------------------------------------------------------------
 *
 * Photons that change slowly from pixel to pixel, computed for some of them and interpolated
 * between: by polynomials of the third order through the four nearest nodes along fast and slow.
 * Nodes are pixels of the plane that a panel is cut from, so that cuts change nothing.
 */

enum { MESH_MOST = 8, MESH_POINTS = 4 };

/* Returns the value of a node: the photons of pixel (fast, slow), which may be a few pixels outside
 * the panel. */
typedef double mesh_value(const void *context, const struct panel *p, int64_t fast, int64_t slow);

struct mesh {
    const struct panel *panel;
    int step;                               // distance between nodes in pixels, 1 .. MESH_MOST
    int64_t first[2];                       // number of the first node, along fast and slow
    int64_t count[2];                       // number of nodes, along fast and slow
    double weight[MESH_MOST][MESH_POINTS];  // weights of the four nodes, for each distance in
                                            // pixels from the second node
    double *values;                         // owned: [count[1]][count[0]]
};

/* Computes the nodes around the region of interest of a panel.  mesh_close frees the nodes. */
void mesh_open(struct mesh *m, const struct panel *p, int step, mesh_value *value,
               const void *context, int threads);
void mesh_close(struct mesh *m);

/* Interpolates a row of the region of interest into pixels[]; no result is negative.  room[] has
 * space for m->count[0] numbers. */
void mesh_row(const struct mesh *m, int64_t slow, double *room, double *pixels);

#endif
