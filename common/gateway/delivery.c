#include "gateway/delivery.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* --- named values -------------------------------------------------------------- */

static struct value *add_value(struct delivery *d, const char *key, enum value_type type)
{
    static struct value beyond;
    struct value *v = d->nvalues < DELIVERY_VALUES_MAX ? &d->values[d->nvalues] : &beyond;
    d->nvalues++;
    *v = (struct value){.key = key, .type = type};
    return v;
}

void delivery_int(struct delivery *d, const char *key, int64_t value)
{
    add_value(d, key, VALUE_INT)->integer = value;
}

void delivery_bool(struct delivery *d, const char *key, bool value)
{
    add_value(d, key, VALUE_BOOL)->integer = value;
}

void delivery_real(struct delivery *d, const char *key, double value)
{
    add_value(d, key, VALUE_REAL)->reals[0] = value;
}

void delivery_text(struct delivery *d, const char *key, const char *value)
{
    add_value(d, key, VALUE_TEXT)->text = value;
}

void delivery_reals(struct delivery *d, const char *key, const double *values, size_t count)
{
    struct value *v = add_value(d, key, VALUE_REALS);
    v->count = count < DELIVERY_NUMBERS_MAX ? count : DELIVERY_NUMBERS_MAX;
    memcpy(v->reals, values, v->count * sizeof *values);
}

/* Returns true if panel `next` continues panel `p` along the slow axis in the same plane, as the
 * tiles of a module do. */
static bool continues(const struct panel *p, const struct panel *next)
{
    const double *a = p->grid_fast || p->grid_slow ? p->grid_m : p->origin_m;
    return memcmp(a, next->grid_m, sizeof next->grid_m) == 0 && next->grid_fast == p->grid_fast &&
           next->grid_slow > p->grid_slow && memcmp(p->fast, next->fast, sizeof p->fast) == 0 &&
           memcmp(p->slow, next->slow, sizeof p->slow) == 0;
}

/* Returns the number of panels that form a module: they continue each other along the slow axis.
 * Returns 1 if not all modules would have the same number of panels. */
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
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 " has %zu pixels, but the detector has %" PRId64,
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
    d->probe = x->probe;
    d->type = f->image.type;
    d->pixels = f->image.pixels;
    d->pixel_bytes = f->image.count * pixel_size(f->image.type);
    d->image = &f->image;
    return STATUS_OK;
}

const struct image *delivery_image(const struct delivery *d)
{
    const struct image *image = d->image;
    return image && d->pixels == image->pixels && d->type == image->type &&
                   d->pixel_bytes == image->count * pixel_size(image->type)
               ? image
               : NULL;
}

void delivery_truth(struct delivery *d, const struct experiment *x, const struct recipe *r)
{
    delivery_int(d, "seed", (int64_t)r->seed);
    delivery_text(d, "lineage", x->lineage);
    delivery_real(d, "fluence", d->beam.fluence_ph_m2);
    delivery_int(d, "hit", r->nlattices > 0);
    delivery_int(d, "lattice_count", (int64_t)r->nlattices);
    if (r->has_sample) {
        delivery_real(d, "sample_x_um", 1e6 * r->sample_m[0]);
        delivery_real(d, "sample_y_um", 1e6 * r->sample_m[1]);
    }
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

void delivery_pulse(struct delivery *d, const char *key, const struct experiment *x,
                    const struct recipe *r)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const bool numbered =
        x->pulse_ids.facility != FACILITY_NONE && pulse_numbers(&x->pulse_ids, r->id, list) > 0;
    delivery_int(d, key, (int64_t)(numbered ? list[0].value : r->id));
    if (x->pulse_ids.has_pump)
        delivery_bool(d, "laser_on", pulse_lit(&x->pulse_ids, r->id));
}

