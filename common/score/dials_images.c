/* Which images the experiments and rows of DIALS are about. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "score/dials_files.h"

enum { STRONG = 1 << 5 };  // a flag of DIALS
/* Images that a reflection may reach over, of a scan, and entries in all. */
enum { REACH_MAX = 1000, IMAGES_MAX = 1 << 20, ENTRIES_MAX = 1 << 27 };

/* --- which image --------------------------------------------------------------- */

bool dials_told_frame(const char *text, uint64_t *frame)
{
    const size_t lineage = strspn(text, "0123456789abcdef");
    const char *end, *lattice;
    if (lineage != 16 || text[lineage] != '-')
        return false;
    const intmax_t x = number_whole(text + lineage + 1, &end);
    if (end == text + lineage + 1 || x < 0 || *end != '-')
        return false;
    (void)number_whole(end + 1, &lattice);
    *frame = (uint64_t)x;
    return lattice != end + 1 && !*lattice;
}

/* Image number `n` of a sequence, or of a still. */
static enum status find_image(const struct dials_files *f, const struct expt_experiment *x,
                              int64_t n, uint64_t *image, struct error *e)
{
    const bool sequence = x->scan.images > 0;
    const int64_t place = sequence ? n - x->scan.first : 0;
    *image = (uint64_t)(n > 0 ? n - 1 : 0);
    if (!sequence && x->nimages > 1)
        return error_set(e, STATUS_INPUT, "%s: experiment '%.60s' is of %zu images, must be of one",
                         f->expt_path, x->identifier, x->nimages);
    if (x->nindices && (uint64_t)place < x->nindices)
        *image = (uint64_t)x->indices[place];
    else if (x->is_template)
        *image = (uint64_t)n;
    else if (!x->nindices && *x->file && !sequence && answer_frame_of_name(x->file, image))
        return STATUS_OK;
    else if (!x->nindices && !*x->file && dials_told_frame(x->identifier, image))
        *image += (uint64_t)place;
    else if (!(sequence && !x->nindices && *x->file))
        return error_set(e, STATUS_INPUT,
                         "%s: experiment '%.60s' does not tell of which frame it is: needs images "
                         "in one file, a number in the name of each file, or an identifier of "
                         "bragg-write",
                         f->expt_path, x->identifier);
    return STATUS_OK;
}

/* Whether images are places in a file of several. */
static bool has_places(const struct expt_experiment *x)
{
    return x->nindices || (*x->file && !x->is_template && x->scan.images > 0);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum status check_files(struct dials_files *f, struct error *e)
{
    const struct expt_experiment *x = f->list.items;
    f->by_place = has_places(x);
    for (size_t i = 1; i < f->list.count; i++)
        if (has_places(&x[i]) != f->by_place ||
            (f->by_place && strcmp(last_part(x[i].file), last_part(x->file)) != 0))
            return error_set(e, STATUS_INPUT,
                             "%s: has images of %s and of %s, must be those of one file, or files "
                             "of one image",
                             f->expt_path, last_part(x->file), last_part(x[i].file));
    return STATUS_OK;
}

/* --- entries --------------------------------------------------------------------- */

/* About image number n. */
static enum status add_entry(struct dials_files *f, size_t experiment, int64_t n, size_t row,
                             struct error *e)
{
    const struct expt_experiment *x = &f->list.items[experiment];
    uint64_t image;
    const enum status s = find_image(f, x, n, &image, e);
    if (s)
        return s;
    struct dials_entry *more = f->nentries < ENTRIES_MAX ? mem_grow(f->entries, f->nentries, 1,
                                                                    sizeof *more, &f->entries_room)
                                                         : NULL;
    if (!more)
        return error_memory(e, f->refl_path);
    f->entries = more;
    more[f->nentries++] = (struct dials_entry){image, (uint32_t)experiment, (uint32_t)row,
                                               (int32_t)(n - x->scan.first)};
    return STATUS_OK;
}

static enum status add_experiments(struct dials_files *f, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->list.count && !s; i++) {
        const struct expt_experiment *x = &f->list.items[i];
        const int64_t images = x->scan.images > 0 ? x->scan.images : 1;
        if (images > IMAGES_MAX)
            s = error_set(e, STATUS_INPUT, "%s: has %" PRId64 " images in a scan, at most %d",
                          f->expt_path, images, IMAGES_MAX);
        for (int64_t n = 0; n < images && !s; n++)
            s = add_entry(f, i, x->scan.first + n, 0, e);
    }
    return s;
}

