/*
 * The sum of all frames of a run (--powder-sum), as one image.
 *
 * The sums are integers, so the order of frames does not matter.  Counts are added as they are.
 * Photons are fixed-point numbers with 64 bits after the point: single precision has 24 significant
 * bits, so 1e-12 photons and more are added without an error.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/log.h"
#include "outputs.h"

/* Photons of one pixel must be below this number. */
#define PHOTONS_MOST 0x1p62

enum status powder_sum_open(struct powder_sum *p, const char *path, const struct outputs *others,
                            struct error *e)
{
    enum status s = outputs_add(&p->outputs, path, FORMAT_AUTO, 0, e);
    if (s)
        return s;
    const struct output *o = p->outputs.all;
    if (o->format == FORMAT_SMV || format_is_reflections(o->format))
        return error_set(e, STATUS_USAGE,
                         "--powder-sum=%.80s: this format cannot store a sum; expected a name that "
                         "ends in .cbf, .nxs, .h5, .cxi, .raw, .pgm or .png",
                         path);
    if (template_is_numbered(&o->name))
        return error_set(e, STATUS_USAGE,
                         "--powder-sum=%.80s: the name has a number, but a run has one sum. Use a "
                         "name such as powder.cbf",
                         path);
    return outputs_check_other(others, o, e);
}

enum status powder_sum_begin(struct powder_sum *p, const struct output_settings *settings,
                             const struct experiment *x, struct error *e)
{
    struct taken taken;
    p->x = x;
    if (x->gain_switches)
        return error_set(e, STATUS_INPUT,
                         "--powder-sum: the pixels are words of several gain levels, which cannot "
                         "be added. Remove --gain-switching of bragg-noise");
    enum status s = outputs_begin(&p->outputs, settings, x, e);
    if (s || settings->overwrite)
        return s;
    taken_find(&taken, &p->outputs);
    s = taken_check(&taken, &p->outputs, 1, e);
    taken_free(&taken);
    return s;
}

/* --- adding --------------------------------------------------------------- */

/* Takes the pixel type of the first frame, and checks that the format can store its sums. */
static enum status take_type(struct powder_sum *p, const struct output_settings *settings,
                             const struct image *image, struct error *e)
{
    const enum format format = p->outputs.all[0].format;
    p->type = image->type;
    if (image->type != PIXEL_F32 && settings->scale > 0)
        return error_set(e, STATUS_INPUT,
                         "--scale needs float32 photons, but the pixels are "
                         "integers. Remove --scale, or leave bragg-noise out");
    if (image->type == PIXEL_F32 && format == FORMAT_CBF && settings->scale == 0)
        return error_set(e, STATUS_INPUT,
                         "--powder-sum=%.80s: CBF stores integers, but the pixels are float32. Add "
                         "bragg-noise before bragg-write, or give --scale=X",
                         p->outputs.all[0].name.text);
    p->whole = mem_array(image->count, sizeof *p->whole);
    if (image->type == PIXEL_F32)
        p->parts = mem_array(image->count, sizeof *p->parts);
    return STATUS_OK;
}

/* Adds photons to one pixel.  Returns false if the photons or the sum are too large, or NaN. */
static bool add_photons(int64_t *whole, uint64_t *parts, double photons)
{
    if (!(fabs(photons) < PHOTONS_MOST))
        return false;
    double floor_of = floor(photons), part = photons - floor_of;
    if (part >= 1.0) {  // rounding: the photons are just below a whole number
        floor_of += 1.0;
        part = 0.0;
    }
    const uint64_t sum = *parts + (uint64_t)(part * 0x1p64);
    const int64_t carry = sum < *parts;
    *parts = sum;
    return !__builtin_add_overflow(*whole, (int64_t)floor_of + carry, whole);
}

/* Returns true if the file will have whole numbers, and sets their limits. */
static bool find_limits(const struct powder_sum *p, int64_t *least, int64_t *most)
{
    const enum format format = p->outputs.all[0].format;
    const bool negative = p->type == PIXEL_I32;
    *least = negative ? INT32_MIN : 0;
    *most = negative ? INT32_MAX : UINT32_MAX;
    return !p->parts && (format == FORMAT_CBF || format == FORMAT_NXMX);
}

static enum status exceed(const struct powder_sum *p, size_t i, int64_t most, struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "--powder-sum=%.80s: the sum of pixel %zu is %" PRId64
                     "; expected at most %" PRId64 ". Use a name that ends in .raw",
                     p->outputs.all[0].name.text, i, p->whole[i], most);
}

