#include "io/images/cbf.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/isa.h"
#include "base/program.h"
#include "base/units.h"
#include "io/images/tilted_header.h"
#include "model/recipe.h"

/* Largest size of the header before that of the binary part.  fabio searches the beginning of the
 * pixels only in the first 8 KiB. */
enum { CONTENTS_BYTES = 7680 };
/* Thickness for a sensor without depth.  Without the line of the thickness, dxtbx assumes 0.45 mm
 * for an Eiger, and assumes that a Pilatus does not count photons.  With a thickness, dxtbx
 * corrects for parallax, which the image must then have. */
static const double THIN_M = 1e-9;

/* --- makers -------------------------------------------------------------- */

/* Commercial detectors, according to their data sheets.  The numbers of pixels include the gaps
 * between modules. */
static const struct sold {
    enum cbf_header kind;
    const char *name;
    int64_t pixels[2];
    double pixel_m;
} sold[] = {
    {CBF_PILATUS, "PILATUS 100K", {487, 195}, 172e-6},
    {CBF_PILATUS, "PILATUS 200K", {487, 407}, 172e-6},
    {CBF_PILATUS, "PILATUS 300K", {487, 619}, 172e-6},
    {CBF_PILATUS, "PILATUS 300K-W", {1475, 195}, 172e-6},
    {CBF_PILATUS, "PILATUS 1M", {981, 1043}, 172e-6},
    {CBF_PILATUS, "PILATUS 2M", {1475, 1679}, 172e-6},
    {CBF_PILATUS, "PILATUS 6M", {2463, 2527}, 172e-6},
    {CBF_EIGER, "EIGER 500K", {1030, 514}, 75e-6},
    {CBF_EIGER, "EIGER 1M", {1030, 1065}, 75e-6},
    {CBF_EIGER, "EIGER 4M", {2070, 2167}, 75e-6},
    {CBF_EIGER, "EIGER 9M", {3110, 3269}, 75e-6},
    {CBF_EIGER, "EIGER 16M", {4150, 4371}, 75e-6},
    {CBF_EIGER, "EIGER2 500K", {1028, 512}, 75e-6},
    {CBF_EIGER, "EIGER2 1M", {1028, 1062}, 75e-6},
    {CBF_EIGER, "EIGER2 4M", {2068, 2162}, 75e-6},
    {CBF_EIGER, "EIGER2 9M", {3108, 3262}, 75e-6},
    {CBF_EIGER, "EIGER2 16M", {4148, 4362}, 75e-6},
};

static const char *find_sold(enum cbf_header kind, const struct panel *p)
{
    for (size_t i = 0; i < sizeof sold / sizeof *sold; i++)
        if (sold[i].kind == kind && sold[i].pixels[0] == p->fast_pixels &&
            sold[i].pixels[1] == p->slow_pixels && fabs(sold[i].pixel_m - p->pixel_m) < 1e-9)
            return sold[i].name;
    return NULL;
}

enum status cbf_header_check(enum cbf_header kind, const struct experiment *x, struct error *e)
{
    const struct panel *p = x->panels;
    if (kind == CBF_GENERIC || find_sold(kind, p))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "--cbf-header: no %s has %" PRId64 " x %" PRId64
                     " pixels of %g mm. Use --cbf-header=generic, which allows any size",
                     kind == CBF_PILATUS ? "Pilatus" : "Eiger", p->fast_pixels, p->slow_pixels,
                     m_to_mm(p->pixel_m));
}

enum cbf_header cbf_header_kind(const char *text)
{
    return strstr(text, "\"GENERIC_MINI")      ? CBF_GENERIC
           : strstr(text, "# Detector: EIGER") ? CBF_EIGER
                                               : CBF_PILATUS;
}

/* --- header -------------------------------------------------------------- */

static void append_detector(struct header_text *h, enum cbf_header kind, const struct panel *p,
                            uint64_t id)
{
    char when[HEADER_TIME_SIZE];
    const double depth_m = panel_depth_m(p);
    if (kind == CBF_GENERIC) {
        header_append(h, "# Detector: braggpipe " BRAGG_VERSION ", simulated\r\n");
    } else {
        header_append(h, "# Detector: %s, S/N 00-0000, braggpipe " BRAGG_VERSION ", simulated\r\n",
                      find_sold(kind, p));
        header_append(h, "# %s.000\r\n", header_time(id, "%Y-%m-%dT%H:%M:%S", when));
    }
    if (kind != CBF_GENERIC || depth_m > 0.0)
        header_append(h, "# %s sensor, thickness %.9f m\r\n",
                      strcmp(panel_material(p), "Si") == 0 ? "Silicon" : p->material,
                      depth_m > 0.0 ? depth_m : THIN_M);
}

