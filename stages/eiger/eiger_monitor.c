/*
 * The monitor: the last images, as messages of the pipeline, which are unpacked when a client asks
 * for them.  An image is sent as TIFF with two directories: the one of Dectris, whose values some
 * clients read at fixed places, and the one of the pixels.
 */
#include "eiger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/dectris.h"

enum { SLOTS_MAX = 10000, WAIT_MS = 500, WAIT_MAX_MS = 3600000 };
static const size_t BYTES_MAX = (size_t)4 << 30;  // of all images

struct shot {
    struct outlet_image *pixels;  // owned; NULL: none
    struct monitor_series series;
    uint64_t image;
    char date[DECTRIS_DATE_SIZE];
};

struct monitor {
    struct shot ring[SLOTS_MAX];  // `count` of them from `first` on
    size_t first, count, bytes;
    struct shot newest;
    uint64_t dropped;
};

struct monitor *monitor_open(void)
{
    return mem_array(1, sizeof(struct monitor));
}

static struct shot *shot_at(struct monitor *m, size_t i)
{
    return &m->ring[(m->first + i) % SLOTS_MAX];
}

static void show_state(const struct monitor *m, struct eiger_keys *keys)
{
    const json_int_t room = (json_int_t)keys_uint(keys, "monitor:config:buffer_size");
    keys_set(keys, "monitor:status:buffer_fill_level",
             json_pack("[II]", (json_int_t)m->count, room));
    keys_set(keys, "monitor:status:buffer_free",
             json_integer((json_int_t)((BYTES_MAX - m->bytes) / 1024)));
    keys_set(keys, "monitor:status:dropped", json_integer((json_int_t)m->dropped));
    keys_set(keys, "monitor:status:state", json_string(m->dropped ? "overflow" : "normal"));
}

/* --- the buffer ------------------------------------------------------------------ */

static void remove_first(struct monitor *m)
{
    struct shot *s = shot_at(m, 0);
    m->bytes -= outlet_image_bytes(s->pixels);
    outlet_image_free(s->pixels);
    s->pixels = NULL;
    m->first = (m->first + 1) % SLOTS_MAX;
    m->count--;
}

static void remove_all(struct monitor *m)
{
    while (m->count)
        remove_first(m);
}

void monitor_close(struct monitor *m)
{
    if (!m)
        return;
    remove_all(m);
    outlet_image_free(m->newest.pixels);
    mem_free(m);
}

void monitor_clear(struct monitor *m, struct eiger_keys *keys, bool all)
{
    remove_all(m);
    m->dropped = 0;
    if (all) {
        outlet_image_free(m->newest.pixels);
        m->newest = (struct shot){0};
    }
    show_state(m, keys);
}

void monitor_describe(struct monitor_series *s, const struct eiger_keys *keys, uint64_t number,
                      enum outlet_stream stream)
{
    static const char *const modes[] = {"threshold/1/mode", "threshold/2/mode"};
    static const char *const energies[] = {"threshold/1/energy", "threshold/2/energy"};
    *s = (struct monitor_series){
        .number = number,
        .count_s = keys_real(keys, "count_time"),
        .energy_eV = keys_real(keys, "photon_energy"),
        .wavelength_A = keys_real(keys, "wavelength"),
        .beam_center = {keys_real(keys, "beam_center_x"), keys_real(keys, "beam_center_y")}};
    for (int i = 0; i < MONITOR_CHANNELS_MAX; i++)
        if (strcmp(keys_text(keys, modes[i]), "enabled") == 0 &&
            (stream == OUTLET_V2 || !s->nchannels)) {
            s->threshold[s->nchannels] = i + 1;
            s->threshold_eV[s->nchannels++] = keys_real(keys, energies[i]);
        }
}

/* Makes room for an image of this size.  Returns false if the image has to be dropped. */
static bool make_room(struct monitor *m, const struct eiger_keys *keys, size_t bytes)
{
    const size_t room = (size_t)keys_uint(keys, "monitor:config:buffer_size");
    const bool keeps_old = keys_bool(keys, "monitor:config:discard_new");
    while (m->count && (m->count >= room || bytes > BYTES_MAX - m->bytes)) {
        m->dropped++;
        if (keeps_old)
            return false;
        remove_first(m);
    }
    return true;
}

void monitor_take(struct monitor *m, struct eiger_keys *keys, struct outlet *o,
                  const struct monitor_series *series, uint64_t image)
{
    if (strcmp(keys_text(keys, "monitor:config:mode"), "enabled") != 0)
        return;
    struct shot shot = {.pixels = outlet_image_keep(o), .series = *series, .image = image};
    (void)dectris_date(clock_unix_ns(), shot.date);
    outlet_image_free(m->newest.pixels);
    m->newest = shot;
    if (make_room(m, keys, outlet_image_bytes(shot.pixels))) {
        shot.pixels = outlet_image_keep(o);
        *shot_at(m, m->count++) = shot;
        m->bytes += outlet_image_bytes(shot.pixels);
    }
    show_state(m, keys);
}

