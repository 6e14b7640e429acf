/* Writes reflection tables of DIALS. */
#include "io/dials/dials.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"

enum { WIDTH_MAX = 24 };

/* --- columns ------------------------------------------------------------------------- */

/* A column of the table.  An item without a name ends the list of columns. */
struct column {
    const char *name, *type;
    uint32_t width;  // bytes of an item, which `put` writes
    void (*put)(const struct experiment *x, const struct dials_spot *s, void *to);
    bool scaled;  // only written with scaled intensities
};

/* Flags of DIALS.  SEEN: predicted, observed and indexed.  INTEGRATED: by summation. */
enum { SEEN = 1 | 2 | 4, STRONG = 32, INTEGRATED = 256, SCALED = 1 << 26 };

static void put_real(void *to, double value)
{
    memcpy(to, &value, sizeof value);
}

static void put_size_t(void *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

static void put_vector(void *to, double x, double y, double z)
{
    const double v[3] = {x, y, z};
    memcpy(to, v, sizeof v);
}

static void put_id(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    memcpy(to, &s->id, 4);
}

static void put_hkl(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    memcpy(to, s->hkl, 12);
}

static void put_panel(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_size_t(to, (uint64_t)s->panel);
}

static void put_flags(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    const bool strong = !(s->least_z > 0.0) || s->photons > s->least_z * sqrt(s->noise_sqr);
    put_size_t(to, (uint64_t)(SEEN | (strong ? STRONG : 0) | (s->cut ? 0 : INTEGRATED) |
                              (s->scaled ? SCALED : 0)));
}

static void put_photons(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->photons);
}

static void put_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->photons + s->background);
}

static void put_partiality(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x, (void)s;
    put_real(to, 1.0);
}

static void put_d(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->d_A);
}

static void put_px(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_vector(to, s->fast, s->slow, s->image);
}

static void put_mm(const struct experiment *x, const struct dials_spot *s, void *to)
{
    const double pixel_mm = m_to_mm(x->panels[s->panel].pixel_m);
    put_vector(to, s->fast * pixel_mm, s->slow * pixel_mm, s->phi_rad);
}

/* Returns the variance in px^2 of the centroid along fast and along slow: that of s->photons
 * photons spread evenly over the pixels of the reflection on each of its images. */
static double variance_px(const struct dials_spot *s)
{
    return s->pixels / (12.0 * s->photons * (s->box[5] - s->box[4]));
}

static void put_px_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_vector(to, variance_px(s), variance_px(s), 1.0 / 12.0);
}

static void put_mm_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    const double pixel_mm = m_to_mm(x->panels[s->panel].pixel_m);
    const double variance = variance_px(s) * pixel_mm * pixel_mm;
    put_vector(to, variance, variance, s->osc_rad * s->osc_rad / 12.0);
}

/* Sets `out` to the direction from the sample to a reflection: a unit vector in our laboratory
 * frame. */
static void direction_of(const struct experiment *x, const struct dials_spot *s, double out[3])
{
    const struct panel *p = &x->panels[s->panel];
    double at[3];
    for (int i = 0; i < 3; i++)
        at[i] = s->shift_m[i] + p->origin_m[i] +
                p->pixel_m * (s->fast * p->fast[i] + s->slow * p->slow[i]);
    (void)vec_unit(at, out);
}

static void put_s1(const struct experiment *x, const struct dials_spot *s, void *to)
{
    double at[3], turned[3];
    direction_of(x, s, at);
    dials_turn(x, at, turned);
    put_vector(to, turned[0] / s->wavelength_A, turned[1] / s->wavelength_A,
               turned[2] / s->wavelength_A);
}

static void put_wavelength(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->wavelength_A);
}

static void put_box(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    memcpy(to, s->box, sizeof s->box);
}

/* Returns the factor with which DIALS multiplies an intensity to correct it for the Lorentz
 * factor of the rotation and for the polarization: Kabsch, Acta Cryst.  D66 (2010) 133.  The
 * factor of a still corrects only for the polarization. */
