#include "io/images/stream2.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/units.h"
#include "codec/bslz4.h"
#include "io/images/cbor.h"
#include "io/images/pixel_bytes.h"

enum { MULTI_DIMENSIONAL = 40, COMPRESSED = 56500, EDGE_MAX = 1 << 20, LIKE_MAX = 8 };
static const size_t MESSAGE_MAX = (size_t)1 << 30, PIXELS_MAX = (size_t)1 << 28;

/* --- messages --------------------------------------------------------------------------- */

/* A message in memory. */
struct stream2 {
    const char *path;
    uint8_t *bytes;  // owned
    struct cbor top;
    enum stream2_kind kind;
    uint64_t number;
};

static void find_kind(struct stream2 *m)
{
    char type[16] = "";
    double number = 0;
    (void)cbor_find_text(m->top, "type", type, sizeof type);
    m->kind = strcmp(type, "start") == 0   ? STREAM2_START
              : strcmp(type, "image") == 0 ? STREAM2_IMAGE
              : strcmp(type, "end") == 0   ? STREAM2_END
                                           : STREAM2_NONE;
    (void)cbor_find_real(m->top, "image_id", &number);
    m->number = number >= 0 && number < 1e15 ? (uint64_t)number : 0;
}

static enum status open_message(FILE *in, const char *path, size_t size, struct stream2 *m,
                                struct error *e)
{
    *m = (struct stream2){.path = path};
    if (size > MESSAGE_MAX)
        return error_set(e, STATUS_INPUT, "%s: has %zu bytes; expected a message of Stream V2",
                         path, size);
    m->bytes = mem_room(size ? size : 1);
    if (fread(m->bytes, 1, size, in) != size)
        return error_set(e, STATUS_INPUT, "%s: cannot read %zu bytes", path, size);
    m->top = (struct cbor){m->bytes, m->bytes + size};
    struct cbor end = m->top;
    find_kind(m);
    if (!cbor_skip(&end) || end.at != end.end || m->kind == STREAM2_NONE)
        return error_set(
            e, STATUS_INPUT,
            "%s: is not a complete message of Stream V2; expected exactly one message in the file",
            path);
    return STATUS_OK;
}

static void close_message(struct stream2 *m)
{
    mem_free(m->bytes);
    m->bytes = NULL;
}

enum stream2_kind stream2_kind_of(const char *path, uint64_t *number)
{
    struct stat st;
    struct stream2 m;
    FILE *in = fopen(path, "rbe");
    enum stream2_kind kind = STREAM2_NONE;
    if (!in)
        return kind;
    if (!fstat(fileno(in), &st) && S_ISREG(st.st_mode)) {
        if (!open_message(in, path, (size_t)st.st_size, &m, NULL))
            kind = m.kind;
        *number = m.number;
        close_message(&m);
    }
    (void)fclose(in);
    return kind;
}

/* --- arrays --------------------------------------------------------------------------- */

/* An array of two dimensions, as it is in the message. */
struct array {
    size_t slow, fast;
    struct pixel_bytes like;
    char coding[LIKE_MAX];  // "": not compressed
    const uint8_t *bytes;
    size_t length;
};

static bool is_tag(struct cbor *c, uint64_t tag)
{
    struct cbor_item item;
    return cbor_next(c, &item) && item.major == CBOR_TAG && item.value == tag;
}

static bool is_array(struct cbor *c, uint64_t count)
{
    struct cbor_item item;
    return cbor_next(c, &item) && item.major == CBOR_ARRAY && item.value == count;
}

/* Sets the type of the pixels from a tag of RFC 8746.  Returns false for types that frames do not
 * have. */
static bool take_type(uint64_t tag, struct pixel_bytes *like)
{
    static const struct {
        uint64_t tag;
        struct pixel_bytes like;
    } types[] = {
        {64, {1, false, false, false}}, {65, {2, false, false, true}},
        {66, {4, false, false, true}},  {69, {2, false, false, false}},
        {70, {4, false, false, false}}, {72, {1, true, false, false}},
        {73, {2, true, false, true}},   {74, {4, true, false, true}},
        {77, {2, true, false, false}},  {78, {4, true, false, false}},
        {81, {4, false, true, true}},   {85, {4, false, true, false}},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].tag == tag) {
            *like = types[i].like;
            return true;
        }
    return false;
}