static void append_contents(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                            const struct recipe *r)
{
    const struct panel *p = x->panels;
    const bool limited = x->saturation > 0.0 && x->saturation < INT32_MAX;
    append_detector(h, kind, p, r->id);
    header_append(h, "# Pixel_size %.9g m x %.9g m\r\n", p->pixel_m, p->pixel_m);
    const double exposure_s = beam_exposure_s(&x->beam);
    header_append(h, "# Exposure_time %.9g s\r\n# Exposure_period %.9g s\r\n", exposure_s,
                  exposure_s);
    header_append(h, "# Count_cutoff %.0f counts\r\n", limited ? x->saturation : (double)INT32_MAX);
    header_append(h, "# Wavelength %.9g A\r\n", m_to_angstrom(incident_beam(x, r).mean_m));
    header_append(h, "# Detector_distance %.9g m\r\n", p->distance_m);
    header_append(h, "# Beam_xy (%.9g, %.9g) pixels\r\n", p->beam_fast_m / p->pixel_m,
                  p->beam_slow_m / p->pixel_m);
    header_append(h, "# Start_angle %.9g deg.\r\n# Angle_increment %.9g deg.\r\n",
                  rad_to_deg(r->phi_rad), rad_to_deg(r->osc_rad));
    header_append(h, "# Detector_2theta %.9g deg.\r\n# Phi %.9g deg.\r\n",
                  rad_to_deg(p->twotheta_rad), rad_to_deg(r->phi_rad));
    if (!x->beam.no_polarization)
        header_append(h, "# Polarization %.3f\r\n", beam_fraction_along(&x->beam, p->fast));
    header_append(h, "# ADC_offset %.9g counts\r\n", x->adc_offset);
    header_append_truth(h, x, r, CONTENTS_BYTES, &(struct header_style){"# ", " ", "\r\n"});
}

/* Returns the name of the header.  Eigers have that of Pilatus, but in a full CBF header DIALS
 * would then search the modules of a Pilatus. */
static const char *convention_of(enum cbf_header kind, bool tilted)
{
    if (kind == CBF_GENERIC)
        return "GENERIC_MINI_1.0";
    return kind == CBF_EIGER && tilted ? "EIGER_1.2" : "PILATUS_1.2";
}

void cbf_header_make(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                     const struct frame *f, size_t bytes)
{
    h->length = 0;
    header_append(h, "###CBF: VERSION 1.5, braggpipe " BRAGG_VERSION "\r\n\r\n");
    header_append(h, "data_frame_%" PRIu64 "\r\n\r\n", f->recipe.id);
    if (header_is_tilted(x))
        header_append_imgcif(h, x, f);
    header_append(h,
                  "_array_data.header_convention \"%s\"\r\n"
                  "_array_data.header_contents\r\n;\r\n",
                  convention_of(kind, header_is_tilted(x)));
    append_contents(h, kind, x, &f->recipe);
    header_append(h, ";\r\n\r\n_array_data.data\r\n;\r\n--CIF-BINARY-FORMAT-SECTION--\r\n");
    header_append(h, "Content-Type: application/octet-stream;\r\n"
                     "     conversions=\"x-CBF_BYTE_OFFSET\"\r\n"
                     "Content-Transfer-Encoding: BINARY\r\n");
    header_append(h, "X-Binary-Size: %zu\r\nX-Binary-ID: 1\r\n", bytes);
    header_append(h, "X-Binary-Element-Type: \"signed 32-bit integer\"\r\n"
                     "X-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\n");
    header_append(h, "X-Binary-Number-of-Elements: %zu\r\n", f->image.count);
    header_append(h, "X-Binary-Size-Fastest-Dimension: %" PRId64 "\r\n", x->panels->fast_pixels);
    header_append(h, "X-Binary-Size-Second-Dimension: %" PRId64 "\r\n", x->panels->slow_pixels);
    header_append(h, "X-Binary-Size-Padding: 4095\r\n\r\n\x0c\x1a\x04\xd5");
}

/* --- writing ------------------------------------------------------------- */