static enum status map_ids(struct dials_files *f, struct error *e)
{
    const struct refl *t = &f->table;
    for (size_t i = 0; i < t->nidentifiers; i++)
        if (t->identifiers[i].id >= 0 && t->identifiers[i].id < INT32_MAX &&
            (size_t)t->identifiers[i].id >= f->nids)
            f->nids = (size_t)t->identifiers[i].id + 1;
    if (!t->nidentifiers)
        f->nids = f->list.count;
    if (f->nids > t->nidentifiers + f->list.count + (1u << 20))
        return error_set(e, STATUS_INPUT, "%s: numbers an experiment %zu", t->path, f->nids - 1);
    f->experiment_of = mem_array(f->nids, sizeof *f->experiment_of);
    if (!f->experiment_of)
        return error_memory(e, t->path);
    for (size_t i = 0; i < f->nids; i++)
        f->experiment_of[i] = t->nidentifiers ? -1 : (int64_t)i;
    return STATUS_OK;
}

static int by_identifier(const void *a, const void *b)
{
    const struct expt_experiment *const *x = a, *const *y = b;
    return strcmp((*x)->identifier, (*y)->identifier);
}

/* Ids of the table stand for experiments by their identifiers, and without these by their places in
 * the list. */
static enum status find_experiments(struct dials_files *f, struct error *e)
{
    const struct refl *t = &f->table;
    const struct expt_experiment **sorted = mem_array(f->list.count, sizeof(void *));
    enum status s = sorted ? map_ids(f, e) : error_memory(e, t->path);
    for (size_t i = 0; i < f->list.count && !s; i++)
        sorted[i] = &f->list.items[i];
    if (!s)
        qsort(sorted, f->list.count, sizeof(void *), by_identifier);
    for (size_t i = 0; i < t->nidentifiers && !s; i++) {
        struct expt_experiment wanted;
        const struct expt_experiment *key = &wanted;
        (void)snprintf(wanted.identifier, sizeof wanted.identifier, "%s", t->identifiers[i].text);
        const struct expt_experiment **found =
            bsearch(&key, sorted, f->list.count, sizeof(void *), by_identifier);
        if (!found)
            s = error_set(e, STATUS_INPUT,
                          "%s: experiment '%.60s' is not in %s: do they belong together?", t->path,
                          t->identifiers[i].text, f->expt_path);
        else if (t->identifiers[i].id >= 0 && (size_t)t->identifiers[i].id < f->nids)
            f->experiment_of[t->identifiers[i].id] = *found - f->list.items;
    }
    mem_free(sorted);
    return s;
}

/* The first of each set of images; where none are named there is one. */
static enum status find_sets(struct dials_files *f, struct error *e)
{
    for (size_t i = 0; i < f->list.count; i++)
        if (f->list.items[i].imageset >= (int64_t)f->nsets)
            f->nsets = (size_t)f->list.items[i].imageset + 1;
    f->nsets = f->nsets ? f->nsets : 1;
    f->experiment_of_images = mem_array(f->nsets, sizeof *f->experiment_of_images);
    if (!f->experiment_of_images)
        return error_memory(e, f->expt_path);
    for (size_t i = f->list.count; i--;)
        if (f->list.items[i].imageset >= 0)
            f->experiment_of_images[f->list.items[i].imageset] = (int64_t)i;
    return STATUS_OK;
}

/* The experiment of a row: one without a lattice tells its images alone. */
static int64_t experiment_of_row(const struct dials_files *f, size_t row)
{
    const int64_t id = refl_whole(f->id, row);
    if (id >= 0 && (size_t)id < f->nids)
        return f->experiment_of[id];
    const int64_t set = f->nsets == 1 ? 0 : refl_whole(f->imageset, row);
    return id == -1 && set >= 0 && (size_t)set < f->nsets ? f->experiment_of_images[set] : -1;
}

