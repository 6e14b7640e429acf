/* Reads experiment lists of DIALS: the first experiment, and all of them. */
#include "io/dials/expt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/dials/expt_models.h"

/* An open experiment list, and the experiment in it that the following functions read. */
struct expt_json {
    struct json_at root, chosen;
    size_t experiments;
};

bool expt_is_named(const char *path)
{
    const size_t length = strlen(path);
    return length > 5 && strcasecmp(path + length - 5, ".expt") == 0;
}

void expt_free(struct expt *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        mem_free(x->panels[i].mask);
    mem_free(x->panels);
    *x = (struct expt){0};
}

/* --- the list ------------------------------------------------------------------- */

static enum status find_first(struct expt_json *l, struct error *e)
{
    struct json_at id, all;
    const char *what =
        json_at_optional(&l->root, "__id__", &id) ? json_string_value(id.value) : NULL;
    if (!what || strcmp(what, "ExperimentList") != 0)
        return json_at_error(&l->root, e,
                             "not an experiment list; expected '__id__' to be 'ExperimentList'");
    enum status s = json_at_member(&l->root, "experiment", &all, e);
    s = s ? s : json_at_list(&all, 1, &l->experiments, e);
    if (!s)
        json_at_item(&all, 0, &l->chosen);
    return s;
}

/* Opens a list and chooses its first experiment.  The caller calls json_at_close(&l->root), also
 * after an error. */
static enum status open_list(struct expt_json *l, const char *path, struct error *e)
{
    *l = (struct expt_json){0};
    const enum status s = json_at_open(&l->root, path, e);
    return s ? s : find_first(l, e);
}

/* Finds a model of the chosen experiment, as expt_model does.  STATUS_INPUT: also if the
 * experiment has no such model. */
static enum status need_model(const struct expt_json *l, const char *kind, struct json_at *out,
                              struct error *e)
{
    const enum status s = expt_model(&l->chosen, &l->root, kind, out, e);
    return s || out->value ? s : json_at_error(&l->chosen, e, "has no '%s'", kind);
}

/* --- beam ----------------------------------------------------------------------- */

/* Reads the polarization.  DIALS stores the normal of the plane in which the E field oscillates,
 * and the fraction of the intensity in this plane.  The fraction is (1 + K)/2 for Kahn's factor
 * K. */
static enum status read_polarization(const struct json_at *at, struct expt *x, struct error *e)
{
    struct json_at member;
    double normal[3] = {0, 1, 0}, lab_normal[3], fraction = 0.5;
    enum status s = STATUS_OK;
    if (json_at_optional(at, "polarization_normal", &member))
        s = expt_direction(at, "polarization_normal", normal, e);
    x->has_kahn = json_at_optional(at, "polarization_fraction", &member);
    if (!s && x->has_kahn)
        s = json_at_real(&member, 0, 1, &fraction, e);
    if (s)
        return s;
    expt_to_lab(normal, lab_normal);
    vec_cross(x->direction, lab_normal, x->polarization);
    const double length = sqrt(vec_dot(x->polarization, x->polarization));
    if (!(length > 1e-3))
        return json_at_error(at, e,
                             "polarization_normal is along the beam; expected a vector across it");
    for (int i = 0; i < 3; i++)
        x->polarization[i] /= length;
    x->kahn = 2 * fraction - 1;
    return STATUS_OK;
}

/* Reads the particles of the beam.  Lists of older versions of DIALS do not name them. */
static enum status read_probe(const struct json_at *at, struct expt *x, struct error *e)
{
    struct json_at member;
    x->names_probe = json_at_optional(at, "probe", &member);
    if (!x->names_probe)
        return STATUS_OK;
    const char *name = json_string_value(member.value);
    return name && probe_named(name, &x->probe)
               ? STATUS_OK
               : json_at_error(&member, e,
                               "unknown probe; expected 'x-ray', 'electron' or 'neutron'");
}

static enum status read_beam(const struct json_at *at, struct expt *x, struct error *e)
{
    struct json_at member;
    double to_source[3], wavelength_A;
    enum status s = read_probe(at, x, e);
    s = s ? s : json_at_member_real(at, "wavelength", 1e-4, 1e4, &wavelength_A, e);
    s = s ? s : expt_direction(at, "direction", to_source, e);
    if (!s && json_at_optional(at, "flux", &member))
        s = json_at_real(&member, 0, 1e60, &x->flux_ph_s, e);
    if (s)
        return s;
    x->wavelength_m = angstrom_to_m(wavelength_A);
    expt_to_lab(to_source, x->direction);
    for (int i = 0; i < 3; i++)
        x->direction[i] = 0.0 - x->direction[i];
    return read_polarization(at, x, e);
}

