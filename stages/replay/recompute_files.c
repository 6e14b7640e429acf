/* Writes a recomputed frame in the format of a file, and compares the two. */
#include "recompute_files.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "difference.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx_kept.h"
#include "io/nxmx/nxmx_read.h"
#include "model/moved.h"
#include "provenance.h"
#include "stages/write/output.h"

enum { CBF_KIND_BYTES = 1024 };  // bytes at the start of a CBF file that show its kind of header

static enum format format_of(const char *path)
{
    FILE *in = fopen(path, "rbe");
    char first[6] = "";
    const size_t got = in ? fread(first, 1, sizeof first, in) : 0;
    if (in)
        (void)fclose(in);
    if (got > 1 && first[0] == '{' && isspace((unsigned char)first[1]))
        return FORMAT_SMV;
    if (got == 6 && memcmp(first, "###CBF", 6) == 0)
        return FORMAT_CBF;
    if (got == 6 && memcmp(first, "\x89PNG", 4) == 0)
        return FORMAT_PNG;
    if (got == 6 && memcmp(first, "\x89HDF", 4) == 0)
        return FORMAT_NXMX;
    return got >= 2 && memcmp(first, "P5", 2) == 0 ? FORMAT_PGM : FORMAT_RAW;
}

static struct output_settings settings_of(const struct recomputed *r)
{
    return (struct output_settings){.scale = r->scale};
}

/* Returns the kind of header (--cbf-header) of a CBF file. */
static enum cbf_header cbf_kind_of(const char *path)
{
    char text[CBF_KIND_BYTES + 1] = "";
    FILE *in = fopen(path, "rbe");
    if (in) {
        text[fread(text, 1, CBF_KIND_BYTES, in)] = 0;
        (void)fclose(in);
    }
    return cbf_header_kind(text);
}

/* --- a file a frame ------------------------------------------------------ */

/* Compares two files.  If *differs is set, *where is the first byte that differs.
 * STATUS_INPUT: the stored file ends too early. */
static enum status compare_bytes(const char *was, const char *is, bool *differs, uint64_t *where,
                                 struct error *e)
{
    FILE *a = fopen(was, "rbe"), *b = fopen(is, "rbe");
    enum status s = STATUS_OK;
    if (!a || !b)
        s = error_errno(e, STATUS_INPUT, "%s: cannot open", a ? is : was);
    *differs = false;
    for (*where = 0; s == STATUS_OK; ++*where) {
        const int x = getc(a), y = getc(b);
        *differs = x != y;
        if (x == EOF && y != EOF)
            s = error_set(e, STATUS_INPUT, "%s: ends too early, after %" PRIu64 " bytes", was,
                          *where);
        if (x != y || x == EOF)
            break;
    }
    if (a)
        (void)fclose(a);
    if (b)
        (void)fclose(b);
    return s;
}

static enum status say_difference(const struct recomputed *r, const char *path, const char *again,
                                  uint64_t where, struct error *e)
{
    struct image_file was, is;
    enum status s = image_file_read(path, &was, e);
    if (s)
        return s;
    s = image_file_read(again, &is, e);
    if (s == STATUS_OK && !report_pixels(r->experiment, path, &was.image, &is.image))
        printf("%s: the same pixels, but byte %" PRIu64 " differs\n", path, where);
    image_free(&was.image);
    if (s == STATUS_OK)
        image_free(&is.image);
    return s;
}

static enum status compare_whole(const struct recomputed *r, enum format format, const char *path,
                                 bool *differs, struct error *e)
{
    char again[PROVENANCE_PATH_MAX + 16];
    struct output output = {.format = format};
    struct output_settings settings = settings_of(r);
    uint64_t where;
    if (format == FORMAT_CBF)
        settings.cbf_header = cbf_kind_of(path);
    (void)snprintf(again, sizeof again, "%s/frame.img", r->folder);
    struct moved moved;
    enum status s = moved_open(&moved, r->experiment) ? STATUS_OK : error_memory(e, "the panels");
    if (s == STATUS_OK)
        s = output_write(&output, &settings, moved_to(&moved, &r->frame->recipe), r->frame, again,
                         e);
    output_close(&output);
    moved_close(&moved);
    if (s == STATUS_OK)
        s = compare_bytes(path, again, differs, &where, e);
    if (s == STATUS_OK && !*differs)
        report_line(path, "the same bytes");
    return s == STATUS_OK && *differs ? say_difference(r, path, again, where, e) : s;
}

/* --- NXmx ---------------------------------------------------------------- */

/* Writes the frame as an NXmx series of one frame. */
static enum status write_series(const struct recomputed *r, enum nxmx_compression compression,
                                const char *master, struct error *e)
{
    struct output output = {0};
    const struct output_settings settings = settings_of(r);
    enum status s = output_parse(&output, master, FORMAT_NXMX, 0, e);
    output.series.compression = compression;
    if (s == STATUS_OK)
        s = output_begin_series(&output, &settings, r->experiment,
                                &(struct nxmx_settings){.lineage = settings.lineage}, e);
    if (s == STATUS_OK)
        s = output_write(&output, &settings, r->experiment, r->frame, master, e);
    if (s == STATUS_OK)
        s = nxmx_series_keep(&output.series, r->frame,
                             &(struct nxmx_note){.id = r->frame->recipe.id}, e);
    if (s == STATUS_OK)
        s = nxmx_series_end(&output.series, e);
    output_close(&output);
    return s;
}

static bool same_images(const struct nxmx_one *a, const struct nxmx_one *b)
{
    return a->chunk.length == b->chunk.length &&
           memcmp(a->chunk.bytes, b->chunk.bytes, a->chunk.length) == 0;
}