static double lp_of(const struct experiment *x, const struct dials_spot *s)
{
    double at[3], across[3], normal[3];
    const double fraction = dials_polarization(x, normal);
    direction_of(x, s, at);
    vec_cross(x->spindle, x->beam.direction, across);
    const double n = vec_dot(normal, at), forward = vec_dot(x->beam.direction, at);
    const double polarization =
        (1.0 - 2.0 * fraction) * (1.0 - n * n) + fraction * (1.0 + forward * forward);
    return (s->osc_rad != 0.0 ? fabs(vec_dot(at, across)) : 1.0) / polarization;
}

/* Returns the fraction of photons that the sensor absorbs; 1 if the sensor is not known. */
static double qe_of(const struct experiment *x, const struct dials_spot *s)
{
    const struct panel *p = &x->panels[s->panel];
    const double depth_m = panel_depth_m(p);
    double at[3], normal[3];
    if (!(depth_m > 0.0 && p->absorption_1_m > 0.0))
        return 1.0;
    direction_of(x, s, at);
    vec_cross(p->fast, p->slow, normal);
    return -expm1(-p->absorption_1_m * depth_m / fabs(vec_dot(at, normal)));
}

static void put_lp(const struct experiment *x, const struct dials_spot *s, void *to)
{
    put_real(to, lp_of(x, s));
}

static void put_qe(const struct experiment *x, const struct dials_spot *s, void *to)
{
    put_real(to, qe_of(x, s));
}

static void put_scaled(const struct experiment *x, const struct dials_spot *s, void *to)
{
    put_real(to, s->photons * lp_of(x, s) / qe_of(x, s));
}

static void put_scaled_variance(const struct experiment *x, const struct dials_spot *s, void *to)
{
    const double factor = lp_of(x, s) / qe_of(x, s);
    put_real(to, (s->photons + s->background) * factor * factor);
}

static void put_scale(const struct experiment *x, const struct dials_spot *s, void *to)
{
    (void)x;
    put_real(to, s->scaled ? 1.0 : 0.0);
}

static const struct column columns[] = {
    {"bbox", "int6", 24, put_box, false},
    {"d", "double", 8, put_d, false},
    {"flags", "std::size_t", 8, put_flags, false},
    {"id", "int", 4, put_id, false},
    {"intensity.scale.value", "double", 8, put_scaled, true},
    {"intensity.scale.variance", "double", 8, put_scaled_variance, true},
    {"intensity.sum.value", "double", 8, put_photons, false},
    {"intensity.sum.variance", "double", 8, put_variance, false},
    {"inverse_scale_factor", "double", 8, put_scale, true},
    {"lp", "double", 8, put_lp, false},
    {"miller_index", "cctbx::miller::index<>", 12, put_hkl, false},
    {"panel", "std::size_t", 8, put_panel, false},
    {"partiality", "double", 8, put_partiality, false},
    {"qe", "double", 8, put_qe, false},
    {"s1", "vec3<double>", 24, put_s1, false},
    {"wavelength", "double", 8, put_wavelength, false},
    {"xyzcal.mm", "vec3<double>", 24, put_mm, false},
    {"xyzcal.px", "vec3<double>", 24, put_px, false},
    {"xyzobs.mm.value", "vec3<double>", 24, put_mm, false},
    {"xyzobs.mm.variance", "vec3<double>", 24, put_mm_variance, false},
    {"xyzobs.px.value", "vec3<double>", 24, put_px, false},
    {"xyzobs.px.variance", "vec3<double>", 24, put_px_variance, false},
    {.name = NULL},
};

struct table {
    FILE *out;
    int32_t shift;  // added to image numbers: DIALS counts positions from 0, at image number 1
    const struct experiment *x;
    bool alone;  // do not write scaled intensities
    uint64_t rows;
    const struct column *column;  // the column that is being written
};

/* ---- MessagePack -------------------------------------------------------- */

static void put_size(FILE *out, uint8_t type, uint32_t size)
{
    const uint8_t bytes[] = {type, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
                             (uint8_t)(size >> 8), (uint8_t)size};
    (void)fwrite(bytes, 1, sizeof bytes, out);
}