/* Reads the first number of a list.  STATUS_INPUT: the list is empty, or the number is not
 * within [min, max]. */
static enum status first_of(const struct json_at *list, double min, double max, double *out,
                            struct error *e)
{
    struct json_at item;
    size_t count;
    const enum status s = json_at_list(list, 1, &count, e);
    json_at_item(list, 0, &item);
    return s ? s : json_at_real(&item, min, max, out, e);
}

/* Reads the exposure time in s if the scan has one. */
static enum status read_exposure(const struct expt_json *l, double *exposure_s, struct error *e)
{
    struct json_at scan, properties, times;
    const enum status s = expt_model(&l->chosen, &l->root, "scan", &scan, e);
    if (s || !scan.value)
        return s;
    const bool nested = json_at_optional(&scan, "properties", &properties);
    if (!json_at_optional(nested ? &properties : &scan, "exposure_time", &times) ||
        (json_is_array(times.value) && !json_array_size(times.value)))
        return STATUS_OK;
    return first_of(&times, 0, 1e9, exposure_s, e);
}

/* Lists in `unused` which members of the image set name a file: mask, gain, pedestal, dx, dy.
 * These files are not read, because they are pickled Python objects. */
static enum status find_unused(const struct expt_json *l, char *unused, size_t size,
                               struct error *e)
{
    static const char *const names[] = {"mask", "gain", "pedestal", "dx", "dy"};
    struct json_at set, file;
    const enum status s = expt_model(&l->chosen, &l->root, "imageset", &set, e);
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !s && set.value; i++) {
        const char *path =
            json_at_optional(&set, names[i], &file) ? json_string_value(file.value) : NULL;
        if (path && *path)
            used +=
                (size_t)snprintf(unused + used, size - used, "%s%s", used ? ", " : "", names[i]);
    }
    return s;
}

/* --- images --------------------------------------------------------------------- */

/* Sets `name` to the path of the image with that number.  The template has a # for each digit,
 * and is relative to the folder of the experiment list at `list`.  A path that is too long
 * leaves `name` unchanged. */
static void name_image(const char *list, const char *template, int64_t number, char *name)
{
    const char *slash = *template == '/' ? NULL : strrchr(list, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - list) : 0;
    if (folder + strlen(template) + 20 >= EXPT_IMAGE_SIZE)
        return;
    memcpy(name, list, folder);
    name += folder;
    const size_t start = strcspn(template, "#"), digits = strspn(template + start, "#");
    if (digits)
        (void)snprintf(name, EXPT_IMAGE_SIZE - folder, "%.*s%0*" PRId64 "%s", (int)start, template,
                       (int)digits, number, template + start + digits);
    else
        (void)snprintf(name, EXPT_IMAGE_SIZE - folder, "%s", template);
}

static enum status read_image(const struct expt_json *l, struct expt *x, struct error *e)
{
    struct json_at set, member;
    const int64_t first = x->scan.images ? x->scan.first : 1;
    const enum status s = expt_model(&l->chosen, &l->root, "imageset", &set, e);
    if (s || !set.value)
        return s;
    const char *text = NULL;
    if (json_at_optional(&set, "template", &member))
        text = json_string_value(member.value);
    else if (json_at_optional(&set, "images", &member))
        text = json_string_value(json_array_get(member.value, 0));
    if (!text || strlen(text) >= EXPT_IMAGE_SIZE)
        return s;
    name_image(l->root.file, text, first, x->image);
    if (x->scan.images && strchr(text, '#'))
        name_image(l->root.file, text, first + x->scan.images - 1, x->last_image);
    return s;
}

/* --- scan ------------------------------------------------------------------------ */

/* Checks that a list of values per image is not longer than the number of images.  In DIALS, the
 * last item of a shorter list is also used for the images after it, and a longer list is an
 * error. */
static enum status check_items(const struct json_at *of, const char *key, int64_t images,
                               struct error *e)
{
    struct json_at list;
    size_t count;
    if (!json_at_optional(of, key, &list))
        return STATUS_OK;
    const enum status s = json_at_list(&list, 0, &count, e);
    return s || (int64_t)count <= images
               ? s
               : json_at_error(&list, e,
                               "has %zu items; expected at most one for each of the %" PRId64
                               " images of image_range",
                               count, images);
}

/* Reads the start angles of the images.  *start gets the first angle, and *width the first step
 * (unchanged for a single angle).  STATUS_INPUT: the angles are not evenly spaced, or there are
 * neither one nor `images` of them. */
