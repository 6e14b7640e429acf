#include "score/dials_files.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

/* Flags of DIALS. */
enum { BY_SUMMATION = 1 << 8, BY_PROFILE = 1 << 9 };
enum { INDEX_MAX = 30000 };

/* Our lab in the convention mosflm, in the frame of the beam: (z, -y, x). */
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
        return error_set(e, STATUS_INPUT, "%s: has more than 2^32 rows", t->path);
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

static enum status copy_panels(struct dials_files *f, struct error *e)
{
    const struct expt *x = &f->list.setup;
    f->panels = mem_copy(x->panels, x->npanels, sizeof *f->panels);
    if (!f->panels)
        return error_memory(e, f->expt_path);
    for (size_t i = 0; i < x->npanels; i++) {
        f->panels[i].mask = NULL;
        to_beam(x->panels[i].fast, f->panels[i].fast);
        to_beam(x->panels[i].slow, f->panels[i].slow);
        to_beam(x->panels[i].corner_m, f->panels[i].corner_m);
    }
    return STATUS_OK;
}

enum status dials_open(struct dials_files *f, const char *expt_path, const char *refl_path,
                       struct error *e)
{
    *f = (struct dials_files){.expt_path = expt_path, .refl_path = refl_path};
    enum status s = refl_open(&f->table, refl_path, e);
    s = s ? s : expt_list_read(expt_path, &f->list, e);
    s = s ? s : find_columns(f, e);
    s = s ? s : copy_panels(f, e);
    return s ? s : dials_sort_images(f, e);
}

void dials_close(struct dials_files *f)
{
    expt_list_free(&f->list);
    refl_close(&f->table);
    mem_free(f->panels);
    mem_free(f->entries);
    mem_free(f->experiment_of);
    mem_free(f->experiment_of_images);
    *f = (struct dials_files){0};
}

/* --- a frame ------------------------------------------------------------------------- */

/* Of the image: a crystal that changes is between the edges of the image; of a rotation it is
 * turned to the middle. */
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

/* Summation before profile fitting: it is about the photons in the box, which the key knows, where
 * the other corrects for what lies beyond. */
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
    if (!r)
        return error_memory(e, "reflections");
    refl_vector(f->predicted ? f->predicted : f->observed, row, v);
    refl_hkl(f->hkl, row, r->hkl);
    for (int i = 0; i < 3; i++)
        if (r->hkl[i] < -INDEX_MAX || r->hkl[i] > INDEX_MAX)
            return error_set(e, STATUS_INPUT, "%s: row %zu has an index of %d, at most %d",
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

static enum status take_spot(const struct dials_files *f, size_t row, struct answer *a,
                             struct error *e)
{
    double v[3];
    struct answer_spot *spot = answer_add_spot(a);
    if (!spot)
        return error_memory(e, "spots");
    refl_vector(f->observed, row, v);
    *spot = (struct answer_spot){(int32_t)refl_whole(f->panel, row), v[0], v[1],
                                 refl_real(f->sum, row)};
    return STATUS_OK;
}

/* A spot that was found in a sequence is in the frame of its middle. */
static enum status take_row(const struct dials_files *f, const struct expt_experiment *x,
                            int64_t place, size_t row, struct answer *a, struct error *e)
{
    const int64_t panel = refl_whole(f->panel, row), image = x->scan.first + place;
    struct dials_span span;
    if (panel < 0 || (uint64_t)panel >= f->list.setup.npanels)
        return error_set(e, STATUS_INPUT, "%s: row %zu is on panel %" PRId64 ", %s has %zu",
                         f->refl_path, row, panel, f->expt_path, f->list.setup.npanels);
    enum status s = dials_span(f, x, row, &span, e);
    if (!s && dials_is_spot(f, row) && span.spot == image)
        s = take_spot(f, row, a, e);
    if (!s && dials_is_indexed(f, row) && x->has_crystal && span.first <= image &&
        image <= span.last)
        s = take_reflection(f, &span, image, row, a, e);
    return s;
}

static enum status take_lattice(const struct expt_experiment *x, int64_t place, struct answer *a,
                                struct error *e)
{
    struct answer_lattice *l = x->has_crystal ? answer_add_lattice(a) : NULL;
    if (x->has_crystal && !l)
        return error_memory(e, "lattices");
    if (l) {
        lattice_at(x, place, l->a_matrix);
        l->centring = x->centring;
    }
    return STATUS_OK;
}

enum status dials_next(struct dials_files *f, struct answer *a, bool *more, struct error *e)
{
    enum status s = STATUS_OK;
    answer_clear(a);
    *more = f->next < f->nentries;
    if (!*more)
        return STATUS_OK;
    const uint64_t image = f->entries[f->next].image;
    a->has_frame = !f->by_place;
    a->has_event = f->by_place;
    a->frame = a->event = image;
    (void)snprintf(a->file, sizeof a->file, "%s", f->list.items->file);
    to_beam(f->list.items[f->entries[f->next].experiment].shift_m, a->shift_m);
    a->wavelength_A = 1e10 * f->list.items[f->entries[f->next].experiment].wavelength_m;
    a->width_deg = f->list.items[f->entries[f->next].experiment].scan.width_deg;
    for (; f->next < f->nentries && f->entries[f->next].image == image && !s; f->next++) {
        const struct dials_entry *n = &f->entries[f->next];
        const struct expt_experiment *x = &f->list.items[n->experiment];
        s = n->row ? take_row(f, x, n->place, n->row - 1, a, e) : take_lattice(x, n->place, a, e);
        if (!s && a->nlattices && x->has_crystal)
            a->lattices[a->nlattices - 1].count =
                a->nreflections - a->lattices[a->nlattices - 1].first;
    }
    return s;
}