static void put_array(FILE *out, uint32_t count)
{
    put_size(out, 0xdd, count);
}

static void put_map(FILE *out, uint32_t count)
{
    put_size(out, 0xdf, count);
}

static void put_whole(FILE *out, uint32_t value)
{
    put_size(out, 0xce, value);
}

static void put_text(FILE *out, const char *text)
{
    put_size(out, 0xdb, (uint32_t)strlen(text));
    fputs(text, out);
}

/* ---- the table ------------------------------------------------------------ */

static void count_spot(void *state, const struct dials_spot *s)
{
    (void)s;
    ((struct table *)state)->rows++;
}

static void write_spot(void *state, const struct dials_spot *s)
{
    const struct table *t = state;
    struct dials_spot moved = *s;
    moved.scaled = !t->alone && !s->cut;
    char item[WIDTH_MAX];
    if (s->osc_rad != 0.0) {
        moved.image += t->shift;
        moved.box[4] += t->shift;
        moved.box[5] += t->shift;
    }
    t->column->put(t->x, &moved, item);
    (void)fwrite(item, 1, t->column->width, t->out);
}

static enum status write_column(struct table *t, const struct column *c, const struct records *all,
                                struct error *e)
{
    const struct dials_visitor rows = {.state = t, .spot = write_spot};
    t->column = c;
    put_text(t->out, c->name);
    put_array(t->out, 2);
    put_text(t->out, c->type);
    put_array(t->out, 2);
    put_whole(t->out, (uint32_t)t->rows);
    put_size(t->out, 0xc6, (uint32_t)t->rows * c->width);
    return dials_walk(all, &rows, e);
}

static uint32_t count_columns(bool alone)
{
    uint32_t count = 0;
    for (const struct column *c = columns; c->name; c++)
        count += !alone || !c->scaled;
    return count;
}

static void count_names(void *state, const struct dials_sweep *s)
{
    *(uint64_t *)state += s->start->nlattices;
}

static void write_names(void *state, const struct dials_sweep *s)
{
    const struct table *t = state;
    for (uint64_t i = 0; i < s->start->nlattices; i++) {
        char name[DIALS_NAME_SIZE];
        dials_identifier(t->x, s, i, name);
        put_whole(t->out, (uint32_t)(s->experiment + i));
        put_text(t->out, name);
    }
}

static enum status write_identifiers(struct table *t, const struct records *all, struct error *e)
{
    uint64_t count = 0;
    const struct dials_visitor counter = {.state = &count, .sweep = count_names};
    const struct dials_visitor names = {.state = t, .sweep = write_names};
    const enum status s = dials_walk(all, &counter, e);
    put_text(t->out, "identifiers");
    put_map(t->out, (uint32_t)count);
    return s ? s : dials_walk(all, &names, e);
}

enum status dials_write_refl(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e)
{
    enum status s = dials_choose_images(&images, all, e);
    struct table t = {
        .out = out, .x = x, .shift = dials_first_image(images) - 1, .alone = images.alone};
    const struct dials_visitor counter = {.state = &t, .spot = count_spot};
    s = s ? s : dials_walk(all, &counter, e);
    if (s == STATUS_OK && t.rows > UINT32_MAX / WIDTH_MAX)
        s = error_set(e, STATUS_FAILED,
                      "%s: too many reflections for a table (got %" PRIu64
                      "); expected at most %" PRIu32,
                      path, t.rows, UINT32_MAX / WIDTH_MAX);
    if (s)
        return s;
    put_array(out, 3);
    put_text(out, "dials::af::reflection_table");
    put_whole(out, 1);
    put_map(out, 3);
    s = write_identifiers(&t, all, e);
    put_text(out, "nrows");
    put_whole(out, (uint32_t)t.rows);
    put_text(out, "data");
    put_map(out, count_columns(t.alone));
    for (const struct column *c = columns; c->name && !s; c++)
        if (!t.alone || !c->scaled)
            s = write_column(&t, c, all, e);
    if (s == STATUS_OK && ferror(out))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return s;
}
