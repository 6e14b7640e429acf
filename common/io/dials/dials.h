/*
 * Writes reflections for DIALS: an experiment list (.expt) and its reflection table (.refl), of one
 * frame or of a run.
 *
 * Consecutive frames of a rotation are a *sweep*.  A still is a sweep of one frame.  A sweep has
 * one experiment for each lattice.
 *
 * Vectors in the files are in DIALS' laboratory frame, which is that of imgCIF: z points to the
 * source, x is along the spindle.  dials.import uses the same frame for our NXmx files.
 */
#ifndef BRAGG_IO_DIALS_H
#define BRAGG_IO_DIALS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "io/hdf5/spool.h"
#include "io/output/output_file.h"
#include "model/experiment.h"
#include "model/frame.h"

/* A reflection in one frame, or summed over all frames of a sweep in which it is observed. */
struct dials_spot {
    double fast, slow, image;  // centroid weighted by photons: pixels, pixels, images
    double phi_rad, osc_rad;   // rotation angle of the centroid, and rotation of one image
    double photons, background;
    double noise_sqr;  // variance of the sum of its photons, from z; 0: z is not known
    double least_z;    // it is strong if its z is above this number; 0: all are
    double wavelength_A, d_A;
    int32_t id;  // number of the experiment; in a packed frame, that of the lattice
    int32_t hkl[3];
    int32_t panel, pixels;
    int32_t box[6];     // bounds along fast, slow and image: the first one, and one after the last
    int32_t side;       // side of the plane through beam and spindle: -1 or 1; 0 in a still
    int32_t cut;        // 1: the sweep begins or ends within the reflection
    int32_t scaled;     // 1: the reflection is whole and has a scaled intensity
    double shift_m[3];  // of the detector in the frame of the reflection, in our laboratory frame
};

/* The mosaic blocks of a crystal, with the parameters of dxtbx. */
struct dials_mosaic {
    double domain_A, half_mosaicity_deg;
};

/* Head of a packed frame: the data of a frame that DIALS' files need, as bytes that can be stored.
 * The head is followed by:
 *   - nlattices x 9 doubles: rows a*, b*, c* in 1/A at rotation angle 0;
 *   - a struct dials_mosaic for each lattice, if has_mosaic is set;
 *   - nspots x struct dials_spot, ascending by id, h, k, l. */
struct dials_frame {
    uint64_t id;
    double phi_rad, osc_rad;  // osc_rad 0: a still
    double wavelength_A;      // mean
    double shift_m[3];        // of the detector, in our laboratory frame
    uint64_t nlattices, nspots;
    bool has_mosaic;  // the lattices have mosaic parameters; such a frame has no spots
};

/* Packs a frame into *bytes, which the caller frees with mem_free.  `path` is the name of the file
 * in errors.  STATUS_INPUT: the frame has no reflections, or a panel is curved. */
enum status dials_pack(const struct experiment *x, const struct frame *f, double least_z,
                       const char *path, void **bytes, size_t *size, struct error *e);

/* The image files of the frames: one numbered file per frame, or one file for all frames.  Images
 * have the numbers of their files; with one file, they are numbered from 1. */
struct dials_images {
    const struct template *files;    // NULL: there are no files
    const struct template *instead;  // used instead of SMV or CBF `files` for a rotation with
                                     // negative width, because DIALS cannot read their headers
                                     // then.  NULL: there are none
    bool alone;                      // the table is of one frame of a run and has no scaled
                                     // intensities
};

/* Writes an experiment list: beam, detector, crystals in P 1, images and, for a rotation,
 * goniometer and scan.  `path` is the name of `out` in errors.  STATUS_FAILED: writing failed.
 * Errors of reading *all are returned unchanged. */
enum status dials_write_expt(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e);

/* Writes a reflection table with one row for each reflection, summed over its frames:
 *   - the observed position is the centroid of the photons;
 *   - the summed intensity is the number of photons, its variance the photons plus the background;
 *   - the bounding box is that of the pixels that hold 99 % of the photons;
 *   - the wavelength is that of the row, and s1 has its length;
 *   - of a wide band, orders of one ray are the brightest of them, and reflections outside of the
 *     band are excluded;
 *   - partiality is 1, lp and qe are those of DIALS;
 *   - the scaled intensity is the intensity corrected with lp and qe.
 * A reflection that is cut off by the begin or end of a sweep of several frames is not integrated,
 * and its scale is 0.  Errors are those of dials_write_expt.  STATUS_FAILED: more rows than a table
 * can hold. */
enum status dials_write_refl(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e);

/* --- for dials_*.c --------------------------------------------------------------- */

/* A sweep: consecutive frames of one rotation, or one still. */
struct dials_sweep {
    const struct dials_frame *start;  // first frame, with its lattices
    uint64_t count;                   // number of frames
    uint64_t experiment;              // number of the experiment of the first lattice
    uint64_t place;                   // index of the first frame among all frames
};

/* Callbacks of dials_walk.  Either may be NULL. */
struct dials_visitor {
    void *state;
    void (*spot)(void *state, const struct dials_spot *s);
    void (*sweep)(void *state, const struct dials_sweep *s);  // at its end
};

/* Visits all sweeps, and all reflections, each summed over the frames of its sweep. */
enum status dials_walk(const struct records *all, const struct dials_visitor *to, struct error *e);

static inline const double *dials_lattice(const struct dials_frame *f, uint64_t i)
{
    return (const double *)(f + 1) + 9 * i;
}

/* Returns the mosaic parameters of lattice i; NULL: the frame has none. */
static inline const struct dials_mosaic *dials_mosaic(const struct dials_frame *f, uint64_t i)
{
    return f->has_mosaic ? (const struct dials_mosaic *)dials_lattice(f, f->nlattices) + i : NULL;
}

static inline const struct dials_spot *dials_spots(const struct dials_frame *f)
{
    return (const void *)dials_lattice(f, f->nlattices);
}

/* Returns the number of the image of frame 0. */
static inline int32_t dials_first_image(struct dials_images images)
{
    return images.files && template_is_numbered(images.files) ? 0 : 1;
}

/* Chooses the images that DIALS can read: sets `files` to `instead` if a sweep needs it. */
enum status dials_choose_images(struct dials_images *images, const struct records *all,
                                struct error *e);

enum { DIALS_NAME_SIZE = 64 };

/* Returns `angle` about the axis that the DIALS files have, in the unit of `angle`.  For a negative
 * width `osc` that axis is inverted, because DIALS does not accept a negative width. */
double dials_forwards(double osc, double angle);

/* Returns the d spacing of a reflection of the lattice in A.  0: the cell of the lattice is not
 * known. */
double dials_spacing_A(const struct lattice *l, const int32_t hkl[3]);

/* Sets `name` to the identifier of the experiment of a lattice. */
void dials_identifier(const struct experiment *x, const struct dials_sweep *s, uint64_t lattice,
                      char name[DIALS_NAME_SIZE]);

/* Transforms a vector from our laboratory frame to that of DIALS. */
void dials_turn(const struct experiment *x, const double v[3], double out[3]);

/* Sets `normal` to the normal of the polarization plane, in our laboratory frame.  Returns the
 * polarization fraction. */
double dials_polarization(const struct experiment *x, double normal[3]);

#endif
