/*
 * One output of bragg-write: chooses the format of a file, converts pixels for --scale, and writes
 * the file of a frame with the files of its derivative images.  For --resume it also checks whether
 * an existing file is the one that the index lists.
 */
#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/history.h"
#include "io/images/image_file.h"
#include "io/images/picture.h"
#include "io/images/smv.h"
#include "io/output/output_file.h"

/* --- derivative images, next to a raw image ------------------------------- */

enum { PATH_SIZE = TEMPLATE_PATH_MAX + PLANE_NAME_SIZE + 1 };

/* Puts `.NAME` before the suffix of the image: a_0.raw becomes a_0.rot_x.raw. */
static void path_of(const struct plane *p, const char *image, char path[PATH_SIZE])
{
    const char *slash = strrchr(image, '/'), *base = slash ? slash + 1 : image;
    const char *dot = strrchr(base, '.');
    const char *suffix = dot && dot != base ? dot : base + strlen(base);
    (void)snprintf(path, PATH_SIZE, "%.*s.%s%s", (int)(suffix - image), image, p->name, suffix);
}

static enum status write_plane(const struct plane *p, const char *path, bool sync, bool guarded,
                               struct error *e)
{
    const struct image image = {.type = PIXEL_F32, .count = p->count, .pixels = p->values};
    struct replace file;
    enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.sync = sync;
    file.guarded = guarded;
    s = raw_write(file.stream, &image, path, e);
    if (!s)
        return replace_commit(&file, e);
    replace_abort(&file);
    return s;
}

enum status output_planes_write(const struct planes *planes, const char *path, bool sync,
                                bool guarded, struct error *e)
{
    struct stat st;
    enum status s = STATUS_OK;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return STATUS_OK;
    for (size_t i = 0; i < planes->count && !s; i++) {
        char name[PATH_SIZE];
        path_of(&planes->items[i], path, name);
        s = write_plane(&planes->items[i], name, sync, guarded, e);
    }
    return s;
}

/* --- whether a file is the one that the index lists ----------------------- */

enum { HEADER_BYTES = 8192 };  // frame and lineage are in the first 8192 bytes

/* --- headers ------------------------------------------------------------- */

/* Returns the value after a key of SMV (KEY=VALUE;) or CBF (# KEY VALUE).  NULL: there is none. */
static const char *find_value(const char *header, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = header; (at = strstr(at, key)); at++)
        if (at[length] == '=' || at[length] == ' ')
            return at + length + 1;
    return NULL;
}

static bool is_value(const char *header, const char *key, const char *value)
{
    const char *found = find_value(header, key);
    const size_t length = strlen(value);
    return found && strncmp(found, value, length) == 0 && strspn(found + length, ";\r\n") > 0;
}

/* --- pixels -------------------------------------------------------------- */

/* Converts float32 values to an integer type, in out[count].  Returns false if a value is out of
 * the range of the type. */
static bool convert_pixels(const float *values, size_t count, enum pixel_type type, void *out)
{
    const double most = type == PIXEL_U16 ? UINT16_MAX : type == PIXEL_U32 ? UINT32_MAX : INT32_MAX;
    const double least = type == PIXEL_I32 ? INT32_MIN : 0;
    for (size_t i = 0; i < count; i++) {
        const double v = (double)values[i];
        if (!(v >= least && v <= most))
            return false;
        if (type == PIXEL_U16)
            ((uint16_t *)out)[i] = (uint16_t)v;
        else if (type == PIXEL_U32)
            ((uint32_t *)out)[i] = (uint32_t)v;
        else
            ((int32_t *)out)[i] = (int32_t)v;
    }
    return true;
}

/* Returns true if `crc` is the checksum of the pixels in their original type: raw files store
 * integers as float32. */
static bool is_sum_of_floats(const struct image *image, uint32_t crc)
{
    static const enum pixel_type types[] = {PIXEL_U16, PIXEL_U32, PIXEL_I32};
    struct image other = {0};
    bool found = crc32c(0, image->pixels, image->count * sizeof(float)) == crc;
    for (size_t i = 0; i < sizeof types / sizeof *types && !found; i++)
        found = image_reserve(&other, types[i], UNIT_ADU, image->count) &&
                convert_pixels(image->pixels, image->count, types[i], other.pixels) &&
                crc32c(0, other.pixels, image->count * pixel_size(types[i])) == crc;
    image_free(&other);
    return found;
}

