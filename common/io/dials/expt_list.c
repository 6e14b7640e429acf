/* Reads all experiments of a list of DIALS: images, scans, crystals, and shifts of the detector. */
#include "io/dials/expt.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "io/dials/expt_models.h"

/* Largest number of images, and of scan points, of all experiments together. */
enum { IMAGES_MAX = 1 << 24 };

/* Copies the text of a member to `out`.  Copies "" if the member is missing or is not a text. */
static void copy_text(const struct json_at *of, const char *key, char out[EXPT_TEXT_SIZE])
{
    struct json_at member;
    const char *text = json_at_optional(of, key, &member) ? json_string_value(member.value) : NULL;
    (void)snprintf(out, EXPT_TEXT_SIZE, "%s", text ? text : "");
}

/* --- all experiments: images ------------------------------------------------------- */

static enum status read_indices(const struct json_at *set, struct expt_list *list,
                                struct expt_experiment *x, struct error *e)
{
    struct json_at all, item;
    enum status s = STATUS_OK;
    if (!json_at_optional(set, "single_file_indices", &all))
        return STATUS_OK;
    s = json_at_list(&all, 0, &x->nindices, e);
    if (!s && list->nindices + x->nindices > IMAGES_MAX)
        s = json_at_error(&all, e, "too many images in all experiments; expected at most %d",
                          IMAGES_MAX);
    if (s)
        return s;
    int64_t *more = list->indices =
        mem_grow(list->indices, list->nindices, x->nindices + 1, sizeof *more, &list->indices_room);
    for (size_t i = 0; i < x->nindices && !s; i++) {
        json_at_item(&all, i, &item);
        s = json_at_whole(&item, 0, INT32_MAX, &more[list->nindices++], e);
    }
    return s;
}

/* Reads the names of the images of the chosen experiment.  An image sequence has a template.  An
 * image set has a list of files, of which only the first name is stored. */
static enum status read_images(const struct expt_json *l, struct expt_list *list,
                               struct expt_experiment *x, struct error *e)
{
    struct json_at set, number, files;
    enum status s = expt_model(&l->chosen, &l->root, "imageset", &set, e);
    x->imageset = -1;
    if (s || !set.value)
        return s;
    if (json_at_optional(&l->chosen, "imageset", &number))
        s = json_at_whole(&number, 0, INT32_MAX, &x->imageset, e);
    copy_text(&set, "template", x->file);
    x->is_template = strchr(x->file, '#');
    if (!s && !*x->file && json_at_optional(&set, "images", &files)) {
        const char *text = json_string_value(json_array_get(files.value, 0));
        (void)snprintf(x->file, sizeof x->file, "%s", text ? text : "");
        x->nimages = json_array_size(files.value);
    }
    s = s ? s : read_indices(&set, list, x, e);
    x->nimages = x->nimages > x->nindices ? x->nimages : x->nindices;
    return s;
}

/* --- all experiments: crystals ----------------------------------------------------- */

/* Converts a crystal matrix of DIALS, which is row-major with the columns a*, b*, c*, to rows
 * a*, b*, c* in our laboratory frame.  Applies the goniometer with the scan axis at angle 0. */
static void turn_matrix(const struct expt_goniometer *g, const double m[9], double rows[9])
{
    for (int i = 0; i < 3; i++) {
        const double column[3] = {m[i], m[3 + i], m[6 + i]};
        double fixed[3], set[3];
        mat_apply(g->fixed, column, fixed);
        mat_apply(g->setting, fixed, set);
        expt_to_lab(set, rows + 3 * i);
    }
}

static enum status read_points(const struct expt_json *l, const struct expt_goniometer *g,
                               struct expt_list *list, struct expt_experiment *x, struct error *e)
{
    struct json_at crystal, all, item;
    enum status s = expt_model(&l->chosen, &l->root, "crystal", &crystal, e);
    if (s || !json_at_optional(&crystal, "A_at_scan_points", &all))
        return s;
    s = json_at_list(&all, 0, &x->npoints, e);
    if (!s && list->npoints + x->npoints > IMAGES_MAX)
        s = json_at_error(&all, e, "too many images in all experiments; expected at most %d",
                          IMAGES_MAX);
    if (s)
        return s;
    double *more = list->points =
        mem_grow(list->points, list->npoints, x->npoints + 1, 9 * sizeof *more, &list->points_room);
    for (size_t i = 0; i < x->npoints && !s; i++, list->npoints++) {
        double m[9];
        json_at_item(&all, i, &item);
        s = json_at_reals(&item, 9, -1e3, 1e3, m, e);
        if (!s)
            turn_matrix(g, m, more + 9 * list->npoints);
    }
    return s;
}

/* Returns the centring of the cell, which is the letter of the Hall symbol: C for " C 2y".
 * Returns 0 if it is not known.  A symbol with a change of basis in parentheses does not have
 * the letter of its cell.  " P 3*" has rhombohedral axes, whose cell is primitive. */
static char centring_of(const struct json_at *crystal)
{
    struct json_at at;
    const char *text = json_at_optional(crystal, "space_group_hall_symbol", &at)
                           ? json_string_value(at.value)
                           : NULL;
    if (!text || strchr(text, '('))
        return 0;
    text += strspn(text, " -");
    return (char)(*text && strchr("PABCIRF", *text) ? *text : 0);
}

