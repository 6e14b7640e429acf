/*
 * A pixel of the reference engine: plain double, one loop, the specification of what a pixel is.
 */
#ifndef BRAGG_ENGINE_REFERENCE_PIXEL_H
#define BRAGG_ENGINE_REFERENCE_PIXEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/derivatives/slopes.h"
#include "engine/engine.h"
#include "engine/spots/shares.h"
#include "model/recipe.h"

struct reference_carry;

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
    struct crystal *crystals;       // owned: of each lattice, see recipe_crystals
};

/* Prepares *s for a frame; borrows both.  Fails as recipe_check does; reference_scene_close frees
 * it, also after an error. */
enum status reference_scene_open(struct reference_scene *s, const struct experiment *x,
                                 const struct recipe *recipe, struct error *e);
void reference_scene_close(struct reference_scene *s);

/* Sets *out to the photons of pixel (fast, slow) of a panel of the experiment.  In faithful mode
 * the photons also depend on the pixels that were computed before.
 *
 *   trace   receives every intermediate value; NULL: no trace
 *   shares  NULL, or an empty list, which gets the shares above 0 */
void reference_pixel(const struct reference_scene *s, const struct panel *panel, int64_t fast,
                     int64_t slow, const struct pixel_trace *trace, struct share_list *shares,
                     float *out);

/* Sets values[1 + frame->set->count] to the photons of a pixel, followed by its derivatives by the
 * parameters of `frame`, in photons per unit of the parameter. */
void reference_pixel_slopes(const struct reference_scene *s, const struct slopes_frame *frame,
                            const struct panel *panel, int64_t fast, int64_t slow, double *values);

#endif
