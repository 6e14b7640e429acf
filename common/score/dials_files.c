/*
 * Reads results of DIALS: an experiment list and a reflection table, whose rows belong to
 * images.
 */
#include "score/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"

/* Flags of rows in DIALS tables. */
enum { STRONG = 1 << 5, BY_SUMMATION = 1 << 8, BY_PROFILE = 1 << 9 };
enum { INDEX_MAX = 30000 };

/* The images that a row refers to, as numbers in the sequence.  For a still, all are the image of
 * its experiment. */
struct dials_span {
    int64_t first, last;  // images on which the reflection was measured
    int64_t spot;         // image on which the spot was found
    int64_t predicted;    // image of the predicted centre; -1: outside the scan
    int64_t middle;       // the predicted centre, limited to [first, last]
};

/* Maximum number of images that a reflection may extend over, of images of a scan, and of
 * entries. */
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

/* Finds the image of number `n` of a sequence, or of a still. */
static enum status find_image(const struct dials_files *f, const struct expt_experiment *x,
                              int64_t n, uint64_t *image, struct error *e)
{
    const bool sequence = x->scan.images > 0;
    const int64_t place = sequence ? n - x->scan.first : 0;
    *image = (uint64_t)(n > 0 ? n - 1 : 0);
    if (!sequence && x->nimages > 1)
        return error_set(e, STATUS_INPUT, "%s: experiment '%.60s' has %zu images; expected one",
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
                         "%s: experiment '%.60s' has no frame number; expected images in one file, "
                         "a number in the name of each file, or an identifier of bragg-write",
                         f->expt_path, x->identifier);
    return STATUS_OK;
}

/* Returns true if the images of an experiment are identified by their places in a file with
 * several images. */
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
                             "%s: has images of %s and of %s; expected images of one file, or "
                             "files with one image each",
                             f->expt_path, last_part(x->file), last_part(x[i].file));
    return STATUS_OK;
}

/* --- entries --------------------------------------------------------------------- */

/* Adds an entry for image number n. */
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
            s = error_set(e, STATUS_INPUT,
                          "%s: has %" PRId64 " images in a scan; expected at most %d", f->expt_path,
                          images, IMAGES_MAX);
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
        return error_set(e, STATUS_INPUT, "%s: has an experiment number %zu, which is out of range",
                         t->path, f->nids - 1);
    f->experiment_of = mem_array(f->nids, sizeof *f->experiment_of);
    for (size_t i = 0; i < f->nids; i++)
        f->experiment_of[i] = t->nidentifiers ? -1 : (int64_t)i;
    return STATUS_OK;
}

static int by_identifier(const void *a, const void *b)
{
    const struct expt_experiment *const *x = a, *const *y = b;
    return strcmp((*x)->identifier, (*y)->identifier);
}

/* Sets the experiment of an id whose identifier is empty: the one at this place in the list.
 * dials.stills_process writes such tables of strong spots. */
static enum status map_by_place(struct dials_files *f, int64_t id, struct error *e)
{
    if (id < 0 || (size_t)id >= f->nids)
        return STATUS_OK;
    if ((size_t)id >= f->list.count)
        return error_set(e, STATUS_INPUT,
                         "%s: experiment %" PRId64 " has no identifier, and %s contains only %zu "
                         "experiments: do they belong together?",
                         f->refl_path, id, f->expt_path, f->list.count);
    f->experiment_of[id] = id;
    return STATUS_OK;
}

/* Fills f->experiment_of.  Ids of the table refer to experiments by identifier or, without
 * identifiers, by their places in the list. */
static enum status find_experiments(struct dials_files *f, struct error *e)
{
    const struct refl *t = &f->table;
    const struct expt_experiment **sorted = mem_array(f->list.count, sizeof(void *));
    enum status s = map_ids(f, e);
    for (size_t i = 0; i < f->list.count && !s; i++)
        sorted[i] = &f->list.items[i];
    if (!s)
        qsort(sorted, f->list.count, sizeof(void *), by_identifier);
    for (size_t i = 0; i < t->nidentifiers && !s; i++) {
        if (!*t->identifiers[i].text) {
            s = map_by_place(f, t->identifiers[i].id, e);
            continue;
        }
        struct expt_experiment wanted;
        const struct expt_experiment *key = &wanted;
        (void)snprintf(wanted.identifier, sizeof wanted.identifier, "%s", t->identifiers[i].text);
        const struct expt_experiment **found =
            bsearch(&key, sorted, f->list.count, sizeof(void *), by_identifier);
        if (!found)
            s = error_set(e, STATUS_INPUT,
                          "%s: experiment '%.60s' is not in %s. Do the two files belong together?",
                          t->path, t->identifiers[i].text, f->expt_path);
        else if (t->identifiers[i].id >= 0 && (size_t)t->identifiers[i].id < f->nids)
            f->experiment_of[t->identifiers[i].id] = *found - f->list.items;
    }
    mem_free(sorted);
    return s;
}

