/*
 * Images of crystals of very many domains (physics/crystal/ensemble.h), one reflection at a time.
 * One evaluation for a pixel and a reflection that reaches the pixel gives the photons of all
 * domains and wavelengths.  The CPU engine uses this path if a crystal of the experiment asks for
 * it.
 *
 * The terms of a pixel are added in the order of step, direction and index, so that the number of
 * threads does not change the bytes.  The factors of pixels are those of the reference engine.
 */
#ifndef BRAGG_ENGINE_CLOSED_H
#define BRAGG_ENGINE_CLOSED_H

#include <stdbool.h>

#include "engine/closed/closed_loop.h"
#include "engine/derivatives/derive.h"
#include "engine/spots/cpu_spots.h"
#include "engine/spots/shares.h"
#include "physics/crystal/ensemble.h"

/* Identity class.  The bytes are the same for any number of threads. */
#define CLOSED_IDENTITY "closed-3"

/* The wavelengths of one direction of the beam. */
struct closed_beam {
    double incident[3], e[3], b[3];  // as in struct cpu_source
    double per_A;                    // weighted mean wave number
    size_t first, count;             // of its channels in closed.channels
    struct ensemble_waves waves;     // the same channels in groups
};

/* A lattice at one step, in one beam. */
struct closed_step {
    struct ensemble ensemble;
    uint32_t lattice, step, beam;
    double scale;  // converts a sum to photons, except for |F|^2 and the factors of the pixel
};

/* A reflection that may give photons to pixels. */
struct closed_spot {
    struct ensemble_spot spot;
    uint32_t step;
    int32_t hkl[3];
    double scale;   // closed_step.scale times |F|^2
    double absorb;  // absorption as in struct cpu_source, for its brightest channel
};

/* A box of pixels of one panel to which reflection number `spot` may give photons. */
struct closed_place {
    size_t spot;
    int32_t panel, fast_min, fast_max, row_min, row_max;
};

/* The data of one frame.  Owns its arrays. */
struct closed {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct closed_kernels *kernels;
    bool absorbs;  // whether a sensor absorbs the wavelengths of the sources differently
    struct closed_beam *beams;
    size_t nbeams;
    struct ensemble_channel *channels;
    struct closed_step *steps;
    size_t nsteps;
    struct closed_spot *spots;
    size_t nspots;
    struct closed_place *places;
    size_t nplaces;
};

/* Returns the kernels of an instruction set; `isa` as in struct engine_options.  NULL, with
 * STATUS_USAGE in *e: the name is unknown. */
const struct closed_kernels *closed_kernels_choose(const char *isa, struct error *e);

/* Returns true if any crystal asks for the closed form. */
bool closed_wanted(const struct experiment *x);

/* Returns true if the closed form can compute the experiment once its crystals ask for it and are
 * GAUSS. */
bool closed_suits(const struct experiment *x);

/* Returns STATUS_INPUT, with one line of text, if the closed form cannot compute the experiment. */
enum status closed_check(const struct experiment *x, struct error *e);

/* Returns STATUS_INPUT if a crystal asks for the closed form, which the engine `name` does not
 * have. */
enum status closed_refuse(const struct experiment *x, const char *name, struct error *e);

/* Lists the reflections of a frame in *c.  closed_close frees *c, also after an error.
 * STATUS_INPUT: bad recipe. */
enum status closed_open(struct closed *c, const struct experiment *x, const struct recipe *r,
                        const struct closed_kernels *kernels, int threads, struct error *e);
void closed_close(struct closed *c);

/* Part of closed_open: lists the reflections of all steps, and the places of the reflections. */
bool closed_list(struct closed *c, int threads);

/* The places that cover each row of the frame, where the rows of all panels follow one another: row
 * i has items[begin[i]] .. items[begin[i + 1] - 1]. */
struct closed_row_places {
    size_t *begin, *items;  // owned
};

/* Sorts the places of *c by the rows that they cover.  Returns false if memory cannot be allocated.
 * The caller frees both arrays, also after an error. */
bool closed_sort_places(const struct closed *c, struct closed_row_places *places);

/* Computes pixels[experiment_pixels()]; `rows` as in struct engine.  `lists`, if not NULL, has an
 * item for each row of the frame, which gets the shares of the row. */
enum status closed_rows(const struct closed *c, int threads, float *pixels,
                        struct share_list *lists, atomic_uint_fast64_t *rows, struct error *e);

/* Do the work of `run` and `reflections` of struct engine.  closed_run returns the photons of
 * crystals that are points: without their footprint. */
enum status closed_run(const struct closed_kernels *kernels, const struct experiment *x,
                       const struct recipe *r, int threads, float *photons,
                       atomic_uint_fast64_t *rows, struct error *e);
enum status closed_reflections(const struct closed_kernels *kernels, const struct experiment *x,
                               const struct footprint *f, int threads, const struct recipe *r,
                               const float *pixels, const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e);

/* ---- inside: the pixels of a reflection -----------------------------------------------------
 *
 * Which pixels get photons of a spot in closed form.  A point (f, s) of a panel, in pixels from a
 * middle one, is y = (1, f, s).  Its scattering vector for the wave number k is k/n (G y), n = D y,
 * where the distance from the sample is linearised: D has the distance of the middle and its
 * slopes.  The columns of G are those of the place less D times the incident beam.  With M, the
 * inverse of the moments, A = G'M G, b = G'M c and C = c M c - r^2, the spot is above its limit r
 * where
 *
 *     C A - b b'                           <= 0    for any k: a cone
 *     k^2 A - k (D b' + b D') + C D D'     <= 0    for one k
 *
 * as quadratic forms of y.  For all wave numbers between two limits, an extreme point of the region
 * is an extreme of the first form, if its wave number is between the limits, or an extreme of the
 * second form for one of the limits.
 */

/* Narrows *place, a box that contains all pixels to which the spot can give photons, to the wave
 * numbers from per_A[0] to per_A[1].  The box shrinks along fast by multiples of ENSEMBLE_LANES, so
 * that code which evaluates ENSEMBLE_LANES pixels side by side groups the same pixels as before.
 * Returns false if no pixel gets photons. */
bool closed_bounds(const struct panel *p, const struct ensemble_spot *spot,
                   const double incident[3], const double per_A[2], struct closed_place *place);

/* ---- derivatives ----------------------------------------------------------------------------
 *
 * Derivatives of images in closed form, from differences of four images for each parameter, one and
 * two steps to either side.  The error is of the fourth order.  A step is CLOSED_STEP times the rms
 * width that the narrowest spot has in the parameter.  Where the reference engine has derivative
 * images, these are within 2e-5 of them, relative to their root mean square.
 */

#define CLOSED_STEP 0.06

/* Does the work of `derive` of struct engine, for an experiment whose panels are where the recipe
 * has them.  STATUS_INPUT: a parameter that cannot be changed in steps, see parameter.h. */
enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e);

#endif