bool dials_is_indexed(const struct dials_files *f, size_t row)
{
    int32_t hkl[3];
    refl_hkl(f->hkl, row, hkl);
    return refl_whole(f->id, row) >= 0 && (hkl[0] || hkl[1] || hkl[2]);
}

bool dials_is_spot(const struct dials_files *f, size_t row)
{
    return f->observed && (!f->flags || refl_whole(f->flags, row) & STRONG);
}

/* The image of a place along the sequence, within the scan. */
static int64_t image_at(const struct expt_experiment *x, double z)
{
    const double image = floor(z) + 1.0, first = (double)x->scan.first,
                 last = first + (double)x->scan.images - 1.0;
    return (int64_t)fmax(first, fmin(image, last));
}

enum status dials_span(const struct dials_files *f, const struct expt_experiment *x, size_t row,
                       struct dials_span *span, struct error *e)
{
    double observed[3], predicted[3];
    int32_t box[6];
    refl_vector(f->observed, row, observed);
    refl_vector(f->predicted ? f->predicted : f->observed, row, predicted);
    for (int i = 0; i < 3; i++)
        if (!isfinite(observed[i] + predicted[i]))
            return error_set(e, STATUS_INPUT, "%s: the place of row %zu is no number", f->refl_path,
                             row);
    span->first = span->last = span->spot = span->middle = span->predicted = x->scan.first;
    if (x->scan.images <= 0)
        return STATUS_OK;
    span->spot = image_at(x, observed[2]);
    span->first = span->last = span->middle = image_at(x, predicted[2]);
    span->predicted = floor(predicted[2]) + 1.0 == (double)span->middle ? span->middle : -1;
    refl_box(f->box, row, box);
    if (box[5] > box[4]) {
        span->first = image_at(x, box[4]);
        span->last = image_at(x, (double)box[5] - 1.0);
    }
    span->middle = span->middle < span->first  ? span->first
                   : span->middle > span->last ? span->last
                                               : span->middle;
    return STATUS_OK;
}

/* All images that a row says something about. */
static enum status add_row(struct dials_files *f, size_t row, struct error *e)
{
    const int64_t i = experiment_of_row(f, row);
    if (i < 0 || (size_t)i >= f->list.count)
        return error_set(e, STATUS_INPUT,
                         "%s: row %zu is of experiment %" PRId64 ", which %s does not have",
                         f->refl_path, row, refl_whole(f->id, row), f->expt_path);
    const struct expt_experiment *x = &f->list.items[i];
    struct dials_span span;
    enum status s = dials_span(f, x, row, &span, e);
    if (s)
        return s;
    const bool spot = dials_is_spot(f, row), indexed = dials_is_indexed(f, row);
    int64_t first = indexed ? span.first : span.spot, last = indexed ? span.last : span.spot;
    first = spot && span.spot < first ? span.spot : first;
    last = spot && span.spot > last ? span.spot : last;
    if (last - first > REACH_MAX)
        return error_set(e, STATUS_INPUT, "%s: row %zu reaches over %" PRId64 " images",
                         f->refl_path, row, last - first + 1);
    for (int64_t n = first; n <= last && !s; n++)
        s = add_entry(f, (size_t)i, n, row + 1, e);
    return s;
}

static int by_image(const void *a, const void *b)
{
    const struct dials_entry *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->experiment != y->experiment)
        return x->experiment < y->experiment ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

enum status dials_sort_images(struct dials_files *f, struct error *e)
{
    enum status s = check_files(f, e);
    s = s ? s : find_experiments(f, e);
    s = s ? s : find_sets(f, e);
    s = s ? s : add_experiments(f, e);
    for (size_t row = 0; row < f->table.nrows && !s; row++)
        s = add_row(f, row, e);
    if (!s && f->nentries)
        qsort(f->entries, f->nentries, sizeof *f->entries, by_image);
    return s;
}
