#include "io/dials/expt_models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

/* --- models -------------------------------------------------------------------------- */

void expt_to_lab(const double v[3], double out[3])
{
    out[0] = 0.0 - v[2];  // avoids a negative zero
    out[1] = v[1];
    out[2] = v[0];
}

static enum status read_direction(const struct json_at *at, double v[3], struct error *e)
{
    const enum status s = json_at_reals(at, 3, -1e6, 1e6, v, e);
    const double length = s ? 1 : sqrt(vec_dot(v, v));
    if (!(length >= 1e-6))
        return json_at_error(
            at, e, "%g %g %g is not a direction; expected a finite vector that is not zero", v[0],
            v[1], v[2]);
    for (int i = 0; i < 3 && !s; i++)
        v[i] /= length;
    return s;
}

enum status expt_direction(const struct json_at *of, const char *key, double v[3], struct error *e)
{
    struct json_at member;
    const enum status s = json_at_member(of, key, &member, e);
    return s ? s : read_direction(&member, v, e);
}

enum status expt_model(const struct json_at *experiment, const struct json_at *root,
                       const char *kind, struct json_at *out, struct error *e)
{
    struct json_at number, list;
    size_t count;
    int64_t i = 0;
    *out = (struct json_at){.file = root->file};
    if (!json_at_optional(experiment, kind, &number))
        return STATUS_OK;
    enum status s = json_at_member(root, kind, &list, e);
    s = s ? s : json_at_list(&list, 1, &count, e);
    s = s ? s : json_at_whole(&number, 0, (int64_t)count - 1, &i, e);
    if (s)
        return s;
    json_at_item(&list, (size_t)i, out);
    return json_is_object(out->value) ? STATUS_OK
                                      : json_at_error(out, e, "not an object; expected '{...}'");
}

/* --- the goniometer ------------------------------------------------------------------ */

enum { AXES_MAX = 16 };

/* Sets out = a b.  The matrices are row-major; `out` may be a or b. */
static void multiply(const double a[9], const double b[9], double out[9])
{
    double product[9];
    for (int i = 0; i < 9; i++)
        product[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] +
                     a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, product, sizeof product);
}

/* Sets `out` to the row-major matrix of a right-handed rotation about the unit vector n. */
static void rotation_about(const double n[3], double angle_rad, double out[9])
{
    const double c = cos(angle_rad), s = sin(angle_rad);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = (1 - c) * n[i] * n[j] + (i == j ? c : 0);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[3 * k + j] += s * n[i];
        out[3 * j + k] -= s * n[i];
    }
}

static enum status read_rotation(const struct json_at *of, const char *key, double out[9],
                                 struct error *e)
{
    struct json_at member;
    if (!json_at_optional(of, key, &member))
        return STATUS_OK;
    const enum status s = json_at_reals(&member, 9, -2, 2, out, e);
    double across[3];
    bool good = !s;
    for (int i = 0; i < 9 && good; i++)
        good = fabs(vec_dot(out + i / 3 * 3, out + i % 3 * 3) - (i / 3 == i % 3)) < 1e-6;
    vec_cross(out, out + 3, across);
    if (s || (good && vec_dot(across, out + 6) > 0))
        return s;
    return json_at_error(&member, e, "not a rotation; expected the object that dxtbx writes");
}

/* Adds axis number i of a goniometer with several axes, at its angle.  Axes before the scan axis
 * are between it and the crystal: their rotations are combined in g->fixed.  Axes after the scan
 * axis set its direction: their rotations are combined in g->setting. */
static void add_axis(const double axis[3], double angle_deg, int64_t i, int64_t scan,
                     struct expt_goniometer *g)
{
    double turned[9];
    double *of = i < scan ? g->fixed : g->setting;
    if (i == scan) {
        memcpy(g->axis, axis, sizeof g->axis);
        return;
    }
    rotation_about(axis, deg_to_rad(angle_deg), turned);
    multiply(turned, of, of);
}

/* Reads the axes of a goniometer in the order of the file, in which the first axis is next to
 * the crystal. */