static bool read_raw(const char *path, struct image *image)
{
    struct stat st;
    FILE *in = fopen(path, "rbe");
    const bool good =
        in && fstat(fileno(in), &st) == 0 && st.st_size > 0 &&
        image_reserve(image, PIXEL_F32, UNIT_PHOTONS, (size_t)st.st_size / sizeof(float)) &&
        fread(image->pixels, sizeof(float), image->count, in) == image->count;
    if (in)
        (void)fclose(in);
    return good;
}

static bool raw_has_sum(const char *path, uint32_t crc)
{
    struct image image = {0};
    const bool same = read_raw(path, &image) && is_sum_of_floats(&image, crc);
    image_free(&image);
    return same;
}

static bool has_sum(const char *path, uint32_t crc)
{
    struct image_file f;
    if (image_file_read(path, &f, NULL))
        return false;
    const bool same = crc32c(0, f.image.pixels, f.image.count * pixel_size(f.image.type)) == crc;
    image_free(&f.image);
    return same;
}

/* --- both ---------------------------------------------------------------- */

bool output_is_entered(const struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct index_entry *entry,
                       const char *path)
{
    char header[HEADER_BYTES + 1], frame[24], gain[32];
    if (o->format == FORMAT_RAW)
        return raw_has_sum(path, entry->crc);
    if (o->format != FORMAT_SMV && o->format != FORMAT_CBF)
        return true;
    FILE *in = fopen(path, "rbe");
    if (!in)
        return false;
    header[fread(header, 1, HEADER_BYTES, in)] = 0;
    (void)fclose(in);
    if (!find_value(header, "BRAGG_LINEAGE"))
        return has_sum(path, entry->crc);
    (void)snprintf(frame, sizeof frame, "%" PRIu64, entry->id);
    (void)snprintf(gain, sizeof gain, "%.9g", settings->scale);
    return is_value(header, "BRAGG_FRAME", frame) &&
           is_value(header, "BRAGG_LINEAGE", x->lineage) &&
           (settings->scale == 0 || is_value(header, "BRAGG_GAIN", gain));
}

#define SCALE_OF_COUNTS                                                                     \
    "--scale needs float32 photons, but the pixels are integers. Remove --scale, or leave " \
    "bragg-noise out"

static enum format format_of(const char *name)
{
    static const struct {
        const char *suffix;
        enum format format;
    } suffixes[] = {
        {".img", FORMAT_SMV},  {".smv", FORMAT_SMV}, {".cbf", FORMAT_CBF},  {".raw", FORMAT_RAW},
        {".bin", FORMAT_RAW},  {".f32", FORMAT_RAW}, {".pgm", FORMAT_PGM},  {".png", FORMAT_PNG},
        {".nxs", FORMAT_NXMX}, {".h5", FORMAT_NXMX}, {".cxi", FORMAT_NXMX},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(dot, suffixes[i].suffix) == 0)
            return suffixes[i].format;
    return FORMAT_AUTO;
}

enum status output_parse(struct output *o, const char *text, enum format format, int64_t edge_max,
                         struct error *e)
{
    const enum status s = template_parse(&o->name, text, e);
    if (s)
        return s;
    o->format = format ? format : format_of(text);
    o->edge_max = edge_max;
    if (!o->format)
        return error_set(e, STATUS_USAGE,
                         "'%.60s': unknown format. Expected a name that ends in .img, .cbf, .nxs, "
                         ".h5, .cxi, .raw, .pgm or .png, or --format=FORMAT",
                         text);
    if (o->format == FORMAT_NXMX) {
        const enum status opened = nxmx_series_open(&o->series, text, e);
        if (opened)
            return opened;
    }
    return target_check(text, e);
}

/* Returns true if the output is a preview: a reduced picture with marks, which can show panels
 * at any positions. */
static bool is_preview(const struct output *o)
{
    return o->format == FORMAT_PNG && o->edge_max > 0;
}

bool output_is_image(const struct output *o)
{
    return o->format < FORMAT_NXMX && o->format != FORMAT_RAW && !is_preview(o);
}

bool output_is_of_run(const struct output *o)
{
    return format_is_reflections(o->format) && !template_is_numbered(&o->name);
}

