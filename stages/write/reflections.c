/*
 * Files of reflections: as text, as a CrystFEL stream, or for DIALS; a file per frame, or the table
 * of a whole run, which is kept in a spool until the run ends.  The summary of all reflections,
 * which the log has at the end.
 */
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "io/output/output_file.h"
#include "io/output/truth.h"
#include "physics/detector/detector.h"

static bool is_dials(enum format format)
{
    return format == FORMAT_REFL || format == FORMAT_EXPT;
}

static enum status pack_text(enum format format, const struct experiment *x, const struct frame *f,
                             double least_z, const char *path, void **bytes, size_t *size,
                             struct error *e)
{
    double lab[9];
    FILE *out = open_memstream((char **)bytes, size);
    if (!out)
        return error_memory(e, path);
    if (format == FORMAT_STREAM) {
        panels_frame(x, lab);
        reflections_write_chunk(out, x, f, lab, least_z);
    } else {
        reflections_write_rows(out, f);
    }
    return fclose(out) == 0 ? STATUS_OK : error_memory(e, path);
}

/* Packs the reflections of a frame into *bytes, which the caller frees with mem_free.  FORMAT_REFL
 * and FORMAT_EXPT need the same bytes.  Error messages name `path`.
 * STATUS_INPUT: the frame has no reflections, or the format cannot store them. */
static enum status reflections_pack(enum format format, const struct experiment *x,
                                    const struct frame *f, double least_z, const char *path,
                                    void **bytes, size_t *size, struct error *e)
{
    const enum status s = reflections_check(f, path, e);
    *bytes = NULL;
    if (s)
        return s;
    return is_dials(format) ? dials_pack(x, f, least_z, path, bytes, size, e)
                            : pack_text(format, x, f, least_z, path, bytes, size, e);
}

/* Writes the part of a file that precedes the first frame. */
static enum status write_head(FILE *out, enum format format, const struct experiment *x,
                              const char *path, struct error *e)
{
    double lab[9];
    if (format == FORMAT_STREAM) {
        panels_frame(x, lab);
        return reflections_write_preamble(out, x, lab, path, e);
    }
    reflections_write_names(out);
    return STATUS_OK;
}

/* Writes the file of all packed frames.  Files for DIALS name the `images` of the frames.
 * STATUS_FAILED: `out` cannot be written. */
static enum status reflections_join(FILE *out, enum format format, const struct experiment *x,
                                    struct dials_images images, const struct records *all,
                                    const char *path, struct error *e)
{
    if (format == FORMAT_REFL)
        return dials_write_refl(out, x, images, all, path, e);
    if (format == FORMAT_EXPT)
        return dials_write_expt(out, x, images, all, path, e);
    enum status s = write_head(out, format, x, path, e);
    for (size_t i = 0; i < all->count && !s; i++) {
        const void *bytes;
        size_t size;
        s = all->read(all->state, i, &bytes, &size, e);
        if (s == STATUS_OK && size)
            (void)fwrite(bytes, 1, size, out);
    }
    if (s == STATUS_OK && ferror(out))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return s;
}

/* Records of a single frame, for reflections_join. */
struct frame_records {
    void *bytes;
    size_t size;
};

static enum status read_one(void *state, size_t i, const void **bytes, size_t *size,
                            struct error *e)
{
    const struct frame_records *one = state;
    (void)i, (void)e;
    *bytes = one->bytes;
    *size = one->size;
    return STATUS_OK;
}

enum status reflections_write(FILE *out, enum format format, const struct experiment *x,
                              const struct frame *f, double least_z, const char *path,
                              struct error *e)
{
    struct frame_records one;
    const struct records all = {&one, 1, read_one};
    enum status s = reflections_pack(format, x, f, least_z, path, &one.bytes, &one.size, e);
    if (s == STATUS_OK)
        s = reflections_join(out, format, x, (struct dials_images){.alone = true}, &all, path, e);
    mem_free(one.bytes);
    return s;
}

/* --- the table of a run: spool during the run, file at its end ---------------- */

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0);
}

/* Returns true if the index lists the table as a file of its first frame. */
static bool is_listed(const struct run_table_settings *s)
{
    struct id_set ids = {0};
    frame_index_ids(s->index, &ids);
    const bool listed = ids.count && frame_index_lists(s->index, ids.ranges->first, s->path);
    id_set_clear(&ids);
    return listed;
}