static enum status read_axes(const struct json_at *at, const struct json_at *axes,
                             struct expt_goniometer *g, struct error *e)
{
    double angles_deg[AXES_MAX], axis[3];
    struct json_at member, item;
    size_t count;
    int64_t scan = 0;
    enum status s = json_at_list(axes, 1, &count, e);
    if (!s && count > AXES_MAX)
        return json_at_error(axes, e, "has %zu items; expected at most %d", count, AXES_MAX);
    s = s ? s : json_at_member_reals(at, "angles", count, -1e6, 1e6, angles_deg, e);
    s = s ? s : json_at_member(at, "scan_axis", &member, e);
    s = s ? s : json_at_whole(&member, 0, (int64_t)count - 1, &scan, e);
    for (size_t i = 0; i < count && !s; i++) {
        json_at_item(axes, i, &item);
        s = read_direction(&item, axis, e);
        if (!s)
            add_axis(axis, angles_deg[i], (int64_t)i, scan, g);
    }
    return s;
}

enum status expt_goniometer(const struct json_at *experiment, const struct json_at *root,
                            struct expt_goniometer *g, struct error *e)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct json_at at, axes;
    memset(g, 0, sizeof *g);
    memcpy(g->fixed, one, sizeof one);
    memcpy(g->setting, one, sizeof one);
    enum status s = expt_model(experiment, root, "goniometer", &at, e);
    if (s || !at.value)
        return s;
    g->present = true;
    if (json_at_optional(&at, "axes", &axes))
        return read_axes(&at, &axes, g, e);
    s = expt_direction(&at, "rotation_axis", g->axis, e);
    s = s ? s : read_rotation(&at, "fixed_rotation", g->fixed, e);
    return s ? s : read_rotation(&at, "setting_rotation", g->setting, e);
}

/* --- the detector -------------------------------------------------------------------- */

enum { EDGE_MAX = 65536 };
static const double PIXELS_MAX = 1 << 28;
/* No detector counts further than this.  If the trusted range ends above this value, there is no
 * limit. */
static const double COUNT_MAX = 4294967294.0;
static const double ORIGIN_MAX_MM = 1e7, TRUSTED_MAX = 1e300;
/* Some formats require a thickness even of a sensor that has none.  A sensor below this
 * thickness in m is therefore treated as one without thickness, which absorbs all photons. */
static const double THIN_M = 1e-6;

/* Position and axes of a group or a panel, in the laboratory frame of DIALS. */
struct coordinates {
    double fast[3], slow[3], origin_mm[3];
};

static const struct coordinates lab = {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}};

/* Transforms v from the axes of *on to the laboratory frame. */
static void to_laboratory(const struct coordinates *on, const double v[3], double out[3])
{
    double normal[3];
    vec_cross(on->fast, on->slow, normal);
    for (int i = 0; i < 3; i++)
        out[i] = v[0] * on->fast[i] + v[1] * on->slow[i] + v[2] * normal[i];
}

/* Reads the axes and the origin of a group or a panel.  The file gives them relative to the
 * parent; *out gets them in the laboratory frame of DIALS. */
static enum status read_stand(const struct json_at *at, const struct coordinates *parent,
                              struct coordinates *out, struct error *e)
{
    struct coordinates local;
    enum status s = expt_direction(at, "fast_axis", local.fast, e);
    s = s ? s : expt_direction(at, "slow_axis", local.slow, e);
    s = s ? s
          : json_at_member_reals(at, "origin", 3, -ORIGIN_MAX_MM, ORIGIN_MAX_MM, local.origin_mm,
                                 e);
    if (s)
        return s;
    if (fabs(vec_dot(local.fast, local.slow)) > 1e-6)
        return json_at_error(at, e, "fast_axis and slow_axis are not at right angles");
    to_laboratory(parent, local.fast, out->fast);
    to_laboratory(parent, local.slow, out->slow);
    to_laboratory(parent, local.origin_mm, out->origin_mm);
    for (int i = 0; i < 3; i++)
        out->origin_mm[i] += parent->origin_mm[i];
    return STATUS_OK;
}

/* --- panels -------------------------------------------------------------------- */