/* Finds the first experiment of each set of images.  If no sets are named, there is one set. */
static void find_sets(struct dials_files *f)
{
    for (size_t i = 0; i < f->list.count; i++)
        if (f->list.items[i].imageset >= (int64_t)f->nsets)
            f->nsets = (size_t)f->list.items[i].imageset + 1;
    f->nsets = f->nsets ? f->nsets : 1;
    f->experiment_of_images = mem_array(f->nsets, sizeof *f->experiment_of_images);
    for (size_t i = f->list.count; i--;)
        if (f->list.items[i].imageset >= 0)
            f->experiment_of_images[f->list.items[i].imageset] = (int64_t)i;
}

/* Returns the experiment of a row.  A row without a lattice (id -1) only names its set of images.
 */
static int64_t experiment_of_row(const struct dials_files *f, size_t row)
{
    const int64_t id = refl_whole(f->id, row);
    if (id >= 0 && (size_t)id < f->nids)
        return f->experiment_of[id];
    const int64_t set = f->nsets == 1 ? 0 : refl_whole(f->imageset, row);
    return id == -1 && set >= 0 && (size_t)set < f->nsets ? f->experiment_of_images[set] : -1;
}

/* Returns true if a row is indexed, which means that it belongs to a lattice. */
static bool is_indexed(const struct dials_files *f, size_t row)
{
    int32_t hkl[3];
    refl_hkl(f->hkl, row, hkl);
    return refl_whole(f->id, row) >= 0 && (hkl[0] || hkl[1] || hkl[2]);
}

/* Returns true if a row is a found spot. */
static bool is_spot(const struct dials_files *f, size_t row)
{
    return f->observed && (!f->flags || refl_whole(f->flags, row) & STRONG);
}

/* Returns the image at position z along the sequence, limited to the scan. */
static int64_t image_at(const struct expt_experiment *x, double z)
{
    const double image = floor(z) + 1.0, first = (double)x->scan.first,
                 last = first + (double)x->scan.images - 1.0;
    return (int64_t)fmax(first, fmin(image, last));
}

