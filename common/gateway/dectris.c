/*
 * Stream V2 of Dectris' detectors.  Each message is one part, which is a map in CBOR: a start
 * message, images numbered from 0, and an end message.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/units.h"
#include "codec/bslz4.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

enum { DECTRIS_METADATA_MAX = 65536 };  // bytes of a message without its arrays

/* The types of arrays, with their tags of RFC 8746. */
enum dectris_type { DECTRIS_U16 = 69, DECTRIS_U32 = 70, DECTRIS_F32 = 85 };

/* An array of slow x fast items, little-endian, whose fast axis varies fastest. */
struct dectris_array {
    size_t slow, fast;
    enum dectris_type type;
    const void *items;  // borrowed
};

enum { DECTRIS_NAME_SIZE = 80 };

/* --- arrays and channels ------------------------------------------------------- */

enum { MULTI_DIMENSIONAL = 40, COMPRESSED = 56500 };  // tags of RFC 8746 and of Dectris
static size_t item_size(enum dectris_type type)
{
    return type == DECTRIS_U16 ? 2 : 4;
}

/* Returns the largest number of bytes that an array takes in a message with this compression
 * (enum content_compression).  0: the number exceeds size_t. */
static size_t dectris_room(const struct dectris_array *a, int compression)
{
    size_t count, bytes;
    if (!size_multiply(a->slow, a->fast, &count) ||
        !size_multiply(count, item_size(a->type), &bytes))
        return 0;
    if (compression == CONTENT_BSLZ4)
        return bslz4_bound(count, item_size(a->type));
    return compression == CONTENT_LZ4 ? lz4_blocks_bound(bytes) : bytes;
}

static void put_compressed(struct cborpack *p, const struct dectris_array *a, bool bslz4,
                           size_t room)
{
    const size_t count = a->slow * a->fast, size = item_size(a->type);
    cborpack_tag(p, COMPRESSED);
    cborpack_array(p, 3);
    cborpack_text(p, bslz4 ? "bslz4" : "lz4");
    cborpack_uint(p, bslz4 ? size : 0);
    uint8_t *blob = cborpack_blob(p, room);
    if (blob)
        cborpack_blob_end(p, bslz4 ? bslz4_compress(isa_best(), a->items, count, size, blob)
                                   : lz4_blocks_compress(a->items, count * size, blob));
}

/* Writes an array of two dimensions with this compression (enum content_compression). */
static void dectris_put_array(struct cborpack *p, const struct dectris_array *a, int compression)
{
    cborpack_tag(p, MULTI_DIMENSIONAL);
    cborpack_array(p, 2);
    cborpack_array(p, 2);
    cborpack_uint(p, a->slow);
    cborpack_uint(p, a->fast);
    cborpack_tag(p, a->type);
    if (compression == CONTENT_PLAIN)
        cborpack_bytes(p, a->items, a->slow * a->fast * item_size(a->type));
    else
        put_compressed(p, a, compression == CONTENT_BSLZ4, dectris_room(a, compression));
}

/* Returns the number of channels of an image, at least one. */
static size_t dectris_channels(const struct content_options *o)
{
    return o->nthresholds ? (size_t)o->nthresholds : 1;
}

/* Writes the name of a channel, counted from 0, into `name`, and returns `name`. */
static const char *dectris_channel(const struct content_options *o, size_t channel,
                                   char name[DECTRIS_NAME_SIZE])
{
    (void)snprintf(name, DECTRIS_NAME_SIZE, "%.50s_%zu", o->image_key, channel + 1);
    return name;
}

/* Returns STATUS_INPUT with the error that a detector of several panels does not fit into an
 * image of two dimensions. */
static enum status dectris_refuse_panels(size_t npanels, struct error *e)
{
    return error_set(e, STATUS_INPUT, "dectris2 has one image of one panel (got %zu panels)",
                     npanels);
}

/* Writes the three pairs with which every message begins: its type, and the number and the id of
 * the series. */
static void dectris_put_series(struct cborpack *p, const char *type, const struct series *s)
{
    cborpack_key_text(p, "type", type);
    cborpack_key_uint(p, "series_id", s->number);
    cborpack_key_text(p, "series_unique_id", s->unique_id);
}