static enum status read_size(const struct json_at *at, struct geom_panel *p, struct error *e)
{
    double edge_mm[2], pixels[2];
    enum status s = json_at_member_reals(at, "pixel_size", 2, 1e-4, 1e3, edge_mm, e);
    s = s ? s : json_at_member_reals(at, "image_size", 2, 1, EDGE_MAX, pixels, e);
    if (s)
        return s;
    if (fabs(edge_mm[0] - edge_mm[1]) > 1e-9 * edge_mm[0])
        return json_at_error(at, e, "pixel_size: %g x %g mm; expected square pixels", edge_mm[0],
                             edge_mm[1]);
    for (int i = 0; i < 2; i++)
        if (pixels[i] != floor(pixels[i]))
            return json_at_error(at, e, "image_size[%d]: is %g; expected a whole number", i,
                                 pixels[i]);
    p->pixel_m = mm_to_m(edge_mm[0]);
    p->fast_pixels = (int64_t)pixels[0];
    p->slow_pixels = (int64_t)pixels[1];
    return STATUS_OK;
}

/* Masks the pixels of a panel that are in a rectangle [fast, slow, fast end, slow end], without
 * the ends. */
static void clear_rectangle(const double r[4], struct geom_panel *p)
{
    const int64_t fast_end = (int64_t)fmin(ceil(r[2]), (double)p->fast_pixels),
                  slow_end = (int64_t)fmin(ceil(r[3]), (double)p->slow_pixels);
    const int64_t first = (int64_t)fmax(floor(r[0]), 0);
    for (int64_t s = (int64_t)fmax(floor(r[1]), 0); s < slow_end && first < fast_end; s++)
        memset(p->mask + s * p->fast_pixels + first, 0, (size_t)(fast_end - first));
}

static enum status read_mask(const struct json_at *at, struct geom_panel *p, struct error *e)
{
    struct json_at list, item;
    size_t count = 0;
    enum status s = STATUS_OK;
    if (json_at_optional(at, "mask", &list))
        s = json_at_list(&list, 0, &count, e);
    if (s || !count)
        return s;
    p->mask = mem_try_array((size_t)p->fast_pixels, (size_t)p->slow_pixels);
    if (!p->mask)
        return error_memory(e, "the mask of a panel");
    memset(p->mask, 1, (size_t)(p->fast_pixels * p->slow_pixels));
    for (size_t i = 0; i < count && !s; i++) {
        double rectangle[4];
        json_at_item(&list, i, &item);
        s = json_at_reals(&item, 4, -1e9, 1e9, rectangle, e);
        if (!s)
            clear_rectangle(rectangle, p);
    }
    return s;
}

/* The sensor of a panel, as the file gives it. */
struct sensor {
    double thickness_m, absorption_1_m;
    const char *material;  // borrowed from the JSON; NULL: not in the file
};

static enum status read_sensor(const struct json_at *at, struct sensor *sensor, struct error *e)
{
    struct json_at member;
    double mm = 0, per_mm = 0;
    enum status s = STATUS_OK;
    if (json_at_optional(at, "thickness", &member))
        s = json_at_real(&member, 0, 1e3, &mm, e);
    if (!s && json_at_optional(at, "mu", &member))
        s = json_at_real(&member, 0, 1e9, &per_mm, e);
    const bool thick = mm_to_m(mm) >= THIN_M;
    *sensor = (struct sensor){.thickness_m = thick ? mm_to_m(mm) : 0,
                              .absorption_1_m = thick ? per_mm * 1e3 : 0};
    if (s || !json_at_optional(at, "material", &member))
        return s;
    sensor->material = json_string_value(member.value);
    return sensor->material && strlen(sensor->material) < MATERIAL_SIZE
               ? STATUS_OK
               : json_at_error(&member, e, "not a name; expected at most %d bytes, such as \"Si\"",
                               MATERIAL_SIZE - 1);
}

/* Reads the sensor of a panel.  Panel 0 sets the sensor of the detector.  STATUS_INPUT: another
 * panel has another thickness or absorption. */
static enum status take_sensor(const struct json_at *at, size_t number, struct expt *x,
                               struct error *e)
{
    struct sensor sensor;
    const enum status s = read_sensor(at, &sensor, e);
    if (s)
        return s;
    if (number == 0) {
        x->thickness_m = sensor.thickness_m;
        x->absorption_1_m = sensor.absorption_1_m;
        if (sensor.material)
            strcpy(x->material, sensor.material);
    }
    if (sensor.thickness_m != x->thickness_m || sensor.absorption_1_m != x->absorption_1_m)
        return json_at_error(at, e,
                             "thickness %g mm and mu %g/mm; expected those of panel 0, %g and %g",
                             m_to_mm(sensor.thickness_m), sensor.absorption_1_m / 1e3,
                             m_to_mm(x->thickness_m), x->absorption_1_m / 1e3);
    return STATUS_OK;
}

