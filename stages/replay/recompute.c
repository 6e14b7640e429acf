/*
 * bragg-replay --recompute: computes a stored frame again and compares it.
 *
 * provenance.c finds out how the frame was made, and rerun_stages.c runs the same stages for this
 * frame alone, into a recording in a temporary folder.  A frame of a recording is compared message
 * by message.  A frame in files is written once more, in the format of each file, and the files are
 * compared byte by byte; in NXmx, the compressed image and the metadata.
 */
#include "replay.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/history.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_spool.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"
#include "stages/write/output.h"
#include "wire/codec.h"

/* A recomputed frame that is compared with files. */
struct recomputed {
    const struct experiment *experiment;
    struct frame *frame;
    const char *folder;  // folder for temporary files
    double scale;        // --scale of bragg-write; 0: not used
};

/* --- results on stdout ---------------------------------------------------------- */

/* Prints the line "NAME: WHAT" about a frame or file. */
static void report_line(const char *name, const char *what)
{
    printf("%s: %s\n", name, what);
}

/* Writes the position of pixel number i to `text`: "fast,slow", and the panel if there are
 * several. */
static void say_place(const struct experiment *x, size_t i, char text[64])
{
    const struct panel *p = x->panels;
    size_t number = 0;
    while (number + 1 < x->npanels && i >= (size_t)p[1].first_pixel) {
        number++;
        p++;
    }
    const size_t within = i - (size_t)p->first_pixel, width = (size_t)p->fast_pixels;
    const int used = snprintf(text, 64, "%zu,%zu", within % width, within / width);
    if (x->npanels > 1)
        (void)snprintf(text + used, 64 - (size_t)used, " of panel %zu", number);
}

/* Prints the position of the first pixel that differs, in the panels of *x, and how many pixels
 * differ.  Returns false, and prints nothing, if no pixel differs. */
static bool report_pixels(const struct experiment *x, const char *name, const struct image *was,
                          const struct image *is)
{
    char place[64];
    size_t count = 0, first = 0;
    if (was->count != is->count || was->type != is->type) {
        printf("%s: stored %zu pixels of %zu bytes, recomputed %zu of %zu\n", name, was->count,
               pixel_size(was->type), is->count, pixel_size(is->type));
        return true;
    }
    const size_t size = pixel_size(was->type);
    for (size_t i = was->count; i-- > 0;)
        if (memcmp((const char *)was->pixels + i * size, (const char *)is->pixels + i * size,
                   size) != 0) {
            first = i;
            count++;
        }
    if (!count)
        return false;
    say_place(x, first, place);
    printf("%s: pixel %s is %.9g, recomputed %.9g; %zu of %zu pixels differ\n", name, place,
           image_value(was, first), image_value(is, first), count, was->count);
    return true;
}

/* --- files: the frame is written in the format of a file, and both are compared ----- */

enum { CBF_KIND_BYTES = 8192 };  // bytes at the start of a CBF file that show its kind of header

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

/* --- formats with one frame per file ------------------------------------- */

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
    moved_open(&moved, r->experiment);
    enum status s =
        output_write(&output, &settings, moved_to(&moved, &r->frame->recipe), r->frame, again, e);
    output_close(&output);
    moved_close(&moved);
    if (s == STATUS_OK)
        s = compare_bytes(path, again, differs, &where, e);
    if (s == STATUS_OK && !*differs)
        report_line(path, "the same bytes");
    return s == STATUS_OK && *differs ? say_difference(r, path, again, where, e) : s;
}

/* --- NXmx ---------------------------------------------------------------- */

/* Returns true if a previous version wrote the table, without z. */
static bool lacks_z(const struct reflection_table *t)
{
    return t->count && t->rows[0].z == 0.0F;
}

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

/* Returns false if the table was written by an older version, and therefore does not contain the
 * pixels of its rows and the unassigned photons. */
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

/* Returns the name of the first derivative image that differs; "": none differs.  Returns "of
 * other names" if the numbers of images differ. */
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

/* Prints the first difference in reflections, labels or derivative images.  Returns false if
 * there is no difference. */
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
    if (s == STATUS_OK && !lacks_z(&was.reflections))
        reflection_table_rate(&r->frame->reflections, r->experiment);
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