static enum status refuse_others(const struct run_table *t, struct error *e)
{
    const struct run_table_settings *s = &t->settings;
    if (t->guarded && is_there(s->path))
        return replace_refuse(s->path, e);
    return t->guarded && s->expt && is_there(s->expt) ? replace_refuse(s->expt, e) : STATUS_OK;
}

/* Returns true if an earlier run finished the table: such a run has removed its spool. */
static bool is_finished(const struct run_table_settings *s, bool listed)
{
    char *spool = spool_name(s->path);
    const bool finished = s->resume && listed && is_there(s->path) &&
                          (!s->expt || is_there(s->expt)) && spool && !is_there(spool);
    free(spool);
    return finished;
}

enum status run_table_begin(struct run_table *t, const struct run_table_settings *settings,
                            struct error *e)
{
    const bool listed = is_listed(settings);
    *t = (struct run_table){.settings = *settings};
    t->guarded = !settings->overwrite && !listed;
    enum status s = refuse_others(t, e);
    t->finished = s == STATUS_OK && is_finished(settings, listed);
    if (s || t->finished)
        return s;
    const struct spool_settings spool = {settings->lineage, settings->run, settings->resume,
                                         settings->overwrite};
    s = spool_open(&t->spool, settings->path, &spool, e);
    t->begun = s == STATUS_OK;
    if (t->begun)
        spool_ids(&t->spool, &t->held);
    return s;
}

bool run_table_has(const struct run_table *t, uint64_t id)
{
    return t->finished || id_set_has(&t->held, id);
}

/* Checks a frame that arrives after the table was finished. A frame of the table may arrive
 * again, because another file of the frame is missing. STATUS_FAILED: the table does not have
 * the frame. */
static enum status check_finished(const struct run_table *t, uint64_t id, struct error *e)
{
    const struct run_table_settings *s = &t->settings;
    return frame_index_lists(s->index, id, s->path)
               ? STATUS_OK
               : error_set(e, STATUS_FAILED,
                           "%s is finished and has no frame %" PRIu64
                           ". Remove the file: the run then makes it again with all frames",
                           s->path, id);
}

enum status run_table_add(struct run_table *t, const struct frame *f, struct error *e)
{
    const struct run_table_settings *settings = &t->settings;
    void *bytes;
    size_t size;
    if (t->finished)
        return check_finished(t, f->recipe.id, e);
    enum status s = reflections_pack(settings->format, settings->x, f, settings->least_z,
                                     settings->path, &bytes, &size, e);
    if (s == STATUS_OK)
        s = spool_add(&t->spool, f->recipe.id, bytes, size, settings->sync, e);
    mem_free(bytes);
    return s;
}

/* Writes the file `path`, with all frames of the spool, under a temporary name. *file is the
 * open file for replace_commit. */
static enum status put_file(struct run_table *t, enum format format, const char *path,
                            struct replace *file, struct error *e)
{
    const struct records all = spool_records(&t->spool);
    enum status s = replace_open(file, path, e);
    if (s)
        return s;
    file->sync = t->settings.sync;
    file->guarded = t->guarded;
    s = reflections_join(file->stream, format, t->settings.x, t->settings.images, &all, path, e);
    if (s == STATUS_OK)
        s = replace_flush(file, e);
    if (s)
        replace_abort(file);
    return s;
}

/* Writes the table and its experiment list.  Both are complete before the first gets its name. */
static enum status write_files(struct run_table *t, struct error *e)
{
    const struct run_table_settings *settings = &t->settings;
    struct replace table, expt = {0};
    enum status s = put_file(t, settings->format, settings->path, &table, e);
    if (s)
        return s;
    if (settings->expt)
        s = put_file(t, FORMAT_EXPT, settings->expt, &expt, e);
    if (s) {
        replace_abort(&table);
        return s;
    }
    if (settings->expt)
        s = replace_commit(&expt, e);
    if (s)
        replace_abort(&table);
    else
        s = replace_commit(&table, e);
    return s;
}

enum status run_table_end(struct run_table *t, struct error *e)
{
    bool last;
    if (!t->begun)
        return STATUS_OK;
    enum status s = spool_gather(&t->spool, &last, e);
    if (s == STATUS_OK && last && t->spool.count)
        s = write_files(t, e);
    if (s == STATUS_OK && last)
        spool_remove(&t->spool);
    else
        spool_close(&t->spool);
    t->begun = false;
    return s;
}

void run_table_close(struct run_table *t)
{
    struct error ignored;
    bool last;
    if (t->begun && spool_gather(&t->spool, &last, &ignored) == STATUS_OK && last &&
        !t->spool.count)
        spool_remove(&t->spool);
    else if (t->begun)
        spool_close(&t->spool);
    t->begun = false;
    id_set_clear(&t->held);
}