void delivery_saturated(struct delivery *d, const struct experiment *x, const struct image *image)
{
    const double blank = image->type == PIXEL_U16   ? UINT16_MAX
                         : image->type == PIXEL_U32 ? UINT32_MAX
                                                    : HUGE_VAL;
    const bool any = x->saturation > 0 && image_range(image).most >= x->saturation;
    int64_t count = 0;
    for (size_t i = 0; any && i < image->count; i++) {
        const double value = image_value(image, i);
        count += value >= x->saturation && value < blank;
    }
    delivery_int(d, "saturated_pixels", count);
}

const char *delivery_dtype(enum pixel_type type)
{
    static const char *const names[] = {"float32", "uint16", "uint32", "int32"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "?";
}

/* --- pixels of another type ---------------------------------------------------- */

enum { RUN = 1024 };  // pixels per block: a block stays in the first cache

/* Converts `count` values to integers of a type whose range is `least` to `most`.  Sets `good`
 * to false if a value is not an integer in this range. */
#define NARROW(type, least, most, values, count, to, good)                             \
    for (size_t i = 0; i < (count); i++) {                                             \
        const double v = (values)[i];                                                  \
        ((type *)(to))[i] = (type)(v >= (least) && v <= (most) ? v : (double)(least)); \
        (good) &= (double)((type *)(to))[i] == v;                                      \
    }

/* Stores `count` values in the pixels of an image from index `first` on.  Returns false if a
 * value has no exact form in the type of the image. */
static bool store(struct image *image, size_t first, size_t count, const double *values)
{
    void *to = (char *)image->pixels + first * pixel_size(image->type);
    bool good = true;
    switch (image->type) {
    case PIXEL_F32:
        for (size_t i = 0; i < count; i++) {
            ((float *)to)[i] = (float)values[i];
            good &= (double)((float *)to)[i] == values[i];
        }
        break;
    case PIXEL_U16:
        NARROW(uint16_t, 0, UINT16_MAX, values, count, to, good)
        break;
    case PIXEL_U32:
        NARROW(uint32_t, 0, UINT32_MAX, values, count, to, good)
        break;
    case PIXEL_I32:
        NARROW(int32_t, INT32_MIN, INT32_MAX, values, count, to, good)
        break;
    }
    return good;
}

/* Returns the value that means "no data" in an integer type. */
static double blank_of(enum pixel_type type, int32_t no_data)
{
    return type == PIXEL_U16 ? UINT16_MAX : type == PIXEL_U32 ? UINT32_MAX : (double)no_data;
}

/* Replaces the values that mean "no data" in type `from` by `blank`, the value with this meaning in
 * type `to`.  Returns true if there was such a value. */
static bool translate_blanks(enum pixel_type from, enum pixel_type to, double blank, double *values,
                             size_t count)
{
    const bool is_signed = from == PIXEL_I32;
    bool any = false;
    if (from == PIXEL_F32 || from == PIXEL_U16 || to == PIXEL_F32)
        return false;  // a type of real numbers, or a value that fits
    for (size_t i = 0; i < count; i++)
        if (is_signed ? values[i] == -1 || values[i] == -2 : values[i] == UINT32_MAX) {
            values[i] = blank;
            any = true;
        }
    return any;
}

/* Frees *to, and returns STATUS_INPUT with an error that names the first pixel, from index
 * `first` on, whose value has no exact form in the type of *to.  There must be such a pixel. */
static enum status refuse_pixel(const struct image *from, size_t first, double blank,
                                struct image *to, struct error *e)
{
    const char *type = delivery_dtype(to->type);
    double value = image_value(from, first), stored = value;
    (void)translate_blanks(from->type, to->type, blank, &stored, 1);
    while (store(to, first, 1, &stored)) {
        stored = value = image_value(from, ++first);
        (void)translate_blanks(from->type, to->type, blank, &stored, 1);
    }
    image_free(to);
    return error_set(e, STATUS_INPUT, "pixel %zu is %g, which the type %s cannot store", first,
                     value, type);
}

enum status pixels_convert(const struct image *from, enum pixel_type type, int32_t no_data,
                           struct image *to, bool *masked, struct error *e)
{
    const double blank = blank_of(type, no_data);
    *to = (struct image){0};
    if (!image_reserve(to, type, from->unit, from->count))
        return error_memory(e, "an image for the clients");
    for (size_t first = 0; first < from->count; first += RUN) {
        double values[RUN];
        const size_t left = from->count - first, count = left < RUN ? left : RUN;
        image_values(from, first, count, values);
        *masked |= translate_blanks(from->type, type, blank, values, count);
        if (!store(to, first, count, values))
            return refuse_pixel(from, first, blank, to, e);
    }
    return STATUS_OK;
}

/* --- the check before a frame leaves ------------------------------------------- */

static enum status check_image(const struct delivery *d, unsigned allowed, struct error *e)
{
    if ((unsigned)d->type > PIXEL_I32 || !(allowed >> d->type & 1))
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 ": the protocol does not support pixels of type %s",
                         d->id, delivery_dtype(d->type));
    size_t bytes = pixel_size(d->type);
    bool fits = d->ndims > 0 && d->ndims <= DELIVERY_DIMS_MAX;
    for (size_t i = 0; fits && i < d->ndims; i++)
        fits = d->shape[i] > 0 && size_multiply(bytes, d->shape[i], &bytes);
    if (!fits || !d->pixels || bytes != d->pixel_bytes)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         ": %zu bytes of pixels do not fill the shape of the image",
                         d->id, d->pixel_bytes);
    return STATUS_OK;
}

