/*
 * Stream V2 of Dectris' detectors, and the stream of Jungfraujoch, which is made from it.  Each
 * message is one part, which is a map in CBOR: a start message, images numbered from 0, and an end
 * message.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "codec/bslz4.h"
#include "gateway/dectris.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

enum { DECTRIS_METADATA_MAX = 65536 };  // bytes of a message without its arrays

/* The types of arrays, with their tags of RFC 8746. */
enum dectris_type { DECTRIS_U16 = 69, DECTRIS_U32 = 70, DECTRIS_I32 = 78, DECTRIS_F32 = 85 };

/* An array of slow x fast items, little-endian, whose fast axis varies fastest. */
struct dectris_array {
    size_t slow, fast;
    enum dectris_type type;
    const void *items;                  // borrowed
    const struct image *image;          // the image whose pixels the items are; NULL: there is none
    const struct bslz4_blanks *blanks;  // items without data, if they are packed; NULL: none
};

enum { DECTRIS_NAME_SIZE = 80 };

/* --- arrays and channels ------------------------------------------------------- */

enum { MULTI_DIMENSIONAL = 40, COMPRESSED = 56500 };  // tags of RFC 8746 and of Dectris

static enum dectris_type array_type(enum pixel_type type)
{
    return type == PIXEL_U16 ? DECTRIS_U16 : type == PIXEL_I32 ? DECTRIS_I32 : DECTRIS_U32;
}

static size_t item_size(enum dectris_type type)
{
    return type == DECTRIS_U16 ? 2 : 4;
}