/* Returns false for a table of an older version, without pixels of rows and unassigned photons. */
static bool tells_all(const struct reflection_table *t)
{
    return t->npixels || t->least_photons > 0 || t->rest_photons != 0;
}

static bool same_sums(const struct reflection_table *a, const struct reflection_table *b)
{
    return a->npixels == b->npixels && a->least_photons == b->least_photons &&
           a->rest_photons == b->rest_photons &&
           (!a->npixels || memcmp(a->pixels, b->pixels, a->npixels * sizeof *a->pixels) == 0);
}

static bool same_rows(const struct reflection_table *a, const struct reflection_table *b)
{
    return a->present == b->present && a->count == b->count &&
           (!a->count || memcmp(a->rows, b->rows, a->count * sizeof *a->rows) == 0);
}

static bool same_labels(const struct reflection_table *a, const struct reflection_table *b)
{
    return a->nlabels == b->nlabels &&
           (!a->nlabels || memcmp(a->labels, b->labels, a->nlabels * sizeof *a->labels) == 0);
}

static bool same_plane(const struct plane *a, const struct plane *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0 &&
           memcmp(a->values, b->values, a->count * sizeof *a->values) == 0;
}

/* Returns the name of the first derivative image that differs; "": none. */
static const char *differing_plane(const struct planes *a, const struct planes *b)
{
    if (a->count != b->count)
        return "of other names";
    for (size_t i = 0; i < a->count; i++)
        if (!same_plane(&a->items[i], &b->items[i]))
            return a->items[i].name;
    return "";
}

static void say_rows(const char *path, const struct reflection_table *was,
                     const struct reflection_table *is)
{
    size_t differ = 0;
    if (was->count != is->count) {
        printf("%s: the same image, but %zu reflections, recomputed %zu\n", path, was->count,
               is->count);
        return;
    }
    for (size_t i = 0; i < is->count; i++)
        differ += memcmp(&was->rows[i], &is->rows[i], sizeof *is->rows) != 0;
    printf("%s: the same image, but %zu of %zu reflections differ\n", path, differ, is->count);
}

static void say_labels(const char *path, const struct reflection_table *was,
                       const struct reflection_table *is)
{
    size_t differ = 0;
    for (size_t i = 0; i < was->nlabels && i < is->nlabels; i++)
        differ += was->labels[i] != is->labels[i];
    if (was->nlabels == is->nlabels)
        printf("%s: the same image, but %zu of %zu labels differ\n", path, differ, is->nlabels);
    else
        printf("%s: the same image, but %s\n", path,
               was->nlabels ? "the recomputed frame has no labels"
                            : "the stored frame has no labels");
}

/* Prints a difference in reflections, labels or derivatives.  Returns false if all are the same. */
static bool say_others(const char *path, const struct nxmx_one *was, const struct nxmx_one *is)
{
    const char *plane = differing_plane(&was->planes, &is->planes);
    if (!same_rows(&was->reflections, &is->reflections))
        say_rows(path, &was->reflections, &is->reflections);
    else if (tells_all(&was->reflections) && !same_sums(&was->reflections, &is->reflections))
        printf(
            "%s: the same image, but the pixels of reflections or the unassigned photons differ\n",
            path);
    else if (!same_labels(&was->reflections, &is->reflections))
        say_labels(path, &was->reflections, &is->reflections);
    else if (*plane)
        printf("%s: the same image, but its derivatives differ: %s\n", path, plane);
    else
        return false;
    return true;
}

/* Prints "the same bytes", and what was compared besides the image. */
static void say_same(const char *path, const struct nxmx_one *is)
{
    char text[64];
    (void)snprintf(text, sizeof text, "the same bytes%s%s%s",
                   is->reflections.present ? ", and reflections" : "",
                   is->reflections.nlabels ? ", and labels" : "",
                   is->planes.count ? ", and derivatives" : "");
    report_line(path, text);
}

static enum status compare_nxmx(const struct recomputed *r, const char *path, bool *differs,
                                struct error *e)
{
    char master[PROVENANCE_PATH_MAX + 16];
    struct nxmx_one was, is = {0};
    (void)snprintf(master, sizeof master, "%s/frame.nxs", r->folder);
    const size_t pixels = (size_t)experiment_pixels(r->experiment);
    enum status s = nxmx_one_read(path, r->frame->recipe.id, pixels, &was, e);
    if (s == STATUS_OK)
        s = write_series(r, was.compression, master, e);
    if (s == STATUS_OK)
        s = nxmx_one_read(master, r->frame->recipe.id, pixels, &is, e);
    if (s == STATUS_OK) {
        const bool rows = nxmx_rows_agree(&was.rows, &is.rows, r->frame->recipe.id);
        const bool images = same_images(&was, &is);
        *differs = !rows || !images || say_others(path, &was, &is);
        if (!*differs)
            say_same(path, &is);
        else if ((!rows || !images) && !report_pixels(r->experiment, path, &was.image, &is.image))
            report_line(path, images ? "the same image, but its metadata differ"
                                     : "the same pixels, but packed to other bytes");
    }
    nxmx_one_free(&was);
    nxmx_one_free(&is);
    return s;
}

enum status recompute_compare_file(const struct recomputed *r, const char *path, bool *differs,
                                   struct error *e)
{
    struct stat st;
    *differs = false;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: not an ordinary file", path);
    const enum format format = format_of(path);
    if (format == FORMAT_NXMX)
        return compare_nxmx(r, path, differs, e);
    if (format != FORMAT_PNG && format != FORMAT_PGM)
        return compare_whole(r, format, path, differs, e);
    log_line(LOG_INFO, "%s: skipped, because it is a picture", path);
    return STATUS_OK;
}