void output_path(const struct output *o, uint64_t id, char *path)
{
    if (o->format == FORMAT_NXMX)
        nxmx_series_file(&o->series, id, path);
    else
        template_name(&o->name, id, path);
}

/* Returns `value`, limited to 0..most and rounded to a whole number (halves to even). NaN gives
 * 0. `most` must be below 2^52. */
static double round_to_limit(double value, double most)
{
    const double low = value > 0.0 ? value : 0.0, x = low < most ? low : most;
    return (x + 0x1p52) - 0x1p52;
}

/* Writes scale * photons to the 16-bit or 32-bit pixels of *to, and adds the number of clipped
 * pixels to *clipped. */
static void scale_image(double scale, const float *photons, double most, struct image *to,
                        struct clipped *clipped)
{
    const bool narrow = to->type == PIXEL_U16;
    uint16_t *narrow_pixels = to->pixels;
    int32_t *wide_pixels = to->pixels;
    uint64_t saturated = 0, below = 0;
    for (size_t i = 0; i < to->count; i++) {
        const double value = scale * (double)photons[i], adu = round_to_limit(value, most);
        if (narrow)
            narrow_pixels[i] = (uint16_t)adu;
        else
            wide_pixels[i] = (int32_t)adu;
        saturated += adu == most;
        below += value < -0.5;
    }
    clipped_add(clipped, saturated, below);
}

/* Sets *scaled to a copy of *x with the gain, the saturation and the history that --scale gives
 * to the files. */
static void scale_experiment(struct output *o, double scale, const struct experiment *x,
                             struct experiment *scaled)
{
    char given[64];
    *scaled = *x;
    scaled->physics = PHYSICS_PHYSICAL;  // nanoBragg has no header for scaled photons
    scaled->gain = scale;
    (void)snprintf(given, sizeof given, HISTORY_GIVEN "=--scale=%.17g", scale);
    history_append(scaled->history, sizeof scaled->history, "bragg-write", given);
    o->clipped.largest_adu = scaled->saturation = o->format == FORMAT_SMV ? UINT16_MAX : INT32_MAX;
}

/* Sets *copy to the frame with scaled integer pixels. The caller frees copy->image. */
static void scale_frame(struct output *o, double scale, const struct frame *f, struct frame *copy)
{
    const bool smv = o->format == FORMAT_SMV;
    *copy = (struct frame){.recipe = f->recipe, .reflections = f->reflections, .planes = f->planes};
    image_allocate(&copy->image, smv ? PIXEL_U16 : PIXEL_I32, UNIT_ADU, f->image.count);
    scale_image(scale, f->image.pixels, o->clipped.largest_adu, &copy->image, &o->clipped);
}

static enum status write_counts(struct output *o, const struct output_settings *settings,
                                const struct experiment *x, const struct frame *f, FILE *out,
                                struct error *e)
{
    if (o->format == FORMAT_CBF)
        return cbf_write(out, x, f, settings->cbf_header, &o->cbf, e);
    return x->physics == PHYSICS_FAITHFUL && f->image.type == PIXEL_U16
               ? smv_write_nanobragg(out, x, f, e)
               : smv_write_modern(out, x, f, e);
}

/* Writes SMV or CBF, which store integers. */
static enum status write_whole(struct output *o, const struct output_settings *settings,
                               const struct experiment *x, const struct frame *f, FILE *out,
                               struct error *e)
{
    struct experiment scaled;
    struct frame copy;
    if (f->image.type != PIXEL_F32)
        return settings->scale > 0 ? error_set(e, STATUS_INPUT, SCALE_OF_COUNTS)
                                   : write_counts(o, settings, x, f, out, e);
    if (settings->scale == 0)
        return error_set(e, STATUS_INPUT,
                         "%s stores integers, but the pixels are float32. Add bragg-noise before "
                         "bragg-write, or give --scale=X",
                         o->format == FORMAT_SMV ? "SMV" : "CBF");
    scale_experiment(o, settings->scale, x, &scaled);
    scale_frame(o, settings->scale, f, &copy);
    const enum status s = write_counts(o, settings, &scaled, &copy, out, e);
    image_free(&copy.image);
    return s;
}