/* --- the start message: the detector and its settings -------------------------- */

static void put_thresholds(struct cborpack *p, const struct content_options *o, double energy_eV)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, "channels");
    cborpack_array(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++)
        cborpack_text(p, dectris_channel(o, i, name));
    cborpack_text(p, "threshold_energy");
    cborpack_map(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++)
        cborpack_key_real(p, dectris_channel(o, i, name),
                          o->nthresholds ? o->threshold_eV[i] : energy_eV / 2);
}

static void put_axis(struct cborpack *p, const char *name, double start_deg, double increment_deg)
{
    cborpack_text(p, name);
    cborpack_map(p, 2);
    cborpack_key_real(p, "increment", increment_deg);
    cborpack_key_real(p, "start", start_deg);
}

/* Writes the axes of the goniometer.  Their angles are those at which image 0 begins, although
 * *r may belong to a later image. */
static void put_goniometer(struct cborpack *p, const struct panel *panel, const struct recipe *r)
{
    const double first_rad = r->phi_rad - (double)r->id * r->osc_rad;
    cborpack_text(p, "goniometer");
    cborpack_map(p, 2);
    put_axis(p, "omega", rad_to_deg(first_rad), rad_to_deg(r->osc_rad));
    put_axis(p, "two_theta", rad_to_deg(panel->twotheta_rad), 0);
}

/* Returns the saturation value of a detector: the largest value that means photons.  The largest
 * value of a pixel type means "no data" and is excluded. */
static uint64_t saturation(const struct experiment *x, enum pixel_type type)
{
    const double most = type == PIXEL_U16 ? UINT16_MAX - 1 : UINT32_MAX - 1.0;
    return (uint64_t)(x->saturation > 0 ? fmin(x->saturation, most) : most);
}

enum { FIXED_PAIRS = 30 };

static void put_fixed(struct cborpack *p, const struct content_options *o,
                      const struct experiment *x, const struct frame *f)
{
    const struct panel *panel = x->panels;
    const struct series *s = o->series;
    const double wavelength_m = incident_beam(x, &f->recipe).mean_m;
    const double period_s = (double)s->period_ns / 1e9;
    dectris_put_series(p, "start", s);
    cborpack_key_date(p, "arm_date", s->start_ns);
    cborpack_key_real(p, "beam_center_x", panel->beam_fast_m / panel->pixel_m);
    cborpack_key_real(p, "beam_center_y", panel->beam_slow_m / panel->pixel_m);
    put_thresholds(p, o, m_to_ev(wavelength_m));
    cborpack_key_real(p, "count_time", period_s);
    cborpack_key_bool(p, "countrate_correction_enabled", false);
    cborpack_key_text(p, "detector_description", o->source);
    cborpack_key_text(p, "detector_serial_number", "0");
    cborpack_key_reals(p, "detector_translation", (double[]){0, 0, panel->distance_m}, 3);
    cborpack_key_bool(p, "flatfield_enabled", false);
    cborpack_key_real(p, "frame_time", period_s);
    put_goniometer(p, panel, &f->recipe);
    cborpack_key_text(p, "image_dtype", delivery_dtype(f->image.type));
    cborpack_key_uint(p, "image_size_x", (uint64_t)panel->fast_pixels);
    cborpack_key_uint(p, "image_size_y", (uint64_t)panel->slow_pixels);
    cborpack_key_real(p, "incident_energy", m_to_ev(wavelength_m));
    cborpack_key_real(p, "incident_wavelength", m_to_angstrom(wavelength_m));
    cborpack_key_uint(p, "number_of_images", s->images);
    cborpack_key_bool(p, "pixel_mask_enabled", false);
    cborpack_key_real(p, "pixel_size_x", panel->pixel_m);
    cborpack_key_real(p, "pixel_size_y", panel->pixel_m);
    cborpack_key_uint(p, "saturation_value", saturation(x, f->image.type));
    cborpack_key_text(p, "sensor_material", panel_material(panel));
    cborpack_key_real(p, "sensor_thickness", panel_depth_m(panel));
    cborpack_key_text(p, "user_data", o->appendix ? o->appendix : "");
    cborpack_key_bool(p, "virtual_pixel_interpolation_enabled", false);
}