/* Returns true if pixel number i of a frame is masked or outside the ROI. */
static bool is_masked(const struct experiment *x, size_t i)
{
    const struct panel *panel = x->panels;
    while ((int64_t)i >= panel->first_pixel + panel->fast_pixels * panel->slow_pixels)
        panel++;
    const int64_t at = (int64_t)i - panel->first_pixel;
    return !panel_computes(panel, at % panel->fast_pixels, at / panel->fast_pixels);
}

/* Checks, after each frame, the sums of pixels that only grow, so that a long run does not fail at
 * its end. */
static enum status check_sums(const struct powder_sum *p, struct error *e)
{
    int64_t least, most;
    if (!find_limits(p, &least, &most) || least < 0)
        return STATUS_OK;
    const size_t count = (size_t)experiment_pixels(p->x);
    for (size_t i = 0; i < count; i++)
        if (p->whole[i] > most && !is_masked(p->x, i))
            return exceed(p, i, most, e);
    return STATUS_OK;
}

static enum status add_pixels(struct powder_sum *p, const struct frame *f, struct error *e)
{
    const struct image *image = &f->image;
    const uint16_t *narrow = image->pixels;
    const uint32_t *wide = image->pixels;
    const int32_t *signed_pixels = image->pixels;
    const float *photons = image->pixels;
    for (size_t i = 0; i < image->count; i++) {
        if (p->type == PIXEL_U16)
            p->whole[i] += narrow[i];
        else if (p->type == PIXEL_U32)
            p->whole[i] += wide[i];
        else if (p->type == PIXEL_I32)
            p->whole[i] += signed_pixels[i];
        else if (!add_photons(&p->whole[i], &p->parts[i], (double)photons[i]))
            return error_set(e, STATUS_INPUT,
                             "--powder-sum: frame %" PRIu64 ": pixel %zu holds %g photons, which "
                             "cannot be added",
                             f->recipe.id, i, (double)photons[i]);
    }
    return STATUS_OK;
}

enum status powder_sum_add(struct powder_sum *p, const struct output_settings *settings,
                           const struct frame *f, struct error *e)
{
    enum status s = p->whole ? STATUS_OK : take_type(p, settings, &f->image, e);
    if (s)
        return s;
    if (f->image.type != p->type)
        return error_set(e, STATUS_INPUT,
                         "--powder-sum: frame %" PRIu64 " has another pixel type than the frames "
                         "before",
                         f->recipe.id);
    s = add_pixels(p, f, e);
    if (s == STATUS_OK && !image_is_intact(&f->image))
        s = error_set(e, STATUS_FAILED,
                      "frame %" PRIu64
                      ": the previous stage reused the memory of the image while it was added",
                      f->recipe.id);
    id_set_add(&p->frames, f->recipe.id);
    return s ? s : check_sums(p, e);
}

/* --- the image of the sums ---------------------------------------------------- */

/* Sets the sums of pixels that are masked or outside the ROI to 0. */
static void clear_masked(struct powder_sum *p)
{
    for (const struct panel *panel = p->x->panels; panel < p->x->panels + p->x->npanels; panel++) {
        if (panel_is_whole(panel))
            continue;
        for (int64_t i = 0; i < panel->fast_pixels * panel->slow_pixels; i++) {
            if (panel_computes(panel, i % panel->fast_pixels, i / panel->fast_pixels))
                continue;
            p->whole[panel->first_pixel + i] = 0;
            if (p->parts)
                p->parts[panel->first_pixel + i] = 0;
        }
    }
}

/* Makes the image of the sums: float32 from photons and for formats without integers, else 32-bit
 * integers.  The caller frees *image. */
static enum status make_image(const struct powder_sum *p, struct image *image, struct error *e)
{
    const size_t count = (size_t)experiment_pixels(p->x);
    int64_t least, most;
    const bool counts = find_limits(p, &least, &most);
    image_allocate(image,
                   !counts     ? PIXEL_F32
                   : least < 0 ? PIXEL_I32
                               : PIXEL_U32,
                   p->parts ? UNIT_PHOTONS : UNIT_ADU, count);
    float *reals = image->pixels;
    uint32_t *words = image->pixels;
    for (size_t i = 0; i < count; i++) {
        if (!counts) {
            const double part = p->parts ? 0x1p-64 * (double)p->parts[i] : 0.0;
            reals[i] = (float)((double)p->whole[i] + part);
        } else if (p->whole[i] < least || p->whole[i] > most) {
            return exceed(p, i, most, e);
        } else {
            words[i] = (uint32_t)p->whole[i];
        }
    }
    return STATUS_OK;
}

