/*
 * bragg-noisify: the command line and the files of noisify.  It reads a float image, applies the
 * detector model of noisify with its own random numbers, and writes the ideal and the noisy counts
 * as SMV and a preview as PGM.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/units.h"
#include "io/images/nanobragg_files.h"
#include "io/images/smv.h"
#include "legacy.h"
#include "physics/noise/noisify.h"
#include "physics/request.h"

struct options {
    struct noisify model;
    double pixel_m, distance_m, wavelength_m;
    int64_t pixels[2];  // 0: computed from size_m
    double size_m[2];
    double beam_m[2];  // NaN: the centre of the image
    double psf_fwhm_m;
    double phi_deg, osc_deg;
    int64_t psf_radius, bits;
    int64_t seed, calibration_seed;  // as given
    bool no_noise, no_pgm;
    const char *input, *header, *int_path, *noise_path, *pgm_path;
    struct smv copied;  // owned: header of the file `header`, if that was given
};

/* Flags that store one value: X(tag, flag, type, unit, member of struct options). */
#define FLAGS_VALUE(X)                                            \
    X(BIN, "-bin", TEXT, SAME, input)                             \
    X(FLOATFILE, "-floatfile", TEXT, SAME, input)                 \
    X(FLOATIMAGE, "-floatimage", TEXT, SAME, input)               \
    X(HEADER, "-header", TEXT, SAME, header)                      \
    X(DETPIXELS_X, "-detpixels_x", INT, SAME, pixels[0])          \
    X(DETPIXELS_Y, "-detpixels_y", INT, SAME, pixels[1])          \
    X(DETSIZE_X, "-detsize_x", REAL, MM, size_m[0])               \
    X(DETSIZE_Y, "-detsize_y", REAL, MM, size_m[1])               \
    X(PIXEL, "-pixel", REAL, MM, pixel_m)                         \
    X(DISTANCE, "-distance", REAL, MM, distance_m)                \
    X(LAMBDA, "-lambda", REAL, ANGSTROM, wavelength_m)            \
    X(XBEAM, "-Xbeam", REAL, MM, beam_m[0])                       \
    X(YBEAM, "-Ybeam", REAL, MM, beam_m[1])                       \
    X(PHI, "-phi", REAL, SAME, phi_deg)                           \
    X(OSC, "-osc", REAL, SAME, osc_deg)                           \
    X(SCALE, "-scale", REAL, SAME, model.scale)                   \
    X(FLUENCE, "-fluence", REAL, SAME, model.fluence_ph_m2)       \
    X(GAIN, "-gain", REAL, SAME, model.gain)                      \
    X(ADC, "-adc", REAL, SAME, model.adc)                         \
    X(READOUT, "-readout*", REAL, SAME, model.readout)            \
    X(FLICKER, "-flicker", REAL, SAME, model.flicker)             \
    X(CALIBRATION, "-calibration", REAL, SAME, model.calibration) \
    X(SEED, "-seed", INT, SAME, seed)                             \
    X(CALIB_SEED, "-calib_seed", INT, SAME, calibration_seed)     \
    X(PSF_FWHM, "-psf_fwhm", REAL, UM, psf_fwhm_m)                \
    X(PSF_SIZE, "-psf_si*", REAL, UM, psf_fwhm_m)                 \
    X(PSF_WIDTH, "-psf_wi*", REAL, UM, psf_fwhm_m)                \
    X(PSF_RADIUS, "-psf_radius", INT, SAME, psf_radius)           \
    X(BITS, "-bits", INT, SAME, bits)                             \
    X(NONOISE, "-nonoise", NONE, SAME, no_noise)                  \
    X(NOPGM, "-nopgm", NONE, SAME, no_pgm)                        \
    X(INTFILE, "-intfile", TEXT, SAME, int_path)                  \
    X(INTIMAGE, "-intimage", TEXT, SAME, int_path)                \
    X(NOISEFILE, "-noisefile", TEXT, SAME, noise_path)            \
    X(NOISEIMAGE, "-noiseimage", TEXT, SAME, noise_path)          \
    X(PGMFILE, "-pgmfile", TEXT, SAME, pgm_path)                  \
    X(PGMIMAGE, "-pgmimage", TEXT, SAME, pgm_path)

enum {
    FLAG_DETPIXELS = 1,
    FLAG_DETSIZE,
    FLAG_PSF,
#define X(tag, name, type, unit, member) FLAG_##tag,
    FLAGS_VALUE(X)
#undef X
};