/* Number of pixels that are encoded at once, and largest number of bytes that they need. */
enum { CHUNK = 16384, CHUNK_BYTES = BYTE_OFFSET_WORST * CHUNK + BYTE_OFFSET_SLACK };

void cbf_scratch_free(struct cbf_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct cbf_scratch){0};
}

/* Returns n pixels, from number *first on, as int32.  These are the pixels of the image itself,
 * or a copy in room[CHUNK] if the type or masked pixels must be changed.  NULL: a pixel is too
 * large for int32; *first is then its number. */
static const int32_t *whole_pixels(const struct image *image, const uint8_t *mask, size_t *first,
                                   size_t n, int32_t *room)
{
    const int32_t *pixels = (const int32_t *)image->pixels + *first;
    if (image->type == PIXEL_U16) {
        const uint16_t *narrow = (const uint16_t *)image->pixels + *first;
        for (size_t i = 0; i < n; i++)
            room[i] = narrow[i];
        pixels = room;
    }
    if (image->type == PIXEL_U32)
        for (size_t i = 0; i < n; i++)
            if (pixels[i] < 0 && (!mask || mask[*first + i])) {
                *first += i;
                return NULL;
            }
    for (size_t i = 0; mask && i < n; i++)
        room[i] = mask[*first + i] ? pixels[i] : CBF_MASKED;
    return mask ? room : pixels;
}

/* Makes room for one more chunk after `used` bytes.  `count` is the number of pixels of the
 * image.  Returns false if there is not enough memory. */
static bool reserve_chunk(struct cbf_scratch *scratch, size_t used, size_t count)
{
    if (scratch->size >= used + CHUNK_BYTES)
        return true;
    const size_t size = (used ? 2 * used : count + count / 8) + CHUNK_BYTES;
    uint8_t *bytes = realloc(scratch->bytes, size);
    if (!bytes)
        return false;
    *scratch = (struct cbf_scratch){bytes, size};
    return true;
}

/* Encodes the image into the scratch buffer.  *bytes gets the length of the encoded image. */
static enum status encode_image(const struct image *image, const uint8_t *mask,
                                struct cbf_scratch *scratch, size_t *bytes, struct error *e)
{
    const struct byte_offset_kernels *kernels = byte_offset_kernels(isa_best());
    int32_t room[CHUNK], previous = 0;
    *bytes = 0;
    for (size_t first = 0; first < image->count; first += CHUNK) {
        const size_t n = image->count - first < CHUNK ? image->count - first : CHUNK;
        if (!reserve_chunk(scratch, *bytes, image->count))
            return error_memory(e, "an encoded image");
        uint8_t *to = scratch->bytes + *bytes;
        if (image->type == PIXEL_U16 && !mask) {
            const uint16_t *narrow = (const uint16_t *)image->pixels + first;
            *bytes += kernels->encode_u16(narrow, n, previous, to);
            previous = narrow[n - 1];
            image_was_read(image, first + n);
            continue;
        }
        const int32_t *pixels = whole_pixels(image, mask, &first, n, room);
        if (!pixels)
            return error_set(e, STATUS_INPUT,
                             "pixel %zu is %" PRIu32 "; expected at most %d, the limit of CBF",
                             first, ((const uint32_t *)image->pixels)[first], INT32_MAX);
        *bytes += kernels->encode_i32(pixels, n, previous, to);
        previous = pixels[n - 1];
        image_was_read(image, first + n);
    }
    return STATUS_OK;
}

/* Returns a byte for each pixel: 0 if the pixel is masked or outside the ROI, otherwise 1.  The
 * caller frees the bytes with mem_free. */
static uint8_t *mark_computed(const struct panel *p)
{
    uint8_t *computed = mem_array((size_t)p->fast_pixels, (size_t)p->slow_pixels);
    for (int64_t s = 0; s < p->slow_pixels; s++)
        for (int64_t f = 0; f < p->fast_pixels; f++)
            computed[s * p->fast_pixels + f] = panel_computes(p, f, s);
    return computed;
}

static enum status check_image(const struct experiment *x, const struct image *image,
                               struct error *e)
{
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT,
                         "a mini-CBF file has one panel, but the detector has %zu. Use NXmx",
                         x->npanels);
    if (!image->pixels || image->type == PIXEL_F32)
        return error_set(e, STATUS_INPUT,
                         "CBF stores integers, but the pixels are float32. Add bragg-noise before "
                         "bragg-write, or give --scale=X");
    if ((int64_t)image->count != experiment_pixels(x))
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, but its panel has %" PRId64,
                         image->count, experiment_pixels(x));
    return STATUS_OK;
}