static enum status read_starts(const struct json_at *starts, int64_t images, double *start,
                               double *width, struct error *e)
{
    static const double ALIKE = 1e-3;
    size_t count;
    enum status s = json_at_list(starts, 1, &count, e);
    if (!s && count != 1 && (int64_t)count != images)
        s = json_at_error(starts, e,
                          "has %zu items; expected one for each of the %" PRId64
                          " images of image_range",
                          count, images);
    for (size_t i = 0; i < count && !s; i++) {
        struct json_at item;
        double at;
        json_at_item(starts, i, &item);
        s = json_at_real(&item, -360000, 360000, &at, e);
        *start = i ? *start : at;
        *width = i == 1 ? at - *start : *width;
        const double expected = *start + (double)i * *width;
        if (!s && i > 1 && !(fabs(at - expected) <= ALIKE * fabs(*width)))
            s = json_at_error(&item, e, "is %.9g; expected %.9g in a scan of evenly spaced images",
                              at, expected);
    }
    return s;
}

/* Reads the start angle and the width of the images.  A scan has a list of the two or, under
 * `properties`, a list of the start angles of all images. */
static enum status read_oscillation(const struct json_at *at, struct expt_scan *scan,
                                    struct error *e)
{
    struct json_at properties, starts, width;
    double both[2] = {0, 0};
    enum status s = STATUS_OK;
    if (!json_at_optional(at, "properties", &properties)) {
        s = json_at_member_reals(at, "oscillation", 2, -360000, 360000, both, e);
    } else if (json_at_optional(&properties, "oscillation", &starts)) {
        s = read_starts(&starts, scan->images, &both[0], &both[1], e);
        if (!s && json_array_size(starts.value) == 1 &&
            json_at_optional(&properties, "oscillation_width", &width))
            s = first_of(&width, -360000, 360000, &both[1], e);
    }
    scan->start_deg = both[0];
    scan->width_deg = both[1];
    return s;
}

static enum status check_lists(const struct json_at *at, int64_t images, struct error *e)
{
    static const char *const keys[] = {"exposure_time", "epochs"};
    struct json_at properties;
    const struct json_at *of = json_at_optional(at, "properties", &properties) ? &properties : at;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !s; i++)
        s = check_items(of, keys[i], images, e);
    return s;
}

/* Checks that the lists of the image set have as many items as the scan has images.  An image
 * set with a template has no such list, and any number of images. */
static enum status check_images(const struct expt_json *l, int64_t images, struct error *e)
{
    static const char *const keys[] = {"single_file_indices", "images"};
    struct json_at set, list;
    size_t count;
    enum status s = expt_model(&l->chosen, &l->root, "imageset", &set, e);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !s; i++) {
        if (!set.value || !json_at_optional(&set, keys[i], &list))
            continue;
        s = json_at_list(&list, 0, &count, e);
        if (!s && count && (int64_t)count != images)
            s = json_at_error(&list, e,
                              "has %zu items, but image_range of the scan has %" PRId64 " images",
                              count, images);
    }
    return s;
}

static enum status read_scan(const struct expt_json *l, struct expt_scan *scan, struct error *e)
{
    struct json_at at;
    double range[2];
    enum status s = need_model(l, "scan", &at, e);
    s = s ? s : json_at_member_reals(&at, "image_range", 2, 0, 1e9 - 1, range, e);
    if (s)
        return s;
    if (range[0] != floor(range[0]) || range[1] != floor(range[1]) || range[1] < range[0])
        return json_at_error(&at, e, "image_range %g to %g; expected two whole numbers that rise",
                             range[0], range[1]);
    scan->first = (int64_t)range[0];
    scan->images = (int64_t)(range[1] - range[0]) + 1;
    s = read_oscillation(&at, scan, e);
    s = s ? s : check_lists(&at, scan->images, e);
    return s ? s : check_images(l, scan->images, e);
}

/* Reads the scan of the chosen experiment.  If the experiment has no scan, scan->images is 0.
 * STATUS_INPUT: also if the scan rotates, but the experiment has no goniometer. */
static enum status read_rotating_scan(const struct expt_json *l, const struct expt_goniometer *g,
                                      struct expt_scan *scan, struct error *e)
{
    struct json_at at;
    *scan = (struct expt_scan){0};
    enum status s = expt_model(&l->chosen, &l->root, "scan", &at, e);
    if (s || !at.value)
        return s;
    s = read_scan(l, scan, e);
    return s || g->present || scan->width_deg == 0.0
               ? s
               : json_at_error(&at, e,
                               "rotates by %g deg per image, but the experiment has no goniometer",
                               scan->width_deg);
}

enum status expt_read_scan(const char *path, struct expt_scan *scan, struct error *e)
{
    struct expt_json l;
    *scan = (struct expt_scan){0};
    enum status s = open_list(&l, path, e);
    s = s ? s : read_scan(&l, scan, e);
    json_at_close(&l.root);
    return s;
}