static const struct legacy_flag flags[] = {
#define X(tag, name, type, unit, member) \
    {name, FLAG_##tag, LEGACY_##type, LEGACY_ONE(type), LEGACY_ONE(type)},
    FLAGS_VALUE(X)
#undef X
        {"-detpixels", FLAG_DETPIXELS, LEGACY_INT, 1, 1},
    {"-detsize", FLAG_DETSIZE, LEGACY_REAL, 1, 1},
    {"-psf", FLAG_PSF, LEGACY_TEXT, 1, 1},
    {"-badpix_seed", LEGACY_NO_EFFECT, LEGACY_INT, 1, 1},
    {"-hotpix_seed", LEGACY_NO_EFFECT, LEGACY_INT, 1, 1},
    {0},
};

/* The places where the values of flags are stored, indexed by FLAG_. */
static const struct legacy_target targets[] = {
#define X(tag, name, type, unit, member) \
    [FLAG_##tag] = {LEGACY_##type, SI_##unit, offsetof(struct options, member)},
    FLAGS_VALUE(X)
#undef X
};

static const struct opt_program program = {
    .name = "bragg-noisify",
    .summary = "Add detector noise to a float image, with noisify's command line and files.",
    .examples = "bragg-noisify -bin floatimage.bin -detpixels 128 -pixel 0.1\n"
                "bragg-noisify -bin floatimage.bin -detpixels 128 -psf fiber -psf_fwhm 80",
    .details = "Flags are noisify's: -bin FILE -detpixels N -pixel MM -scale X -gain X -adc ADU "
               "-readout ADU -flicker X -calibration X -seed N -calib_seed N -psf gauss|fiber "
               "-psf_fwhm UM -psf_radius N -bits 16|32 -header FILE -phi DEG -osc DEG -nonoise "
               "-nopgm -intfile FILE "
               "-noisefile FILE -pgmfile FILE and others: see bragg-noisify(1).",
};

static void set_defaults(struct options *o)
{
    *o = (struct options){
        .model = {.fluence_ph_m2 = FLUENCE_UNIT_PH_M2,
                  .scale = 1.0,
                  .gain = 1.0,
                  .adc = 40.0,
                  .calibration = 0.03,
                  .psf = {.loose_bounds = true}},
        .pixel_m = 1e-4,
        .distance_m = 0.1,
        .wavelength_m = 1e-10,
        .size_m = {0.1024, 0.1024},
        .beam_m = {(double)NAN, (double)NAN},
        .psf_fwhm_m = 46e-6,
        .osc_deg = 1.0,
        .bits = 16,
        .seed = 1,
        .calibration_seed = -1,  // stored as +1, which never restarts the random generator
        .input = "floatimage.bin",
        .int_path = "intimage.img",
        .noise_path = "noiseimage.img",
        .pgm_path = "image.pgm",
    };
}

static enum status take_psf(struct options *o, const char *kind, struct error *e)
{
    if (strcmp(kind, "gauss") == 0)
        o->model.psf.kind = PSF_GAUSS;
    else if (strcmp(kind, "fiber") == 0)
        o->model.psf.kind = PSF_FIBER;
    else
        return error_set(e, STATUS_USAGE, "-psf: '%.60s' is unknown; expected gauss or fiber",
                         kind);
    return STATUS_OK;
}

static enum status take_flag(struct options *o, const struct legacy_option *f, struct error *e)
{
    if (f->id == FLAG_PSF)
        return take_psf(o, f->text[0], e);
    if (f->id == FLAG_DETPIXELS)
        o->pixels[0] = o->pixels[1] = f->integer[0];
    else if (f->id == FLAG_DETSIZE)
        o->size_m[0] = o->size_m[1] = mm_to_m(f->real[0]);
    else
        legacy_store(&targets[f->id], f, o);
    return STATUS_OK;
}

static enum status take_flags(struct options *o, int argc, char **argv, struct error *e)
{
    struct legacy_args args = legacy_args(flags, argc, argv);
    struct legacy_option f;
    enum status status;
    while (!(status = legacy_next(&args, &f, e)) && f.id)
        if ((status = take_flag(o, &f, e)))
            return status;
    if (!status)
        legacy_warn(&args);
    return status;
}

/* Returns true if a flag describes the image, and is therefore overruled by a copied header. */
static bool is_of_header(int id)
{
    static const int ids[] = {FLAG_DETPIXELS, FLAG_DETPIXELS_X, FLAG_DETPIXELS_Y, FLAG_DETSIZE,
                              FLAG_DETSIZE_X, FLAG_DETSIZE_Y,   FLAG_DISTANCE,    FLAG_LAMBDA,
                              FLAG_XBEAM,     FLAG_YBEAM,       FLAG_PHI,         FLAG_OSC,
                              FLAG_PIXEL};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Warns about flags that have no effect because the value in a copied header is used, as in the
 * original noisify. */
static void warn_of_overruled(int argc, char **argv)
{
    struct legacy_args args = legacy_args(flags, argc, argv);
    struct legacy_option f;
    struct error ignored;
    char names[256] = "";
    while (!legacy_next(&args, &f, &ignored) && f.id) {
        const size_t used = strlen(names);
        if (is_of_header(f.id) && used + strlen(f.name) + 2 < sizeof names)
            (void)snprintf(names + used, sizeof names - used, " %s", f.name);
    }
    if (*names)
        log_line(LOG_WARNING, "-header overrules these flags:%s", names);
}

/* Warns if the copied header, which is written unchanged, does not match the pixel type or the
 * byte order. */
static void warn_of_lies(const struct options *o)
{
    const char *header = o->copied.header, *type = strstr(header, "\nTYPE=");
    const bool narrow = o->bits == 16;
    if (type && narrow != !strncmp(type + 6, "unsigned_short", 14))
        log_line(LOG_WARNING,
                 "-header %s: the copied header has TYPE=%.*s, but the pixels have %" PRId64
                 " bits (-bits)",
                 o->header, (int)strcspn(type + 6, ";\n"), type + 6, o->bits);
    if (strstr(header,
               __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "=big_endian" : "=little_endian"))
        log_line(LOG_WARNING,
                 "-header %s: the copied header has another BYTE_ORDER than the pixels", o->header);
}

/* Reads the unchanged bytes of the header file into o->copied.header, because smv_read ends the
 * text at the brace. */
static enum status read_bytes(struct options *o, struct error *e)
{
    FILE *in = input_open(o->header);
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", o->header);
    const bool good =
        fread(o->copied.header, 1, o->copied.header_bytes, in) == o->copied.header_bytes;
    (void)fclose(in);
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT, "%s: truncated inside its SMV header", o->header);
}

/* Reads the file of -header. Its header describes the image, overrules flags, and is written
 * unchanged to the output files. */
static enum status take_header(struct options *o, struct error *e)
{
    double mm;
    enum status status = smv_read(o->header, false, &o->copied, e);
    if (status)
        return status;
    if (o->copied.header_bytes > sizeof((struct header_text *)0)->text)
        return error_set(e, STATUS_INPUT, "%s: a header of %zu bytes; expected at most %zu",
                         o->header, o->copied.header_bytes, sizeof((struct header_text *)0)->text);
    o->pixels[0] = o->copied.fast_pixels;
    o->pixels[1] = o->copied.slow_pixels;
    if (smv_value(&o->copied, "PIXEL_SIZE", &mm))
        o->pixel_m = mm_to_m(mm);
    warn_of_lies(o);
    return read_bytes(o, e);
}

/* Computes the numbers of pixels, the sizes and the beam centre from the options, and checks all
 * values. STATUS_USAGE: a value is out of range. */
static enum status check_options(struct options *o, struct error *e)
{
    static const char *const names[2] = {"number of pixels along x", "number of pixels along y"};
    struct noisify *m = &o->model;
    enum status s = check_range("pixel size", o->pixel_m, 1e-3, "mm", 1e-4, 1e3, e);
    int64_t counts[2];
    for (int i = 0; i < 2 && !s; i++) {
        if (o->pixels[i])
            o->size_m[i] = o->pixel_m * (double)o->pixels[i];
        double count = ceil(o->size_m[i] / o->pixel_m - 0.5);
        if (!(s = check_range(names[i], count, 1.0, "", 1.0, LIMIT_EDGE_PIXELS, e)))
            counts[i] = (int64_t)count;
        if (isnan(o->beam_m[i]))
            o->beam_m[i] = o->size_m[i] / 2.0;
    }
    if (s ||
        (s = check_range("number of pixels", (double)counts[0] * (double)counts[1], 1.0, "", 1.0,
                         LIMIT_PIXELS, e)) ||
        (s = check_range("fluence", m->fluence_ph_m2, 1.0, "photons/m^2", 0.0, 1e45, e)) ||
        (s = check_range("-psf_fwhm", o->psf_fwhm_m, 1e-6, "um", 1e-3, 1e6, e)) ||
        (s = check_range("-psf_radius", (double)o->psf_radius, 1.0, "pixels", 0.0, 1e6, e)))
        return s;
    if (o->bits != 16 && o->bits != 32)
        return error_set(e, STATUS_USAGE, "-bits: %" PRId64 " is not allowed; expected 16 or 32",
                         o->bits);
    m->nx = counts[0];
    m->ny = counts[1];
    m->bits = (int)o->bits;
    m->seed = -o->seed;
    m->calibration_seed = -o->calibration_seed;
    m->psf.fwhm_px = (double)(float)o->psf_fwhm_m / o->pixel_m;
    m->psf.radius_px = o->psf_radius;
    return STATUS_OK;
}

static void make_header(const struct options *o, struct header_text *h)
{
    const struct noisify *m = &o->model;
    if (o->header) {
        memcpy(h->text, o->copied.header, o->copied.header_bytes);
        h->length = o->copied.header_bytes;
        return;
    }
    smv_header_noisify(h, &(struct smv_noisify){.fast_pixels = m->nx,
                                                .slow_pixels = m->ny,
                                                .pixel_m = o->pixel_m,
                                                .distance_m = o->distance_m,
                                                .wavelength_m = o->wavelength_m,
                                                .beam_x_m = o->beam_m[0],
                                                .beam_y_m = o->size_m[1] - o->beam_m[1],
                                                .bits = m->bits,
                                                .phi_deg = o->phi_deg,
                                                .osc_deg = o->osc_deg});
}

/* Writes the counts as SMV with 16-bit or 32-bit pixels. The 16-bit pixels replace the counts in
 * image[]. */
static enum status write_counts(const struct options *o, const char *path, uint32_t *image,
                                struct error *e)
{
    const struct noisify *m = &o->model;
    static struct header_text header;  // too large for a stack
    make_header(o, &header);
    size_t count = (size_t)(m->nx * m->ny);
    if (m->bits == 16) {
        uint16_t *narrow = (uint16_t *)(void *)image;
        for (size_t i = 0; i < count; i++) {
            uint16_t v = (uint16_t)image[i];
            memcpy(&narrow[i], &v, sizeof v);
        }
    }
    return nanobragg_write_smv(path, &header, image, count, (size_t)m->bits / 8, e);
}

/* Writes the preview of the ideal counts, which must be in image[] as write_counts left them.
 * The 8-bit pixels of the preview, at most 255, replace the counts in image[]. */
static enum status write_preview(const struct options *o, uint32_t *image, struct error *e)
{
    uint8_t *preview = (uint8_t *)image;
    const size_t count = (size_t)(o->model.nx * o->model.ny);
    for (size_t i = 0; i < count; i++) {
        uint32_t wide = 0;
        uint16_t narrow = 0;
        if (o->bits == 16)
            memcpy(&narrow, preview + i * sizeof narrow, sizeof narrow);
        else
            memcpy(&wide, preview + i * sizeof wide, sizeof wide);
        const uint32_t value = o->bits == 16 ? narrow : wide;
        preview[i] = value < 255 ? (uint8_t)value : 255;
    }
    return nanobragg_write_pgm(o->pgm_path, preview, o->model.nx, o->model.ny, 1.0, e);
}

static enum status make_images(struct options *o, float *photons, uint32_t *image, struct error *e)
{
    struct noisify *m = &o->model;
    enum status s = nanobragg_read_float(o->input, photons, (size_t)(m->nx * m->ny), e);
    if (s)
        return s;
    noisify_photons(m, photons, photons);
    if (o->no_noise)
        psf_apply(&m->psf, photons, m->nx, m->ny);
    noisify_ideal(m, photons, image);
    if ((s = write_counts(o, o->int_path, image, e)))
        return s;
    if (!o->no_pgm && (s = write_preview(o, image, e)))
        return s;
    if (o->no_noise)
        return STATUS_OK;
    struct ran1 random = {0};
    noisify_noise(m, &random, photons, image);
    return write_counts(o, o->noise_path, image, e);
}

static enum status make_all(struct options *o, struct error *e)
{
    const size_t count = (size_t)(o->model.nx * o->model.ny);
    enum status s = nanobragg_check_float(o->input, count, e);
    if (s)
        return s;
    float *photons = mem_array(count, sizeof *photons);
    uint32_t *image = mem_array(count, sizeof *image);
    s = make_images(o, photons, image, e);
    mem_free(photons);
    mem_free(image);
    return s;
}

static enum status run_noisify(int argc, char **argv, struct error *e)
{
    struct options o;
    set_defaults(&o);
    enum status s = take_flags(&o, argc, argv, e);
    if (!s && o.header) {
        warn_of_overruled(argc, argv);
        s = take_header(&o, e);
    }
    s = s ? s : check_options(&o, e);
    s = s ? s : make_all(&o, e);
    smv_free(&o.copied);
    return s;
}

int main(int argc, char **argv)
{
    return legacy_main(&program, run_noisify, argc, argv);
}