enum status cbf_write(FILE *out, const struct experiment *x, const struct frame *f,
                      enum cbf_header kind, struct cbf_scratch *scratch, struct error *e)
{
    static const char padding[4095];
    static const char end[] = "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n";
    struct header_text h;
    size_t bytes;
    enum status s = check_image(x, &f->image, e);
    s = s ? s : cbf_header_check(kind, x, e);
    if (!s) {
        uint8_t *computed = panel_is_whole(x->panels) ? NULL : mark_computed(x->panels);
        s = encode_image(&f->image, computed, scratch, &bytes, e);
        mem_free(computed);
    }
    if (s)
        return s;
    cbf_header_make(&h, kind, x, f, bytes);
    if (fwrite(h.text, 1, h.length, out) != h.length ||
        fwrite(scratch->bytes, 1, bytes, out) != bytes ||
        fwrite(padding, 1, sizeof padding, out) != sizeof padding || fputs(end, out) < 0)
        return error_errno(e, STATUS_FAILED, "cannot write a CBF image");
    return STATUS_OK;
}

/* --- reading: MD5 of the packed pixels ------------------------------------- */

enum { BASE64_CHARS = 24 };

/* Computes the MD5 checksum of `size` bytes as text in the form of Content-MD5: base64 of the
 * sixteen bytes. */
static void md5_text(const uint8_t *bytes, size_t size, char text[BASE64_CHARS + 1])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t sum[MD5_BYTES + 2] = {0};
    md5_compute(bytes, size, sum);
    for (int i = 0; i < BASE64_CHARS; i++) {
        const uint8_t *three = sum + i / 4 * 3;
        const uint32_t group = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];
        text[i] = digits[group >> (18 - 6 * (i % 4)) & 63];
    }
    memcpy(text + BASE64_CHARS - 2, "==", 3);
}

/* --- reading: the header of the binary part ------------------------------- */

struct layout {
    size_t bytes, padding, count, fast, slow;
};

/* A value in the header, without quotes and blanks.  `text` is NULL if the key is missing. */
struct value {
    const char *text;
    size_t length;
};

/* Returns the value after "KEY:" or "KEY=".  The key must be at the beginning of a line, or after
 * a blank or semicolon.  Upper and lower case are equal, as in MIME. */
static struct value find_value(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = text; (at = strcasestr(at, key)); at++) {
        if (at > text && !strchr(" \t\r\n;", at[-1]))
            continue;
        const char *value = at + length + strspn(at + length, " \t:=\"");
        return (struct value){value, strcspn(value, " \"\r\n;")};
    }
    return (struct value){0};
}

static bool is_word(struct value v, const char *word)
{
    return v.text && v.length == strlen(word) && strncasecmp(v.text, word, v.length) == 0;
}

/* Reads the whole number after a key.  *said: the header has the key; otherwise *value is not
 * changed.  STATUS_INPUT: the value is not a whole number. */
static enum status find_number(const char *path, const char *text, const char *key, bool *said,
                               size_t *value, struct error *e)
{
    const struct value v = find_value(text, key);
    char *end = NULL;
    *said = v.text;
    if (!v.text)
        return STATUS_OK;
    errno = 0;
    const unsigned long number = strtoul(v.text, &end, 10);
    if (*v.text < '0' || *v.text > '9' || end != v.text + v.length || errno ||
        number >= SIZE_MAX / 16)
        return error_set(e, STATUS_INPUT, "%s: %s: %.*s is not a whole number", path, key,
                         (int)v.length, v.text);
    *value = number;
    return STATUS_OK;
}

/* Reads the whole number after a key, which must be in the header.  The number must be above 0. */
static enum status need_number(const char *path, const char *text, const char *key, size_t *value,
                               struct error *e)
{
    bool said;
    const enum status s = find_number(path, text, key, &said, value, e);
    if (!s && (!said || !*value))
        return error_set(e, STATUS_INPUT, "%s: %s is %s; expected a number above 0", path, key,
                         said ? "0" : "missing");
    return s;
}

/* Checks that the pixels are of the only kind that can be read: int32, little-endian, in
 * byte-offset compression.  The error names the entry of the header that differs. */
