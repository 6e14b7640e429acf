/*
 * Crystals of very many domains (physics/crystal/ensemble.h), reflection by reflection: one
 * evaluation for a pixel and a reflection that reaches it stands for all domains and wavelengths.
 * The CPU engine takes this path for an experiment that asks for it.
 *
 * A pixel's terms are added in the order of step, direction and index, so that threads do not
 * matter.  Factors of pixels are those of the reference engine.
 */
#ifndef BRAGG_ENGINE_CLOSED_H
#define BRAGG_ENGINE_CLOSED_H

#include <stdbool.h>

#include "engine/closed/closed_loop.h"
#include "engine/derivatives/derive.h"
#include "engine/spots/cpu_spots.h"
#include "engine/spots/shares.h"
#include "physics/crystal/ensemble.h"

/* Same bytes for any number of threads. */
#define CLOSED_IDENTITY "closed-3"

/* Wavelengths of one direction of the beam. */
struct closed_beam {
    double incident[3], e[3], b[3];  // as in struct cpu_source
    double per_A;                    // weighted mean wave number
    size_t first, count;             // of the channels
    struct ensemble_waves waves;     // the channels in groups
};

/* A lattice at one step, in one beam. */
struct closed_step {
    struct ensemble ensemble;
    uint32_t lattice, step, beam;
    double scale;  // makes photons of a sum, apart from |F|^2 and the factors of the pixel
};

/* A reflection that may light pixels. */
struct closed_spot {
    struct ensemble_spot spot;
    uint32_t step;
    int32_t hkl[3];
    double scale;   // with |F|^2
    double absorb;  // as struct cpu_source has it, of the channel that it is brightest in
};

/* A box of pixels of one panel that reflection number `spot` may light. */
struct closed_place {
    size_t spot;
    int32_t panel, fast_min, fast_max, row_min, row_max;
};

/* One frame; owns its arrays. */
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

/* The kernels of an instruction set, which is named as in struct engine_options.  NULL with
 * STATUS_USAGE in *e for a name that is unknown. */
const struct closed_kernels *closed_kernels_choose(const char *isa, struct error *e);

/* Whether any crystal asks for the closed form. */
bool closed_wanted(const struct experiment *x);

/* STATUS_INPUT with one line for an experiment that the closed form cannot compute. */
enum status closed_check(const struct experiment *x, struct error *e);

/* STATUS_INPUT if a crystal asks for the closed form, which the engine called `name` does not have.
 * */
enum status closed_refuse(const struct experiment *x, const char *name, struct error *e);

/* Lists the reflections of a frame.  Bad recipes are STATUS_INPUT.  closed_close frees *c, after an
 * error too. */
enum status closed_open(struct closed *c, const struct experiment *x, const struct recipe *r,
                        const struct closed_kernels *kernels, int threads, struct error *e);
void closed_close(struct closed *c);

/* Inside closed_open: reflections of all steps, and their places. */
bool closed_list(struct closed *c, int threads);

/* The places of each row of the frame, rows of panels one after the other: items begin[row] ..
 * begin[row + 1]. */
struct closed_row_places {
    size_t *begin, *items;  // owned
};

/* Sorts the places of *c by the rows that they cover.  False when memory is out.  The caller frees
 * both arrays, after an error too. */
bool closed_sort_places(const struct closed *c, struct closed_row_places *places);

/* Computes pixels[experiment_pixels()]; `rows` as in struct engine.  `lists`, when not NULL, get
 * the shares of each row of the frame. */
enum status closed_rows(const struct closed *c, int threads, float *pixels,
                        struct share_list *lists, atomic_uint_fast64_t *rows, struct error *e);

/* As run and reflections of struct engine; photons as of points. */
enum status closed_run(const struct closed_kernels *kernels, const struct experiment *x,
                       const struct recipe *r, int threads, float *photons,
                       atomic_uint_fast64_t *rows, struct error *e);
enum status closed_reflections(const struct closed_kernels *kernels, const struct experiment *x,
                               const struct footprint *f, int threads, const struct recipe *r,
                               const float *pixels, const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e);

/* ---- inside: the pixels of a reflection -----------------------------------------------------
 *
 * Which pixels a spot in closed form can light.  A point (f, s) of a panel, in pixels about a
 * middle one, is y = (1, f, s); its scattering vector for the wave number k is k/n (G y), n = D y,
 * where the distance from the sample is linearised: D has that of the middle and its slopes, and
 * the columns of G are those of the place less D along the incident beam.  With the moments'
 * inverse M, A = G'M G, b = G'M c and C = c M c - r^2 the spot is above its limit r where
 *
 *     C A - b b'                           <= 0    for any k: a cone
 *     k^2 A - k (D b' + b D') + C D D'     <= 0    for one
 *
 * as quadratic forms of y.  An extreme of what wave numbers between two light is one of the first,
 * if that has such a wave number, or one of either of the two.
 */

/* Narrows a place, a box of pixels that holds all that the spot can light by wave numbers from
 * per_A[0] to per_A[1]; by whole ENSEMBLE_LANES along fast, so that who looks at so many side by
 * side sees the same ones.  False where it lights nothing. */
bool closed_bounds(const struct panel *p, const struct ensemble_spot *spot,
                   const double incident[3], const double per_A[2], struct closed_place *place);

/* ---- derivatives ----------------------------------------------------------------------------
 *
 * Derivatives of images in closed form (closed.h), by differences: four images for each parameter,
 * one and two steps to either side, of which the error is of the fourth order.  A step is
 * CLOSED_STEP of the rms width that the narrowest spot has in the parameter.  Planes are within
 * 2e-5 of their root mean square of those of the reference engine, where that has them.
 */

#define CLOSED_STEP 0.06

/* As derive of struct engine, for an experiment whose panels stand where the recipe has them.
 * STATUS_INPUT for parameters of which no steps are taken (parameter_step.h). */
enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e);

#endif
