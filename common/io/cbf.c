#include "io/cbf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/units.h"
#include "base/version.h"
#include "io/byte_offset.h"
#include "io/header_text.h"
#include "model/incident.h"

/* Pixels that are encoded at once, and bytes that this may take. */
enum { CHUNK = 16384, CHUNK_BYTES = BYTE_OFFSET_WORST * CHUNK + BYTE_OFFSET_SLACK };

/* Of the header in front of the binary part's: fabio looks no further than 8 KiB for the pixels. */
enum { CONTENTS_BYTES = 7680 };

void cbf_scratch_free(struct cbf_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct cbf_scratch){0};
}

/* --- header -------------------------------------------------------------- */

static void append_contents(struct header_text *h, const struct experiment *x,
                            const struct recipe *r)
{
    const struct panel *p = x->panels;
    const bool limited = x->saturation > 0.0 && x->saturation < INT32_MAX;
    header_append(h, "# Detector: braggpipe " BRAGG_VERSION ", simulated\r\n");
    header_append(h, "# Pixel_size %.9g m x %.9g m\r\n", p->pixel_m, p->pixel_m);
    header_append(h, "# Exposure_time 1 s\r\n# Exposure_period 1 s\r\n");
    header_append(h, "# Count_cutoff %.0f counts\r\n", limited ? x->saturation : (double)INT32_MAX);
    header_append(h, "# Wavelength %.9g A\r\n", m_to_angstrom(incident_beam(x, r).mean_m));
    header_append(h, "# Detector_distance %.9g m\r\n", p->distance_m);
    header_append(h, "# Beam_xy (%.9g, %.9g) pixels\r\n", p->beam_fast_m / p->pixel_m,
                  p->beam_slow_m / p->pixel_m);
    header_append(h, "# Start_angle %.9g deg.\r\n# Angle_increment %.9g deg.\r\n",
                  rad_to_deg(r->phi_rad), rad_to_deg(r->osc_rad));
    header_append(h, "# Detector_2theta %.9g deg.\r\n# Phi %.9g deg.\r\n",
                  rad_to_deg(p->twotheta_rad), rad_to_deg(r->phi_rad));
    header_append(h, "# ADC_offset %.9g counts\r\n", x->adc_offset);
    header_append_truth(h, x, r, CONTENTS_BYTES, &(struct header_style){"# ", " ", "\r\n"});
}

static void make_header(struct header_text *h, const struct experiment *x, const struct frame *f,
                        size_t bytes)
{
    h->length = 0;
    header_append(h, "###CBF: VERSION 1.5, braggpipe " BRAGG_VERSION "\r\n\r\n");
    header_append(h, "data_frame_%" PRIu64 "\r\n\r\n", f->recipe.id);
    header_append(h, "_array_data.header_convention \"GENERIC_MINI_1.0\"\r\n"
                     "_array_data.header_contents\r\n;\r\n");
    append_contents(h, x, &f->recipe);
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

/* --- pixels -------------------------------------------------------------- */

/* The n pixels from number `first` as int32: the image's own, or in room[CHUNK] when they
 * must be changed.  NULL when one is too large, and then *first is its number. */
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

/* Room for one more chunk behind `used` bytes. */
static bool reserve(struct cbf_scratch *scratch, size_t used, size_t count)
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

/* Encodes the image into the scratch; *bytes becomes its length. */
static enum status encode(const struct image *image, const uint8_t *mask,
                          struct cbf_scratch *scratch, size_t *bytes, struct error *e)
{
    const struct byte_offset_kernels *kernels = byte_offset_kernels(isa_best());
    int32_t room[CHUNK], previous = 0;
    *bytes = 0;
    for (size_t first = 0; first < image->count; first += CHUNK) {
        const size_t n = image->count - first < CHUNK ? image->count - first : CHUNK;
        if (!reserve(scratch, *bytes, image->count))
            return error_memory(e, "an encoded image");
        uint8_t *to = scratch->bytes + *bytes;
        if (image->type == PIXEL_U16 && !mask) {
            const uint16_t *narrow = (const uint16_t *)image->pixels + first;
            *bytes += kernels->encode_u16(narrow, n, previous, to);
            previous = narrow[n - 1];
            continue;
        }
        const int32_t *pixels = whole_pixels(image, mask, &first, n, room);
        if (!pixels)
            return error_set(e, STATUS_INPUT, "pixel %zu is %" PRIu32 ", CBF holds up to %d", first,
                             ((const uint32_t *)image->pixels)[first], INT32_MAX);
        *bytes += kernels->encode_i32(pixels, n, previous, to);
        previous = pixels[n - 1];
    }
    return STATUS_OK;
}

static enum status check(const struct experiment *x, const struct image *image, struct error *e)
{
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT, "a mini-CBF file holds one panel, the detector has %zu",
                         x->npanels);
    if (!image->pixels || image->type == PIXEL_F32)
        return error_set(e, STATUS_INPUT, "the pixels are no whole numbers, as CBF needs them");
    if ((int64_t)image->count != experiment_pixels(x))
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, its panel %" PRId64,
                         image->count, experiment_pixels(x));
    return STATUS_OK;
}

enum status cbf_write(FILE *out, const struct experiment *x, const struct frame *f,
                      struct cbf_scratch *scratch, struct error *e)
{
    static const char padding[4095];
    static const char end[] = "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n";
    struct header_text h;
    size_t bytes;
    enum status s = check(x, &f->image, e);
    if (!s)
        s = encode(&f->image, x->panels->mask, scratch, &bytes, e);
    if (s)
        return s;
    make_header(&h, x, f, bytes);
    if (fwrite(h.text, 1, h.length, out) != h.length ||
        fwrite(scratch->bytes, 1, bytes, out) != bytes ||
        fwrite(padding, 1, sizeof padding, out) != sizeof padding || fputs(end, out) < 0)
        return error_errno(e, STATUS_FAILED, "cannot write a CBF image");
    return STATUS_OK;
}