/* Checks how DIALS converts pixels of a panel to mm.  STATUS_INPUT: the pixels are not on a
 * regular grid, which cannot be simulated.  The parallax correction for the depth of the sensor
 * is allowed: it changes the positions that DIALS computes, but moves no pixel. */
static enum status check_strategy(const struct json_at *at, struct error *e)
{
    struct json_at strategy, type;
    if (!json_at_optional(at, "px_mm_strategy", &strategy) ||
        !json_at_optional(&strategy, "type", &type))
        return STATUS_OK;
    const char *name = json_string_value(type.value);
    return name && (strcmp(name, "SimplePxMmStrategy") == 0 ||
                    strcmp(name, "ParallaxCorrectedPxMmStrategy") == 0)
               ? STATUS_OK
               : json_at_error(
                     &type, e,
                     "unknown strategy; expected SimplePxMmStrategy or "
                     "ParallaxCorrectedPxMmStrategy, because pixel offsets cannot be simulated");
}

/* Reads the largest trusted value of a panel and converts it to photons, because values in the
 * file include gain and pedestal.  Raises x->saturation to the result. */
static enum status take_trusted(const struct json_at *at, struct expt *x, struct error *e)
{
    struct json_at member;
    double range[2] = {0, 0}, gain = 1, pedestal = 0;
    enum status s = STATUS_OK;
    if (json_at_optional(at, "trusted_range", &member))
        s = json_at_reals(&member, 2, -TRUSTED_MAX, TRUSTED_MAX, range, e);
    if (!s && json_at_optional(at, "gain", &member))
        s = json_at_real(&member, 0, 1e9, &gain, e);
    if (!s && json_at_optional(at, "pedestal", &member))
        s = json_at_real(&member, -1e9, 1e9, &pedestal, e);
    x->scaled = x->scaled || (gain > 0 && gain != 1) || pedestal != 0;
    if (!s && range[1] > 0 && range[1] <= COUNT_MAX)
        x->saturation = fmax(x->saturation, (range[1] - pedestal) / (gain > 0 ? gain : 1));
    return s;
}

/* Returns the text of a member of a panel; "" if it is not in the file or is not a text. */
static const char *text_of(const struct json_at *at, const char *key)
{
    struct json_at member;
    const char *text = json_at_optional(at, key, &member) ? json_string_value(member.value) : NULL;
    return text ? text : "";
}

/* Reads what panel 0 says about the kind of the detector.  Long texts are cut off. */
static void take_kind(const struct json_at *at, struct expt *x)
{
    (void)snprintf(x->type, sizeof x->type, "%.20s", text_of(at, "type"));
    (void)snprintf(x->name, sizeof x->name, "%.60s %.60s", text_of(at, "identifier"),
                   text_of(at, "name"));
}

/* Reads the position of a panel in the raw image, and enlarges x->image_pixels to include it.
 * If all panels are at 0, 0, the file does not give their positions: x->panels_placed stays
 * false. */
static enum status take_place(const struct json_at *at, struct geom_panel *p, struct expt *x,
                              struct error *e)
{
    struct json_at member;
    double offset[2] = {0, 0};
    const bool said = json_at_optional(at, "raw_image_offset", &member);
    const enum status s = said ? json_at_reals(&member, 2, 0, 1e9, offset, e) : STATUS_OK;
    const int64_t end[2] = {(int64_t)offset[0] + p->fast_pixels,
                            (int64_t)offset[1] + p->slow_pixels};
    for (int i = 0; i < 2 && !s; i++) {
        p->first[i] = (int64_t)offset[i];
        if (end[i] > x->image_pixels[i])
            x->image_pixels[i] = end[i];
    }
    x->panels_placed = x->panels_placed || offset[0] > 0 || offset[1] > 0;
    return s;
}

