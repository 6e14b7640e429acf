/*
 * All outputs of bragg-write: writes each frame to all of them, gives the files their names in a
 * safe order, and warns once of what no output stores.  Before the run it finds clashes between
 * names: two outputs, an output and the index, an output and files of other programs.
 */
#include "outputs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "io/nxmx/nxmx_spool.h"
#include "io/output/output_file.h"
#include "output.h"

/* --- clashes between names ------------------------------------------------- */

/* A path, split into folder and name. */
struct place {
    char folder[TEMPLATE_PATH_MAX];  // "." or with a slash at the end
    const char *base;                // name behind the last slash, in the path itself
};

static struct place place_of(const char *path)
{
    struct place p;
    const char *slash = strrchr(path, '/');
    (void)snprintf(p.folder, sizeof p.folder, "%.*s", slash ? (int)(slash + 1 - path) : 1,
                   slash ? path : ".");
    p.base = slash ? slash + 1 : path;
    return p;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Returns true if the template makes the file name `base` with some number, and sets *number to
 * that number. */
static bool gives(const struct template *t, const char *base, uint64_t *number)
{
    struct template own = *t;
    own.text = place_of(t->text).base;
    own.start -= (size_t)(own.text - t->text);
    own.end -= (size_t)(own.text - t->text);
    *number = 0;
    return template_is_numbered(t) ? template_number(&own, base, number)
                                   : strcmp(own.text, base) == 0;
}

/* Lists the templates of an output: its own, and for a series those of the data files and of their
 * .part files.  Returns their number. */
static int templates_of(const struct output *o, const struct template *all[3])
{
    all[0] = &o->name;
    all[1] = &o->series.data;
    all[2] = &o->series.spools;
    return o->format == FORMAT_NXMX ? 3 : 1;
}

/* --- the index ----------------------------------------------------------- */

static enum status check_name(const struct outputs *o, const char *path, const char *index,
                              struct error *e)
{
    const struct place place = place_of(path);
    for (int i = 0; i < o->count; i++) {
        const struct template *all[3];
        for (int k = templates_of(&o->all[i], all); k-- > 0;) {
            uint64_t number;
            if (gives(all[k], place.base, &number) &&
                same_folder(place.folder, place_of(all[k]->text).folder))
                return error_set(e, STATUS_USAGE,
                                 "--index=%.60s is also a name that '%.60s' makes; give the index "
                                 "another name",
                                 index, all[k]->text);
        }
    }
    return STATUS_OK;
}

enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e)
{
    struct stat st;
    char *real = realpath(index, NULL);  // resolves symbolic links
    enum status s = check_name(o, index, index, e);
    if (s == STATUS_OK && real)
        s = check_name(o, real, index, e);
    else if (s == STATUS_OK && lstat(index, &st) == 0)
        s = error_set(e, STATUS_USAGE,
                      "--index=%.60s is a broken link; remove it, or give another name", index);
    free(real);
    return s;
}

/* --- two outputs --------------------------------------------------------- */

/* Number of frame numbers that share_a_name tries. Higher numbers need not be tried: templates
 * that can make the same name differ only by the few digits next to their numbers. */
enum { TRIED = 1000 };

static bool share_a_name(const struct template *a, const struct template *b)
{
    char path[TEMPLATE_PATH_MAX];
    uint64_t number;
    for (uint64_t id = 0; id < (template_is_numbered(a) ? TRIED : 1); id++) {
        template_name(a, id, path);
        if (gives(b, place_of(path).base, &number))
            return same_folder(place_of(path).folder, place_of(b->text).folder);
    }
    return false;
}

enum status outputs_check_names(const struct outputs *o, struct error *e)
{
    for (int i = 0; i < o->count; i++)
        for (int k = 0; k < o->count; k++)
            if (k != i && share_a_name(&o->all[i].name, &o->all[k].name))
                return error_set(e, STATUS_USAGE,
                                 "'%.60s' and '%.60s' name the same files; give two different "
                                 "templates",
                                 o->all[i].name.text, o->all[k].name.text);
    return STATUS_OK;
}

enum status outputs_check_other(const struct outputs *o, const struct output *other,
                                struct error *e)
{
    const struct template *ours[3], *its[3];
    const int nits = templates_of(other, its);
    for (int i = 0; i < o->count; i++)
        for (int k = templates_of(&o->all[i], ours); k-- > 0;)
            for (int m = 0; m < nits; m++)
                if (share_a_name(ours[k], its[m]))
                    return error_set(e, STATUS_USAGE,
                                     "'%.60s' and '%.60s' name the same files; give two different "
                                     "names",
                                     o->all[i].name.text, other->name.text);
    return STATUS_OK;
}