/* --- TIFF ------------------------------------------------------------------------ */

enum { SHORT = 3, LONG = 4, ASCII = 2, DOUBLE = 12 };
enum { DECTRIS_AT = 8, DATE_AT = 162, UNIQUE_AT = 194, DOUBLES_AT = 224, PIXELS_AT = 272 };

/* A directory that is being written. */
struct directory {
    uint8_t *at;  // of the next entry
};

static void put_bytes(uint8_t *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* Writes an entry whose value is a number or the place of its values. */
static void put_entry(struct directory *d, unsigned tag, unsigned type, size_t count,
                      uint64_t value)
{
    put_bytes(d->at, tag, 2);
    put_bytes(d->at + 2, type, 2);
    put_bytes(d->at + 4, count, 4);
    put_bytes(d->at + 8, value, 4);
    d->at += 12;
}

static struct directory begin_directory(uint8_t *at, unsigned entries)
{
    put_bytes(at, entries, 2);
    return (struct directory){.at = at + 2};
}

/* Writes the directory of Dectris.  OM reads the number of the series at byte 42, that of the image
 * at byte 54 and the date at byte 162, so there must be 12 entries. */
static void put_facts(uint8_t *tiff, const struct shot *s, size_t channel)
{
    enum { ENTRIES = 12 };
    const struct monitor_series *v = &s->series;
    const double reals[] = {v->threshold_eV[channel], v->count_s,        v->energy_eV,
                            v->wavelength_A,          v->beam_center[0], v->beam_center[1]};
    struct directory d = begin_directory(tiff + DECTRIS_AT, ENTRIES);
    put_entry(&d, 0, LONG, 1, 0);
    put_entry(&d, 1, ASCII, MONITOR_UNIQUE_SIZE, UNIQUE_AT);
    put_entry(&d, 2, LONG, 1, v->number);
    put_entry(&d, 3, LONG, 1, s->image);
    put_entry(&d, 4, ASCII, strlen(s->date) + 1, DATE_AT);
    put_entry(&d, 5, SHORT, 1, (uint64_t)v->threshold[channel]);
    put_entry(&d, 6, DOUBLE, 1, DOUBLES_AT);
    put_entry(&d, 7, DOUBLE, 1, DOUBLES_AT + 8);
    put_entry(&d, 9, DOUBLE, 1, DOUBLES_AT + 16);
    put_entry(&d, 10, DOUBLE, 1, DOUBLES_AT + 24);
    put_entry(&d, 18, LONG, 1, 0);
    put_entry(&d, 22, DOUBLE, 2, DOUBLES_AT + 32);
    memcpy(tiff + DATE_AT, s->date, strlen(s->date));
    memcpy(tiff + UNIQUE_AT, v->unique, strlen(v->unique));
    memcpy(tiff + DOUBLES_AT, reals, sizeof reals);
}

static void put_picture(uint8_t *to, const struct outlet_pixels *p, size_t bytes)
{
    enum { ENTRIES = 11 };
    struct directory d = begin_directory(to, ENTRIES);
    put_entry(&d, 256, LONG, 1, p->fast);
    put_entry(&d, 257, LONG, 1, p->slow);
    put_entry(&d, 258, SHORT, 1, 8 * p->size);
    put_entry(&d, 259, SHORT, 1, 1);  // no compression
    put_entry(&d, 262, SHORT, 1, 1);  // 0 is black
    put_entry(&d, 273, LONG, 1, PIXELS_AT);
    put_entry(&d, 277, SHORT, 1, 1);
    put_entry(&d, 278, LONG, 1, p->slow);
    put_entry(&d, 279, LONG, 1, bytes);
    put_entry(&d, 339, SHORT, 1, 1);  // unsigned
    put_entry(&d, 51192, LONG, 1, DECTRIS_AT);
}

/* Answers with an image as TIFF. */
static void give_tiff(const struct shot *s, size_t channel, struct http_reply *reply)
{
    enum { DIRECTORY = 2 + 11 * 12 + 4 };
    struct outlet_pixels p;
    struct error e = {0};
    if (outlet_image_unpack(s->pixels, channel, &p, &e)) {
        *reply = (struct http_reply){
            .code = 500, .type = "text/plain; charset=utf-8", .body = mem_text("%s", e.text)};
        return;
    }
    const size_t bytes = p.fast * p.slow * p.size;
    uint8_t *tiff = mem_array(1, PIXELS_AT + bytes + DIRECTORY);
    memcpy(tiff, "II*", 4);
    put_bytes(tiff + 4, PIXELS_AT + bytes, 4);
    put_facts(tiff, s, channel);
    memcpy(tiff + PIXELS_AT, p.pixels, bytes);
    put_picture(tiff + PIXELS_AT + bytes, &p, bytes);
    mem_free(p.pixels);
    *reply = (struct http_reply){.code = 200,
                                 .type = "application/tiff",
                                 .body = (char *)tiff,
                                 .size = PIXELS_AT + bytes + DIRECTORY};
}

/* --- requests -------------------------------------------------------------------- */

static struct http_reply plain(unsigned code, const char *text)
{
    return (struct http_reply){
        .code = code, .type = "text/plain; charset=utf-8", .body = mem_text("%s", text)};
}

/* Answers with the images of the buffer: [[series, [image, ...]], ...]. */
static void give_list(struct monitor *m, struct http_reply *reply)
{
    json_t *list = json_array(), *images = NULL;
    uint64_t number = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct shot *s = shot_at(m, i);
        if (!images || s->series.number != number) {
            number = s->series.number;
            images = json_array();
            (void)json_array_append_new(list, json_pack("[Io]", (json_int_t)number, images));
        }
        (void)json_array_append_new(images, json_integer((json_int_t)s->image));
    }
    reply->body = json_dumps(list, JSON_COMPACT);
    json_decref(list);
}

