#include "refine/information.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/median.h"
#include "refine/fit.h"

void information_add(struct information *all, const struct information_layout *layout, uint64_t id,
                     size_t lattices, double photons, const double *fisher)
{
    const size_t n = layout->count;
    all->frames = mem_grow(all->frames, all->count, 1, sizeof *all->frames, &all->room);
    struct information_frame *f = &all->frames[all->count++];
    *f = (struct information_frame){.id = id, .lattices = lattices, .photons = photons};
    if (fisher)
        f->fisher = mem_copy(fisher, n * n, sizeof *fisher);
}

static int by_id(const void *a, const void *b)
{
    const uint64_t one = ((const struct information_frame *)a)->id,
                   two = ((const struct information_frame *)b)->id;
    return (one > two) - (one < two);
}

/* --- a frame ------------------------------------------------------------- */

/* Working memory for one frame and for the sum over frames.  Each matrix has room for count x
 * count items. */
struct space {
    double *whole;  // Fisher matrix of the frame with all priors; `inverse` is its inverse
    double *inverse;
    double *local;  // local x local: inverse of the local block
    double *block;  // local x local: local block with priors, without gaps between rows
    double *gain;   // local x shared: local inverse times the mixed block
    double *schur;  // shared x shared: sum of the Schur complements of all frames, with priors;
                    // `shared` is its inverse
    double *shared;
    double *work;    // working memory of symmetric_invert
    double *memory;  // owned
};

static void open_space(struct space *s, size_t n)
{
    s->memory = mem_array(7 * n * n + symmetric_work(n) + 1, sizeof *s->memory);
    double **parts[] = {&s->whole, &s->inverse, &s->local, &s->block,
                        &s->gain,  &s->schur,   &s->shared};
    for (size_t i = 0; i < 7; i++)
        *parts[i] = s->memory + i * n * n;
    s->work = s->memory + 7 * n * n;
}

/* Inverts the local block of a frame with its priors, and computes the gain.  Returns false if
 * the frame does not determine its local parameters; weakest[] is then the direction that it
 * does not determine. */
static bool eliminate(const struct information_layout *l, const struct information_frame *f,
                      struct space *s, double *weakest)
{
    const size_t n = l->count, local = l->local, shared = n - local;
    for (size_t i = 0; i < local; i++)
        for (size_t k = 0; k < local; k++)
            s->block[i * local + k] = f->fisher[i * n + k] + (i == k ? l->prior[i] : 0.0);
    if (!symmetric_invert(local, s->block, s->local, s->work, weakest))
        return false;
    for (size_t i = 0; i < local; i++)
        for (size_t k = 0; k < shared; k++) {
            double sum = 0.0;
            for (size_t m = 0; m < local; m++)
                sum += s->local[i * local + m] * f->fisher[m * n + local + k];
            s->gain[i * shared + k] = sum;
        }
    return true;
}

/* Adds the information of a frame about the shared parameters to s->schur.  The local parameters
 * of the frame must be eliminated before. */
static void add_shared(const struct information_layout *l, const struct information_frame *f,
                       struct space *s)
{
    const size_t n = l->count, local = l->local, shared = n - local;
    for (size_t i = 0; i < shared; i++)
        for (size_t k = 0; k < shared; k++) {
            double sum = f->fisher[(local + i) * n + local + k];
            for (size_t m = 0; m < local; m++)
                sum -= f->fisher[(local + i) * n + m] * s->gain[m * shared + k];
            s->schur[i * shared + k] += sum;
        }
}

/* Computes the error bars of the local parameters of a frame, with the covariance that the
 * shared parameters have from all frames. */
static void local_errors(const struct information_layout *l, const struct space *s, double *error)
{
    const size_t local = l->local, shared = l->count - local;
    for (size_t i = 0; i < local; i++) {
        double variance = s->local[i * local + i];
        for (size_t k = 0; k < shared; k++)
            for (size_t m = 0; m < shared; m++)
                variance +=
                    s->gain[i * shared + k] * s->shared[k * shared + m] * s->gain[i * shared + m];
        error[i] = sqrt(variance);
    }
}

/* Inverts the whole Fisher matrix of a frame.  Returns false if the frame alone does not
 * determine all parameters. */
static bool invert_whole(const struct information_layout *l, const struct information_frame *f,
                         struct space *s, double *weakest)
{
    const size_t n = l->count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            s->whole[i * n + k] = f->fisher[i * n + k] + (i == k ? l->prior[i] : 0.0);
    return symmetric_invert(n, s->whole, s->inverse, s->work, weakest);
}

/* --- all frames ---------------------------------------------------------- */

/* Samples of all results, from which medians are taken.  There is a row of `frames` numbers for
 * each result. */
struct samples {
    double *one, *alone, *all, *correlation;  // [count (x count) x frames], owned
    double *photons;                          // [frames], owned
    size_t none, nall, nphotons;              // number of frames in one/alone/correlation, in all,
                                              // and in photons
};