/* --- files --------------------------------------------------------------- */

/* Returns true if writing to `path` would destroy something.  A device is written in place, and an
 * empty file has nothing to lose. */
static bool is_taken(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 &&
           (stat(path, &st) != 0 || S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size));
}

/* Adds the numbers of the existing files of a template to *numbers. The file of a template
 * without a number has the number 0. */
static void find_taken(const struct template *t, struct id_set *numbers)
{
    char path[TEMPLATE_PATH_MAX];
    struct id_set there = {0};
    if (template_is_numbered(t))
        template_list(t, &there);
    else if (is_taken(t->text))
        id_set_add(numbers, 0);
    for (size_t i = 0; i < there.count; i++)
        for (uint64_t n = there.ranges[i].first; n <= there.ranges[i].last; n++) {
            template_name(t, n, path);
            if (is_taken(path))
                id_set_add(numbers, n);
        }
    id_set_clear(&there);
}

void taken_find(struct taken *t, const struct outputs *o)
{
    *t = (struct taken){0};
    if (o->series)
        find_taken(&o->series->series.data, &t->numbers[0]);
    for (int i = 0; i < o->count; i++)
        find_taken(&o->all[i].name, &t->numbers[1 + i]);
}

/* Fails if a file exists with one of the numbers first to first + count - 1. */
static enum status check_taken(const struct id_set *numbers, const struct template *t,
                               uint64_t first, uint64_t count, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    for (size_t i = 0; i < numbers->count; i++) {
        const struct id_range *range = &numbers->ranges[i];
        const uint64_t least = range->first > first ? range->first : first;
        if (least <= range->last && least - first < count) {
            template_name(t, least, path);
            return replace_refuse(path, e);
        }
    }
    return STATUS_OK;
}

enum status taken_check(const struct taken *t, const struct outputs *o, uint64_t frames,
                        struct error *e)
{
    const struct nxmx_series *series = o->series ? &o->series->series : NULL;
    enum status s = STATUS_OK;
    if (series)
        s = check_taken(&t->numbers[0], &series->data, 1, nxmx_series_files(series, frames), e);
    for (int i = 0; i < o->count && s == STATUS_OK; i++)
        s = check_taken(&t->numbers[1 + i], &o->all[i].name, 0, frames, e);
    return s;
}

void taken_free(struct taken *t)
{
    for (size_t i = 0; i < sizeof t->numbers / sizeof *t->numbers; i++)
        id_set_clear(&t->numbers[i]);
}

enum status outputs_add(struct outputs *o, const char *text, enum format format, int64_t edge_max,
                        struct error *e)
{
    struct output *added = &o->all[o->count++];
    const enum status s = output_parse(added, text, format, edge_max, e);
    if (s || added->format != FORMAT_NXMX)
        return s;
    if (o->series)
        return error_set(e, STATUS_USAGE,
                         "'%.60s' is a second NXmx series; expected at most one NXmx template",
                         text);
    o->series = added;
    return STATUS_OK;
}

bool outputs_have(const struct outputs *o, enum format format)
{
    for (int i = 0; i < o->count; i++)
        if (o->all[i].format == format)
            return true;
    return false;
}

/* Returns the first output that stores one image per file, or NULL. */
static const struct output *first_image(const struct outputs *o)
{
    for (int i = 0; i < o->count; i++)
        if (output_is_image(&o->all[i]))
            return &o->all[i];
    return NULL;
}

enum status outputs_begin(struct outputs *o, const struct output_settings *settings,
                          const struct experiment *x, struct error *e)
{
    struct error cause = {0};
    const struct output *image = first_image(o);
    if (image && x->npanels != 1) {
        const enum status s = assembly_open(&o->assembly, x, &cause);
        if (s)
            return error_set(e, s, "%s: %s", image->name.text, cause.text);
    }
    moved_open(&o->moved, o->assembly.of ? &o->assembly.whole : x);
    if (!outputs_have(o, FORMAT_CBF) || settings->cbf_header == CBF_GENERIC)
        return STATUS_OK;
    return cbf_header_check(settings->cbf_header, o->assembly.of ? &o->assembly.whole : x, e);
}

/* Returns true if DIALS finds a frame number in the file names of the template. DIALS reads the
 * number from the digits before a dot, and fails if there are no such digits. */