static enum status check_kind(const char *path, const char *text, struct error *e)
{
    static const char type_key[] = "X-Binary-Element-Type";
    static const struct {
        const char *key, *expected;
        bool must;
    } words[] = {
        {"conversions", "x-CBF_BYTE_OFFSET", true},
        {"Content-Transfer-Encoding", "BINARY", false},
        {"X-Binary-Element-Byte-Order", "LITTLE_ENDIAN", false},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct value v = find_value(text, words[i].key);
        if (v.text ? !is_word(v, words[i].expected) : words[i].must)
            return error_set(e, STATUS_INPUT,
                             "%s: %s is %.*s; expected %s, the only kind that can be read", path,
                             words[i].key, v.text ? (int)v.length : 7, v.text ? v.text : "missing",
                             words[i].expected);
    }
    const struct value type = find_value(text, type_key);
    const size_t length = type.text ? strcspn(type.text, "\"\r\n") : 0;
    if (!is_word((struct value){type.text, length}, "signed 32-bit integer"))
        return error_set(
            e, STATUS_INPUT,
            "%s: %s is '%.*s'; expected 'signed 32-bit integer', the only type that can be read",
            path, type_key, (int)length, type.text ? type.text : "");
    return STATUS_OK;
}

/* Checks that the header does not contradict itself about the number of pixels.  The third
 * dimension, if given, must be 0 or 1. */
static enum status check_count(const char *path, const char *text, const struct layout *l,
                               struct error *e)
{
    static const char elements[] = "X-Binary-Number-of-Elements",
                      third[] = "X-Binary-Size-Third-Dimension";
    bool said;
    size_t number = 0;
    enum status s = find_number(path, text, elements, &said, &number, e);
    if (!s && said && number != l->count)
        s = error_set(e, STATUS_INPUT, "%s: %s is %zu, but the image has %zu x %zu pixels", path,
                      elements, number, l->fast, l->slow);
    s = s ? s : find_number(path, text, third, &said, &number, e);
    if (!s && said && number > 1)
        s = error_set(e, STATUS_INPUT, "%s: %s is %zu; expected one image", path, third, number);
    return s;
}

/* Checks that there is no other binary section after the image.  If a file has several, it is not
 * clear which one is the image. */
static enum status check_single(const char *path, const char *behind, size_t left, struct error *e)
{
    return memmem(behind, left, "\x0c\x1a\x04\xd5", 4)
               ? error_set(e, STATUS_INPUT,
                           "%s: has several binary sections; expected one image in a file", path)
               : STATUS_OK;
}

static enum status check_md5(const char *path, const char *text, const char *data, size_t bytes,
                             struct error *e)
{
    char sum[BASE64_CHARS + 1];
    const struct value v = find_value(text, "Content-MD5");
    if (!v.text || !v.length)
        return STATUS_OK;
    md5_text((const uint8_t *)data, bytes, sum);
    return v.length == BASE64_CHARS && memcmp(v.text, sum, BASE64_CHARS) == 0
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: the pixels are corrupt: Content-MD5 is %.*s, but the checksum of "
                           "the %zu bytes is %s",
                           path, (int)v.length, v.text, bytes, sum);
}

static enum status read_layout(const char *text, size_t left, const char *path, struct layout *l,
                               struct error *e)
{
    bool said;
    *l = (struct layout){0};
    enum status s = check_kind(path, text, e);
    s = s ? s : need_number(path, text, "X-Binary-Size", &l->bytes, e);
    s = s ? s : need_number(path, text, "X-Binary-Size-Fastest-Dimension", &l->fast, e);
    s = s ? s : need_number(path, text, "X-Binary-Size-Second-Dimension", &l->slow, e);
    s = s ? s : find_number(path, text, "X-Binary-Size-Padding", &said, &l->padding, e);
    if (s)
        return s;
    if (l->bytes > left)
        return error_set(e, STATUS_INPUT, "%s: too short: %zu bytes of pixels; expected %zu", path,
                         left, l->bytes);
    if (l->padding > left - l->bytes)
        return error_set(e, STATUS_INPUT, "%s: too short: %zu bytes after the pixels; expected %zu",
                         path, left - l->bytes, l->padding);
    /* each pixel takes at least one byte */
    if (!size_multiply(l->fast, l->slow, &l->count) || l->count > l->bytes)
        return error_set(e, STATUS_INPUT, "%s: %zu x %zu pixels do not fit into %zu bytes", path,
                         l->fast, l->slow, l->bytes);
    return check_count(path, text, l, e);
}

