/*
 * Header messages.  bragg-serve makes them from the experiment.  The keys that clients have set
 * replace its values.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "eiger.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"
#include "wire/message.h"

/* Values of the start message, and the keys of the detector that have them. */
static const struct {
    const char *name, *key;
} values[] = {
    {"arm_date", "data_collection_date"},
    {"beam_center_x", "beam_center_x"},
    {"beam_center_y", "beam_center_y"},
    {"count_time", "count_time"},
    {"countrate_correction_enabled", "countrate_correction_applied"},
    {"detector_description", "description"},
    {"detector_serial_number", "detector_number"},
    {"detector_translation", "detector_translation"},
    {"flatfield_enabled", "flatfield_correction_applied"},
    {"frame_time", "frame_time"},
    {"goniometer", NULL},
    {"incident_energy", "photon_energy"},
    {"incident_wavelength", "wavelength"},
    {"number_of_images", NULL},
    {"pixel_mask_enabled", "pixel_mask_applied"},
    {"saturation_value", "countrate_correction_count_cutoff"},
    {"sensor_material", "sensor_material"},
    {"sensor_thickness", "sensor_thickness"},
    {"virtual_pixel_interpolation_enabled", "virtual_pixel_correction_applied"},
};

/* The table of the count rate correction, and the tag of an array of uint32. */
enum { UINT32_ARRAY = 70 };
#define COUNTS "countrate_correction_lookup_table"

/* Returns true if a key is COUNTS.  The reader is at the key. */
static bool is_counts(struct cborread r)
{
    size_t size;
    const uint8_t *text = cborread_string(&r, CBORREAD_TEXT, &size);
    return text && size == sizeof COUNTS - 1 && memcmp(text, COUNTS, size) == 0;
}

/* Reads a key.  Returns its place in `values`, or -1 if it is not there. */
static int read_name(struct cborread *r)
{
    size_t size;
    const uint8_t *text = cborread_string(r, CBORREAD_TEXT, &size);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strlen(values[i].name) == size && memcmp(values[i].name, text, size) == 0)
            return (int)i;
    return -1;
}

static void put_axes(struct cborpack *p, const json_t *settings)
{
    static const char *const axes[] = {"chi", "kappa", "omega", "phi", "two_theta"};
    enum { AXES = sizeof axes / sizeof *axes };
    char key[40];
    cborpack_text(p, "goniometer");
    cborpack_map(p, AXES);
    for (int i = 0; i < AXES; i++) {
        cborpack_text(p, axes[i]);
        cborpack_map(p, 2);
        (void)snprintf(key, sizeof key, "%s_increment", axes[i]);
        cborpack_key_real(p, "increment", json_number_value(json_object_get(settings, key)));
        (void)snprintf(key, sizeof key, "%s_start", axes[i]);
        cborpack_key_real(p, "start", json_number_value(json_object_get(settings, key)));
    }
}

/* Writes a key and its value.  The settings have all keys of `values`. */
static void put_value(struct cborpack *p, int place, const json_t *settings, uint64_t images)
{
    const char *name = values[place].name, *key = values[place].key;
    const json_t *value = key ? json_object_get(settings, key) : NULL;
    double reals[3] = {0};
    if (!key && strcmp(name, "number_of_images") == 0)
        cborpack_key_uint(p, name, images);
    else if (!key)
        put_axes(p, settings);
    else if (strcmp(name, "arm_date") == 0)
        cborpack_key_date(p, name, json_string_value(value));
    else if (json_is_string(value))
        cborpack_key_text(p, name, json_string_value(value));
    else if (json_is_integer(value))
        cborpack_key_uint(p, name, (uint64_t)json_integer_value(value));
    else if (json_is_boolean(value))
        cborpack_key_bool(p, name, json_is_true(value));
    else if (!json_is_array(value))
        cborpack_key_real(p, name, json_number_value(value));
    for (size_t i = 0; json_is_array(value) && i < 3; i++)
        reals[i] = json_number_value(json_array_get(value, i));
    if (json_is_array(value))
        cborpack_key_reals(p, name, reals, 3);
}

/* Copies bytes of the old message. */
static void put_copy(struct cborpack *p, const uint8_t *bytes, size_t size)
{
    p->overflow |= size > p->capacity - p->size;
    if (p->overflow)
        return;
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
}

/* Writes the table of the count rate correction. */
static void put_counts(struct cborpack *p, const struct eiger *v)
{
    size_t count;
    uint32_t *items = counter_counts(v->retriggers, v->count_s, v->cutoff, &count);
    cborpack_text(p, COUNTS);
    cborpack_tag(p, UINT32_ARRAY);
    cborpack_bytes(p, items, items ? count * sizeof *items : 0);
    free(items);
}