static bool has_number_for_dials(const struct template *t)
{
    const char *slash = strrchr(t->text, '/');
    if (template_is_numbered(t))
        return t->text[t->end] == '.';
    for (const char *c = slash ? slash + 1 : t->text; *c; c++)
        if (isdigit((unsigned char)c[0]) && c[1] == '.')
            return true;
    return false;
}

/* Returns the images that an experiment list names: those of the first output that DIALS imports.
 */
static struct dials_images images_for_dials(const struct outputs *o)
{
    for (int i = 0; i < o->count; i++) {
        const struct output *out = &o->all[i];
        const bool numbered = out->format == FORMAT_SMV || out->format == FORMAT_CBF;
        if (out == o->series ||
            (numbered && template_is_numbered(&out->name) && has_number_for_dials(&out->name)))
            return (struct dials_images){.files = &out->name,
                                         .instead = o->series ? &o->series->name : NULL};
    }
    return (struct dials_images){0};
}

enum status outputs_begin_run(struct outputs *o, const struct run_table_settings *settings,
                              struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < o->count && !s; i++) {
        struct output *out = &o->all[i];
        if (!output_is_of_run(out) || out->format == FORMAT_EXPT)
            continue;
        struct run_table_settings own = *settings;
        own.format = out->format;
        own.images = images_for_dials(o);
        own.path = out->name.text;
        own.expt = out->format == FORMAT_REFL ? out[1].name.text : NULL;
        s = run_table_begin(&out->run, &own, e);
    }
    return s;
}

enum status outputs_end_run(struct outputs *o, struct error *e)
{
    /* Tables come last: --resume regards an existing table as finished if the index lists frames
     * of it, and the series adds its frames to the index here. */
    enum status s = o->series ? nxmx_series_end(&o->series->series, e) : STATUS_OK;
    for (int i = 0; i < o->count && !s; i++)
        s = run_table_end(&o->all[i].run, e);
    return s;
}

const char *outputs_unnumbered(const struct outputs *o)
{
    for (int i = 0; i < o->count; i++)
        if (&o->all[i] != o->series && !output_is_of_run(&o->all[i]) &&
            !template_is_numbered(&o->all[i].name))
            return o->all[i].name.text;
    return NULL;
}

/* Puts the panels of a frame into one image.  *whole borrows the pixels from the assembly. */
static enum status assemble(struct outputs *o, const struct frame *f, struct frame *whole,
                            struct error *e)
{
    *whole = (struct frame){.recipe = f->recipe};
    const enum status s = assembly_image(&o->assembly, &f->image, e);
    whole->image = o->assembly.image;
    if (s == STATUS_OK && !image_is_intact(&f->image))
        return error_set(e, STATUS_FAILED,
                         "frame %" PRIu64
                         ": the previous stage reused the memory of the image while it was read",
                         f->recipe.id);
    return s;
}

/* Returns true for outputs that DIALS reads.  Devices such as /dev/null do not count. */
static bool is_for_dials(const struct output *o)
{
    struct stat st;
    return (o->format == FORMAT_SMV || o->format == FORMAT_CBF) &&
           (stat(o->name.text, &st) != 0 || S_ISREG(st.st_mode));
}

static void warn_of_names(const struct outputs *o)
{
    for (int i = 0; i < o->count; i++)
        if (is_for_dials(&o->all[i]) && !has_number_for_dials(&o->all[i].name))
            log_line(LOG_WARNING,
                     "DIALS cannot import '%.60s': the number is not directly before a dot, as in "
                     "lyso_%%04d.cbf",
                     o->all[i].name.text);
}

/* Writes a frame to all outputs under temporary names, in files[]. */
static enum status put_all(struct outputs *o, const struct output_settings *settings,
                           const struct experiment *x, const struct frame *f,
                           struct replace files[OUTPUTS_MAX], struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    struct frame whole;
    const bool assembled = o->assembly.of != NULL;
    const struct experiment *seen = moved_to(&o->moved, &f->recipe);
    enum status s = assembled ? assemble(o, f, &whole, e) : STATUS_OK;
    for (int i = 0; i < o->count && s == STATUS_OK; i++) {
        struct output *out = &o->all[i];
        output_path(out, f->recipe.id, path);
        if (output_is_of_run(out))
            s = out->format == FORMAT_EXPT ? STATUS_OK : run_table_add(&out->run, f, e);
        else
            s = output_is_image(out)
                    ? output_put(out, settings, seen, assembled ? &whole : f, path, &files[i], e)
                    : output_put(out, settings, x, f, path, &files[i], e);
    }
    return s;
}