static enum status refuse_large(const struct dectris_array *a, const char *what, struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "%s of %zu x %zu pixels is too large for a message to clients; expected a "
                     "smaller image, or fewer thresholds",
                     what, a->fast, a->slow);
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
        cborpack_blob_end(p, bslz4 ? dectris_pack(a->image, a->items, count, size, a->blanks, blob)
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
    const size_t first = o->first_channel ? (size_t)o->first_channel : 1;
    (void)snprintf(name, DECTRIS_NAME_SIZE, "%.50s_%zu", o->image_key, channel + first);
    return name;
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

static void put_thresholds(struct cborpack *p, const struct content_options *o,
                           const struct dectris_setup *d)
{
    char name[DECTRIS_NAME_SIZE];
    cborpack_text(p, "channels");
    cborpack_array(p, d->nchannels);
    for (size_t i = 0; i < d->nchannels; i++)
        cborpack_text(p, dectris_channel(o, i, name));
    cborpack_text(p, "threshold_energy");
    cborpack_map(p, d->nchannels);
    for (size_t i = 0; i < d->nchannels; i++)
        cborpack_key_real(p, dectris_channel(o, i, name), d->threshold_eV[i]);
}

static void put_goniometer(struct cborpack *p, const struct dectris_setup *d)
{
    cborpack_text(p, "goniometer");
    cborpack_map(p, DECTRIS_AXES);
    for (int i = 0; i < DECTRIS_AXES; i++) {
        cborpack_text(p, d->axes[i].name);
        cborpack_map(p, 2);
        cborpack_key_real(p, "increment", d->axes[i].increment_deg);
        cborpack_key_real(p, "start", d->axes[i].start_deg);
    }
}

enum { BEGIN_PAIRS = 6, SETTING_PAIRS = 22, ARRAY_PAIRS = 3 };

static void put_begin(struct cborpack *p, const struct content_options *o,
                      const struct dectris_setup *d)
{
    dectris_put_series(p, "start", o->series);
    cborpack_key_date(p, "arm_date", d->date);
    cborpack_key_real(p, "beam_center_x", d->beam_center_x);
    cborpack_key_real(p, "beam_center_y", d->beam_center_y);
}

static void put_settings(struct cborpack *p, const struct content_options *o,
                         const struct dectris_setup *d)
{
    cborpack_key_real(p, "count_time", d->count_time_s);
    cborpack_key_bool(p, "countrate_correction_enabled", false);
    cborpack_key_text(p, "detector_description", o->source);
    cborpack_key_text(p, "detector_serial_number", DECTRIS_SERIAL);
    cborpack_key_reals(p, "detector_translation", d->translation_m, 3);
    cborpack_key_bool(p, "flatfield_enabled", false);
    cborpack_key_real(p, "frame_time", d->frame_time_s);
    put_goniometer(p, d);
    cborpack_key_text(p, "image_dtype", d->dtype);
    cborpack_key_uint(p, "image_size_x", d->fast);
    cborpack_key_uint(p, "image_size_y", d->slow);
    cborpack_key_real(p, "incident_energy", d->energy_eV);
    cborpack_key_real(p, "incident_wavelength", d->wavelength_A);
    cborpack_key_uint(p, "number_of_images", o->series->images);
    cborpack_key_bool(p, "pixel_mask_enabled", true);
    cborpack_key_real(p, "pixel_size_x", d->pixel_m);
    cborpack_key_real(p, "pixel_size_y", d->pixel_m);
    cborpack_key_uint(p, "saturation_value", d->cutoff);
    cborpack_key_text(p, "sensor_material", d->material);
    cborpack_key_real(p, "sensor_thickness", d->thickness_m);
    cborpack_text(p, "user_data");
    cborpack_json(p, o->header_appendix ? o->header_appendix : "");
    cborpack_key_bool(p, "virtual_pixel_interpolation_enabled", false);
}

/* --- arrays of the start message ------------------------------------------------ */

/* Returns the length of the table of the count rate correction: it ends with the largest value that
 * means photons, or with the largest value of 16 bits. */
static size_t countrate_items(const struct dectris_setup *d)
{
    return (size_t)(d->cutoff < UINT16_MAX ? d->cutoff : UINT16_MAX) + 1;
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

/* Writes the table of the count rate correction, which changes nothing: item n is n. */
static void put_countrates(struct cborpack *p, const struct dectris_setup *d, uint32_t *items)
{
    const size_t count = countrate_items(d);
    for (size_t i = 0; i < count; i++)
        items[i] = (uint32_t)i;
    cborpack_text(p, "countrate_correction_lookup_table");
    cborpack_tag(p, DECTRIS_U32);
    cborpack_bytes(p, items, count * sizeof *items);
}

/* Writes the flat field, the mask and the table of the count rate correction.  Each is built in
 * `items` in turn; an item has four bytes. */
static void put_arrays(struct cborpack *p, const struct content_options *o,
                       const struct experiment *x, const struct dectris_setup *d, void *items)
{
    struct dectris_array a = {
        .slow = d->slow, .fast = d->fast, .type = DECTRIS_F32, .items = items};
    dectris_fill_flat(d, items);
    put_for_all(p, o, "flatfield", &a);
    (void)dectris_fill_mask(o, x, items);
    a.type = DECTRIS_U32;
    put_for_all(p, o, "pixel_mask", &a);
    put_countrates(p, d, items);
}

static enum status start_with(const struct content_options *o, const struct experiment *x,
                              const struct dectris_setup *d, void *items, struct message *m,
                              struct error *e)
{
    const struct dectris_array a = {.slow = d->slow, .fast = d->fast, .type = DECTRIS_U32};
    struct cborpack p;
    const size_t room = items ? dectris_room(&a, o->compression) + CBORPACK_HEAD : 0;
    const size_t table = items ? countrate_items(d) * sizeof(uint32_t) : 0;
    size_t all;
    if (!size_multiply(room, 2 * d->nchannels, &all))
        return refuse_large(&a, "the mask", e);
    cborpack_open(&p, DECTRIS_METADATA_MAX + table + all);
    cborpack_map(&p, BEGIN_PAIRS + 2 + SETTING_PAIRS + (items ? ARRAY_PAIRS : 0));
    put_begin(&p, o, d);
    put_thresholds(&p, o, d);
    put_settings(&p, o, d);
    if (items)
        put_arrays(&p, o, x, d, items);
    return cborpack_finish(&p, m, e);
}

static enum status dectris2_start(const struct content_options *o, const struct experiment *x,
                                  const struct frame *f, struct message *m, struct error *e)
{
    struct dectris_setup d;
    void *items = NULL;
    enum status s = dectris_describe(&d, o, x, f, e);
    if (s)
        return s;
    if (o->detail == CONTENT_ALL) {
        const size_t count = d.slow * d.fast, table = countrate_items(&d);
        items = mem_array(count > table ? count : table, 4);
    }
    s = start_with(o, x, &d, items, m, e);
    mem_free(items);
    return s;
}

/* --- messages ------------------------------------------------------------------ */

/* Writes a time as detectors count it: the number of ticks, and the ticks of a second. */
static void put_time(struct cborpack *p, const char *key, uint64_t time_ns)
{
    static const uint64_t ticks_hz = 50000000, tick_ns = 20;
    cborpack_text(p, key);
    cborpack_array(p, 2);
    cborpack_uint(p, time_ns / tick_ns);
    cborpack_uint(p, ticks_hz);
}

static void dectris2_describe(const struct content_options *o, const struct experiment *x,
                              const struct frame *f, struct delivery *d)
{
    protocol_karabo.describe(o, x, f, d);
}

enum { IMAGE_PAIRS = 8 };

/* Writes the pairs with which the message of an image begins. */
static void put_head(struct cborpack *p, const struct content_options *o, const struct delivery *d)
{
    const struct dectris_times t = dectris_times(o->series, d->id);
    char date[DECTRIS_DATE_SIZE];
    dectris_put_series(p, "image", o->series);
    cborpack_key_uint(p, "image_id", d->id);
    put_time(p, "real_time", t.real_ns);
    cborpack_key_date(p, "series_date", dectris_date(o->series->start_ns, date));
    put_time(p, "start_time", t.start_ns);
    put_time(p, "stop_time", t.stop_ns);
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
        const enum status s = dectris_counts(o, d, i, &counted, e);
        if (s)
            return s;
        channel.items = counted ? a->items : empty;
        channel.image = counted ? a->image : NULL;
        channel.blanks = counted ? a->blanks : NULL;
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
                                    .type = array_type(d->type),
                                    .items = d->pixels,
                                    .image = delivery_image(d),
                                    .blanks = o->blanks};
    const size_t room = dectris_room(&a, o->compression);
    struct cborpack p;
    size_t all;
    if (!room || !size_multiply(room + CBORPACK_HEAD, dectris_channels(o), &all))
        return refuse_large(&a, "an image", e);
    cborpack_open(&p, DECTRIS_METADATA_MAX + all);
    cborpack_map(&p, IMAGE_PAIRS + 2);
    put_head(&p, o, d);
    cborpack_text(&p, "user_data");
    if (o->image_appendix)
        cborpack_json(&p, o->image_appendix);
    else
        cborpack_values(&p, d);
    const enum status s = put_channels(&p, o, d, &a, empty, e);
    if (s == STATUS_OK)
        return cborpack_finish(&p, m, e);
    cborpack_abort(&p);
    return s;
}

static enum status dectris2_encode(const struct content_options *o, const struct delivery *d,
                                   struct message *m, struct error *e)
{
    enum status s = dectris_check_panels(d->ndims == 2 ? 1 : d->shape[0], e);
    if (s)
        return s;
    void *empty = o->nthresholds ? mem_array(d->pixel_bytes, 1) : NULL;
    s = encode_into(o, d, empty, m, e);
    mem_free(empty);
    return s;
}

static enum status dectris2_end(const struct content_options *o, struct message *m, struct error *e)
{
    struct cborpack p;
    cborpack_open(&p, DECTRIS_METADATA_MAX);
    cborpack_map(&p, 3);
    dectris_put_series(&p, "end", o->series);
    return cborpack_finish(&p, m, e);
}

const struct protocol protocol_dectris2 = {
    .name = "dectris2",
    .versions = (const char *const[]){"2", NULL},
    .image_key = "threshold",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_U16 | 1 << PIXEL_U32,
    .otherwise = PIXEL_U32,
    .socket = GATEWAY_PUSH,
    .one_image = true,
    .blanks = true,
    .channels = CONTENT_THRESHOLDS_MAX,
    .describe = dectris2_describe,
    .encode = dectris2_encode,
    .start = dectris2_start,
    .end = dectris2_end,
};

/* --- Jungfraujoch --------------------------------------------------------------- */

enum { SPOT_BYTES = 64 };  // of a spot in a message, at most

/* Returns the value of pixels without data. */
static int64_t error_value(enum pixel_type type)
{
    return type == PIXEL_U16 ? UINT16_MAX : type == PIXEL_U32 ? (int64_t)UINT32_MAX : INT32_MIN;
}

/* Writes a map with one array, that of the only channel. */
static void put_only_array(struct cborpack *p, const struct content_options *o, const char *key,
                           const struct dectris_array *a, int compression)
{
    cborpack_text(p, key);
    cborpack_map(p, 1);
    cborpack_text(p, o->image_key);
    dectris_put_array(p, a, compression);
}

static enum status jungfraujoch_start(const struct content_options *o, const struct experiment *x,
                                      const struct frame *f, struct message *m, struct error *e)
{
    struct dectris_setup d;
    struct cborpack p;
    const enum status s = dectris_describe(&d, o, x, f, e);
    if (s)
        return s;
    uint32_t *mask = mem_array(d.slow * d.fast, sizeof *mask);
    const struct dectris_array a = {
        .slow = d.slow, .fast = d.fast, .type = DECTRIS_U32, .items = mask};
    (void)dectris_fill_mask(o, x, mask);
    cborpack_open(&p, DECTRIS_METADATA_MAX + dectris_room(&a, CONTENT_PLAIN));
    cborpack_map(&p, BEGIN_PAIRS + SETTING_PAIRS + 5);
    put_begin(&p, o, &d);
    cborpack_text(&p, "channels");
    cborpack_array(&p, 1);
    cborpack_text(&p, o->image_key);
    put_settings(&p, o, &d);
    cborpack_key_uint(&p, "magic_number", (uint64_t)o->magic);
    cborpack_key_real(&p, "detector_distance", d.translation_m[2]);
    cborpack_key_int(&p, "error_value", error_value(f->image.type));
    put_only_array(&p, o, "pixel_mask", &a, CONTENT_PLAIN);
    mem_free(mask);
    return cborpack_finish(&p, m, e);
}

/* Adds what an analysis of the frame would find: with --truth, the lattice and its cell. */
static void jungfraujoch_describe(const struct content_options *o, const struct experiment *x,
                                  const struct frame *f, struct delivery *d)
{
    const struct recipe *r = &f->recipe;
    delivery_pulse(d, "xfel_pulse_id", x, r);
    delivery_saturated(d, x, &f->image);
    if (!o->truth)
        return;
    delivery_bool(d, "indexing_result", r->nlattices > 0);
    if (!r->nlattices || r->lattices->crystal >= x->ncrystals ||
        !x->crystals[r->lattices->crystal].has_cell)
        return;
    double cell[6];
    lattice_cell(x, r->lattices, cell);
    delivery_reals(d, "indexing_unit_cell", cell, 6);
}

/* Writes a value.  A list of six numbers is a unit cell, which is a map. */
static void put_value(struct cborpack *p, const struct value *v)
{
    static const char *const keys[] = {"a", "b", "c", "alpha", "beta", "gamma"};
    if (v->type != VALUE_REALS) {
        cborpack_value(p, v);
        return;
    }
    cborpack_text(p, v->key);
    cborpack_map(p, 6);
    for (int i = 0; i < 6; i++)
        cborpack_key_real(p, keys[i], v->reals[i]);
}

/* Writes the list of spots, which is there in every image, as clients expect.  Clients count pixels
 * from the corner of the image, not from the centre of its first pixel. */
static void put_spots(struct cborpack *p, const struct delivery *d)
{
    if (d->peaks)
        cborpack_key_uint(p, "spot_count", d->npeaks);
    cborpack_text(p, "spots");
    cborpack_array(p, d->npeaks);
    for (size_t i = 0; i < d->npeaks; i++) {
        cborpack_map(p, 3);
        cborpack_key_real(p, "x", d->peaks[i].fast + 0.5);
        cborpack_key_real(p, "y", d->peaks[i].slow + 0.5);
        cborpack_key_real(p, "intensity", d->peaks[i].intensity);
    }
}

/* Returns the number of pairs that put_image writes. */
static size_t image_pairs(const struct content_options *o, const struct delivery *d)
{
    return IMAGE_PAIRS + d->nvalues + 1 + (d->peaks != NULL) + (o->image_appendix != NULL);
}

/* Writes what the message of an image has, except the image. */
static void put_image(struct cborpack *p, const struct content_options *o, const struct delivery *d)
{
    put_head(p, o, d);
    for (size_t i = 0; i < d->nvalues; i++)
        put_value(p, &d->values[i]);
    put_spots(p, d);
    if (o->image_appendix) {
        cborpack_text(p, "user_data");
        cborpack_json(p, o->image_appendix);
    }
}

/* Adds an image, without its pixels, to the metadata that wait for their message. */
static enum status bundle_add(struct bundle *b, const struct content_options *o,
                              const struct delivery *d, struct error *e)
{
    struct cborpack p;
    struct message m = {0};
    cborpack_open_after(&p, 0, DECTRIS_METADATA_MAX + d->npeaks * SPOT_BYTES);
    cborpack_map(&p, image_pairs(o, d));
    put_image(&p, o, d);
    const enum status s = cborpack_finish(&p, &m, e);
    if (s)
        return s;
    const size_t size = m.parts[0].size - 1;  // without the first byte
    if (b->size + size > b->room) {
        uint8_t *more = mem_room(b->room = 2 * (b->size + size));
        if (b->items)
            memcpy(more, b->items, b->size);
        mem_free(b->items);
        b->items = more;
    }
    memcpy(b->items + b->size, (const uint8_t *)m.parts[0].data + 1, size);
    b->size += size;
    b->images++;
    message_free(&m);
    return STATUS_OK;
}

static enum status jungfraujoch_metadata(const struct content_options *o, struct message *m,
                                         struct error *e)
{
    struct cborpack p;
    struct bundle *b = o->bundle;
    cborpack_open(&p, DECTRIS_METADATA_MAX + b->size);
    cborpack_map(&p, 4);
    dectris_put_series(&p, "metadata", o->series);
    cborpack_text(&p, "images");
    cborpack_array(&p, b->images);
    cborpack_items(&p, b->items, b->size);
    b->size = b->images = 0;
    return cborpack_finish(&p, m, e);
}

static enum status jungfraujoch_encode(const struct content_options *o, const struct delivery *d,
                                       struct message *m, struct error *e)
{
    const struct dectris_array a = {.slow = d->shape[0],
                                    .fast = d->shape[1],
                                    .type = array_type(d->type),
                                    .items = d->pixels,
                                    .image = delivery_image(d)};
    const size_t room = dectris_room(&a, o->compression);
    struct cborpack p;
    const enum status s = dectris_check_panels(d->ndims == 2 ? 1 : d->shape[0], e);
    if (s)
        return s;
    if (!room)
        return refuse_large(&a, "an image", e);
    cborpack_open(&p, DECTRIS_METADATA_MAX + d->npeaks * SPOT_BYTES + room);
    cborpack_map(&p, image_pairs(o, d) + 1);
    put_image(&p, o, d);
    put_only_array(&p, o, "data", &a, o->compression);
    const enum status packed = cborpack_finish(&p, m, e);
    return packed || !o->bundle ? packed : bundle_add(o->bundle, o, d, e);
}

const struct protocol protocol_jungfraujoch = {
    .name = "jungfraujoch",
    .versions = (const char *const[]){"2", NULL},
    .image_key = "default",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_U16 | 1 << PIXEL_U32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .no_data = INT32_MIN,
    .socket = GATEWAY_PUSH,
    .one_image = true,
    .channels = 1,
    .describe = jungfraujoch_describe,
    .encode = jungfraujoch_encode,
    .start = jungfraujoch_start,
    .end = dectris2_end,
    .metadata = jungfraujoch_metadata,
};