/* Writes the frame in the format of the file `path`, compares both, and prints the result.  Sets
 * *differs if they differ.  For NXmx the compressed image and the metadata of the frame are
 * compared. Pictures are skipped, because the options that drew them are unknown. */
static enum status recompute_compare_file(const struct recomputed *r, const char *path,
                                          bool *differs, struct error *e)
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

/* A frame of a recording, with its experiment and the message from which it was decoded. */
struct replayed_frame {
    struct experiment experiment;
    struct message message;
    struct frame frame;
    struct message copy;  // copy of the message before the frame took its pixels
};

/* State of --recompute: the origin of the frame, the recomputed frame, and the result. */
struct recomputation {
    struct provenance origin;
    struct recording recording;  // recording of the recomputed frame
    struct replayed_frame new;
    char folder[PROVENANCE_PATH_MAX];
    bool differs;
};

/* Path of a file in the temporary folder. */
struct temporary_path {
    char text[PROVENANCE_PATH_MAX + 16];
};

static struct temporary_path path_inside(const struct recomputation *a, const char *name)
{
    struct temporary_path p;
    (void)snprintf(p.text, sizeof p.text, "%s/%s", a->folder, name);
    return p;
}

/* --- frames of recordings ------------------------------------------------ */

static void made_free(struct replayed_frame *m)
{
    frame_free(&m->frame);
    message_free(&m->message);
    message_free(&m->copy);
    experiment_free(&m->experiment);
}

/* Reads frame `id` of a recording, with its experiment.  The caller frees *m with made_free,
 * also after an error. */
static enum status read_frame(const struct recording *r, uint64_t id, struct replayed_frame *m,
                              struct error *e)
{
    struct route route;
    struct message first = {0};
    enum status s = recording_experiment(r, &route, &first, e);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&m->experiment, &first, e);
    message_free(&first);
    const struct recording_entry *entry = recording_list_find(&r->frames, id);
    if (s == STATUS_OK && !entry)
        s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " not found", r->path, id);
    const struct codec_expected expected = codec_expect(&m->experiment);
    if (s == STATUS_OK)
        s = recording_frame(r, entry, &route, &m->copy, e);
    if (s == STATUS_OK)
        s = recording_frame(r, entry, &route, &m->message, e);
    if (s == STATUS_OK)
        s = codec_frame_decode(&m->frame, &expected, &m->message, e);
    if (s == STATUS_OK)
        planes_expand(&m->frame.planes, expected.pixels);  // complete images, as in files
    return s;
}

/* Checks that stages, options and input files are the same as at the time when the frame was
 * made.  STATUS_INPUT: they differ. */
static enum status check_history(const struct recomputation *a, struct error *e)
{
    const struct provenance *o = &a->origin;
    const struct experiment *x = &a->new.experiment;
    char what[HISTORY_DIFFERENCE_SIZE], brief[EXPERIMENT_HISTORY_SIZE] = "";
    const char *now = x->history;
    size_t used = 0;
    for (const char *line = now; o->brief && *line; line += strcspn(line, "\n"), line += *line != 0)
        if (history_brief(line, brief + used, sizeof brief - used - 2)) {
            used = strlen(brief);
            memcpy(brief + used++, "\n", 2);
        }
    if (history_difference(o->history, o->brief ? brief : now, what))
        return error_set(e, STATUS_INPUT, "%s", what);
    if (*o->lineage && strcmp(o->lineage, x->lineage) != 0)
        return error_set(e, STATUS_INPUT,
                         "the lineage was %.16s and is %.16s. Did an input file change?",
                         o->lineage, x->lineage);
    return STATUS_OK;
}

/* --- comparing ----------------------------------------------------------- */

static bool same_messages(const struct message *a, const struct message *b)
{
    bool same = a->nparts == b->nparts;
    for (size_t i = 1; same && i < a->nparts; i++)
        same = a->parts[i].size == b->parts[i].size &&
               memcmp(a->parts[i].data, b->parts[i].data, a->parts[i].size) == 0;
    return same;
}

