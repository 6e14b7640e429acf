/*
 * The geometry of a smeared sensor, for the engines of the CPU and of the GPU: which subpixels of a
 * thin image a frame needs.
 *
 * Rows of pixels are computed in bands.  The thin image of a band has a margin, because photons
 * that meet the front of the sensor outside the panel can stop inside of it.  smear_cells.h has the
 * weights.
 *
 * Pixels and subpixels are counted from the corner of the plane of their panel.
 */
#ifndef BRAGG_ENGINE_SMEAR_BANDS_H
#define BRAGG_ENGINE_SMEAR_BANDS_H

#include "base/error.h"
#include "engine/prepared.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/detector/smear.h"

enum { SMEAR_BANDS_MOST = 256 };

/* Some rows of a panel, and where their thin image is. */
struct smear_band {
    const struct panel *panel;
    struct smear view;
    int64_t begin[2], end[2];  // of the pixels, along fast and slow
    int64_t first[2];          // first subpixel of the thin image
    int64_t size[2];           // subpixels of the thin image
    int64_t offset;            // of the thin image among all
};

/* Bands that are computed together. */
struct smear_bands {
    int64_t at_once;  // subpixels that may be in memory together; a single band may need more
    size_t count;
    struct smear_band band[SMEAR_BANDS_MOST];
    struct panel panel[SMEAR_BANDS_MOST];  // the panels of the thin images
    int64_t subpixels;                     // of all thin images
};

/* Checks the panels of *x, whose sensor is smeared.  STATUS_INPUT: a panel is curved, or see
 * smear_open. */
enum status smear_bands_check(const struct experiment *x, struct error *e);

/* Computes the pixels of some bands. */
typedef enum status smear_compute(void *context, const struct smear_bands *b, struct error *e);

/* Calls `compute` until all pixels of *x that are to be computed were in a band once.
 * b->at_once must be set.  STATUS_INPUT: see smear_open; or an error of `compute`. */
enum status smear_bands_each(struct smear_bands *b, const struct experiment *x,
                             smear_compute *compute, void *context, struct error *e);

/* Returns the experiment of the thin images: that of the frame with other panels, no sensor and one
 * subpixel.  Its arrays belong to *x and *b. */
struct experiment smear_bands_thin(const struct smear_bands *b, const struct experiment *x);

/* Returns STATUS_INPUT and names the pixel, if the thin images have photons that are not finite;
 * otherwise `status`. */
enum status smear_bands_refuse(const struct smear_bands *b, const struct experiment *x,
                               const struct recipe *r, const float *thin, enum status status,
                               struct error *e);

/* Sets *smears to true if the sensor of *x is smeared in a frame.  A frame whose wavelengths the
 * sensor absorbs differently is divided into layers, if a panel has more than one.  STATUS_INPUT:
 * there is only one layer; or see sensor_waves_differ. */
enum status smear_frame_smears(const struct experiment *x, const struct recipe *r, bool *smears,
                               struct error *e);

static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