/* Returns the MIME header of the binary part: the text from the last section mark on.  Only this
 * header describes the pixels; the text before it may have any content. */
static const char *find_section(const char *content)
{
    static const char begin[] = "--CIF-BINARY-FORMAT-SECTION--";
    const char *found = content;
    for (const char *at = content; (at = strstr(at, begin)); at++)
        found = at;
    return found;
}

/* Reads the image from `content`, which is the whole file of `size` bytes, followed by a zero
 * byte.  Changes `content`. */
static enum status parse_file(char *content, size_t size, const char *path, struct image_file *f,
                              struct error *e)
{
    static const char marker[] = "\x0c\x1a\x04\xd5";
    struct layout l;
    struct error cause = {0};
    char *mark = memmem(content, size, marker, 4);
    if (size < 6 || memcmp(content, "###CBF", 6) != 0 || !mark)
        return error_set(e, STATUS_INPUT,
                         "%s: not a CBF file: ###CBF or the binary part is missing", path);
    *mark = 0;
    const char *data = mark + 4, *text = find_section(content);
    const size_t left = size - (size_t)(data - content);
    enum status s = read_layout(text, left, path, &l, e);
    s = s ? s : check_single(path, data + l.bytes, left - l.bytes, e);
    s = s ? s : check_md5(path, text, data, l.bytes, e);
    if (s)
        return s;
    if (!image_reserve(&f->image, PIXEL_I32, UNIT_ADU, l.count))
        return error_memory(e, path);
    f->fast = (int64_t)l.fast;
    f->slow = (int64_t)l.slow;
    s = byte_offset_decode((const uint8_t *)data, l.bytes, f->image.pixels, l.count, &cause);
    return s ? error_set(e, s, "%s: %s", path, cause.text) : STATUS_OK;
}

enum status cbf_read(FILE *in, const char *path, size_t size, struct image_file *f, struct error *e)
{
    char *content = mem_try_array(size + 1, 1);
    if (!content)
        return error_memory(e, path);
    const enum status s = fread(content, 1, size, in) == size
                              ? parse_file(content, size, path, f, e)
                              : error_errno(e, STATUS_INPUT, "%s: cannot read", path);
    mem_free(content);
    if (s)
        image_free(&f->image);
    return s;
}

const struct byte_offset_kernels *byte_offset_kernels(enum isa isa)
{
    static const struct byte_offset_kernels *const all[ISA_COUNT] = {
        &byte_offset_baseline, &byte_offset_avx2, &byte_offset_avx512};
    return all[isa];
}

/* Decodes one difference.  Returns its length in bytes.  Returns 0 if the difference is cut off
 * or has more than 32 bits. */
static size_t take_difference(const uint8_t *bytes, size_t size, int32_t *difference)
{
    int16_t two;
    int64_t eight;
    if (size >= 1 && bytes[0] != 0x80) {
        *difference = (int8_t)bytes[0];
        return 1;
    }
    if (size < 3)
        return 0;
    memcpy(&two, bytes + 1, sizeof two);
    *difference = two;
    if (two != INT16_MIN)
        return 3;
    if (size < 7)
        return 0;
    memcpy(difference, bytes + 3, sizeof *difference);
    if (*difference != INT32_MIN)
        return 7;
    if (size < BYTE_OFFSET_WORST)
        return 0;
    memcpy(&eight, bytes + 7, sizeof eight);
    return eight == INT32_MIN ? BYTE_OFFSET_WORST : 0;
}

enum status byte_offset_decode(const uint8_t *bytes, size_t size, int32_t *pixels, size_t count,
                               struct error *e)
{
    uint32_t value = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t difference;
        const size_t length = take_difference(bytes + at, size - at, &difference);
        if (!length)
            return error_set(e, STATUS_INPUT,
                             "byte offsets: pixel %zu of %zu is truncated or exceeds 32 bits", i,
                             count);
        at += length;
        value += (uint32_t)difference;
        pixels[i] = (int32_t)value;
    }
    if (at != size)
        return error_set(e, STATUS_INPUT,
                         "byte offsets: %zu bytes remain after %zu pixels; expected none",
                         size - at, count);
    return STATUS_OK;
}
