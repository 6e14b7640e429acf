/*
 * Stream V1 of Dectris' detectors.  Each message has several parts, most of them objects in JSON: a
 * header message, images numbered from 0, and an end message.  Shapes are [fast, slow].
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "codec/bslz4.h"
#include "gateway/dectris.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

static const char *const DETAILS[] = {"all", "basic", "none"};
static const char *const COMPRESSIONS[] = {"bslz4", "lz4", "none"};

/* Begins a part that says what it is. */
static enum status open_part(struct jsonpack *j, const char *type, struct error *e)
{
    const enum status s = jsonpack_open(j, e);
    if (s == STATUS_OK)
        jsonpack_text(j, "htype", type);
    return s;
}

/* Adds the text of the user, unless it is empty.  `text` may be NULL. */
static enum status put_appendix(const char *text, struct message *m, struct error *e)
{
    return text && *text ? pack_copy(m, text, strlen(text), e) : STATUS_OK;
}

/* --- the header message: the settings of the detector -------------------------- */

static enum status put_first(const struct content_options *o, struct message *m, struct error *e)
{
    struct jsonpack j;
    const enum status s = open_part(&j, "dheader-1.0", e);
    if (s)
        return s;
    jsonpack_uint(&j, "series", o->series->number);
    jsonpack_text(&j, "header_detail", DETAILS[o->detail]);
    return jsonpack_finish(&j, m, e);
}

static void put_axis(struct jsonpack *j, const struct dectris_axis *axis)
{
    char increment[32], start[32];
    (void)snprintf(increment, sizeof increment, "%s_increment", axis->name);
    (void)snprintf(start, sizeof start, "%s_start", axis->name);
    jsonpack_real(j, increment, axis->increment_deg);
    jsonpack_real(j, start, axis->start_deg);
}

/* Returns the exposure in s of the images that the detector adds up to one image.  It counts for
 * 5 ms at most before it reads its counters. */
static double subframe_s(const struct dectris_setup *d)
{
    return d->frame_time_s / fmax(1, ceil(d->frame_time_s / 5e-3));
}

/* Writes the first half of the settings, in the order of the alphabet. */
static void put_settings_to_energy(struct jsonpack *j, const struct content_options *o,
                                   const struct dectris_setup *d)
{
    jsonpack_bool(j, "auto_summation", true);
    jsonpack_real(j, "beam_center_x", d->beam_center_x);
    jsonpack_real(j, "beam_center_y", d->beam_center_y);
    jsonpack_uint(j, "bit_depth_image", d->bits);
    jsonpack_uint(j, "bit_depth_readout", 16);
    put_axis(j, &d->axes[DECTRIS_CHI]);
    jsonpack_text(j, "compression", COMPRESSIONS[o->compression]);
    jsonpack_real(j, "count_time", d->count_time_s);
    jsonpack_bool(j, "countrate_correction_applied", false);
    jsonpack_uint(j, "countrate_correction_count_cutoff", d->cutoff);
    jsonpack_text(j, "data_collection_date", d->date);
    jsonpack_text(j, "description", o->source);
    jsonpack_real(j, "detector_distance", d->translation_m[2]);
    jsonpack_text(j, "detector_number", DECTRIS_SERIAL);
    jsonpack_real(j, "detector_readout_time", DECTRIS_READOUT_NS / 1e9);
    jsonpack_reals(j, "detector_translation", d->translation_m, 3);
    jsonpack_text(j, "eiger_fw_version", "simulated");
    jsonpack_text(j, "element", "");
}

/* Writes the second half of the settings.  `masked`: the number of masked pixels. */
static void put_settings_from_flatfield(struct jsonpack *j, const struct content_options *o,
                                        const struct dectris_setup *d, uint64_t masked)
{
    jsonpack_bool(j, "flatfield_correction_applied", false);
    jsonpack_real(j, "frame_count_time", subframe_s(d));
    jsonpack_real(j, "frame_period", d->frame_time_s);
    jsonpack_real(j, "frame_time", d->frame_time_s);
    put_axis(j, &d->axes[DECTRIS_KAPPA]);
    jsonpack_uint(j, "nimages", o->series->images);
    jsonpack_uint(j, "ntrigger", 1);
    jsonpack_uint(j, "number_of_excluded_pixels", masked);
    put_axis(j, &d->axes[DECTRIS_OMEGA]);
    put_axis(j, &d->axes[DECTRIS_PHI]);
    jsonpack_real(j, "photon_energy", d->energy_eV);
    jsonpack_bool(j, "pixel_mask_applied", true);
    jsonpack_text(j, "roi_mode", "");
    jsonpack_text(j, "sensor_material", d->material);
    jsonpack_real(j, "sensor_thickness", d->thickness_m);
    jsonpack_text(j, "software_version", "1.8.0");  // of the interface of the detector
    jsonpack_real(j, "threshold_energy", d->threshold_eV[0]);
    jsonpack_text(j, "trigger_mode", "ints");
    put_axis(j, &d->axes[DECTRIS_TWO_THETA]);
    jsonpack_bool(j, "virtual_pixel_correction_applied", false);
    jsonpack_real(j, "wavelength", d->wavelength_A);
    jsonpack_real(j, "x_pixel_size", d->pixel_m);
    jsonpack_uint(j, "x_pixels_in_detector", d->fast);
    jsonpack_real(j, "y_pixel_size", d->pixel_m);
    jsonpack_uint(j, "y_pixels_in_detector", d->slow);
}