/* Copies the map of the old message, with the values of the settings. */
static void put_pairs(struct cborpack *p, struct cborread *r, uint64_t pairs,
                      const json_t *settings, const struct eiger *v)
{
    const uint64_t images = v->per_trigger * v->triggers;
    for (uint64_t i = 0; i < pairs && !r->failed; i++) {
        const uint8_t *start = r->at;
        const bool counts = is_counts(*r);
        const int place = read_name(r);
        cborread_skip(r);
        if (counts && !r->failed)
            put_counts(p, v);
        else if (place >= 0)
            put_value(p, place, settings, images);
        else if (!r->failed)
            put_copy(p, start, (size_t)(r->at - start));
    }
}

/* Replaces values of the start message of Stream V2, which is the current message of the outlet, by
 * the settings that the detector had at arm.  bragg-serve computes these values from the
 * experiment, where a rotated detector has another beam centre, and counters lose no photons.
 * Returns false if the message is not a map of CBOR; it is unchanged then. */
static bool header_take_settings(struct eiger *v)
{
    enum { ROOM = 4096 + 4 * (UINT16_MAX + 1) };
    struct outlet *o = v->outlet;
    struct message made = {0};
    struct cborpack p;
    size_t size;
    const uint8_t *bytes = (const uint8_t *)outlet_part(o, 0, &size);
    struct cborread r = {.at = bytes, .end = bytes + size};
    (void)cborread_item(&r, CBORREAD_TAG);
    const uint64_t pairs = cborread_item(&r, CBORREAD_MAP);
    json_t *settings = json_loads(v->settings, 0, NULL);
    bool good = !r.failed && settings;
    if (good) {
        cborpack_open(&p, size + ROOM);
        cborpack_map(&p, pairs);
        put_pairs(&p, &r, pairs, settings, v);
        good = cborpack_finish(&p, &made, NULL) == STATUS_OK && !r.failed;
    }
    if (good)
        outlet_replace(o, 0, made.parts[0].data, made.parts[0].size);
    message_free(&made);
    json_decref(settings);
    return good;
}

/* Copies the unique id of the series from a message of V2. */
static void read_unique(struct eiger *v)
{
    static const char key[] = "series_unique_id\x78\x1a";
    size_t size;
    const char *text = outlet_part(v->outlet, 0, &size);
    const char *at = text ? memmem(text, size, key, sizeof key - 1) : NULL;
    if (at && at + sizeof key - 1 + MONITOR_UNIQUE_SIZE - 1 <= text + size)
        (void)snprintf(v->facts.unique, sizeof v->facts.unique, "%.26s", at + sizeof key - 1);
}

/* Makes the unique id of a series of V1, whose messages have none. */
static void make_unique(struct eiger *v)
{
    struct series series;
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, v->number);
    series_start(&series, clock_unix_ns(), text);
    (void)snprintf(v->facts.unique, sizeof v->facts.unique, "%s", series.unique_id);
}

/* Replaces the table of the count rate correction in the header message of Stream V1, if it is
 * there. */
static void header_take_rates(struct eiger *v)
{
    enum { ABOUT = 6, ROWS = 7 };
    char about[96];
    size_t size;
    float *rows = outlet_part(v->outlet, ROWS, &size) ? counter_rates(v->retriggers) : NULL;
    if (!rows)
        return;
    (void)snprintf(about, sizeof about,
                   "{\"htype\":\"dcountrate_table-1.0\",\"shape\":[2,%d],\"type\":\"float32\"}",
                   COUNTER_RATES);
    outlet_replace(v->outlet, ABOUT, about, strlen(about));
    outlet_replace(v->outlet, ROWS, rows, 2 * COUNTER_RATES * sizeof *rows);
    free(rows);
}

void header_take(struct eiger *v)
{
    if (v->headed) {
        outlet_replace(v->outlet, 1, v->settings, strlen(v->settings));
        header_take_rates(v);
    }
    if (v->stream == OUTLET_V2) {
        read_unique(v);
        if (!header_take_settings(v))
            log_line(LOG_WARNING,
                     "series %" PRIu64 ": the start message cannot be read, and has "
                     "values of bragg-serve",
                     v->number);
    } else {
        make_unique(v);
    }
}

void header_take_date(struct outlet *o, const char *date)
{
    static const char key[] = "kseries_date\xc0\x78";
    enum { BEFORE = 512, KEY = sizeof key - 1 };
    size_t size;
    const char *text = outlet_part(o, 0, &size);
    const char *at = text ? memmem(text, size < BEFORE ? size : BEFORE, key, KEY) : NULL;
    if (at && (size_t)(unsigned char)at[KEY] == strlen(date))
        outlet_overwrite(o, (size_t)(at + KEY + 1 - text), date, strlen(date));
}
