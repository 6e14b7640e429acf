/* Packs the data of frames that DIALS' files need, and joins frames to sweeps. */
#include "io/dials/dials.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/nxmx/nxmx_rows.h"
#include "io/output/truth.h"
#include "model/recipe.h"

/* --- our laboratory frame and that of DIALS ------------------------------------------ */

void dials_turn(const struct experiment *x, const double v[3], double out[3])
{
    double axes[9];
    experiment_nexus_axes(x, axes);
    mat_apply(axes, v, out);
    out[0] = -out[0];
    out[2] = -out[2];
}

double dials_forwards(double osc, double angle)
{
    return osc < 0.0 ? 0.0 - angle : angle;
}

void dials_identifier(const struct experiment *x, const struct dials_sweep *s, uint64_t lattice,
                      char name[DIALS_NAME_SIZE])
{
    (void)snprintf(name, DIALS_NAME_SIZE, "%s-%" PRIu64 "-%" PRIu64, x->lineage, s->start->id,
                   lattice);
}

double dials_polarization(const struct experiment *x, double normal[3])
{
    const struct beam *b = &x->beam;
    vec_cross(b->direction, b->polarization, normal);
    return b->no_polarization ? 0.5 : 0.5 * (1.0 + b->kahn);
}

/* --- packed frames ------------------------------------------------------------------- */

double dials_spacing_A(const struct lattice *l, const int32_t hkl[3])
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

/* Sets box[0..3] to the bounds of a reflection along fast and slow.  Pixels on other panels than
 * its own are ignored. */
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

/* Returns the side of the plane through beam and spindle on which a reflection is: -1 or 1.  A
 * reciprocal lattice point crosses the Ewald sphere twice in a rotation, once on each side. */
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

/* Returns the variance of the photons of a reflection, which is in its z. */
static double noise_sqr(const struct reflection_row *row)
{
    const double noise = row->z > 0.0F ? row->photons / (double)row->z : 0.0;
    return noise * noise;
}

/* Returns the reflection of a row of the frame.  `pixels` are those that the row lists, and
 * `mean_A` is the mean wavelength of the frame, which a row without a wavelength has.  The
 * image number of a rotation is the id of its frame.  A still is alone in its sweep and has
 * image number 0. */
static struct dials_spot spot_of(const struct experiment *x, const struct frame *f,
                                 const struct reflection_row *row, const uint32_t *pixels,
                                 double mean_A)
{
    const struct recipe *r = &f->recipe;
    static const double ROUNDED = 1e-6;
    const bool rotates = r->osc_rad != 0.0;
    const double first = rotates ? (double)r->id : 0.0;
    const double row_A = (double)row->wavelength_A;
    const bool own = row_A > 0.0 && fabs(row_A / mean_A - 1.0) > ROUNDED;
    struct dials_spot s = {.fast = row->fast,
                           .slow = row->slow,
                           .image = first + 0.5,
                           .phi_rad = dials_forwards(r->osc_rad, deg_to_rad(row->phi_deg)),
                           .osc_rad = r->osc_rad,
                           .wavelength_A = own ? row_A : mean_A,
                           .photons = row->photons,
                           .background = (double)row->background,
                           .noise_sqr = noise_sqr(row),
                           .d_A = dials_spacing_A(&r->lattices[row->lattice], row->hkl),
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

/* --- reflections of a wide band: those that an analysis predicts ---------------------- */

/* Returns true if an analysis of a wide band does not predict this row.  The row is the direct
 * beam, or its lattice point is on none of the Ewald spheres of the band. */
static bool is_outside(const struct reflection_row *row)
{
    return (!row->hkl[0] && !row->hkl[1] && !row->hkl[2]) || row->s_1_A != 0.0;
}

/* Returns true if two rows are orders of one ray. */
static bool on_one_ray(const struct reflection_row *a, const struct reflection_row *b)
{
    int64_t along = 0;
    if (a->lattice != b->lattice)
        return false;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        along += (int64_t)a->hkl[i] * b->hkl[i];
        if ((int64_t)a->hkl[i] * b->hkl[j] != (int64_t)a->hkl[j] * b->hkl[i])
            return false;
    }
    return along > 0;
}

/* Returns true if row i is excluded, because another order of its ray has more photons. */
static bool is_outshone(const struct reflection_table *t, size_t i)
{
    const struct reflection_row *row = &t->rows[i];
    for (size_t k = 0; row->orders > 1 && k < t->count; k++) {
        const struct reflection_row *other = &t->rows[k];
        if (k != i && other->orders > 1 && !is_outside(other) && on_one_ray(row, other) &&
            (other->photons > row->photons || (other->photons == row->photons && k < i)))
            return true;
    }
    return false;
}

/* A band is wide if its longest wavelength exceeds the shortest one by more than this fraction. */
static const double NARROW = 0.02;

static enum status check_frame(const struct experiment *x, const struct frame *f, const char *path,
                               struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "%s: DIALS has no curved detectors", path);
    if (f->recipe.id >= INT32_MAX)
        return error_set(e, STATUS_INPUT, "%s: DIALS numbers images up to %d", path, INT32_MAX);
    return reflections_check(f, path, e);
}