/* Reads a number of a path, up to `end`.  Returns false if the text is not a number. */
static bool read_number(const char *text, char **end, uint64_t *value)
{
    if (*text < '0' || *text > '9')
        return false;
    *value = strtoull(text, end, 10);
    return true;
}

/* Answers with the image SERIES/IMAGE[/THRESHOLD]. */
static void give_named(struct monitor *m, const char *name, struct http_reply *reply)
{
    uint64_t number, image, threshold = 0;
    char *end;
    bool good =
        read_number(name, &end, &number) && *end == '/' && read_number(end + 1, &end, &image);
    if (good && *end == '/')
        good = read_number(end + 1, &end, &threshold) && threshold > 0;
    const struct shot *found = NULL;
    for (size_t i = 0; good && !*end && i <= m->count; i++) {
        const struct shot *s = i < m->count ? shot_at(m, i) : &m->newest;
        if (s->pixels && s->series.number == number && s->image == image)
            found = s;
    }
    for (int k = 0; found && k < found->series.nchannels; k++)
        if (!threshold || (uint64_t)found->series.threshold[k] == threshold) {
            give_tiff(found, (size_t)k, reply);
            return;
        }
    char text[300];
    (void)snprintf(text, sizeof text, "images/%.100s: %s", name,
                   found ? "the image has no such threshold; with Stream V1 it has the first "
                           "enabled one"
                         : "the monitor has no such image");
    *reply = plain(404, text);
}

/* Returns the time that a request may wait, from ?timeout=MS. */
static uint64_t wait_of(const char *query)
{
    const char *at = query ? strstr(query, "timeout=") : NULL;
    char *end;
    uint64_t ms = WAIT_MS;
    if (at && read_number(at + strlen("timeout="), &end, &ms) && ms > WAIT_MAX_MS)
        ms = WAIT_MAX_MS;
    return ms * 1000000;
}

/* Answers with the oldest image, which leaves the buffer. */
static void give_next(struct monitor *m, struct eiger_keys *keys, struct http_reply *reply)
{
    give_tiff(shot_at(m, 0), 0, reply);
    remove_first(m);
    show_state(m, keys);
}

bool monitor_answer(struct monitor *m, struct eiger_keys *keys, char *name, const char *query,
                    struct http_reply *reply)
{
    const bool next = strcmp(name, "next") == 0;
    if (!*name) {
        give_list(m, reply);
    } else if (next && m->count) {
        give_next(m, keys, reply);
    } else if (strcmp(name, "monitor") == 0 && m->newest.pixels) {
        give_tiff(&m->newest, 0, reply);
    } else if (next || strcmp(name, "monitor") == 0) {
        reply->wait = next ? HTTP_WAIT_NEXT : HTTP_WAIT_NEWEST;
        reply->until_ns = clock_ns() + wait_of(query);
    } else if (strchr(name, '/')) {
        give_named(m, name, reply);
    } else {
        return false;
    }
    return true;
}

void monitor_turn(struct monitor *m, struct eiger_keys *keys, struct http *http)
{
    struct http_reply reply;
    while (m->count && http_waits(http, HTTP_WAIT_NEXT)) {
        give_next(m, keys, &reply);
        http_finish_first(http, HTTP_WAIT_NEXT, reply);
    }
    if (m->newest.pixels && http_waits(http, HTTP_WAIT_NEWEST)) {
        give_tiff(&m->newest, 0, &reply);
        http_finish(http, HTTP_WAIT_NEWEST, reply);
    }
}
