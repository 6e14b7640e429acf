#include "gateway/delivery.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"

static struct value *add(struct delivery *d, const char *key, enum value_type type)
{
    static struct value beyond;
    struct value *v = d->nvalues < DELIVERY_VALUES_MAX ? &d->values[d->nvalues] : &beyond;
    d->nvalues++;
    *v = (struct value){.key = key, .type = type};
    return v;
}

void delivery_int(struct delivery *d, const char *key, int64_t value)
{
    add(d, key, VALUE_INT)->integer = value;
}

void delivery_real(struct delivery *d, const char *key, double value)
{
    add(d, key, VALUE_REAL)->reals[0] = value;
}

void delivery_text(struct delivery *d, const char *key, const char *value)
{
    add(d, key, VALUE_TEXT)->text = value;
}

void delivery_reals(struct delivery *d, const char *key, const double *values, size_t count)
{
    struct value *v = add(d, key, VALUE_REALS);
    v->count = count < DELIVERY_NUMBERS_MAX ? count : DELIVERY_NUMBERS_MAX;
    memcpy(v->reals, values, v->count * sizeof *values);
}

/* Lowest and highest energy of the photons of a frame: its own sources', or the beam's. */
static void find_energies(const struct experiment *x, const struct recipe *r, double eV[2])
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    eV[0] = eV[1] = m_to_ev(count ? sources[0].wavelength_m : x->beam.wavelength_m);
    for (size_t i = 1; i < count; i++) {
        eV[0] = fmin(eV[0], m_to_ev(sources[i].wavelength_m));
        eV[1] = fmax(eV[1], m_to_ev(sources[i].wavelength_m));
    }
}

enum status delivery_start(struct delivery *d, const char *key, const struct experiment *x,
                           const struct frame *f, uint64_t time_ns, struct error *e)
{
    *d = (struct delivery){.id = f->recipe.id, .time_ns = time_ns, .image_key = key};
    if (!x->npanels || (int64_t)f->image.count != experiment_pixels(x))
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has %zu pixels, the detector %" PRId64,
                         f->recipe.id, f->image.count, experiment_pixels(x));
    const struct panel *first = x->panels;
    for (size_t i = 1; i < x->npanels; i++)
        if (x->panels[i].fast_pixels != first->fast_pixels ||
            x->panels[i].slow_pixels != first->slow_pixels)
            return error_set(e, STATUS_INPUT,
                             "panels 0 and %zu differ in size: one array cannot hold them", i);
    if (x->npanels > 1)
        d->shape[d->ndims++] = x->npanels;
    d->shape[d->ndims++] = (size_t)first->slow_pixels;
    d->shape[d->ndims++] = (size_t)first->fast_pixels;
    find_energies(x, &f->recipe, d->energy_eV);
    d->type = f->image.type;
    d->pixels = f->image.pixels;
    d->pixel_bytes = f->image.count * pixel_size(f->image.type);
    return STATUS_OK;
}

double delivery_wavelength_m(const struct experiment *x, const struct recipe *r)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < r->nsources; i++) {
        sum += r->sources[i].weight * r->sources[i].wavelength_m;
        weights += r->sources[i].weight;
    }
    return weights > 0 ? sum / weights : x->beam.wavelength_m;
}

const char *delivery_dtype(enum pixel_type type)
{
    static const char *const names[] = {"float32", "uint16", "uint32", "int32"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "?";
}