/* --- mask and flat field ------------------------------------------------------- */

static void fill_mask(const struct experiment *x, uint32_t *mask)
{
    const struct panel *panel = x->panels;
    for (int64_t s = 0; s < panel->slow_pixels; s++)
        for (int64_t f = 0; f < panel->fast_pixels; f++)
            mask[s * panel->fast_pixels + f] =
                panel_computes(panel, f, s) ? 0
                                            : experiment_mask_word(x, s * panel->fast_pixels + f);
}

/* Writes a map with the key `key` that has the same array for every channel. */
static void put_for_all(struct cborpack *p, const struct content_options *o, const char *key,
                        const struct dectris_array *a)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, key);
    cborpack_map(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++) {
        cborpack_text(p, dectris_channel(o, i, name));
        dectris_put_array(p, a, o->compression);
    }
}

/* Writes the flat field and the mask.  Both arrays are built in `items`, first one and then the
 * other; an item has four bytes. */
static void put_arrays(struct cborpack *p, const struct content_options *o,
                       const struct experiment *x, void *items)
{
    const struct panel *panel = x->panels;
    struct dectris_array a = {.slow = (size_t)panel->slow_pixels,
                              .fast = (size_t)panel->fast_pixels,
                              .type = DECTRIS_F32,
                              .items = items};
    float *flat = items;
    for (size_t i = 0; i < a.slow * a.fast; i++)
        flat[i] = 1;
    put_for_all(p, o, "flatfield", &a);
    fill_mask(x, items);
    a.type = DECTRIS_U32;
    put_for_all(p, o, "pixel_mask", &a);
}

static enum status start_with(const struct content_options *o, const struct experiment *x,
                              const struct frame *f, void *items, struct message *m,
                              struct error *e)
{
    const struct dectris_array a = {.slow = (size_t)x->panels->slow_pixels,
                                    .fast = (size_t)x->panels->fast_pixels,
                                    .type = DECTRIS_U32};
    struct cborpack p;
    const size_t room = items ? dectris_room(&a, o->compression) + CBORPACK_HEAD : 0;
    size_t all;
    if (!size_multiply(room, 2 * dectris_channels(o), &all))
        return error_memory(e, "the mask for the clients");
    const enum status s = cborpack_open(&p, DECTRIS_METADATA_MAX + all, e);
    if (s)
        return s;
    cborpack_map(&p, items ? FIXED_PAIRS + 2 : FIXED_PAIRS);
    put_fixed(&p, o, x, f);
    if (items)
        put_arrays(&p, o, x, items);
    return cborpack_finish(&p, m, e);
}

static enum status dectris_start(const struct content_options *o, const struct experiment *x,
                                 const struct frame *f, struct message *m, struct error *e)
{
    void *items = NULL;
    if (x->npanels != 1)
        return dectris_refuse_panels(x->npanels, e);
    if (!o->brief) {
        items = mem_array((size_t)experiment_pixels(x), 4);
        if (!items)
            return error_memory(e, "the mask for the clients");
    }
    const enum status s = start_with(o, x, f, items, m, e);
    mem_free(items);
    return s;
}

static const uint64_t SECOND_NS = 1000000000;

/* --- channels ------------------------------------------------------------------ */

/* Sets *counted to true if a channel counts the photons of a frame: their energy is above its
 * threshold.  STATUS_INPUT: the threshold is within the spectrum of the frame. */
static enum status is_counted(const struct content_options *o, const struct delivery *d,
                              size_t channel, bool *counted, struct error *e)
{
    const double threshold_eV = o->nthresholds ? o->threshold_eV[channel] : 0;
    const double low_eV = m_to_ev(d->beam.longest_m), high_eV = m_to_ev(d->beam.shortest_m);
    *counted = threshold_eV < low_eV;
    if (*counted || threshold_eV >= high_eV)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "frame %" PRIu64 ": the threshold %g eV is within the spectrum, %g to %g eV; "
                     "expected a threshold below or above it",
                     d->id, threshold_eV, low_eV, high_eV);
}

