/*
 * What a pixel is: the sum of the reference engine over layers, subpixels, sources, lattices, phi
 * steps and mosaic domains, in this order, in plain double.
 *
 * In faithful mode it repeats nanoBragg's order of operations and its loop quirks to the last bit:
 * oversampled factors multiply the running sum, layers share the last capture fraction, a phi of
 * exactly 0 keeps the cell of the previous evaluation, interpolation stops for good at the first
 * miss.  So pixels must be summed one after the other.  In physical mode every evaluation stands
 * alone.
 */
#ifndef BRAGG_ENGINE_REFERENCE_PIXEL_H
#define BRAGG_ENGINE_REFERENCE_PIXEL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/derivatives/slopes.h"
#include "engine/engine.h"
#include "engine/spots/shares.h"

/* The state that one evaluation leaves for the next one in faithful mode. */
struct reference_carry {
    const double *cell;  // rows a, b, c in m of the last phi that was not 0
    bool interpolate;
};

/* The data of a frame that are the same for all pixels. */
struct reference_scene {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct source *sources;
    size_t nsources;
    bool faithful;
    double photons;                 // r_e^2 times fluence: intensity to photons
    double steps;                   // terms of a sum over sources, domains, phi and subpixels
    double background;              // faithful: start of every pixel's sum
    double water;                   // physical: one more term for every source and subpixel
    double *absorb;                 // owned: of each source, as in struct cpu_source
    bool absorbs;                   // whether the sensor absorbs the sources differently
    struct reference_carry *carry;  // one per lattice
};

/* Prepares *s for a frame; borrows both.  Fails as recipe_check does; reference_scene_close frees
 * it, also after an error. */
enum status reference_scene_open(struct reference_scene *s, const struct experiment *x,
                                 const struct recipe *recipe, struct error *e);
void reference_scene_close(struct reference_scene *s);

/* Sets *out to the photons of one pixel.  `trace` receives every intermediate value; NULL: no
 * trace.  `shares` is NULL or an empty list, which gets the shares above 0.  Returns false if
 * memory for the shares cannot be allocated. */
bool reference_pixel(const struct reference_scene *s, const struct panel *panel, int64_t fast,
                     int64_t slow, const struct pixel_trace *trace, struct share_list *shares,
                     float *out);

/* Sets values[] to the photons of a pixel, followed by its derivatives by the parameters of
 * `frame`. */
void reference_pixel_slopes(const struct reference_scene *s, const struct slopes_frame *frame,
                            const struct panel *panel, int64_t fast, int64_t slow, double *values);

#endif