/* --- detector and beam ---------------------------------------------------------- */

/* Reads the scan of the chosen experiment.  Detector and beam do not need a scan.  A missing
 * scan, or one without image_range, is therefore not an error. */
static enum status read_any_scan(const struct expt_json *l, const struct expt_goniometer *g,
                                 struct expt_scan *scan, struct error *e)
{
    struct json_at at, range;
    const enum status s = expt_model(&l->chosen, &l->root, "scan", &at, e);
    return s || !at.value || !json_at_optional(&at, "image_range", &range)
               ? s
               : read_rotating_scan(l, g, scan, e);
}

static enum status read_setup(const struct expt_json *l, struct expt *x, struct error *e)
{
    struct json_at beam, detector;
    struct expt_goniometer g;
    x->nexperiments = l->experiments;
    enum status s = need_model(l, "beam", &beam, e);
    s = s ? s : read_beam(&beam, x, e);
    s = s ? s : need_model(l, "detector", &detector, e);
    s = s ? s : expt_detector(&detector, x, e);
    s = s ? s : read_exposure(l, &x->exposure_s, e);
    s = s ? s : find_unused(l, x->unused, sizeof x->unused, e);
    s = s ? s : expt_goniometer(&l->chosen, &l->root, &g, e);
    s = s ? s : read_any_scan(l, &g, &x->scan, e);
    s = s ? s : read_image(l, x, e);
    if (s)
        return s;
    double axis[3];
    x->has_spindle = g.present;
    mat_apply(g.setting, g.axis, axis);
    expt_to_lab(axis, x->spindle);
    return STATUS_OK;
}

enum status expt_read(const char *path, struct expt *x, struct error *e)
{
    struct expt_json l;
    *x = (struct expt){0};
    enum status s = open_list(&l, path, e);
    s = s ? s : read_setup(&l, x, e);
    json_at_close(&l.root);
    return s;
}

/* --- crystal ---------------------------------------------------------------------- */

/* Computes the rows a*, b*, c* from the rows a, b, c: a* = b x c / V, and so on.  STATUS_INPUT:
 * a, b and c are in one plane. */
static enum status invert(const struct json_at *at, const double direct_A[9],
                          double reciprocal_A[9], struct error *e)
{
    double box = 1;
    for (int i = 0; i < 3; i++) {
        vec_cross(direct_A + (i + 1) % 3 * 3, direct_A + (i + 2) % 3 * 3, reciprocal_A + 3 * i);
        box *= sqrt(vec_dot(direct_A + 3 * i, direct_A + 3 * i));
    }
    const double volume = vec_dot(direct_A, reciprocal_A);
    if (!(fabs(volume) > 1e-6 * box && box > 1e-6))
        return json_at_error(at, e,
                             "real_space_a, _b and _c are in one plane, so they are not a cell");
    for (int i = 0; i < 9; i++)
        reciprocal_A[i] /= volume;
    return STATUS_OK;
}

static enum status read_first_crystal(const struct expt_json *l, double reciprocal_A[9],
                                      struct error *e)
{
    static const char *const names[] = {"real_space_a", "real_space_b", "real_space_c"};
    struct json_at at;
    struct expt_goniometer g;
    double direct_A[9];
    enum status s = need_model(l, "crystal", &at, e);
    s = s ? s : expt_goniometer(&l->chosen, &l->root, &g, e);
    for (int i = 0; i < 3 && !s; i++)
        s = json_at_member_reals(&at, names[i], 3, -1e6, 1e6, direct_A + 3 * i, e);
    s = s ? s : invert(&at, direct_A, reciprocal_A, e);
    for (int i = 0; i < 3 && !s; i++) {
        double fixed[3], set[3];
        mat_apply(g.fixed, reciprocal_A + 3 * i, fixed);
        mat_apply(g.setting, fixed, set);
        expt_to_lab(set, reciprocal_A + 3 * i);
    }
    return s;
}

enum status expt_read_crystal(const char *path, double reciprocal_A[9], struct error *e)
{
    struct expt_json l;
    enum status s = open_list(&l, path, e);
    s = s ? s : read_first_crystal(&l, reciprocal_A, e);
    json_at_close(&l.root);
    return s;
}

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
    s = s ? s : read_rotating_scan(l, &g, &x->scan, e);
    x->has_crystal = crystal.value;
    if (s || !x->has_crystal)
        return s;
    mat_apply(g.setting, g.axis, axis);
    expt_to_lab(axis, x->spindle);
    x->centring = centring_of(&crystal);
    s = read_first_crystal(l, x->reciprocal_A, e);
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
    s = open_list(&l, path, e);
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