/* Reads the pixels of an array: bytes, or a coding, the size of its items and bytes. */
static bool take_content(struct cbor *c, struct array *a)
{
    struct cbor_item item;
    if (!cbor_next(c, &item))
        return false;
    if (item.major == CBOR_TAG) {
        if (item.value != COMPRESSED || !is_array(c, 3) || !cbor_next(c, &item) ||
            item.major != CBOR_TEXT || item.value >= sizeof a->coding)
            return false;
        memcpy(a->coding, item.bytes, item.value);
        if (!cbor_skip(c) || !cbor_next(c, &item))
            return false;
    }
    a->bytes = item.bytes;
    a->length = item.major == CBOR_BYTES ? (size_t)item.value : 0;
    return item.major == CBOR_BYTES;
}

/* Reads the array of the first channel of the map `key`. */
static bool find_array(const struct stream2 *m, const char *key, struct array *a)
{
    struct cbor map, c;
    struct cbor_item slow, fast, tag;
    *a = (struct array){0};
    if (!cbor_find(m->top, key, &map) || !cbor_find(map, NULL, &c) ||
        !is_tag(&c, MULTI_DIMENSIONAL) || !is_array(&c, 2) || !is_array(&c, 2) ||
        !cbor_next(&c, &slow) || !cbor_next(&c, &fast) || slow.major || fast.major ||
        !cbor_next(&c, &tag) || tag.major != CBOR_TAG || !take_type(tag.value, &a->like))
        return false;
    a->slow = slow.value < EDGE_MAX ? (size_t)slow.value : 0;
    a->fast = fast.value < EDGE_MAX ? (size_t)fast.value : 0;
    return a->slow && a->fast && a->slow * a->fast <= PIXELS_MAX && take_content(&c, a);
}

/* Unpacks an array into bytes[] of its size. */
static enum status unpack(const struct stream2 *m, const struct array *a, uint8_t *bytes,
                          struct error *e)
{
    const size_t count = a->slow * a->fast, size = count * a->like.size;
    struct error why = {0};
    if (strcmp(a->coding, "bslz4") == 0) {
        if (!bslz4_decompress(a->bytes, a->length, bytes, count, a->like.size, &why))
            return STATUS_OK;
    } else if (strcmp(a->coding, "lz4") == 0) {
        if (!lz4_blocks_decompress(a->bytes, a->length, bytes, size, &why))
            return STATUS_OK;
    } else if (*a->coding) {
        return error_set(e, STATUS_INPUT,
                         "%s: the image is compressed with %s, which cannot be read; expected "
                         "bslz4, lz4 or none",
                         m->path, a->coding);
    } else if (a->length == size) {
        memcpy(bytes, a->bytes, size);
        return STATUS_OK;
    }
    return error_set(e, STATUS_INPUT, "%s: the image cannot be unpacked to %zu bytes", m->path,
                     size);
}

/* Returns true if the packed bytes of an array can have its pixels, so that a small file does not
 * ask for much memory: LZ4 makes data at most 255 times smaller. */
static bool affords(const struct array *a)
{
    enum { LZ4_MOST = 255 };
    return a->slow * a->fast * a->like.size / LZ4_MOST <= a->length;
}

/* --- headers ------------------------------------------------------------------------------ */

/* Reads where the detector is.  detector_translation ends with the distance. */
static void take_place(const struct stream2 *m, struct image_header *h)
{
    struct cbor c, axes, axis;
    struct cbor_item item;
    double px[2], deg = 0;
    if (cbor_find(m->top, "detector_translation", &c) && is_array(&c, 3) && cbor_skip(&c) &&
        cbor_skip(&c) && cbor_next(&c, &item) && (item.major <= CBOR_NEGATIVE || item.is_real))
        h->distance_m = fabs(item.real);
    h->has_beam = cbor_find_real(m->top, "beam_center_x", &px[0]) &&
                  cbor_find_real(m->top, "beam_center_y", &px[1]);
    h->beam_fast_m = h->has_beam ? px[0] * h->pixel_m : 0;
    h->beam_slow_m = h->has_beam ? px[1] * h->pixel_m : 0;
    if (!cbor_find(m->top, "goniometer", &axes))
        return;
    if (cbor_find(axes, "omega", &axis) && cbor_find_real(axis, "start", &deg))
        h->phi_rad = deg_to_rad(deg);
    if (cbor_find(axes, "omega", &axis) && cbor_find_real(axis, "increment", &deg))
        h->osc_rad = deg_to_rad(deg);
    if (cbor_find(axes, "two_theta", &axis) && cbor_find_real(axis, "start", &deg))
        h->twotheta_rad = deg_to_rad(deg);
}

