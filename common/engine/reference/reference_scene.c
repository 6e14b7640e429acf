/* What all pixels of a frame share. */
#include "base/alloc.h"
#include "engine/reference/recipe_check.h"
#include "engine/reference/reference_pixel.h"
#include "physics/constants.h"
#include "physics/detector/sensor.h"

/* Water as nanoBragg has it: forward scattering of 2.57 electrons a molecule.  The
 * start of a pixel's sum in units of photons (faithful: r_e^2 and fluence come
 * again at the end) or electrons^2. */
static double water_intensity(const struct reference_scene *s)
{
    const double w = s->x->water_m;
    if (s->faithful)
        return 2.57 * 2.57 * ELECTRON_RADIUS_SQR_M2 * s->x->beam.fluence_ph_m2 * w * w * w * 1e6 *
               AVOGADRO_1_MOL / 18.0;
    return 2.57 * 2.57 * w * w * w * 1e6 * AVOGADRO_1_MOL / 18.0;
}

enum status reference_scene_open(struct reference_scene *s, const struct experiment *x,
                                 const struct recipe *recipe, struct error *e)
{
    *s = (struct reference_scene){
        .x = x, .recipe = recipe, .faithful = x->physics == PHYSICS_FAITHFUL};
    const enum status status = recipe_check(x, recipe, e);
    if (status)
        return status;
    s->sources = recipe->nsources ? recipe->sources : x->beam.sources;
    s->nsources = recipe->nsources ? recipe->nsources : x->beam.nsources;
    s->photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2;
    /* layers are not counted: they share the photons */
    const double samples = (double)s->nsources * x->sampling.oversample * x->sampling.oversample;
    s->steps = samples * recipe_lattice_steps(recipe, 0);
    if (s->faithful)
        s->background = water_intensity(s);
    else
        s->water = water_intensity(s) * (s->steps / samples);
    s->carry = mem_array(recipe->nlattices, sizeof *s->carry);
    s->absorb = mem_array(s->nsources, sizeof *s->absorb);
    if (!s->carry || !s->absorb)
        return error_memory(e, "the lattices");
    const enum status known = sensor_ratios(x, s->sources, s->nsources, s->absorb, &s->absorbs, e);
    if (known)
        return known;
    for (size_t i = 0; i < recipe->nlattices; i++) {
        const struct lattice *l = &recipe->lattices[i];
        s->carry[i] = (struct reference_carry){l->cells_m, x->crystals[l->crystal].interpolate};
    }
    return STATUS_OK;
}

void reference_scene_close(struct reference_scene *s)
{
    mem_free(s->carry);
    mem_free(s->absorb);
    s->carry = NULL;
    s->absorb = NULL;
}
