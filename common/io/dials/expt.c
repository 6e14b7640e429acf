/* Reads the first experiment of a list of DIALS: beam, images, scan, detector and crystal. */
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

enum status expt_open(struct expt_json *l, const char *path, struct error *e)
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

enum status expt_rotating_scan(const struct expt_json *l, const struct expt_goniometer *g,
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
    enum status s = expt_open(&l, path, e);
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
               : expt_rotating_scan(l, g, scan, e);
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
    enum status s = expt_open(&l, path, e);
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

enum status expt_crystal(const struct expt_json *l, double reciprocal_A[9], struct error *e)
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
    enum status s = expt_open(&l, path, e);
    s = s ? s : expt_crystal(&l, reciprocal_A, e);
    json_at_close(&l.root);
    return s;
}