static enum status check_value(const struct delivery *d, const struct value *v, struct error *e)
{
    const size_t count = v->type == VALUE_REAL ? 1 : v->type == VALUE_REALS ? v->count : 0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(v->reals[i]))
            return error_set(e, STATUS_INPUT, "frame %" PRIu64 ": %s is not a finite number", d->id,
                             v->key);
    if (v->type == VALUE_TEXT && !v->text)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 ": %s has no text", d->id, v->key);
    return STATUS_OK;
}

/* Returns key number i of a delivery, in the order: keys of the values, key of the image, key of
 * the peaks. */
static const char *key_of(const struct delivery *d, size_t i)
{
    if (i > d->nvalues)
        return DELIVERY_PEAKS_KEY;
    return i < d->nvalues ? d->values[i].key : d->image_key;
}

static enum status check_keys(const struct delivery *d, struct error *e)
{
    const size_t count = d->nvalues + (d->peaks ? 2 : 1);
    for (size_t i = 0; i < count; i++) {
        const char *key = key_of(d, i);
        if (!key || !*key)
            return error_set(e, STATUS_INPUT, "a key is empty");
        for (size_t j = 0; j < count; j++)
            if (i != j && key_of(d, j) && strncmp(key, key_of(d, j), strlen(key)) == 0)
                return error_set(e, STATUS_INPUT, "key '%.60s' is the beginning of key '%.60s'",
                                 key, key_of(d, j));
    }
    return STATUS_OK;
}

enum status delivery_check(const struct delivery *d, unsigned allowed, struct error *e)
{
    if (d->nvalues > DELIVERY_VALUES_MAX)
        return error_set(e, STATUS_INPUT, "the message has too many values; expected at most %d",
                         DELIVERY_VALUES_MAX);
    enum status s = check_image(d, allowed, e);
    for (size_t i = 0; i < d->nvalues && s == STATUS_OK; i++)
        s = check_value(d, &d->values[i], e);
    for (size_t i = 0; i < d->npeaks && s == STATUS_OK; i++)
        if (!isfinite(d->peaks[i].fast + d->peaks[i].slow + d->peaks[i].intensity))
            s = error_set(e, STATUS_INPUT, "frame %" PRIu64 ": peak %zu is not a finite number",
                          d->id, i);
    return s ? s : check_keys(d, e);
}