/* --- messages ------------------------------------------------------------------ */

static void put_time(struct cborpack *p, const char *key, uint64_t time_ns)
{
    cborpack_text(p, key);
    cborpack_array(p, 2);
    cborpack_uint(p, time_ns);
    cborpack_uint(p, SECOND_NS);
}

static void dectris_describe(const struct content_options *o, const struct experiment *x,
                             const struct frame *f, struct delivery *d)
{
    protocol_karabo.describe(o, x, f, d);
}

static void put_head(struct cborpack *p, const struct content_options *o, const struct delivery *d)
{
    const struct series *s = o->series;
    cborpack_map(p, 10);
    dectris_put_series(p, "image", s);
    cborpack_key_uint(p, "image_id", d->id);
    put_time(p, "real_time", s->period_ns);
    cborpack_key_date(p, "series_date", s->start_ns);
    put_time(p, "start_time", d->id * s->period_ns);
    put_time(p, "stop_time", (d->id + 1) * s->period_ns);
    cborpack_text(p, "user_data");
    cborpack_values(p, d);
}

static enum status put_channels(struct cborpack *p, const struct content_options *o,
                                const struct delivery *d, const struct dectris_array *a,
                                const void *empty, struct error *e)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, "data");
    cborpack_map(p, dectris_channels(o));
    for (size_t i = 0; i < dectris_channels(o); i++) {
        struct dectris_array channel = *a;
        bool counted;
        const enum status s = is_counted(o, d, i, &counted, e);
        if (s)
            return s;
        channel.items = counted ? a->items : empty;
        cborpack_text(p, dectris_channel(o, i, name));
        dectris_put_array(p, &channel, o->compression);
    }
    return STATUS_OK;
}

static enum status encode_into(const struct content_options *o, const struct delivery *d,
                               const void *empty, struct message *m, struct error *e)
{
    const struct dectris_array a = {.slow = d->shape[0],
                                    .fast = d->shape[1],
                                    .type = d->type == PIXEL_U16 ? DECTRIS_U16 : DECTRIS_U32,
                                    .items = d->pixels};
    const size_t room = dectris_room(&a, o->compression);
    struct cborpack p;
    size_t all;
    if (!room || !size_multiply(room + CBORPACK_HEAD, dectris_channels(o), &all))
        return error_memory(e, "an image for the clients");
    enum status s = cborpack_open(&p, DECTRIS_METADATA_MAX + all, e);
    if (s)
        return s;
    put_head(&p, o, d);
    s = put_channels(&p, o, d, &a, empty, e);
    if (s == STATUS_OK)
        return cborpack_finish(&p, m, e);
    cborpack_abort(&p);
    return s;
}

static enum status dectris_encode(const struct content_options *o, const struct delivery *d,
                                  struct message *m, struct error *e)
{
    if (d->ndims != 2)
        return dectris_refuse_panels(d->shape[0], e);
    void *empty = o->nthresholds ? mem_array(d->pixel_bytes, 1) : NULL;
    if (o->nthresholds && !empty)
        return error_memory(e, "an image for the clients");
    const enum status s = encode_into(o, d, empty, m, e);
    mem_free(empty);
    return s;
}

static enum status dectris_end(const struct content_options *o, struct message *m, struct error *e)
{
    struct cborpack p;
    const enum status s = cborpack_open(&p, DECTRIS_METADATA_MAX, e);
    if (s)
        return s;
    cborpack_map(&p, 3);
    dectris_put_series(&p, "end", o->series);
    return cborpack_finish(&p, m, e);
}

const struct protocol protocol_dectris = {
    .name = "dectris2",
    .versions = (const char *const[]){"2", NULL},
    .image_key = "threshold",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_U16 | 1 << PIXEL_U32,
    .otherwise = PIXEL_U32,
    .socket = GATEWAY_PUSH,
    .one_image = true,
    .describe = dectris_describe,
    .encode = dectris_encode,
    .start = dectris_start,
    .end = dectris_end,
};
