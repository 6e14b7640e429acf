/* Frames as the tables of DIALS need them. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/dials/dials.h"
#include "io/output/truth.h"
#include "model/incident.h"

static double spacing(const struct lattice *l, const int32_t hkl[3])
{
    double sum = 0.0;
    for (int j = 0; j < 3; j++) {
        double q = 0.0;
        for (int i = 0; i < 3; i++)
            q += hkl[i] * l->reciprocal_A[3 * i + j];
        sum += q * q;
    }
    return sum > 0.0 ? 1.0 / sqrt(sum) : 0.0;
}

/* About those of its pixels that lie on its panel. */
static void box_of(const struct panel *p, const uint32_t *pixels, int32_t count, int32_t box[6])
{
    box[0] = box[2] = INT32_MAX;
    box[1] = box[3] = 0;
    for (int32_t i = 0; i < count; i++) {
        if (!panel_holds(p, pixels[i]))
            continue;
        const int64_t at = (int64_t)pixels[i] - p->first_pixel;
        const int32_t fast = (int32_t)(at % p->fast_pixels), slow = (int32_t)(at / p->fast_pixels);
        box[0] = fast < box[0] ? fast : box[0];
        box[1] = fast + 1 > box[1] ? fast + 1 : box[1];
        box[2] = slow < box[2] ? slow : box[2];
        box[3] = slow + 1 > box[3] ? slow + 1 : box[3];
    }
}

/* Which of its two crossings of the sphere: they lie on two sides of beam and spindle. */
static int32_t side_of(const struct experiment *x, const double shift_m[3],
                       const struct reflection_row *row)
{
    const struct panel *p = &x->panels[row->panel];
    double at[3], across[3];
    for (int i = 0; i < 3; i++)
        at[i] = shift_m[i] + p->origin_m[i] +
                p->pixel_m * (row->fast * p->fast[i] + row->slow * p->slow[i]);
    vec_cross(x->spindle, x->beam.direction, across);
    return vec_dot(at, across) < 0.0 ? -1 : 1;
}

/* Images of a rotation are counted on from 0, a still is alone. */
static struct dials_spot spot_of(const struct experiment *x, const struct frame *f,
                                 const struct reflection_row *row, const uint32_t *pixels)
{
    const struct recipe *r = &f->recipe;
    const bool rotates = r->osc_rad != 0.0;
    const double first = rotates ? (double)r->id : 0.0;
    struct dials_spot s = {.fast = row->fast,
                           .slow = row->slow,
                           .image = first + 0.5,
                           .phi_rad = dials_forwards(r->osc_rad, deg_to_rad(row->phi_deg)),
                           .osc_rad = r->osc_rad,
                           .photons = row->photons,
                           .background = (double)row->background,
                           .d_A = spacing(&r->lattices[row->lattice], row->hkl),
                           .id = row->lattice,
                           .panel = row->panel,
                           .pixels = row->pixels};
    memcpy(s.hkl, row->hkl, sizeof s.hkl);
    memcpy(s.shift_m, r->shift_m, sizeof s.shift_m);
    if (rotates) {
        s.image = first + (row->phi_deg - rad_to_deg(r->phi_rad)) / rad_to_deg(r->osc_rad);
        s.side = side_of(x, r->shift_m, row);
    }
    box_of(&x->panels[row->panel], pixels, row->pixels, s.box);
    s.box[4] = (int32_t)first;
    s.box[5] = s.box[4] + 1;
    return s;
}

static enum status check(const struct experiment *x, const struct frame *f, const char *path,
                         struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "%s: DIALS has no curved detectors", path);
    if (f->recipe.id >= INT32_MAX)
        return error_set(e, STATUS_INPUT, "%s: DIALS numbers images up to %d", path, INT32_MAX);
    return reflections_check(f, path, e);
}

enum status dials_pack(const struct experiment *x, const struct frame *f, const char *path,
                       void **bytes, size_t *size, struct error *e)
{
    const struct recipe *r = &f->recipe;
    const struct reflection_table *t = &f->reflections;
    const enum status s = check(x, f, path, e);
    if (s)
        return s;
    struct dials_frame head = {
        .id = r->id,
        .phi_rad = r->phi_rad,
        .osc_rad = r->osc_rad,
        .wavelength_A = m_to_angstrom(incident_beam(x, r).mean_m),
        .nlattices = r->nlattices,
        .nspots = t->count,
    };
    memcpy(head.shift_m, r->shift_m, sizeof head.shift_m);
    *size = sizeof head + r->nlattices * 9 * sizeof(double) + t->count * sizeof(struct dials_spot);
    struct dials_frame *packed = *bytes = mem_array(1, *size);
    if (!packed)
        return error_memory(e, path);
    *packed = head;
    for (size_t i = 0; i < r->nlattices; i++)
        memcpy((double *)(packed + 1) + 9 * i, r->lattices[i].reciprocal_A, 9 * sizeof(double));
    struct dials_spot *spots = (void *)((double *)(packed + 1) + 9 * r->nlattices);
    const uint32_t *pixels = t->pixels;
    for (size_t i = 0; i < t->count; i++) {
        spots[i] = spot_of(x, f, &t->rows[i], pixels);
        spots[i].wavelength_A = head.wavelength_A;
        pixels += t->rows[i].pixels;
    }
    return STATUS_OK;
}