/* Reads panel `number`.  Its position in the file is relative to the parent group. */
static enum status read_panel(const struct json_at *at, const struct coordinates *parent,
                              size_t number, struct expt *x, struct error *e)
{
    struct geom_panel *p = &x->panels[number];
    struct coordinates stand;
    enum status s = read_stand(at, parent, &stand, e);
    s = s ? s : read_size(at, p, e);
    s = s ? s : take_place(at, p, x, e);
    s = s ? s : take_sensor(at, number, x, e);
    s = s ? s : take_trusted(at, x, e);
    s = s ? s : check_strategy(at, e);
    if (s)
        return s;
    if (number == 0)
        take_kind(at, x);
    expt_to_lab(stand.fast, p->fast);
    expt_to_lab(stand.slow, p->slow);
    expt_to_lab(stand.origin_mm, p->corner_m);
    for (int i = 0; i < 3; i++)
        p->corner_m[i] = mm_to_m(p->corner_m[i]);
    return STATUS_OK;
}

/* --- groups -------------------------------------------------------------------- */

/* The list of panels, and for each panel the position of its group. */
struct tree {
    struct json_at panels;
    size_t npanels;
    struct coordinates *parents;  // owned: position of the group of each panel
    bool *placed;                 // owned: whether a group with the panel was found
};

static enum status read_child(const struct json_at *child, const struct coordinates *parent,
                              struct tree *t, struct error *e);

static enum status read_group(const struct json_at *group, const struct coordinates *parent,
                              struct tree *t, struct error *e)
{
    struct json_at children, child;
    struct coordinates stand;
    size_t count = 0;
    enum status s = read_stand(group, parent, &stand, e);
    s = s ? s : json_at_member(group, "children", &children, e);
    s = s ? s : json_at_list(&children, 0, &count, e);
    for (size_t i = 0; i < count && !s; i++) {
        json_at_item(&children, i, &child);
        s = read_child(&child, &stand, t, e);
    }
    return s;
}

/* Reads a child of a group: the number of a panel, or another group.  The JSON parser limits how
 * deep groups are nested. */
static enum status read_child(const struct json_at *child, const struct coordinates *parent,
                              struct tree *t, struct error *e)
{
    struct json_at number;
    int64_t i;
    if (!json_at_optional(child, "panel", &number))
        return read_group(child, parent, t, e);
    const enum status s = json_at_whole(&number, 0, (int64_t)t->npanels - 1, &i, e);
    if (s)
        return s;
    if (t->placed[i])
        return json_at_error(&number, e, "panel %d occurs twice", (int)i);
    t->placed[i] = true;
    t->parents[i] = *parent;
    return STATUS_OK;
}

static enum status read_panels(const struct tree *t, struct expt *x, struct error *e)
{
    double pixels = 0;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < t->npanels && !s; i++) {
        struct json_at panel;
        json_at_item(&t->panels, i, &panel);
        if (!t->placed[i])
            return json_at_error(&panel, e, "is in no group of the hierarchy");
        s = read_panel(&panel, &t->parents[i], i, x, e);
        pixels += (double)x->panels[i].fast_pixels * (double)x->panels[i].slow_pixels;
        if (!s && pixels > PIXELS_MAX)
            s = json_at_error(&t->panels, e, "have too many pixels; expected at most %.0f in total",
                              PIXELS_MAX);
        s = s ? s : read_mask(&panel, &x->panels[i], e);
    }
    return s;
}

/* Reads the groups and then the panels.  The arrays of *t must be allocated.  Without groups,
 * the positions of the panels are in the laboratory frame of DIALS. */
static enum status read_tree(const struct json_at *detector, struct tree *t, struct expt *x,
                             struct error *e)
{
    struct json_at hierarchy;
    const bool grouped = json_at_optional(detector, "hierarchy", &hierarchy);
    for (size_t i = 0; i < t->npanels && !grouped; i++) {
        t->placed[i] = true;
        t->parents[i] = lab;
    }
    const enum status s = grouped ? read_group(&hierarchy, &lab, t, e) : STATUS_OK;
    return s ? s : read_panels(t, x, e);
}

enum status expt_detector(const struct json_at *detector, struct expt *x, struct error *e)
{
    struct tree t = {0};
    enum status s = json_at_member(detector, "panels", &t.panels, e);
    s = s ? s : json_at_list(&t.panels, 1, &t.npanels, e);
    if (s)
        return s;
    t.parents = mem_array(t.npanels, sizeof *t.parents);
    t.placed = mem_array(t.npanels, sizeof *t.placed);
    x->panels = mem_array(t.npanels, sizeof *x->panels);
    x->npanels = t.npanels;
    s = read_tree(detector, &t, x, e);
    mem_free(t.parents);
    mem_free(t.placed);
    return s;
}