static enum status write_picture(struct output *o, const struct output_settings *settings,
                                 const struct experiment *x, const struct frame *f, FILE *out,
                                 const char *path, struct error *e)
{
    const struct picture_settings look = {
        .edge_max = o->edge_max, .saturation = x->saturation, .logarithmic = settings->log};
    struct picture p;
    if (is_preview(o))
        return preview_write(&o->shown, &settings->preview, &look, x, f, out, path, e);
    picture_make(&p, &f->image, x->panels, &look);
    const enum status s = o->format == FORMAT_PNG ? picture_write_png(out, &p, path, e)
                                                  : picture_write_pgm(out, &p, path, e);
    picture_free(&p);
    return s;
}

/* Writes a frame to `out`, in a format other than raw and NXmx. */
static enum status write_image(struct output *o, const struct output_settings *settings,
                               const struct experiment *x, const struct frame *f, FILE *out,
                               const char *path, struct error *e)
{
    struct error cause = {0};
    if (o->format != FORMAT_SMV && o->format != FORMAT_CBF)
        return write_picture(o, settings, x, f, out, path, e);
    const enum status s = write_whole(o, settings, x, f, out, &cause);
    return s ? error_set(e, s, "%s: %s", path, cause.text) : STATUS_OK;
}

static enum status write_content(struct output *o, const struct output_settings *settings,
                                 const struct experiment *x, const struct frame *f, FILE *out,
                                 const char *path, struct error *e)
{
    if (o->format == FORMAT_RAW)
        return raw_write(out, &f->image, path, e);
    if (format_is_reflections(o->format))
        return reflections_write(out, o->format, x, f, settings->least_z, path, e);
    return write_image(o, settings, x, f, out, path, e);
}

enum status output_begin_series(struct output *o, const struct output_settings *settings,
                                const struct experiment *x, const struct nxmx_settings *given,
                                struct error *e)
{
    struct experiment scaled;
    if (settings->scale == 0)
        return nxmx_series_begin(&o->series, x, given, e);
    scale_experiment(o, settings->scale, x, &scaled);
    return nxmx_series_begin(&o->series, &scaled, given, e);
}

/* Compresses the image of a frame for the NXmx series. With --scale, the pixels are converted to
 * integers first. */
static enum status pack_for_series(struct output *o, const struct output_settings *settings,
                                   const struct frame *f, struct error *e)
{
    struct frame copy;
    if (settings->scale == 0)
        return nxmx_series_pack(&o->series, f, e);
    if (f->image.type != PIXEL_F32)
        return error_set(e, STATUS_INPUT, SCALE_OF_COUNTS);
    enum status s = STATUS_OK;
    scale_frame(o, settings->scale, f, &copy);
    if (!image_is_intact(&f->image))
        s = error_set(e, STATUS_FAILED,
                      "%s: the previous stage reused the memory of frame %" PRIu64
                      " while it was read",
                      o->series.master, f->recipe.id);
    if (s == STATUS_OK)
        s = nxmx_series_pack(&o->series, &copy, e);
    image_free(&copy.image);
    return s;
}

enum status output_put(struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct frame *f, const char *path,
                       struct replace *file, struct error *e)
{
    *file = (struct replace){0};
    if (o->format == FORMAT_NXMX)
        return pack_for_series(o, settings, f, e);
    enum status s = replace_open(file, path, e);
    if (s)
        return s;
    file->sync = settings->fsync;
    s = write_content(o, settings, x, f, file->stream, path, e);
    if (s == STATUS_OK && !image_is_intact(&f->image))
        s = error_set(
            e, STATUS_FAILED,
            "%s: the previous stage reused the memory of the image while the file was written",
            path);
    if (s == STATUS_OK)
        s = replace_flush(file, e);
    if (s)
        replace_abort(file);
    return s;
}

enum status output_write(struct output *o, const struct output_settings *settings,
                         const struct experiment *x, const struct frame *f, const char *path,
                         struct error *e)
{
    struct replace file;
    const enum status s = output_put(o, settings, x, f, path, &file, e);
    return s || !file.path ? s : replace_commit(&file, e);
}

void output_close(struct output *o)
{
    cbf_scratch_free(&o->cbf);
    preview_free(&o->shown);
    nxmx_series_close(&o->series);
    run_table_close(&o->run);
}