static enum status find_span(const struct dials_files *f, const struct expt_experiment *x,
                             size_t row, struct dials_span *span, struct error *e)
{
    double observed[3], predicted[3];
    int32_t box[6];
    refl_vector(f->observed, row, observed);
    refl_vector(f->predicted ? f->predicted : f->observed, row, predicted);
    for (int i = 0; i < 3; i++)
        if (!isfinite(observed[i] + predicted[i]))
            return error_set(e, STATUS_INPUT, "%s: the position in row %zu is not a number",
                             f->refl_path, row);
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

/* Adds an entry for each image that a row refers to. */
static enum status add_row(struct dials_files *f, size_t row, struct error *e)
{
    const int64_t i = experiment_of_row(f, row);
    if (i < 0 || (size_t)i >= f->list.count)
        return error_set(e, STATUS_INPUT,
                         "%s: row %zu belongs to experiment %" PRId64 ", which %s does not have",
                         f->refl_path, row, refl_whole(f->id, row), f->expt_path);
    const struct expt_experiment *x = &f->list.items[i];
    struct dials_span span;
    enum status s = find_span(f, x, row, &span, e);
    if (s)
        return s;
    const bool spot = is_spot(f, row), indexed = is_indexed(f, row);
    int64_t first = span.first, last = span.last;
    if (!indexed && (!spot || last - first > REACH_MAX))
        first = last = span.spot;
    first = spot && span.spot < first ? span.spot : first;
    last = spot && span.spot > last ? span.spot : last;
    if (last - first > REACH_MAX)
        return error_set(e, STATUS_INPUT,
                         "%s: row %zu spans %" PRId64 " images; expected %d at most", f->refl_path,
                         row, last - first + 1, (int)REACH_MAX + 1);
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

/* Fills f->entries with the entries of all experiments and rows, sorted by image. */
static enum status sort_images(struct dials_files *f, struct error *e)
{
    enum status s = check_files(f, e);
    s = s ? s : find_experiments(f, e);
    if (!s)
        find_sets(f);
    s = s ? s : add_experiments(f, e);
    for (size_t row = 0; row < f->table.nrows && !s; row++)
        s = add_row(f, row, e);
    if (!s && f->nentries)
        qsort(f->entries, f->nentries, sizeof *f->entries, by_image);
    return s;
}

/* Converts from our laboratory frame in the convention mosflm to the coordinate system of the beam:
 * (z, -y, x). */
static void to_beam(const double v[3], double out[3])
{
    const double x = v[0], y = v[1], z = v[2];
    vec_set(out, z, 0.0 - y, x);
}

/* --- open and close ---------------------------------------------------------------- */

static enum status find_columns(struct dials_files *f, struct error *e)
{
    const struct refl *t = &f->table;
    if (t->nrows > UINT32_MAX - 1)
        return error_set(e, STATUS_INPUT, "%s: has too many rows; expected at most 2^32", t->path);
    f->imageset = refl_find(t, "imageset_id", REFL_INT);
    f->flags = refl_find(t, "flags", REFL_SIZE);
    f->observed = refl_find(t, "xyzobs.px.value", REFL_VECTOR);
    f->predicted = refl_find(t, "xyzcal.px", REFL_VECTOR);
    f->hkl = refl_find(t, "miller_index", REFL_HKL);
    f->box = refl_find(t, "bbox", REFL_BOX);
    f->sum = refl_find(t, "intensity.sum.value", REFL_REAL);
    f->sum_variance = refl_find(t, "intensity.sum.variance", REFL_REAL);
    f->profile = refl_find(t, "intensity.prf.value", REFL_REAL);
    f->profile_variance = refl_find(t, "intensity.prf.variance", REFL_REAL);
    const enum status s = refl_need(t, "id", REFL_INT, &f->id, e);
    return s || f->observed ? (s ? s : refl_need(t, "panel", REFL_SIZE, &f->panel, e))
                            : refl_need(t, "xyzcal.px", REFL_VECTOR, &f->predicted, e);
}

/* Sets f->level, which is how far the analysis went, and f->all_indexed, from flags and indices
 * of the rows. */
static void find_level(struct dials_files *f)
{
    f->level = DIALS_FOUND;
    f->all_indexed = f->table.nrows > 0;
    for (size_t row = 0; row < f->table.nrows; row++) {
        const bool indexed = is_indexed(f, row);
        f->all_indexed = f->all_indexed && indexed;
        if (refl_whole(f->flags, row) & (BY_SUMMATION | BY_PROFILE))
            f->level = DIALS_INTEGRATED;
        else if (indexed && f->level == DIALS_FOUND)
            f->level = DIALS_INDEXED;
    }
}

static void copy_panels(struct dials_files *f)
{
    const struct expt *x = &f->list.setup;
    f->panels = mem_copy(x->panels, x->npanels, sizeof *f->panels);
    for (size_t i = 0; i < x->npanels; i++) {
        f->panels[i].mask = NULL;
        to_beam(x->panels[i].fast, f->panels[i].fast);
        to_beam(x->panels[i].slow, f->panels[i].slow);
        to_beam(x->panels[i].corner_m, f->panels[i].corner_m);
    }
}

enum status dials_open(struct dials_files *f, const char *expt_path, const char *refl_path,
                       struct error *e)
{
    *f = (struct dials_files){.expt_path = expt_path, .refl_path = refl_path};
    enum status s = refl_open(&f->table, refl_path, e);
    s = s ? s : expt_list_read(expt_path, &f->list, e);
    s = s ? s : find_columns(f, e);
    if (!s)
        copy_panels(f);
    if (!s)
        find_level(f);
    return s ? s : sort_images(f, e);
}

enum status dials_level_read(const char *refl_path, enum dials_level *level, struct error *e)
{
    struct dials_files f = {.refl_path = refl_path};
    enum status s = refl_open(&f.table, refl_path, e);
    s = s ? s : find_columns(&f, e);
    if (!s)
        find_level(&f);
    *level = f.level;
    refl_close(&f.table);
    return s;
}

void dials_close(struct dials_files *f)
{
    expt_list_free(&f->list);
    refl_close(&f->table);
    mem_free(f->panels);
    mem_free(f->entries);
    mem_free(f->taken);
    mem_free(f->experiment_of);
    mem_free(f->experiment_of_images);
    *f = (struct dials_files){0};
}

/* --- a frame ------------------------------------------------------------------------- */

/* Computes the lattice of an image.  If the crystal changes during the scan, the lattice is the
 * mean of the lattices at both edges of the image.  If the crystal rotates, the lattice is rotated
 * to the middle of the image. */
static void lattice_at(const struct expt_experiment *x, int64_t place, double a_matrix[9])
{
    const double angle = deg_to_rad(x->scan.start_deg + ((double)place + 0.5) * x->scan.width_deg);
    for (int column = 0; column < 3; column++) {
        double v[3], beam[3];
        memcpy(v, x->reciprocal_A + 3 * column, sizeof v);
        if (x->npoints > 1 && (size_t)place + 1 < x->npoints)
            for (int i = 0; i < 3; i++)
                v[i] = 0.5 * (x->points[9 * place + 3 * column + i] +
                              x->points[9 * (place + 1) + 3 * column + i]);
        if (x->scan.images > 0)
            vec_rotate_axis(v, x->spindle, angle);
        to_beam(v, beam);
        for (int i = 0; i < 3; i++)
            a_matrix[3 * i + column] = beam[i];
    }
}

/* Takes the intensity of a row.  Summation is preferred to profile fitting, because a sum counts
 * the photons in the box, which the ground truth contains.  Profile fitting also corrects for
 * photons outside the box. */
static void take_intensity(const struct dials_files *f, size_t row, struct answer_reflection *r)
{
    const int64_t flags = refl_whole(f->flags, row);
    const bool sum = f->sum && (f->all_measured || flags & BY_SUMMATION),
               profile = f->profile && flags & BY_PROFILE;
    const double variance = refl_real(sum ? f->sum_variance : f->profile_variance, row);
    r->measured = (sum || profile) && variance > 0.0 && isfinite(variance);
    if (!r->measured)
        return;
    r->intensity = refl_real(sum ? f->sum : f->profile, row);
    r->sigma = sqrt(variance);
    r->measured = isfinite(r->intensity);
}

static enum status take_reflection(const struct dials_files *f, const struct dials_span *span,
                                   int64_t image, size_t row, struct answer *a, struct error *e)
{
    double v[3];
    struct answer_reflection *r = answer_add_reflection(a);
    refl_vector(f->predicted ? f->predicted : f->observed, row, v);
    refl_hkl(f->hkl, row, r->hkl);
    for (int i = 0; i < 3; i++)
        if (r->hkl[i] < -INDEX_MAX || r->hkl[i] > INDEX_MAX)
            return error_set(e, STATUS_INPUT, "%s: row %zu has an index of %d; expected at most %d",
                             f->refl_path, row, r->hkl[i], INDEX_MAX);
    r->panel = (int32_t)refl_whole(f->panel, row);
    r->fast = v[0];
    r->slow = v[1];
    if (span->middle == image)
        take_intensity(f, row, r);
    r->elsewhere = span->predicted != image;
    r->before = (int32_t)(image - span->first);
    r->after = (int32_t)(span->last - image);
    return STATUS_OK;
}

/* Takes the spot of a row that belongs to the frame of its centre, or extends over the image. */
static void take_spot(const struct dials_files *f, const struct dials_span *span, int64_t image,
                      size_t row, struct answer *a)
{
    double v[3];
    if (!is_spot(f, row) || (span->spot != image && (image < span->first || image > span->last)))
        return;
    struct answer_spot *spot = span->spot == image ? answer_add_spot(a) : answer_add_passing(a);
    refl_vector(f->observed, row, v);
    *spot = (struct answer_spot){(int32_t)refl_whole(f->panel, row), v[0], v[1],
                                 refl_real(f->sum, row)};
}

/* Finds the span of a row, and checks its panel. */
static enum status check_row(const struct dials_files *f, const struct expt_experiment *x,
                             size_t row, struct dials_span *span, struct error *e)
{
    const int64_t panel = refl_whole(f->panel, row);
    if (panel < 0 || (uint64_t)panel >= f->list.setup.npanels)
        return error_set(e, STATUS_INPUT,
                         "%s: row %zu is on panel %" PRId64 ", but %s has %zu panels", f->refl_path,
                         row, panel, f->expt_path, f->list.setup.npanels);
    return find_span(f, x, row, span, e);
}

/* Takes the spot and the reflection of a row that belong to an image. */
static enum status take_row(const struct dials_files *f, const struct expt_experiment *x,
                            int64_t place, size_t row, struct answer *a, struct error *e)
{
    const int64_t image = x->scan.first + place;
    struct dials_span span;
    enum status s = check_row(f, x, row, &span, e);
    if (!s)
        take_spot(f, &span, image, row, a);
    if (!s && is_indexed(f, row) && x->has_crystal && span.first <= image && image <= span.last)
        s = take_reflection(f, &span, image, row, a, e);
    return s;
}

static void take_lattice(const struct expt_experiment *x, int64_t place, struct answer *a)
{
    if (!x->has_crystal)
        return;
    struct answer_lattice *l = answer_add_lattice(a);
    lattice_at(x, place, l->a_matrix);
    l->centring = x->centring;
}

/* Takes the spot of the row of an entry, if it is in the image of the entry. */
static enum status take_spot_of_image(const struct dials_files *f, const struct dials_entry *n,
                                      struct answer *a, struct error *e)
{
    const struct expt_experiment *x = &f->list.items[n->experiment];
    struct dials_span span;
    const enum status s = check_row(f, x, n->row - 1, &span, e);
    if (!s)
        take_spot(f, &span, x->scan.first + n->place, n->row - 1, a);
    return s;
}

/* Returns the place of the first entry after those of the image of entry i. */
static size_t after_image(const struct dials_files *f, size_t i)
{
    const uint64_t image = f->entries[i].image;
    while (i < f->nentries && f->entries[i].image == image)
        i++;
    return i;
}

static enum answer_spots which_spots(const struct dials_files *f)
{
    if (f->level == DIALS_INTEGRATED)
        return ANSWER_SPOTS_INTEGRATED;
    return f->level == DIALS_INDEXED && f->all_indexed ? ANSWER_SPOTS_INDEXED : ANSWER_SPOTS_ALL;
}

/* Returns the place of the first entry of an image; nentries: there is none. */
static size_t find_entry(const struct dials_files *f, uint64_t image)
{
    size_t from = 0, to = f->nentries;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (f->entries[middle].image < image)
            from = middle + 1;
        else
            to = middle;
    }
    return from < f->nentries && f->entries[from].image == image ? from : f->nentries;
}

enum status dials_take_spots(struct dials_files *f, struct answer *a, bool replace, bool *has,
                             struct error *e)
{
    enum status s = STATUS_OK;
    const bool same =
        f->nentries && f->by_place == a->has_event && f->by_place != a->has_frame &&
        (!f->by_place || strcmp(last_part(f->list.items->file), last_part(a->file)) == 0);
    const size_t first = same ? find_entry(f, f->by_place ? a->event : a->frame) : f->nentries;
    *has = first < f->nentries;
    if (!*has)
        return STATUS_OK;
    if (!f->taken)
        f->taken = mem_array(f->nentries, sizeof *f->taken);
    f->taken[first] = true;
    if (!replace)
        return STATUS_OK;
    a->nspots = a->npassing = 0;
    a->spots_path = f->refl_path;
    a->which_spots = which_spots(f);
    for (size_t i = first; i < after_image(f, first) && !s; i++) {
        const struct dials_entry *n = &f->entries[i];
        if (n->row)
            s = take_spot_of_image(f, n, a, e);
    }
    return s;
}

enum status dials_next(struct dials_files *f, struct answer *a, bool *more, struct error *e)
{
    enum status s = STATUS_OK;
    answer_clear(a);
    while (f->taken && f->next < f->nentries && f->taken[f->next])
        f->next = after_image(f, f->next);
    *more = f->next < f->nentries;
    if (!*more)
        return STATUS_OK;
    const uint64_t image = f->entries[f->next].image;
    a->has_frame = !f->by_place;
    a->has_event = f->by_place;
    a->frame = a->event = image;
    a->which_spots = which_spots(f);
    (void)snprintf(a->file, sizeof a->file, "%s", f->list.items->file);
    to_beam(f->list.items[f->entries[f->next].experiment].shift_m, a->shift_m);
    a->wavelength_A = 1e10 * f->list.items[f->entries[f->next].experiment].wavelength_m;
    a->width_deg = f->list.items[f->entries[f->next].experiment].scan.width_deg;
    for (; f->next < f->nentries && f->entries[f->next].image == image && !s; f->next++) {
        const struct dials_entry *n = &f->entries[f->next];
        const struct expt_experiment *x = &f->list.items[n->experiment];
        if (n->row)
            s = take_row(f, x, n->place, n->row - 1, a, e);
        else
            take_lattice(x, n->place, a);
        if (!s && a->nlattices && x->has_crystal)
            a->lattices[a->nlattices - 1].count =
                a->nreflections - a->lattices[a->nlattices - 1].first;
    }
    return s;
}
