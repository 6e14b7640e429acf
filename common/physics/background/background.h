/*
 * Photons that no crystal scatters, as images that are added to those of the crystals: those from
 * amorphous matter in the beam (air, water, ice), which depend on the experiment and its sources
 * alone, and the streak of a liquid jet, which is drawn for every frame.
 */
#ifndef BRAGG_PHYSICS_BACKGROUND_H
#define BRAGG_PHYSICS_BACKGROUND_H

#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/background/background_pixel.h"

/* Returns the absorption of each source in the sensors, for struct background_scene: an array that
 * the caller frees by mem_free.  NULL if the sensors absorb all sources alike, and after an error,
 * which is in *s and *e. */
double *background_absorb(const struct experiment *x, const struct source *sources, size_t nsources,
                          enum status *s, struct error *e);

/* Returns the data that all pixels share, for sources of the experiment or of a recipe.  `absorb`
 * is borrowed. */
struct background_scene background_scene(const struct experiment *x, const struct source *sources,
                                         size_t nsources, const double *absorb,
                                         const struct background_material *materials,
                                         size_t nmaterials);

/* The *n sources of a recipe, or of the beam if the recipe has none, as background takes them:
 *   - channels of a recipe no wider than BACKGROUND_NARROW become one source for each of the beam;
 *   - of more than BACKGROUND_FEW others, those that follow each other, in one direction and within
 *     BACKGROUND_NARROW, become one source;
 * at their mean wavelength, in *gathered, which the caller frees with mem_free and which may be
 * NULL.  Background changes slowly with the wavelength: the error is of the order of the square of
 * the relative width. */
#define BACKGROUND_NARROW 0.02
#define BACKGROUND_FEW 64
const struct source *background_sources(const struct beam *beam, const struct recipe *r,
                                        struct source **gathered, size_t *n);

/* Fills photons[experiment_pixels()] with
 *
 *   fluence r_e^2 sum_materials molecules  mean_sources weight I(s) P  omega  capture
 *
 * at the centre of every pixel, in the depth of background_point, s = sin(theta)/lambda, I the
 * coherent intensity of a molecule, P Kahn's factor, omega the solid angle and capture the share
 * that stops in the whole sensor, of each source by its wavelength.  0 outside the ROI, where
 * masked, and where I is negative. `sources` are those of the experiment or of a recipe.  Same
 * bytes for any `threads`. Fails as sensor_ratios does, before anything is written. */
enum status background_image(const struct experiment *x, const struct source *sources,
                             size_t nsources, const struct background_material *materials,
                             size_t nmaterials, int threads, float *photons, struct error *e);

/* The same, before the photons are rounded to float32. */
enum status background_image_double(const struct experiment *x, const struct source *sources,
                                    size_t nsources, const struct background_material *materials,
                                    size_t nmaterials, int threads, double *photons,
                                    struct error *e);

/* --- the loop over pixels, background_loop.c ------------------------------------ */

enum { BACKGROUND_RUN = 256 };  // pixels whose arrays stay in the first cache

/* Compiled for one instruction set; every one gives the bytes of background_photons. */
struct background_kernels {
    /* Photons of `count` pixels of a row, at most BACKGROUND_RUN, from (fast, slow) on, whether
     * they are computed or not, before they are rounded to float32. */
    void (*run)(const struct background_scene *scene, const struct panel *p, int64_t fast,
                int64_t slow, int count, double *photons);
};

extern const struct background_kernels background_kernels_baseline, background_kernels_avx2,
    background_kernels_avx512;

/* --- the streak of a jet --------------------------------------------------------- */

/*
 * The streak of a liquid jet: its surface refracts and reflects the beam across the jet.  A model
 * by the looks of such frames, with as many photons as are asked for:
 *
 *     photons of a pixel = N omega exp(-|v|/w) / (2 pi w l (1 + (u/l)^2))
 *
 * where u and v are the tangents of the angles from the beam along the streak and across it.
 */

struct streak {
    double photons;        // N of a mean frame of mean fluence
    double spread;         // log-normal from frame to frame, relative
    double length, width;  // l and w, rad; where w is less than a pixel, it is widened to one
    double angle_rad;      // from the first panel's fast axis towards its slow one
    double angle_rms_rad;  // from frame to frame
};

/* The frame that a streak is drawn for.  The caller keeps what the pointers point to. */
struct streak_frame {
    double relative;               // fluence of the frame relative to the mean fluence
    uint64_t seed, id;             // the streak is a function of these
    const struct source *sources;  // [nsources], of the experiment or of the recipe
    size_t nsources;
    const double *absorb;  // [nsources], as struct background_scene has it; NULL: all are alike
};

/* Adds the streak of a frame to photons[experiment_pixels()] where pixels are computed.  A pixel
 * stands where background_point puts it, and the sensor absorbs the weighted mean of what it
 * absorbs of the sources. */
void streak_add(const struct streak *s, const struct experiment *x, const struct streak_frame *f,
                int threads, float *photons);

#endif