enum status dials_pack(const struct experiment *x, const struct frame *f, double least_z,
                       const char *path, void **bytes, size_t *size, struct error *e)
{
    const struct recipe *r = &f->recipe;
    const struct reflection_table *t = &f->reflections;
    const struct incident beam = incident_beam(x, r);
    const bool wide = beam.longest_m > beam.shortest_m * (1.0 + NARROW);
    const enum status s = check_frame(x, f, path, e);
    if (s)
        return s;
    struct dials_frame head = {
        .id = r->id,
        .phi_rad = r->phi_rad,
        .osc_rad = r->osc_rad,
        .wavelength_A = m_to_angstrom(beam.mean_m),
        .nlattices = r->nlattices,
        .nspots = t->count,
    };
    memcpy(head.shift_m, r->shift_m, sizeof head.shift_m);
    *size = sizeof head + r->nlattices * 9 * sizeof(double) + t->count * sizeof(struct dials_spot);
    struct dials_frame *packed = *bytes = mem_array(1, *size);
    *packed = head;
    for (size_t i = 0; i < r->nlattices; i++)
        memcpy((double *)(packed + 1) + 9 * i, r->lattices[i].reciprocal_A, 9 * sizeof(double));
    struct dials_spot *const first = (void *)((double *)(packed + 1) + 9 * r->nlattices);
    struct dials_spot *spots = first;
    const uint32_t *pixels = t->pixels;
    for (size_t i = 0; i < t->count; pixels += t->rows[i++].pixels)
        if (!wide || !(is_outside(&t->rows[i]) || is_outshone(t, i))) {
            *spots = spot_of(x, f, &t->rows[i], pixels, head.wavelength_A);
            spots++->least_z = least_z;
        }
    packed->nspots = (uint64_t)(spots - first);
    *size = (size_t)((char *)spots - (char *)packed);
    return STATUS_OK;
}

/* --- sweeps -------------------------------------------------------------------------- */

struct spots {
    struct dials_spot *all;  // owned
    size_t count, room;
};

struct walk {
    const struct dials_visitor *to;
    struct dials_sweep sweep;  // the current sweep
    void *start;               // owned: first frame of the sweep, without spots
    struct spots open, next;  // reflections of the previous frame that may go on, and of this frame
};

/* Two frames are consecutive images of a sweep if the gap between them is at most this fraction of
 * the width of an image. */
#define PHI_TOLERANCE 1e-6

static size_t head_size(const struct dials_frame *f)
{
    const size_t mosaic = f->has_mosaic ? sizeof(struct dials_mosaic) : 0;
    return sizeof *f + f->nlattices * (9 * sizeof(double) + mosaic);
}

static bool continues(const struct dials_sweep *s, const struct dials_frame *f)
{
    const struct dials_frame *start = s->start;
    return start && f->osc_rad != 0.0 && f->osc_rad == start->osc_rad &&
           f->id == start->id + s->count && f->wavelength_A == start->wavelength_A &&
           memcmp(f->shift_m, start->shift_m, sizeof f->shift_m) == 0 &&
           fabs(f->phi_rad - start->phi_rad - (double)s->count * f->osc_rad) <=
               PHI_TOLERANCE * fabs(f->osc_rad) &&
           f->nlattices == start->nlattices &&
           memcmp(start + 1, f + 1, head_size(f) - sizeof *f) == 0;
}

/* Compares two reflections by lattice, then by h, k, l. */
static int compare_spots(const struct dials_spot *a, const struct dials_spot *b)
{
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (a->hkl[i] != b->hkl[i])
            return a->hkl[i] < b->hkl[i] ? -1 : 1;
    return 0;
}