static enum status read_crystal(const struct expt_json *l, struct expt_list *list,
                                struct expt_experiment *x, struct error *e)
{
    struct json_at crystal;
    struct expt_goniometer g;
    double axis[3];
    enum status s = expt_model(&l->chosen, &l->root, "crystal", &crystal, e);
    s = s ? s : expt_goniometer(&l->chosen, &l->root, &g, e);
    s = s ? s : expt_rotating_scan(l, &g, &x->scan, e);
    x->has_crystal = crystal.value;
    if (s || !x->has_crystal)
        return s;
    mat_apply(g.setting, g.axis, axis);
    expt_to_lab(axis, x->spindle);
    x->centring = centring_of(&crystal);
    s = expt_crystal(l, x->reciprocal_A, e);
    return s ? s : read_points(l, &g, list, x, e);
}

/* --- all experiments: the list ---------------------------------------------------- */

/* Returns true if two detectors are equal except for a shift that all panels share.  by_m gets
 * the shift from `first` to `other`. */
static bool is_shifted(const struct expt *first, const struct expt *other, double by_m[3])
{
    static const double SAME = 1e-9;  // tolerance of unit vectors, and of lengths in m
    bool same = first->npanels == other->npanels;
    for (size_t i = 0; same && i < first->npanels; i++) {
        const struct geom_panel *a = &first->panels[i], *b = &other->panels[i];
        same = a->fast_pixels == b->fast_pixels && a->slow_pixels == b->slow_pixels &&
               fabs(a->pixel_m - b->pixel_m) < SAME;
        for (int k = 0; k < 3; k++) {
            const double by = b->corner_m[k] - a->corner_m[k];
            by_m[k] = i ? by_m[k] : by;
            same = same && fabs(by - by_m[k]) < SAME && fabs(a->fast[k] - b->fast[k]) < SAME &&
                   fabs(a->slow[k] - b->slow[k]) < SAME;
        }
    }
    return same;
}

/* Reads the detector of the chosen experiment, and sets x->shift_m to its shift from the
 * detector of the first experiment.  STATUS_INPUT: the detectors differ in more than their
 * position. */
static enum status read_shift(const struct expt_json *l, const struct expt *setup,
                              const struct json_at *first, struct expt_experiment *x,
                              struct error *e)
{
    struct json_at detector;
    struct expt other = {0};
    enum status s = expt_model(&l->chosen, &l->root, "detector", &detector, e);
    if (s || (detector.value && json_equal(detector.value, first->value)))
        return s;
    s = detector.value ? expt_detector(&detector, &other, e) : STATUS_OK;
    if (!s && (!detector.value || !is_shifted(setup, &other, x->shift_m)))
        s = json_at_error(&l->chosen, e,
                          "has another detector than the first experiment; expected one detector");
    expt_free(&other);
    return s;
}

static enum status read_wavelength(const struct expt_json *l, struct expt_experiment *x,
                                   struct error *e)
{
    struct json_at beam, at;
    double wavelength_A = 0.0;
    enum status s = expt_model(&l->chosen, &l->root, "beam", &beam, e);
    if (!s && beam.value && json_at_optional(&beam, "wavelength", &at))
        s = json_at_real(&at, 1e-4, 1e4, &wavelength_A, e);
    x->wavelength_m = 1e-10 * wavelength_A;
    return s;
}

static enum status read_items(struct expt_json *l, struct expt_list *list, struct error *e)
{
    struct json_at all, first;
    enum status s = json_at_member(&l->root, "experiment", &all, e);
    s = s ? s : expt_model(&l->chosen, &l->root, "detector", &first, e);
    list->items = mem_array(l->experiments, sizeof *list->items);
    for (size_t i = 0; i < l->experiments && !s; i++) {
        struct expt_experiment *x = &list->items[list->count++];
        json_at_item(&all, i, &l->chosen);
        copy_text(&l->chosen, "identifier", x->identifier);
        s = read_shift(l, &list->setup, &first, x, e);
        s = s ? s : read_wavelength(l, x, e);
        s = s ? s : read_images(l, list, x, e);
        s = s ? s : read_crystal(l, list, x, e);
    }
    return s;
}

/* Sets the pointers into list->indices and list->points.  These arrays may move while they grow, so
 * this is called after the last experiment was read. */
static void place_arrays(struct expt_list *list)
{
    size_t index = 0, point = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct expt_experiment *x = &list->items[i];
        x->indices = x->nindices ? &list->indices[index] : NULL;
        x->points = x->npoints ? &list->points[9 * point] : NULL;
        index += x->nindices;
        point += x->npoints;
    }
}

enum status expt_list_read(const char *path, struct expt_list *list, struct error *e)
{
    struct expt_json l;
    *list = (struct expt_list){0};
    enum status s = expt_read(path, &list->setup, e);
    if (s)
        return s;
    s = expt_open(&l, path, e);
    s = s ? s : read_items(&l, list, e);
    if (!s)
        place_arrays(list);
    json_at_close(&l.root);
    return s;
}

void expt_list_free(struct expt_list *list)
{
    expt_free(&list->setup);
    mem_free(list->items);
    mem_free(list->indices);
    mem_free(list->points);
    *list = (struct expt_list){0};
}
