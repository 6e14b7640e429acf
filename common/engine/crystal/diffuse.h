/*
 * Diffuse halos of a frame (physics/crystal/diffuse.h).  A halo is computed once for each phi step
 * and each pixel, or for the nodes of a mesh of pixels (diffuse_mesh.h):
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

#include "base/error.h"
#include "engine/crystal/diffuse_loop.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct diffuse;

/* Whether any crystal has halos. */
bool diffuse_wanted(const struct experiment *x);

/* STATUS_INPUT where one has: what `name` cannot do. */
enum status diffuse_refuse(const struct experiment *x, const char *name, struct error *e);

/* *d for an experiment that outlives it; NULL where no crystal has halos.  STATUS_INPUT for motions
 * that are too large, or too many reflections; STATUS_FAILED when memory is out.  `isa` as in
 * engine_options. */
enum status diffuse_create(struct diffuse **d, const struct experiment *x, const char *isa,
                           int threads, struct error *e);
void diffuse_destroy(struct diffuse **d);

/* Adds to photons[experiment_pixels()], of a recipe that is checked.  Nothing for NULL.  Same bytes
 * for any number of threads and any instruction set, and whatever frames were before. */
enum status diffuse_add(struct diffuse *d, const struct recipe *r, int threads, float *photons,
                        struct error *e);

/* The halos of a crystal at real indices, in units of F^2 F_latt^2; 0 beyond the grid. */
double diffuse_at(const struct diffuse *d, size_t crystal, const double hkl[3]);

/* The grid of a crystal. */
struct halo {
    int min[3], count[3];  // of nodes
    struct halo_nodes nodes;
    float *F_sqr, *X, *far;  // owned
    unsigned char *needed;   // owned: nodes.orders
    int orders;              // of any node
    double scale;            // to units of F^2 F_latt^2
};

/* Inside diffuse_create: the grid up to `reach` 1/A. */
enum status halo_open(struct halo *h, const struct crystal *c, double reach, int threads,
                      struct error *e);
void halo_close(struct halo *h);

#endif