static enum status put_settings(const struct content_options *o, const struct dectris_setup *d,
                                uint64_t masked, struct message *m, struct error *e)
{
    struct jsonpack j;
    const enum status s = jsonpack_open(&j, e);
    if (s)
        return s;
    put_settings_to_energy(&j, o, d);
    put_settings_from_flatfield(&j, o, d, masked);
    return jsonpack_finish(&j, m, e);
}

/* --- arrays of the header message ------------------------------------------------ */

/* Adds two parts: what an array of 4-byte items is, and the array, which is copied. */
static enum status put_array(const char *htype, const char *type, const size_t shape[2],
                             const void *items, struct message *m, struct error *e)
{
    struct jsonpack j;
    enum status s = open_part(&j, htype, e);
    if (s)
        return s;
    jsonpack_uints(&j, "shape", shape, 2);
    jsonpack_text(&j, "type", type);
    s = jsonpack_finish(&j, m, e);
    return s ? s : pack_copy(m, items, 4 * shape[0] * shape[1], e);
}

static enum status put_flatfield(const struct dectris_setup *d, struct message *m, struct error *e)
{
    const size_t shape[] = {d->fast, d->slow};
    float *flat = mem_array(d->fast * d->slow, sizeof *flat);
    dectris_fill_flat(d, flat);
    const enum status s = put_array("dflatfield-1.0", "float32", shape, flat, m, e);
    mem_free(flat);
    return s;
}

/* Adds the table of the count rate correction: rows of a true and a measured rate in counts per
 * second.  Both are equal, because counts are not corrected. */
static enum status put_countrates(const struct dectris_setup *d, struct message *m, struct error *e)
{
    enum { RATES = 2, ROWS = 2 };
    const size_t shape[] = {RATES, ROWS};
    const float most = (float)((double)d->cutoff / d->count_time_s);
    const float table[ROWS][RATES] = {{0, 0}, {most, most}};
    return put_array("dcountrate_table-1.0", "float32", shape, table, m, e);
}

/* Adds the parts of a detail above "none". */
static enum status put_details(const struct content_options *o, const struct experiment *x,
                               const struct dectris_setup *d, struct message *m, struct error *e)
{
    const size_t shape[] = {d->fast, d->slow};
    uint32_t *mask = mem_array(d->fast * d->slow, sizeof *mask);
    const uint64_t masked = dectris_fill_mask(o, x, mask);
    enum status s = put_settings(o, d, masked, m, e);
    if (o->detail == CONTENT_ALL) {
        s = s ? s : put_flatfield(d, m, e);
        s = s ? s : put_array("dpixelmask-1.0", "uint32", shape, mask, m, e);
        s = s ? s : put_countrates(d, m, e);
    }
    mem_free(mask);
    return s;
}

static enum status dectris1_start(const struct content_options *o, const struct experiment *x,
                                  const struct frame *f, struct message *m, struct error *e)
{
    struct dectris_setup d;
    enum status s = dectris_describe(&d, o, x, f, e);
    s = s ? s : put_first(o, m, e);
    if (o->detail != CONTENT_NO_DETAIL)
        s = s ? s : put_details(o, x, &d, m, e);
    s = s ? s : put_appendix(o->header_appendix, m, e);
    if (s)
        message_free(m);
    return s;
}

/* --- images ---------------------------------------------------------------------- */

/* The first values of an image are in part 1, and its times are in part 4. */
enum { VALUES_OF_PART_1 = 2 };

static void dectris1_describe(const struct content_options *o, const struct experiment *x,
                              const struct frame *f, struct delivery *d)
{
    const struct dectris_times t = dectris_times(o->series, f->recipe.id);
    (void)x;
    delivery_int(d, "series", (int64_t)o->series->number);
    delivery_int(d, "frame", (int64_t)f->recipe.id);
    delivery_int(d, "start_time", (int64_t)t.start_ns);
    delivery_int(d, "stop_time", (int64_t)t.stop_ns);
    delivery_int(d, "real_time", (int64_t)t.real_ns);
}

/* Writes the pixels with the compression of the options into *blob, which the caller releases.
 * STATUS_INPUT: LZ4 has no block of this size.  STATUS_FAILED: out of memory. */
