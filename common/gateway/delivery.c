#include "gateway/delivery.h"

#include <inttypes.h>
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

/* Whether panel `next` continues panel `p` in its plane, as the tiles of a module do. */
static bool continues(const struct panel *p, const struct panel *next)
{
    const double *a = p->grid_fast || p->grid_slow ? p->grid_m : p->origin_m;
    return memcmp(a, next->grid_m, sizeof next->grid_m) == 0 && next->grid_fast == p->grid_fast &&
           next->grid_slow > p->grid_slow && memcmp(p->fast, next->fast, sizeof p->fast) == 0 &&
           memcmp(p->slow, next->slow, sizeof p->slow) == 0;
}

/* The number of panels in a module, which continue each other along the slow axis.  1 if the
 * modules would differ. */
static size_t module_panels(const struct experiment *x)
{
    size_t tiles = 1;
    while (tiles < x->npanels && continues(&x->panels[tiles - 1], &x->panels[tiles]))
        tiles++;
    for (size_t i = 1; i < x->npanels; i++)
        if (x->npanels % tiles || continues(&x->panels[i - 1], &x->panels[i]) != (i % tiles != 0))
            return 1;
    return tiles;
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
                             "panels 0 and %zu differ in size, so they do not fit into one array",
                             i);
    const size_t tiles = module_panels(x);
    if (x->npanels > tiles)
        d->shape[d->ndims++] = x->npanels / tiles;
    d->shape[d->ndims++] = tiles * (size_t)first->slow_pixels;
    d->shape[d->ndims++] = (size_t)first->fast_pixels;
    d->beam = incident_beam(x, &f->recipe);
    d->type = f->image.type;
    d->pixels = f->image.pixels;
    d->pixel_bytes = f->image.count * pixel_size(f->image.type);
    return STATUS_OK;
}

void delivery_truth(struct delivery *d, const struct experiment *x, const struct recipe *r)
{
    delivery_int(d, "seed", (int64_t)r->seed);
    delivery_text(d, "lineage", x->lineage);
    delivery_real(d, "fluence", d->beam.fluence_ph_m2);
    delivery_int(d, "hit", r->nlattices > 0);
    delivery_int(d, "lattice_count", (int64_t)r->nlattices);
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const size_t n = pulse_numbers(&x->pulse_ids, r->id, list);
    for (size_t i = 0; i < n; i++)
        delivery_int(d, list[i].name, (int64_t)list[i].value);
    d->has_train = x->pulse_ids.facility == FACILITY_EUXFEL;
    d->train = d->has_train ? (int64_t)list[0].value : 0;
}

void delivery_truth_arrays(struct delivery *d, const struct experiment *x, const struct recipe *r)
{
    const double spectrum_A[] = {m_to_angstrom(d->beam.shortest_m), m_to_angstrom(d->beam.mean_m),
                                 m_to_angstrom(d->beam.longest_m)};
    delivery_reals(d, "spectrum", spectrum_A, 3);
    if (!r->nlattices)
        return;
    const struct lattice *l = r->lattices;
    delivery_reals(d, "rotation", l->rotation, 9);
    delivery_reals(d, "reciprocal_cell", l->reciprocal_A, 9);
    if (l->crystal >= x->ncrystals || !x->crystals[l->crystal].has_cell)
        return;
    double cell[6];
    lattice_cell(x, l, cell);
    delivery_reals(d, "unit_cell", cell, 6);
}

const char *delivery_dtype(enum pixel_type type)
{
    static const char *const names[] = {"float32", "uint16", "uint32", "int32"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "?";
}