bool outputs_keep_planes(const struct outputs *o)
{
    return o->series || outputs_have(o, FORMAT_RAW);
}

static bool keeps_reflections(const struct outputs *o)
{
    for (int i = 0; i < o->count; i++)
        if (format_is_reflections(o->all[i].format))
            return true;
    return false;
}

/* Warns of parts of the frame that no output stores: derivative images, pixel labels,
 * reflections, derivatives by F. Warns only as long as no file has its final name. */
static void warn_of_planes(struct outputs *o, const struct frame *f)
{
    if (f->planes.count && !o->named && !outputs_keep_planes(o))
        log_line(LOG_WARNING,
                 "derivative images are not stored: no output can hold them. Add a .raw or NXmx "
                 "template");
    if (f->reflections.nlabels && !o->named && !o->series)
        log_line(LOG_WARNING,
                 "pixel labels are not stored: no output can hold them. Add an NXmx template, "
                 "such as run.nxs");
    if (f->reflections.present && !o->named && !o->series && !keeps_reflections(o))
        log_line(LOG_WARNING,
                 "reflections are not stored: no output holds them. Add --reflections, or an "
                 "NXmx template such as run.nxs");
    if (f->reflections.has_slopes && !o->named)
        log_line(LOG_WARNING,
                 "derivatives by F are not stored: no file format can hold them. Record them "
                 "with bragg-tap --record");
}

/* Warns once of a number with more digits than the numbers before: DIALS expects the names of a
 * series to have equal length. */
static void warn_of_numbers(struct outputs *o, uint64_t id)
{
    for (int i = 0; i < o->count && !(o->said & OUTPUTS_SAID_NUMBERS); i++) {
        const struct template *t = &o->all[i].name;
        uint64_t longer = 10;
        for (int digits = 1; digits < t->width; digits++)
            longer *= 10;
        if (!is_for_dials(&o->all[i]) || !template_is_numbered(t) || id < longer)
            continue;
        o->said |= OUTPUTS_SAID_NUMBERS;
        log_line(LOG_WARNING,
                 "'%.60s': the number %" PRIu64 " has more digits than the numbers before. DIALS "
                 "imports these files as another series. Use more digits, as in lyso_%%06d.cbf",
                 t->text, id);
    }
}

/* Warns of facts that the files do not store. Call this after the files got their final names. */
static void warn_of_unsaid(struct outputs *o, const struct output_settings *settings,
                           const struct experiment *x, const struct frame *f)
{
    const struct unsaid_frame u = {.image = moved_to(&o->moved, &f->recipe),
                                   .x = x,
                                   .f = f,
                                   .scale = settings->scale,
                                   .kind = settings->cbf_header};
    warn_of_numbers(o, f->recipe.id);
    outputs_warn_of_unsaid(o, &u, &o->said);
}

/* Gives a file its final name. Writes the derivative images of a raw image first. */
static enum status name_file(const struct output *out, const struct output_settings *settings,
                             const struct frame *f, struct replace *file, struct error *e)
{
    const enum status s =
        out->format == FORMAT_RAW
            ? output_planes_write(&f->planes, file->path, settings->fsync, file->guarded, e)
            : STATUS_OK;
    if (!s)
        return replace_commit(file, e);
    replace_abort(file);
    return s;
}

enum status outputs_write(struct outputs *o, const struct output_settings *settings,
                          const struct experiment *x, const struct frame *f,
                          struct frame_index *index, struct error *e)
{
    struct replace files[OUTPUTS_MAX] = {0};
    enum status s = put_all(o, settings, x, f, files, e);
    if (s == STATUS_OK)
        s = frame_index_hold(index, e);
    if (s == STATUS_OK && !o->named) {
        warn_of_names(o);
        warn_of_planes(o, f);
    }
    for (int i = 0; i < o->count; i++) {
        if (!files[i].path)
            continue;
        o->named = o->named || s == STATUS_OK;
        files[i].guarded =
            !settings->overwrite && !frame_index_lists(index, f->recipe.id, files[i].path);
        if (s == STATUS_OK)
            s = name_file(&o->all[i], settings, f, &files[i], e);
        else
            replace_abort(&files[i]);
    }
    if (s == STATUS_OK)
        warn_of_unsaid(o, settings, x, f);
    return s;
}

bool outputs_named(const struct outputs *o)
{
    return o->named || (o->series && o->series->series.named);
}