static enum status take_start(const struct stream2 *m, struct image_header *h, struct error *e)
{
    double fast = 0, slow = 0, other_m = 0, number = 0;
    (void)cbor_find_real(m->top, "image_size_x", &fast);
    (void)cbor_find_real(m->top, "image_size_y", &slow);
    (void)cbor_find_real(m->top, "pixel_size_x", &h->pixel_m);
    (void)cbor_find_real(m->top, "pixel_size_y", &other_m);
    if (h->pixel_m != other_m)
        return error_set(e, STATUS_INPUT, "%s: pixels of %g x %g mm; expected square pixels",
                         m->path, m_to_mm(h->pixel_m), m_to_mm(other_m));
    h->fast = fast >= 1 && fast < EDGE_MAX ? (int64_t)fast : 0;
    h->slow = slow >= 1 && slow < EDGE_MAX ? (int64_t)slow : 0;
    if (cbor_find_real(m->top, "incident_wavelength", &number))
        h->wavelength_m = angstrom_to_m(number);
    (void)cbor_find_real(m->top, "saturation_value", &h->saturation);
    (void)cbor_find_real(m->top, "sensor_thickness", &h->thickness_m);
    (void)cbor_find_text(m->top, "sensor_material", h->material, sizeof h->material);
    if (strcasecmp(h->material, "silicon") == 0)
        (void)snprintf(h->material, sizeof h->material, "Si");
    (void)cbor_find_text(m->top, "detector_description", h->detector, sizeof h->detector);
    take_place(m, h);
    return STATUS_OK;
}

static enum status no_array(const struct stream2 *m, struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "%s: the message has no image of a known type; expected whole numbers of 8 to "
                     "32 bits, or float32",
                     m->path);
}

enum status stream2_header(FILE *in, const char *path, size_t size, struct image_header *h,
                           struct error *e)
{
    struct stream2 m;
    struct array a;
    *h = (struct image_header){0};
    enum status s = open_message(in, path, size, &m, e);
    if (!s && m.kind == STREAM2_START) {
        s = take_start(&m, h, e);
    } else if (!s && (m.kind == STREAM2_END || !find_array(&m, "data", &a))) {
        s = no_array(&m, e);
    } else if (!s) {
        h->fast = (int64_t)a.fast;
        h->slow = (int64_t)a.slow;
    }
    close_message(&m);
    return s;
}

/* --- pixels ----------------------------------------------------------------------------- */

static enum status read_array(const struct stream2 *m, const struct array *a, struct image_file *f,
                              struct error *e)
{
    const size_t count = a->slow * a->fast;
    if (!affords(a))
        return error_set(e, STATUS_INPUT, "%s: the image cannot be unpacked to %zu pixels", m->path,
                         count);
    uint8_t *bytes = mem_room(count * a->like.size);
    enum status s = unpack(m, a, bytes, e);
    s = s ? s : pixel_bytes_take(&a->like, bytes, count, &f->image, m->path, e);
    f->fast = (int64_t)a->fast;
    f->slow = (int64_t)a->slow;
    mem_free(bytes);
    return s;
}

/* Makes the mask of a start message an image whose masked pixels are -1. */
static enum status read_mask(const struct stream2 *m, struct image_file *f, struct error *e)
{
    struct array a;
    struct image_header h = {0};
    enum status s = take_start(m, &h, e);
    const bool masked = !s && find_array(m, "pixel_mask", &a);
    struct image_file mask = {0};
    if (masked)
        s = read_array(m, &a, &mask, e);
    if (!s && masked && (mask.fast != h.fast || mask.slow != h.slow))
        s = error_set(e, STATUS_INPUT, "%s: pixel_mask has another size than the image", m->path);
    const size_t count = masked ? mask.image.count : 0;
    if (!s && !image_reserve(&f->image, PIXEL_I32, UNIT_ADU, count))
        s = error_memory(e, m->path);
    for (size_t i = 0; i < count && !s; i++)
        ((int32_t *)f->image.pixels)[i] = image_value(&mask.image, i) != 0 ? -1 : 0;
    f->fast = h.fast;
    f->slow = h.slow;
    image_free(&mask.image);
    return s;
}

enum status stream2_read(FILE *in, const char *path, size_t size, struct image_file *f,
                         struct error *e)
{
    struct stream2 m;
    struct array a;
    enum status s = open_message(in, path, size, &m, e);
    if (!s && m.kind == STREAM2_START)
        s = read_mask(&m, f, e);
    else if (!s)
        s = m.kind == STREAM2_IMAGE && find_array(&m, "data", &a) ? read_array(&m, &a, f, e)
                                                                  : no_array(&m, e);
    close_message(&m);
    return s;
}