/* Makes *sum describe the sum of n frames of *x: its offset, exposure and lineage. */
static void describe_sum(const struct powder_sum *p, const struct experiment *x,
                         struct experiment *sum)
{
    const uint64_t n = id_set_size(&p->frames);
    char fact[64];
    *sum = *x;
    sum->physics = PHYSICS_PHYSICAL;  // nanoBragg has no header for sums
    sum->adc_offset *= (double)n;
    sum->saturation = 0.0;
    sum->beam.exposure_s = (double)n * beam_exposure_s(&x->beam);
    sum->beam.has_exposure = true;
    sum->beam.fluence_ph_m2 *= (double)n;
    sum->detector_moves = sum->sample_moves = sum->has_pulse_ids = sum->matter_varies = false;
    const uint64_t hash = hash_bytes(hash_text(hash_text(HASH_START, x->lineage), HISTORY_SUMMED),
                                     p->frames.ranges, p->frames.count * sizeof *p->frames.ranges);
    (void)snprintf(sum->lineage, sizeof sum->lineage, "%016" PRIx64, hash_finish(hash));
    (void)snprintf(fact, sizeof fact, HISTORY_SUMMED "=%" PRIu64, n);
    history_append(sum->history, sizeof sum->history, "bragg-write", fact);
}

/* --- the file ----------------------------------------------------------------- */

/* Callback of the series, with --overwrite: returns true until the new file has its name. */
static bool replaces_files(void *written)
{
    return !*(const bool *)written;
}

/* Callback of the series: the new file has its name. */
static enum status note_written(void *written, const struct nxmx_note *note, struct error *e)
{
    (void)note, (void)e;
    *(bool *)written = true;
    return STATUS_OK;
}

/* Writes an NXmx file of one image. */
static enum status write_series(struct powder_sum *p, const struct output_settings *settings,
                                const struct frame *f, uint64_t run, struct error *e)
{
    struct output *o = p->outputs.all;
    struct experiment sum;
    struct replace none;
    bool written = false;
    describe_sum(p, p->x, &sum);
    const struct nxmx_settings series = {.lineage = sum.lineage,
                                         .run = run,
                                         .replaces = settings->overwrite,
                                         .anew = settings->overwrite ? replaces_files : NULL,
                                         .enter = note_written,
                                         .owner = &written};
    const struct nxmx_note note = {
        .crc = crc32c(0, f->image.pixels, f->image.count * pixel_size(f->image.type))};
    o->series.frames_per_file = 1;
    o->series.sync = settings->fsync;
    enum status s = output_begin_series(o, settings, &sum, &series, e);
    if (s == STATUS_OK)
        s = output_put(o, settings, &sum, f, NULL, &none, e);
    if (s == STATUS_OK)
        s = nxmx_series_keep(&o->series, f, &note, e);
    return s ? s : nxmx_series_end(&o->series, e);
}

/* Writes a file of another format. */
static enum status write_file(struct powder_sum *p, const struct output_settings *settings,
                              struct frame *f, struct error *e)
{
    struct output *o = p->outputs.all;
    struct assembly *a = &p->outputs.assembly;
    const bool assembled = a->of && output_is_image(o);
    struct experiment sum;
    struct frame whole = *f;
    struct replace file;
    enum status s = assembled ? assembly_image(a, &f->image, e) : STATUS_OK;
    if (s)
        return s;
    if (assembled)
        whole.image = a->image;
    describe_sum(p, assembled ? &a->whole : p->x, &sum);
    s = output_put(o, settings, &sum, &whole, o->name.text, &file, e);
    if (s)
        return s;
    file.guarded = !settings->overwrite;
    return replace_commit(&file, e);
}

enum status powder_sum_end(struct powder_sum *p, const struct output_settings *settings,
                           uint64_t expected, uint64_t run, struct error *e)
{
    struct output *o = p->outputs.all;
    struct frame f = {0};
    const uint64_t n = id_set_size(&p->frames);
    if (!n || n < expected)
        return error_set(e, STATUS_FAILED,
                         "--powder-sum=%.80s: not written, because this process received %" PRIu64
                         " of the %" PRIu64
                         " frames. Run one process of bragg-write to the end of the run",
                         o->name.text, n, expected);
    clear_masked(p);
    o->series.compression = p->compression;
    enum status s = make_image(p, &f.image, e);
    if (s == STATUS_OK)
        s = o->format == FORMAT_NXMX ? write_series(p, settings, &f, run, e)
                                     : write_file(p, settings, &f, e);
    image_free(&f.image);
    if (s == STATUS_OK)
        log_line(LOG_INFO, "%s: the sum of %" PRIu64 " frames", o->name.text, n);
    return s;
}

void powder_sum_close(struct powder_sum *p)
{
    if (p->outputs.count)
        outputs_close(&p->outputs);
    id_set_clear(&p->frames);
    mem_free(p->whole);
    mem_free(p->parts);
}
