/*
 * bragg-noisify: noisify's command line and files.  Reads a float image, applies
 * noisify's detector model with its own random numbers, writes the ideal and
 * the noisy counts as SMV and a preview as PGM.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/opt.h"
#include "base/units.h"
#include "io/nanobragg_files.h"
#include "io/smv.h"
#include "legacy_options.h"
#include "physics/check.h"
#include "physics/constants.h"
#include "physics/legacy_images.h"
#include "physics/noisify.h"

struct options {
    struct noisify model;
    double pixel_m, distance_m, wavelength_m;
    int64_t pixels[2];  // 0: by the size
    double size_m[2];
    double beam_m[2];  // NaN: the middle
    double psf_fwhm_m;
    int64_t psf_radius, bits;
    int64_t seed, calibration_seed;  // as given
    bool no_noise, no_pgm;
    const char *input, *header, *int_path, *noise_path, *pgm_path;
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

#define VALUES_NONE 0
#define VALUES_REAL 1
#define VALUES_INT 1
#define VALUES_TEXT 1

static const struct legacy_flag flags[] = {
#define X(tag, name, type, unit, member) \
    {name, FLAG_##tag, LEGACY_##type, VALUES_##type, VALUES_##type},
    FLAGS_VALUE(X)
#undef X
        {"-detpixels", FLAG_DETPIXELS, LEGACY_INT, 1, 1},
    {"-detsize", FLAG_DETSIZE, LEGACY_REAL, 1, 1},
    {"-psf", FLAG_PSF, LEGACY_TEXT, 1, 1},
    {"-badpix_seed", LEGACY_NO_EFFECT, LEGACY_INT, 1, 1},
    {"-hotpix_seed", LEGACY_NO_EFFECT, LEGACY_INT, 1, 1},
    {0},
};

/* Where a value goes, by FLAG_. */
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
               "-psf_fwhm UM -psf_radius N -bits 16|32 -header FILE -nonoise -nopgm -intfile FILE "
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
        .bits = 16,
        .seed = 1,
        .calibration_seed = -1,  // kept positive: it never fills the table anew
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
        return error_set(e, STATUS_USAGE, "-psf: '%.60s' is unknown, must be gauss or fiber", kind);
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

static enum status take_flags(struct options *o, int argc, char **argv, bool warn, struct error *e)
{
    struct legacy_args args = legacy_args(flags, argc, argv);
    struct legacy_option f;
    enum status status;
    while (!(status = legacy_next(&args, &f, e)) && f.id)
        if ((status = take_flag(o, &f, e)))
            return status;
    if (!status && warn)
        legacy_warn(&args);
    return status;
}

static void take_length(const struct smv *smv, const char *key, double *to_m)
{
    double mm;
    if (smv_value(smv, key, &mm))
        *to_m = mm_to_m(mm);
}

/* What a header says comes before the command line. */
static enum status take_header(struct options *o, const char *path, struct error *e)
{
    struct smv smv;
    double wavelength_A;
    enum status status = smv_read(path, false, &smv, e);
    if (!status) {
        o->pixels[0] = smv.fast_pixels;
        o->pixels[1] = smv.slow_pixels;
        take_length(&smv, "PIXEL_SIZE", &o->pixel_m);
        take_length(&smv, "DISTANCE", &o->distance_m);
        take_length(&smv, "BEAM_CENTER_X", &o->beam_m[0]);
        take_length(&smv, "BEAM_CENTER_Y", &o->beam_m[1]);
        if (smv_value(&smv, "WAVELENGTH", &wavelength_A))
            o->wavelength_m = angstrom_to_m(wavelength_A);
    }
    smv_free(&smv);
    return status;
}

/* Resolves counts and sizes and refuses what cannot be. */
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
        return error_set(e, STATUS_USAGE, "-bits: %" PRId64 " is not allowed, must be 16 or 32",
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

/* Writes counts as 16- or 32-bit pixels; narrows them in place. */
static enum status write_counts(const struct options *o, const char *path, uint32_t *image,
                                struct error *e)
{
    const struct noisify *m = &o->model;
    static struct header_text header;  // too large for a stack
    smv_header_noisify(&header,
                       &(struct smv_noisify){m->nx, m->ny, o->pixel_m, o->distance_m,
                                             o->wavelength_m, o->beam_m[0], o->beam_m[1], m->bits});
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

static enum status write_preview(const struct options *o, const float *photons, uint8_t *image,
                                 struct error *e)
{
    int64_t nx = o->model.nx, ny = o->model.ny;
    struct panel panel = {.fast_pixels = nx, .slow_pixels = ny, .roi = {0, nx - 1, 0, ny - 1}};
    struct legacy_statistics st = legacy_statistics(&panel, photons);
    double scale = legacy_preview_scale(0.0, legacy_scale(0.0, &st), &st);
    legacy_preview(&panel, photons, scale, image);
    return nanobragg_write_pgm(o->pgm_path, image, nx, ny, scale, e);
}

static enum status make_images(struct options *o, float *photons, uint32_t *image, struct error *e)
{
    struct noisify *m = &o->model;
    enum status s = nanobragg_read_float(o->input, photons, (size_t)(m->nx * m->ny), e);
    if (s)
        return s;
    noisify_photons(m, photons, photons);
    if (o->no_noise && (s = psf_apply(&m->psf, photons, m->nx, m->ny, e)))
        return s;
    noisify_ideal(m, photons, image);
    if ((s = write_counts(o, o->int_path, image, e)))
        return s;
    if (!o->no_pgm && (s = write_preview(o, photons, (uint8_t *)image, e)))
        return s;
    if (o->no_noise)
        return STATUS_OK;
    struct ran1 random = {0};
    s = noisify_noise(m, &random, photons, image, e);
    return s ? s : write_counts(o, o->noise_path, image, e);
}

static enum status run(int argc, char **argv, struct error *e)
{
    struct options o;
    set_defaults(&o);
    enum status s = take_flags(&o, argc, argv, true, e);
    if (!s && o.header) {
        const char *header = o.header;
        set_defaults(&o);
        if (!(s = take_header(&o, header, e)))
            s = take_flags(&o, argc, argv, false, e);
    }
    if (s || (s = check_options(&o, e)))
        return s;
    size_t count = (size_t)(o.model.nx * o.model.ny);
    if ((s = nanobragg_check_float(o.input, count, e)))
        return s;
    float *photons = mem_array(count, sizeof *photons);
    uint32_t *image = mem_array(count, sizeof *image);
    s = photons && image ? make_images(&o, photons, image, e) : error_memory(e, "image");
    mem_free(photons);
    mem_free(image);
    return s;
}

int main(int argc, char **argv)
{
    return legacy_main(&program, run, argc, argv);
}
