/* Reflection tables of DIALS, which are MessagePack: an array of a name, a version, and a map
 * with the columns, as they lie in memory. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/dials.h"
#include "io/reflections_text.h"
#include "model/incident.h"

/* Of DIALS: predicted, observed, indexed, strong, integrated by summation. */
enum { FLAGS = 1 | 2 | 4 | 32 | 256 };

/* What a column needs of a row. */
struct view {
    const struct experiment *x;
    const struct frame *f;
    const struct reflection_row *row;
    const uint32_t *pixels;  // those of the row
    double wavelength_A;
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

/* ---- columns -------------------------------------------------------------- */

static size_t put_id(const struct view *v, void *to)
{
    memcpy(to, &v->row->lattice, 4);
    return 4;
}

static size_t put_hkl(const struct view *v, void *to)
{
    memcpy(to, v->row->hkl, 12);
    return 12;
}

static size_t put_panel(const struct view *v, void *to)
{
    memcpy(to, &(uint64_t){(uint64_t)v->row->panel}, 8);
    return 8;
}

static size_t put_flags(const struct view *v, void *to)
{
    (void)v;
    memcpy(to, &(uint64_t){FLAGS}, 8);
    return 8;
}

static size_t put_real(void *to, double value)
{
    memcpy(to, &value, 8);
    return 8;
}

static size_t put_photons(const struct view *v, void *to)
{
    return put_real(to, v->row->photons);
}

static size_t put_variance(const struct view *v, void *to)
{
    return put_real(to, v->row->photons + (double)v->row->background);
}

static size_t put_partiality(const struct view *v, void *to)
{
    (void)v;
    return put_real(to, 1.0);
}

static size_t put_d(const struct view *v, void *to)
{
    const double *r = v->f->recipe.lattices[v->row->lattice].reciprocal_A;
    double sum = 0.0;
    for (int j = 0; j < 3; j++) {
        double q = 0.0;
        for (int i = 0; i < 3; i++)
            q += v->row->hkl[i] * r[3 * i + j];
        sum += q * q;
    }
    return put_real(to, sum > 0.0 ? 1.0 / sqrt(sum) : 0.0);
}

static size_t put_vector(void *to, double x, double y, double z)
{
    const double v[3] = {x, y, z};
    memcpy(to, v, sizeof v);
    return sizeof v;
}

/* In images from the start of the rotation. */
static size_t put_px(const struct view *v, void *to)
{
    const struct recipe *r = &v->f->recipe;
    const double at = r->osc_rad != 0.0
                          ? (v->row->phi_deg - rad_to_deg(r->phi_rad)) / rad_to_deg(r->osc_rad)
                          : 0.5;
    return put_vector(to, v->row->fast, v->row->slow, dials_image(v->f) + at);
}

static size_t put_mm(const struct view *v, void *to)
{
    const double pixel_mm = m_to_mm(v->x->panels[v->row->panel].pixel_m);
    return put_vector(to, v->row->fast * pixel_mm, v->row->slow * pixel_mm,
                      deg_to_rad(v->row->phi_deg));
}

/* Of the centroid: that of so many photons spread over so many pixels. */
static size_t put_px_variance(const struct view *v, void *to)
{
    const double variance = (double)v->row->pixels / (12.0 * v->row->photons);
    return put_vector(to, variance, variance, 1.0 / 12.0);
}

static size_t put_mm_variance(const struct view *v, void *to)
{
    const double pixel_mm = m_to_mm(v->x->panels[v->row->panel].pixel_m);
    const double variance = (double)v->row->pixels / (12.0 * v->row->photons) * pixel_mm * pixel_mm;
    const double osc = v->f->recipe.osc_rad;
    return put_vector(to, variance, variance, osc * osc / 12.0);
}

static size_t put_s1(const struct view *v, void *to)
{
    const struct panel *p = &v->x->panels[v->row->panel];
    double at[3], turned[3], sum = 0.0;
    for (int i = 0; i < 3; i++) {
        at[i] =
            p->origin_m[i] + p->pixel_m * (v->row->fast * p->fast[i] + v->row->slow * p->slow[i]);
        sum += at[i] * at[i];
    }
    dials_turn(v->x, at, turned);
    const double scale = 1.0 / (v->wavelength_A * sqrt(sum));
    return put_vector(to, turned[0] * scale, turned[1] * scale, turned[2] * scale);
}

/* About those of its pixels that lie on its panel. */
static size_t put_bbox(const struct view *v, void *to)
{
    const struct panel *p = &v->x->panels[v->row->panel];
    const int32_t image = (int32_t)dials_image(v->f);
    int32_t box[6] = {INT32_MAX, 0, INT32_MAX, 0, image, image + 1};
    for (int32_t i = 0; i < v->row->pixels; i++) {
        if (!panel_holds(p, v->pixels[i]))
            continue;
        const int64_t at = (int64_t)v->pixels[i] - p->first_pixel;
        const int32_t fast = (int32_t)(at % p->fast_pixels), slow = (int32_t)(at / p->fast_pixels);
        box[0] = fast < box[0] ? fast : box[0];
        box[1] = fast + 1 > box[1] ? fast + 1 : box[1];
        box[2] = slow < box[2] ? slow : box[2];
        box[3] = slow + 1 > box[3] ? slow + 1 : box[3];
    }
    memcpy(to, box, sizeof box);
    return sizeof box;
}

static const struct column {
    const char *name, *type;
    size_t (*put)(const struct view *v, void *to);  // returns the bytes of an item
} columns[] = {
    {"bbox", "int6", put_bbox},
    {"d", "double", put_d},
    {"flags", "std::size_t", put_flags},
    {"id", "int", put_id},
    {"intensity.sum.value", "double", put_photons},
    {"intensity.sum.variance", "double", put_variance},
    {"miller_index", "cctbx::miller::index<>", put_hkl},
    {"panel", "std::size_t", put_panel},
    {"partiality", "double", put_partiality},
    {"s1", "vec3<double>", put_s1},
    {"xyzcal.mm", "vec3<double>", put_mm},
    {"xyzcal.px", "vec3<double>", put_px},
    {"xyzobs.mm.value", "vec3<double>", put_mm},
    {"xyzobs.mm.variance", "vec3<double>", put_mm_variance},
    {"xyzobs.px.value", "vec3<double>", put_px},
    {"xyzobs.px.variance", "vec3<double>", put_px_variance},
};
enum { NCOLUMNS = sizeof columns / sizeof *columns, ITEM_MAX = 24 };

static void put_column(FILE *out, const struct column *c, struct view v, char *bytes)
{
    const struct reflection_table *t = &v.f->reflections;
    size_t used = 0;
    v.pixels = t->pixels;
    for (size_t i = 0; i < t->count; i++) {
        v.row = &t->rows[i];
        used += c->put(&v, bytes + used);
        v.pixels += v.row->pixels;
    }
    put_text(out, c->name);
    put_array(out, 2);
    put_text(out, c->type);
    put_array(out, 2);
    put_whole(out, (uint32_t)t->count);
    put_size(out, 0xc6, (uint32_t)used);
    (void)fwrite(bytes, 1, used, out);
}

enum status dials_write_refl(FILE *out, const struct experiment *x, const struct frame *f,
                             const char *path, struct error *e)
{
    const struct view v = {
        .x = x, .f = f, .wavelength_A = m_to_angstrom(incident_beam(x, &f->recipe).mean_m)};
    const enum status s = reflections_check(f, path, e);
    char *bytes = s ? NULL : mem_array(f->reflections.count, ITEM_MAX);
    if (s || !bytes)
        return s ? s : error_memory(e, path);
    put_array(out, 3);
    put_text(out, "dials::af::reflection_table");
    put_whole(out, 1);
    put_map(out, 3);
    put_text(out, "identifiers");
    put_map(out, (uint32_t)f->recipe.nlattices);
    for (size_t i = 0; i < f->recipe.nlattices; i++) {
        char name[DIALS_NAME_SIZE];
        dials_identifier(x, f, i, name);
        put_whole(out, (uint32_t)i);
        put_text(out, name);
    }
    put_text(out, "nrows");
    put_whole(out, (uint32_t)f->reflections.count);
    put_text(out, "data");
    put_map(out, NCOLUMNS);
    for (size_t i = 0; i < NCOLUMNS; i++)
        put_column(out, &columns[i], v, bytes);
    mem_free(bytes);
    return ferror(out) ? error_errno(e, STATUS_FAILED, "%s: cannot write", path) : STATUS_OK;
}