static enum status pack_pixels(const struct content_options *o, const struct delivery *d,
                               const void *pixels, struct part *blob, struct error *e)
{
    const bool counted = pixels == d->pixels;
    const size_t size = pixel_size(d->type), count = d->pixel_bytes / size;
    const size_t room = o->compression == CONTENT_BSLZ4 ? bslz4_bound(count, size)
                        : o->compression == CONTENT_LZ4 ? lz4_block_bound(d->pixel_bytes)
                                                        : d->pixel_bytes;
    if (!room)
        return error_set(e, STATUS_INPUT,
                         "an image of %zu bytes is too large for --compression=%s; expected at "
                         "most 2113929216 bytes",
                         d->pixel_bytes, COMPRESSIONS[o->compression]);
    uint8_t *to = mem_room(room);
    *blob = (struct part){.data = to, .size = d->pixel_bytes, .release = mem_free, .owner = to};
    if (o->compression == CONTENT_BSLZ4)
        blob->size = dectris_pack(counted ? delivery_image(d) : NULL, pixels, count, size,
                                  counted ? o->blanks : NULL, to);
    else if (o->compression == CONTENT_LZ4)
        blob->size = lz4_block_compress(pixels, d->pixel_bytes, to);
    else
        memcpy(to, pixels, d->pixel_bytes);
    return STATUS_OK;
}

/* Adds part 1: what identifies the image, and the checksum of its blob. */
static enum status put_identity(const struct delivery *d, const struct part *blob,
                                struct message *m, struct error *e)
{
    struct jsonpack j;
    uint8_t sum[MD5_BYTES];
    char hash[2 * MD5_BYTES + 1];
    const enum status s = open_part(&j, "dimage-1.0", e);
    if (s)
        return s;
    md5_compute(blob->data, blob->size, sum);
    for (size_t i = 0; i < MD5_BYTES; i++)
        (void)snprintf(hash + 2 * i, 3, "%02x", sum[i]);
    for (size_t i = 0; i < VALUES_OF_PART_1; i++)
        jsonpack_value(&j, &d->values[i]);
    jsonpack_text(&j, "hash", hash);
    return jsonpack_finish(&j, m, e);
}

/* Adds part 2: what the blob, which is part 3, contains. */
static enum status put_form(const struct content_options *o, const struct delivery *d,
                            size_t blob_bytes, struct message *m, struct error *e)
{
    struct jsonpack j;
    char shuffled[24];
    const enum status s = open_part(&j, "dimage_d-1.0", e);
    if (s)
        return s;
    (void)snprintf(shuffled, sizeof shuffled, "bs%zu-lz4<", 8 * pixel_size(d->type));
    jsonpack_uints(&j, "shape", (const size_t[]){d->shape[1], d->shape[0]}, 2);
    jsonpack_text(&j, "type", delivery_dtype(d->type));
    jsonpack_text(&j, "encoding",
                  o->compression == CONTENT_BSLZ4 ? shuffled
                  : o->compression == CONTENT_LZ4 ? "lz4<"
                                                  : "<");
    jsonpack_uint(&j, "size", blob_bytes);
    return jsonpack_finish(&j, m, e);
}

/* Adds part 4: when the image was exposed. */
static enum status put_times(const struct delivery *d, struct message *m, struct error *e)
{
    struct jsonpack j;
    const enum status s = open_part(&j, "dconfig-1.0", e);
    if (s)
        return s;
    for (size_t i = VALUES_OF_PART_1; i < d->nvalues; i++)
        jsonpack_value(&j, &d->values[i]);
    return jsonpack_finish(&j, m, e);
}

/* Adds all parts of an image.  Takes ownership of *blob. */
static enum status put_image(const struct content_options *o, const struct delivery *d,
                             struct part *blob, struct message *m, struct error *e)
{
    enum status s = put_identity(d, blob, m, e);
    s = s ? s : put_form(o, d, blob->size, m, e);
    if (s) {
        mem_free(blob->owner);
        return s;
    }
    s = message_add(m, *blob, e);
    s = s ? s : put_times(d, m, e);
    return s ? s : put_appendix(o->image_appendix, m, e);
}

static enum status dectris1_encode(const struct content_options *o, const struct delivery *d,
                                   struct message *m, struct error *e)
{
    bool counted;
    struct part blob;
    enum status s = dectris_check_panels(d->ndims == 2 ? 1 : d->shape[0], e);
    s = s ? s : dectris_counts(o, d, 0, &counted, e);
    if (s)
        return s;
    void *empty = counted ? NULL : mem_array(d->pixel_bytes, 1);
    s = pack_pixels(o, d, counted ? d->pixels : empty, &blob, e);
    mem_free(empty);
    s = s ? s : put_image(o, d, &blob, m, e);
    if (s)
        message_free(m);
    return s;
}

static enum status dectris1_end(const struct content_options *o, struct message *m, struct error *e)
{
    struct jsonpack j;
    const enum status s = open_part(&j, "dseries_end-1.0", e);
    if (s)
        return s;
    jsonpack_uint(&j, "series", o->series->number);
    return jsonpack_finish(&j, m, e);
}

const struct protocol protocol_dectris1 = {
    .name = "dectris1",
    .versions = (const char *const[]){"1", NULL},
    .image_key = "image",  // not sent
    .source = "braggpipe",
    .allowed = 1 << PIXEL_U16 | 1 << PIXEL_U32,
    .otherwise = PIXEL_U32,
    .socket = GATEWAY_PUSH,
    .one_image = true,
    .blanks = true,
    .channels = 1,
    .describe = dectris1_describe,
    .encode = dectris1_encode,
    .start = dectris1_start,
    .end = dectris1_end,
};
