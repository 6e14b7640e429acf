/*
 * Photons from amorphous matter in the beam (air, water, a jet): an image that
 * depends on the experiment only and is added to the crystal's.
 */
#ifndef BRAGG_PHYSICS_BACKGROUND_H
#define BRAGG_PHYSICS_BACKGROUND_H

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

/* The *n sources of a recipe that has its own, as background takes them: channels of a spectrum no
 * wider than BACKGROUND_NARROW become one source for each of the beam, at their mean wavelength, in
 * gathered[beam->nsources].  Background changes slowly with the wavelength: the error is of the
 * order of the square of the relative width. */
#define BACKGROUND_NARROW 0.02
const struct source *background_sources(const struct beam *beam, const struct recipe *r,
                                        struct source *gathered, size_t *n);

/* Fills photons[experiment_pixels()] with
 *
 *   fluence r_e^2 sum_materials molecules  mean_sources weight I(s) P  omega  capture
 *
 * at the centre of every pixel, in the depth of background_position, s = sin(theta)/lambda, I the
 * coherent intensity of a molecule, P Kahn's factor, omega the solid angle and capture the share
 * that stops in the whole sensor, of each source by its wavelength.  0 outside the ROI, where
 * masked, and where I is negative. `sources` are those of the experiment or of a recipe.  Same
 * bytes for any `threads`. Fails as sensor_ratios does, before anything is written. */
enum status background_image(const struct experiment *x, const struct source *sources,
                             size_t nsources, const struct background_material *materials,
                             size_t nmaterials, int threads, float *photons, struct error *e);

#endif
