/*
 * Reflections as DIALS has them: an experiment list (.expt) and a reflection table (.refl) to it,
 * of one frame or of a run.  Frames of a rotation that continue one another are a sweep, with an
 * experiment for each lattice; so is a still, alone.  In DIALS' lab, that of imgCIF: z towards the
 * source, x along the spindle, as dials.import has it of our NXmx files.
 */
#ifndef BRAGG_IO_DIALS_H
#define BRAGG_IO_DIALS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "io/hdf5/spool.h"
#include "io/output/template.h"
#include "model/experiment.h"
#include "model/frame.h"

/* A reflection in a frame, or in all frames of a sweep where it is seen. */
struct dials_spot {
    double fast, slow, image;  // px and images: centroid weighted by photons
    double phi_rad, osc_rad;   // likewise; of an image
    double photons, background;
    double wavelength_A, d_A;
    int32_t id;  // of the experiment; packed: of the lattice
    int32_t hkl[3];
    int32_t panel, pixels;
    int32_t box[6];     // fast, slow, image: first, behind the last
    int32_t side;       // of the plane through beam and spindle, -1 or 1; 0 in a still
    int32_t cut;        // 1: the sweep begins or ends within it
    int32_t scaled;     // 1: it is whole, and so a scaled intensity
    double shift_m[3];  // of the detector in its frame, in our lab
};

/* The blocks of a crystal, as dxtbx has them. */
struct dials_mosaic {
    double domain_A, half_mosaicity_deg;
};

/* What tables need of a frame, as bytes that may be kept: then follow nlattices x 9 numbers, rows
 * a*, b*, c* in 1/A at angle 0, with has_mosaic a struct dials_mosaic for each lattice, and the
 * spots, ascending by id, h, k, l. */
struct dials_frame {
    uint64_t id;
    double phi_rad, osc_rad;  // osc_rad 0: a still
    double wavelength_A;      // mean
    double shift_m[3];        // of the detector, in our lab
    uint64_t nlattices, nspots;
    bool has_mosaic;  // has no spots then
};

/* Packs a frame into *bytes, which the caller frees with mem_free.  STATUS_INPUT for a frame
 * without reflections and for curved panels, with the name of the file, `path`. */
enum status dials_pack(const struct experiment *x, const struct frame *f, const char *path,
                       void **bytes, size_t *size, struct error *e);

/* Images of the frames: a file for each, with its number, or one for all.  Numbers of images are
 * those of files; else they count frames from 1 on. */
struct dials_images {
    const struct template *files;    // NULL: none
    const struct template *instead;  // of a rotation backwards, where `files` are SMV or CBF: DIALS
                                     // cannot read their headers.  NULL: none
    bool alone;                      // a table of one frame of a run: it has no scaled intensities
};

/* Beam, detector, crystals in P 1, images and, of a rotation, goniometer and scan.  STATUS_FAILED
 * when `out`, whose name is `path`, cannot be written, and what the frames say. */
enum status dials_write_expt(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e);

/* A row for each reflection, summed over its frames: observed where the photons are, with these for
 * the summed intensity, and with the photons and those of the background for its variance; bounding
 * boxes of the pixels that hold 99 %; partiality 1, lp and qe as DIALS has them, and the intensity
 * so corrected as a scaled one.  One that a sweep of several frames cuts off is not integrated, and
 * its scale is 0.  Errors as above, and STATUS_FAILED for more rows than a table can hold. */
enum status dials_write_refl(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e);

/* --- for dials_*.c --------------------------------------------------------------- */

/* Frames first to first + count - 1, and the experiment of its first lattice. */
struct dials_sweep {
    const struct dials_frame *start;  // with its lattices
    uint64_t count;
    uint64_t experiment;
    uint64_t place;  // of its first frame among all
};

/* Either may be NULL. */
struct dials_visitor {
    void *state;
    void (*spot)(void *state, const struct dials_spot *s);
    void (*sweep)(void *state, const struct dials_sweep *s);  // at its end
};

/* Visits all sweeps and, with what spots come of their frames, all spots. */
enum status dials_walk(const struct records *all, const struct dials_visitor *to, struct error *e);

static inline const double *dials_lattice(const struct dials_frame *f, uint64_t i)
{
    return (const double *)(f + 1) + 9 * i;
}

/* NULL for none. */
static inline const struct dials_mosaic *dials_mosaic(const struct dials_frame *f, uint64_t i)
{
    return f->has_mosaic ? (const struct dials_mosaic *)dials_lattice(f, f->nlattices) + i : NULL;
}

static inline const struct dials_spot *dials_spots(const struct dials_frame *f)
{
    return (const void *)dials_lattice(f, f->nlattices);
}

/* The number of the image of frame 0. */
static inline int32_t dials_first_image(struct dials_images images)
{
    return images.files && template_is_numbered(images.files) ? 0 : 1;
}

/* The images that DIALS can read: `instead` becomes `files` where a sweep demands it. */
enum status dials_choose_images(struct dials_images *images, const struct records *all,
                                struct error *e);

enum { DIALS_NAME_SIZE = 64 };

/* An angle about the axis that DIALS gets, which is inverted for a negative width `osc`: DIALS
 * takes no such width.  In the unit of `angle`. */
double dials_forwards(double osc, double angle);

/* The identifier of the experiment of a lattice. */
void dials_identifier(const struct experiment *x, const struct dials_sweep *s, uint64_t lattice,
                      char name[DIALS_NAME_SIZE]);

/* A vector of our lab in that of DIALS. */
void dials_turn(const struct experiment *x, const double v[3], double out[3]);

/* The normal of the plane of polarization, in our lab, and its fraction. */
double dials_polarization(const struct experiment *x, double normal[3]);

#endif