uint64_t outputs_list(const struct outputs *o, uint64_t id, const char *index,
                      char names[OUTPUTS_NAMES_SIZE])
{
    uint64_t bytes = 0;
    size_t used = 0;
    for (int i = 0; i < o->count; i++) {
        char path[TEMPLATE_PATH_MAX];
        struct stat st;
        output_path(&o->all[i], id, path);
        used += (size_t)snprintf(names + used, OUTPUTS_NAMES_SIZE - used, i ? "\t%s" : "%s",
                                 frame_index_name(index, path));
        if (&o->all[i] != o->series && !output_is_of_run(&o->all[i]) && stat(path, &st) == 0 &&
            S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

/* Writes the names of the files of a series that exist now to `text`: the master, and spools of
 * unfinished data files. */
static void describe_series(const struct nxmx_series *s, char *text, size_t size)
{
    char seen[TEMPLATE_PATH_MAX];
    const bool master = !s->nopen || access(s->master, F_OK) == 0;
    input_seen(s->master, seen, sizeof seen);
    int at = master ? snprintf(text, size, "%s", seen) : 0;
    for (size_t i = 0; i < s->nopen && at >= 0 && (size_t)at < size; i++) {
        input_seen(s->open[i]->spool.path, seen, sizeof seen);
        at += snprintf(text + at, size - (size_t)at, "%s%s", at ? ", " : "", seen);
    }
    if (s->nopen && at >= 0 && (size_t)at < size)
        (void)snprintf(text + at, size - (size_t)at, " (no HDF5 file yet)");
}

void outputs_describe(const struct outputs *o, uint64_t first, uint64_t last, char *text,
                      size_t size)
{
    for (int i = 0; i < o->count; i++) {
        char path[TEMPLATE_PATH_MAX], seen[TEMPLATE_PATH_MAX];
        const bool series = &o->all[i] == o->series;
        if (i)
            (void)snprintf(text + strlen(text), size - strlen(text), ", ");
        const size_t used = strlen(text);
        if (series) {
            describe_series(&o->series->series, text + used, size - used);
            continue;
        }
        output_path(&o->all[i], first, path);
        input_seen(path, seen, sizeof seen);
        (void)snprintf(text + used, size - used, "%s", seen);
        if (first == last || !template_is_numbered(&o->all[i].name))
            continue;
        output_path(&o->all[i], last, path);
        const char *slash = strrchr(path, '/');
        (void)snprintf(text + strlen(text), size - strlen(text), " ... %s",
                       slash ? slash + 1 : path);
    }
}

/* Returns true if the files of all outputs except the series exist and are those of the index
 * entry. */
static bool others_are_there(const struct outputs *o, const struct output_settings *settings,
                             const struct experiment *x, const struct index_entry *entry)
{
    char path[TEMPLATE_PATH_MAX];
    bool there = true;
    for (int i = 0; i < o->count && there; i++) {
        const struct output *out = &o->all[i];
        output_path(out, entry->id, path);
        if (output_is_of_run(out))
            there = out->format == FORMAT_EXPT || run_table_has(&out->run, entry->id);
        else
            there = out == o->series || output_is_entered(out, settings, x, entry, path);
    }
    return there;
}

bool outputs_are_there(const struct outputs *o, const struct output_settings *settings,
                       const struct experiment *x, const struct frame_index *index, uint64_t id)
{
    char names[OUTPUTS_NAMES_SIZE];
    const uint64_t bytes = outputs_list(o, id, index->path, names);
    return frame_index_has(index, id, names, bytes) &&
           others_are_there(o, settings, x, frame_index_find(index, id)) &&
           (!o->series || nxmx_series_holds(&o->series->series, id));
}

bool outputs_are_beside(const struct outputs *o, const struct output_settings *settings,
                        const struct experiment *x, const struct frame_index *index,
                        const struct nxmx_note *note)
{
    char names[OUTPUTS_NAMES_SIZE];
    const struct index_entry entry = {.id = note->id, .crc = note->crc};
    return outputs_list(o, note->id, index->path, names) == note->bytes &&
           others_are_there(o, settings, x, &entry);
}

void outputs_remove_leftovers(const struct outputs *o)
{
    for (int i = 0; i < o->count; i++)
        leftovers_remove(&o->all[i].name);
    if (o->series) {
        leftovers_remove(&o->series->series.data);
        leftovers_remove(&o->series->series.spools);
    }
}

void outputs_close(struct outputs *o)
{
    for (int i = 0; i < o->count; i++) {
        clipped_say(&o->all[i].clipped, o->all[i].name.text);
        output_close(&o->all[i]);
    }
    moved_close(&o->moved);
    assembly_free(&o->assembly);
}