static void put_spot(const struct walk *w, struct dials_spot s, bool last)
{
    const bool first = (uint64_t)s.box[4] == w->sweep.start->id;
    s.cut = w->sweep.count > 1 && (first || last);
    if (w->to->spot)
        w->to->spot(w->to->state, &s);
}

static double weighted_mean(double a, double in_a, double b, double in_b)
{
    return (a * in_a + b * in_b) / (in_a + in_b);
}

static struct dials_spot join_spots(const struct dials_spot *a, const struct dials_spot *b)
{
    struct dials_spot s = *a;
    s.fast = weighted_mean(a->fast, a->photons, b->fast, b->photons);
    s.slow = weighted_mean(a->slow, a->photons, b->slow, b->photons);
    s.image = weighted_mean(a->image, a->photons, b->image, b->photons);
    s.phi_rad = weighted_mean(a->phi_rad, a->photons, b->phi_rad, b->photons);
    s.photons += b->photons;
    s.background += b->background;
    s.noise_sqr += b->noise_sqr;
    s.pixels += b->pixels;
    for (int i = 0; i < 6; i += 2) {
        s.box[i] = b->box[i] < s.box[i] ? b->box[i] : s.box[i];
        s.box[i + 1] = b->box[i + 1] > s.box[i + 1] ? b->box[i + 1] : s.box[i + 1];
    }
    return s;
}

/* Adds the reflections of the next frame of the sweep.  If the previous frame has the same
 * reflection, the two are joined.  Reflections of the previous frame that do not continue in
 * this frame have ended, and are passed to the visitor. */
static void add_spots(struct walk *w, const struct dials_frame *f)
{
    const struct dials_spot *spots = dials_spots(f);
    const struct spots open = w->open;
    struct dials_spot *next = w->next.all =
        mem_grow(w->next.all, 0, f->nspots, sizeof *next, &w->next.room);
    w->next.count = f->nspots;
    size_t k = 0;
    for (size_t i = 0; i < f->nspots; i++) {
        struct dials_spot s = spots[i];
        s.id += (int32_t)w->sweep.experiment;
        for (; k < open.count && compare_spots(&open.all[k], &s) < 0; k++)
            put_spot(w, open.all[k], false);
        if (k < open.count && compare_spots(&open.all[k], &s) == 0 && open.all[k].side == s.side &&
            open.all[k].panel == s.panel)
            s = join_spots(&open.all[k++], &s);
        next[i] = s;
    }
    for (; k < open.count; k++)
        put_spot(w, open.all[k], false);
    w->open = w->next;
    w->next = open;
}

static void end_sweep(struct walk *w)
{
    if (!w->sweep.start)
        return;
    for (size_t i = 0; i < w->open.count; i++)
        put_spot(w, w->open.all[i], true);
    w->open.count = 0;
    if (w->to->sweep)
        w->to->sweep(w->to->state, &w->sweep);
    w->sweep.experiment += w->sweep.start->nlattices;
    w->sweep.place += w->sweep.count;
    w->sweep.start = NULL;
}

static void begin_sweep(struct walk *w, const struct dials_frame *f)
{
    mem_free(w->start);
    w->start = mem_copy(f, 1, head_size(f));
    w->sweep.start = w->start;
    w->sweep.count = 0;
}

enum status dials_walk(const struct records *all, const struct dials_visitor *to, struct error *e)
{
    struct walk w = {.to = to};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < all->count && !s; i++) {
        const void *bytes;
        size_t size;
        s = all->read(all->state, i, &bytes, &size, e);
        if (s)
            break;
        const struct dials_frame *f = bytes;
        if (!continues(&w.sweep, f)) {
            end_sweep(&w);
            begin_sweep(&w, f);
        }
        w.sweep.count++;
        if (to->spot)
            add_spots(&w, f);
    }
    if (s == STATUS_OK)
        end_sweep(&w);
    mem_free(w.start);
    mem_free(w.open.all);
    mem_free(w.next.all);
    return s;
}

/* --- images -------------------------------------------------------------------------- */

static void note_backwards(void *backwards, const struct dials_sweep *sweep)
{
    *(bool *)backwards |= sweep->start->osc_rad < 0.0;
}

enum status dials_choose_images(struct dials_images *images, const struct records *all,
                                struct error *e)
{
    bool backwards = false;
    const struct dials_visitor visitor = {.state = &backwards, .sweep = note_backwards};
    if (!images->files || !template_is_numbered(images->files))
        return STATUS_OK;
    const enum status s = dials_walk(all, &visitor, e);
    if (backwards)
        images->files = images->instead;
    return s;
}