/* --- summary: overlap --------------------------------------------------------------- */

/* A spot as a circle, in pixels. */
struct circle {
    int32_t panel;
    bool overlaps;
    double fast, slow, radius;
};

static int by_panel_and_slow(const void *a, const void *b)
{
    const struct circle *x = a, *y = b;
    if (x->panel != y->panel)
        return x->panel < y->panel ? -1 : 1;
    return (x->slow > y->slow) - (x->slow < y->slow);
}

static struct circle *list_circles(const struct reflection_row *rows, size_t count, double *largest)
{
    struct circle *circles = mem_array(count, sizeof *circles);
    *largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        circles[i] = (struct circle){.panel = rows[i].panel,
                                     .fast = rows[i].fast,
                                     .slow = rows[i].slow,
                                     .radius = sqrt(rows[i].pixels / M_PI)};
        *largest = fmax(*largest, circles[i].radius);
    }
    qsort(circles, count, sizeof *circles, by_panel_and_slow);
    return circles;
}

/* Returns how many of the `count` rows overlap another row on the same panel: the distance of their
 * centroids is less than the sum of the radii of two circles with the areas of their spots, which
 * are those of the brightest pixels that hold 99 % of the photons. */
static size_t count_overlapping(const struct reflection_row *rows, size_t count)
{
    double largest;
    size_t overlapping = 0;
    if (!count)
        return 0;
    struct circle *circles = list_circles(rows, count, &largest);
    for (size_t i = 0; i < count; i++) {
        struct circle *one = &circles[i];
        for (struct circle *other = one + 1; other < circles + count; other++) {
            if (other->panel != one->panel || other->slow - one->slow >= one->radius + largest)
                break;
            const double fast = other->fast - one->fast, slow = other->slow - one->slow,
                         reach = one->radius + other->radius;
            if (fast * fast + slow * slow < reach * reach)
                one->overlaps = other->overlaps = true;
        }
        overlapping += one->overlaps;
    }
    mem_free(circles);
    return overlapping;
}

/* --- summary: all frames ------------------------------------------------------------------ */

/* Counts a visible reflection. */
static void add_visible(struct reflections_summary *s, const struct recipe *recipe,
                        const struct reflection_row *r)
{
    const double d_A = dials_spacing_A(&recipe->lattices[r->lattice], r->hkl);
    s->finest_A = s->visible && s->finest_A < d_A ? s->finest_A : d_A;
    s->visible++;
}

void reflections_summary_add(struct reflections_summary *s, const struct frame *f)
{
    const struct reflection_table *t = &f->reflections;
    s->frames++;
    s->overlapping += count_overlapping(t->rows, t->count);
    for (size_t i = 0; i < t->count; i++) {
        const double photons = t->rows[i].photons, place = log2(photons) + SUMMARY_OCTAVES / 2;
        s->least = s->count && s->least < photons ? s->least : photons;
        s->most = s->count && s->most > photons ? s->most : photons;
        s->count++;
        if ((double)t->rows[i].z > s->least_z)
            add_visible(s, &f->recipe, &t->rows[i]);
        s->bins[place > 0 && place < SUMMARY_OCTAVES ? (size_t)(place * SUMMARY_FINE) : 0]++;
    }
}

/* Returns the median of the photons per reflection, with an error of about 1 percent. */
static double median_photons(const struct reflections_summary *s)
{
    uint64_t below = 0;
    size_t i = 0;
    while (i + 1 < SUMMARY_BINS && (below += s->bins[i]) * 2 < s->count)
        i++;
    const double middle = exp2(((double)i + 0.5) / SUMMARY_FINE - SUMMARY_OCTAVES / 2);
    return fmin(s->most, fmax(s->least, middle));
}

void reflections_summary_log(const struct reflections_summary *s)
{
    char finest[40] = "";
    if (!s->count)
        return;
    if (s->finest_A > 0.0)
        (void)snprintf(finest, sizeof finest, ", up to %.3g A", s->finest_A);
    log_line(LOG_TELL,
             "%.4g reflections a frame: weakest %.3g photons, median %.3g, strongest %.3g; "
             "%.3g %% visible (z above %g%s), %.3g %% overlap a neighbour",
             (double)s->count / (double)s->frames, s->least, median_photons(s), s->most,
             100.0 * (double)s->visible / (double)s->count, s->least_z, finest,
             100.0 * (double)s->overlapping / (double)s->count);
}
