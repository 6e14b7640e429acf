/* Computes derivative images and adds them to frames. */
#include "derivatives.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/derivatives/derive.h"
#include "engine/reflections/photons.h"

_Static_assert((int)PLANES_MAX == (int)PARAMETERS_MAX, "every parameter can have an image");
_Static_assert((int)PLANE_NAME_SIZE == (int)PARAMETER_NAME_SIZE,
               "images have the names of parameters");

bool derivatives_by_F(const char *names, char *rest)
{
    bool found = false;
    *rest = '\0';
    for (const char *word = names; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        const size_t length = strcspn(word, ",");
        if (length == 1 && *word == 'F' && !found) {
            found = true;
            continue;
        }
        if (*rest)
            strcat(rest, ",");
        strncat(rest, word, length);
    }
    return found;
}

enum status derivatives_check_F(const struct experiment *x, struct error *e)
{
    if (x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT,
                         "--derivatives=F needs bragg-geometry --physics=physical");
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].interpolate)
            return error_set(e, STATUS_INPUT,
                             "--derivatives=F does not work with interpolated structure factors. "
                             "Give bragg-geometry --interpolate=off");
    return STATUS_OK;
}

enum status derivatives_begin(struct derivatives *d, const char *names, const struct experiment *x,
                              struct error *e)
{
    struct error cause = {0};
    const enum status s = parameters_parse(names, x, &d->set, &cause);
    if (s)
        return error_set(e, s, "--derivatives: %s", cause.text);
    d->pixels = (size_t)experiment_pixels(x);
    size_t count;
    d->values =
        size_multiply(d->set.count, d->pixels, &count) ? mem_array(count, sizeof *d->values) : NULL;
    if (d->least > 0.0)
        d->near = mem_array(d->pixels + 1, sizeof *d->near);
    return d->values && (d->near || !(d->least > 0.0)) ? STATUS_OK
                                                       : error_memory(e, "the derivatives");
}

/* Lists the pixels near spots in d->near.  Returns their number. */
static size_t list_near(struct derivatives *d, const float *photons)
{
    size_t count = 0;
    for (size_t i = 0; i < d->pixels; i++)
        if ((double)photons[i] >= d->least)
            d->near[count++] = (int64_t)i;
    return count;
}

/* Copies the first `count` numbers of d->near to the list of pixels of the frame. */
static enum status take_pixels(const struct derivatives *d, struct planes_pixels *p, size_t count,
                               struct error *e)
{
    if (!d->near)
        return STATUS_OK;
    *p = (struct planes_pixels){true, count, mem_array(count, sizeof *p->numbers)};
    if (!p->numbers)
        return error_memory(e, "the list of pixels");
    for (size_t i = 0; i < count; i++)
        p->numbers[i] = (uint32_t)d->near[i];
    return STATUS_OK;
}

/* Copies values[count] of one parameter into a derivative image.  They are those of all pixels or
 * of the pixels near spots. */
static enum status take_plane(struct plane *p, const struct parameter *of, const float *values,
                              size_t count, uint64_t id, struct error *e)
{
    (void)snprintf(p->name, sizeof p->name, "%s", of->name);
    (void)snprintf(p->unit, sizeof p->unit, "%s", of->unit);
    if (!photons_are_finite(values, count))
        return error_set(e, STATUS_INPUT,
                         "--derivatives: frame %" PRIu64 ": the derivative by %s is not finite", id,
                         of->name);
    p->count = count;
    p->values = mem_copy(values, count, sizeof *values);
    return p->values || !count ? STATUS_OK : error_memory(e, "a derivative image");
}

/* Computes d->values.  All derivatives of a blank frame are 0, also those by parameters of
 * lattices. */
static enum status compute(struct derivatives *d, struct harmonic_image *harmonic,
                           const struct engine *engine, struct plan *plan,
                           const struct recipe *recipe, size_t count, struct error *e)
{
    const struct derive_request request = {
        .set = &d->set, .listed = d->near, .npixels = count, .planes = d->values};
    struct error cause = {0};
    if (!recipe->nlattices) {
        memset(d->values, 0, d->set.count * count * sizeof *d->values);
        return STATUS_OK;
    }
    const enum status s = harmonic_image_derive(harmonic, engine, plan, recipe, &request, &cause);
    return s ? error_set(e, s, "--derivatives: frame %" PRIu64 ": %s", recipe->id, cause.text)
             : STATUS_OK;
}

enum status derivatives_make(struct derivatives *d, struct harmonic_image *harmonic,
                             const struct engine *engine, struct plan *plan, const float *photons,
                             struct frame *frame, struct error *e)
{
    const size_t count = d->near ? list_near(d, photons) : d->pixels;
    enum status s = compute(d, harmonic, engine, plan, &frame->recipe, count, e);
    if (!s && !planes_reserve(&frame->planes, d->set.count))
        s = error_memory(e, "the derivative images");
    if (!s)
        s = take_pixels(d, &frame->planes.pixels, count, e);
    for (size_t i = 0; i < d->set.count && !s; i++)
        s = take_plane(&frame->planes.items[i], &d->set.items[i], d->values + i * count, count,
                       frame->recipe.id, e);
    return s;
}

void derivatives_free(struct derivatives *d)
{
    mem_free(d->values);
    mem_free(d->near);
    *d = (struct derivatives){0};
}