static enum status compare_recorded(struct recomputation *a, struct error *e)
{
    struct replayed_frame old = {0};
    char name[PROVENANCE_PATH_MAX + 40];
    const enum status s = read_frame(&a->origin.recording, a->origin.id, &old, e);
    (void)snprintf(name, sizeof name, "%s: frame %" PRIu64, a->origin.recording.path, a->origin.id);
    if (s == STATUS_OK && same_messages(&old.copy, &a->new.copy)) {
        report_line(name, "the same bytes");
    } else if (s == STATUS_OK) {
        a->differs = true;
        if (!report_pixels(&a->new.experiment, name, &old.frame.image, &a->new.frame.image))
            report_line(name, "the recipe differs");
    }
    made_free(&old);
    return s;
}

static enum status compare_frames(struct recomputation *a, struct error *e)
{
    if (a->origin.recorded)
        return compare_recorded(a, e);
    const struct recomputed r = {.experiment = &a->new.experiment,
                                 .frame = &a->new.frame,
                                 .folder = a->folder,
                                 .scale = a->origin.scale};
    enum status s = STATUS_OK;
    for (int i = 0; i < a->origin.nfiles && s == STATUS_OK; i++) {
        bool differs;
        s = recompute_compare_file(&r, a->origin.files[i], &differs, e);
        a->differs = a->differs || differs;
    }
    return s;
}

/* --- the whole recomputation --------------------------------------------- */

/* Computes the frame again from its history, with the same stages, and reads the result into
 * a->new. */
static enum status make_again(struct recomputation *a, const char *target, struct error *e)
{
    struct error cause = {0};
    const struct temporary_path record = path_inside(a, "frame.rec");
    enum status s = rerun_stages(a->origin.history, a->origin.id, record.text,
                                 path_inside(a, "said").text, &cause);
    if (s == STATUS_OK)
        s = recording_open(&a->recording, record.text, &cause);
    if (s == STATUS_OK)
        s = read_frame(&a->recording, a->origin.id, &a->new, &cause);
    if (s == STATUS_OK)
        s = check_history(a, &cause);
    return s ? error_set(e, s, "%.200s: cannot be recomputed: %s", target, cause.text) : STATUS_OK;
}

static enum status run_and_compare(struct recomputation *a, const char *target, struct error *e)
{
    const char *temporary = getenv("TMPDIR");
    enum status s = provenance_open(&a->origin, target, e);
    if (s)
        return s;
    (void)snprintf(a->folder, sizeof a->folder, "%s/bragg-replay-XXXXXX",
                   temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(a->folder))
        return error_errno(e, STATUS_FAILED, "%s: cannot create", a->folder);
    s = make_again(a, target, e);
    if (s == STATUS_OK)
        s = compare_frames(a, e);
    folder_remove(a->folder);
    return s;
}

static int recompute(const char *target)
{
    static struct recomputation a = {.recording.file = -1};
    struct error e = {0};
    enum status s = run_and_compare(&a, target, &e);
    made_free(&a.new);
    recording_close(&a.recording);
    provenance_close(&a.origin);
    if (s == STATUS_OK && (fflush(stdout) || ferror(stdout)))
        s = error_errno(&e, STATUS_FAILED, "cannot write to stdout");
    if (s == STATUS_INTERRUPTED)
        return (int)s;
    return s ? log_fail(&e) : a.differs ? (int)STATUS_FAILED : (int)STATUS_OK;
}

bool recompute_asked(int argc, char **argv)
{
    bool asked = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--") == 0)
            return asked && argv[i][2] == 0;
        asked = asked || strcmp(argv[i], "--recompute") == 0;
    }
    return asked;
}

int recompute_main(int argc, char **argv)
{
    static const struct opt table[] = {
        {"recompute", NULL, "Compute frame K of FILE:K again and compare all bytes", OPT_FLAG,
         .offset = 0},
        {0},
    };
    const struct opt_program program = {.name = "bragg-replay",
                                        .summary = "Compute a frame again.",
                                        .operands = "FILE[:K]",
                                        .min_operands = 1,
                                        .max_operands = 1};
    const char *operand[1];
    bool given;
    int count;
    struct error e = {0};
    program_open(program.name);
    const enum status s =
        opt_parse(&program, table, &given, NULL, NULL, argc, argv, operand, &count, &e);
    return s ? log_fail(&e) : recompute(operand[0]);
}