static void take_whole(const struct information_layout *l, const struct information *all,
                       const struct space *s, struct samples *t, struct information_frame *f)
{
    const size_t n = l->count, at = t->none++, rows = all->count;
    for (size_t i = 0; i < n; i++) {
        const double error = sqrt(s->inverse[i * n + i]);
        t->one[i * rows + at] = error;
        t->alone[i * rows + at] = 1.0 / sqrt(s->whole[i * n + i]);
        if (i >= l->local)
            f->error[i] = error;
        for (size_t k = 0; k < n; k++)
            t->correlation[(i * n + k) * rows + at] =
                s->inverse[i * n + k] / sqrt(s->inverse[i * n + i] * s->inverse[k * n + k]);
    }
}

static enum status solve_shared(const struct information *all, const struct information_layout *l,
                                struct space *s, double *weakest, struct error *e)
{
    const size_t shared = l->count - l->local;
    double *const of_shared = weakest + l->local;
    bool any = false;
    memset(s->schur, 0, shared * shared * sizeof *s->schur);
    for (size_t i = 0; i < all->count; i++) {
        const struct information_frame *f = &all->frames[i];
        double *unused = s->whole;
        if (!f->fisher || !eliminate(l, f, s, any ? unused : weakest))
            continue;
        any = true;
        add_shared(l, f, s);
    }
    if (!any)
        return error_set(e, STATUS_INPUT, "no frame has error bars");
    memset(weakest, 0, l->count * sizeof *weakest);
    for (size_t i = 0; i < shared; i++)
        s->schur[i * shared + i] += l->prior[l->local + i];
    return !shared || symmetric_invert(shared, s->schur, s->shared, s->work, of_shared)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "the frames together cannot separate the shared parameters");
}

static void solve_frame(struct information_frame *f, const struct information *all,
                        const struct information_layout *l, struct space *s, struct samples *t)
{
    const size_t n = l->count;
    t->photons[t->nphotons++] = f->photons;
    double *error = mem_array(2 * n + 1, sizeof *error);
    if (!eliminate(l, f, s, error + n)) {
        f->weakest = mem_copy(error + n, n, sizeof *error);
        mem_free(error);
        return;
    }
    f->error = error;
    for (size_t i = l->local; i < n; i++)
        error[i] = INFINITY;
    local_errors(l, s, error);
    for (size_t i = 0; i < l->local; i++)
        t->all[i * all->count + t->nall] = error[i];
    t->nall++;
    if (invert_whole(l, f, s, error + n))
        take_whole(l, all, s, t, f);
}

static void take_medians(const struct information *all, const struct information_layout *l,
                         const struct space *s, const struct samples *t,
                         struct information_bounds *b)
{
    const size_t n = l->count, rows = all->count, shared = n - l->local;
    b->good = t->nall;
    b->blank = rows - t->nphotons;
    b->vague = t->nphotons - t->nall;
    b->photons = median(t->photons, t->nphotons);
    for (size_t i = 0; i < n; i++) {
        const size_t k = i - l->local;
        b->one[i] = t->none ? median(t->one + i * rows, t->none) : INFINITY;
        b->alone[i] = t->none ? median(t->alone + i * rows, t->none) : INFINITY;
        b->all[i] =
            i < l->local ? median(t->all + i * rows, t->nall) : sqrt(s->shared[k * shared + k]);
    }
    for (size_t i = 0; i < n * n; i++)
        b->correlation[i] = t->none ? median(t->correlation + i * rows, t->none) : NAN;
}

enum status information_solve(struct information *all, const struct information_layout *layout,
                              struct information_bounds *bounds, double *weakest, struct error *e)
{
    const size_t n = layout->count, rows = all->count;
    struct space space;
    *bounds = (struct information_bounds){0};
    memset(weakest, 0, n * sizeof *weakest);
    if (rows)
        qsort(all->frames, rows, sizeof *all->frames, by_id);
    double *memory = mem_array((3 * n + n * n + 1) * (rows + 1) + 1, sizeof *memory);
    bounds->one = mem_array(3 * n + n * n + 1, sizeof *bounds->one);
    open_space(&space, n);
    struct samples t = {.one = memory,
                        .alone = memory + n * rows,
                        .all = memory + 2 * n * rows,
                        .correlation = memory + 3 * n * rows,
                        .photons = memory + (3 * n + n * n) * rows};
    bounds->alone = bounds->one + n;
    bounds->all = bounds->alone + n;
    bounds->correlation = bounds->all + n;
    const enum status s = solve_shared(all, layout, &space, weakest, e);
    for (size_t i = 0; i < rows && !s; i++)
        if (all->frames[i].fisher)
            solve_frame(&all->frames[i], all, layout, &space, &t);
    if (!s)
        take_medians(all, layout, &space, &t, bounds);
    mem_free(memory);
    mem_free(space.memory);
    return s;
}

void information_bounds_free(struct information_bounds *bounds)
{
    mem_free(bounds->one);
    *bounds = (struct information_bounds){0};
}

void information_free(struct information *all)
{
    for (size_t i = 0; i < all->count; i++) {
        mem_free(all->frames[i].fisher);
        mem_free(all->frames[i].error);
        mem_free(all->frames[i].weakest);
    }
    mem_free(all->frames);
    *all = (struct information){0};
}
