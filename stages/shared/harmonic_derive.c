/* Derivatives of images of two: planes of the beam and of its harmonic are added, and sums are
 * those of what comes of it. */
#include <string.h>

#include "base/alloc.h"
#include "harmonic_image.h"

/* Items of a request that are at hand, and what both give for them. */
struct part {
    const struct derive_request *whole;
    size_t first, count;  // of the items
    int64_t *listed;      // owned: [count]
    double *photons;      // owned: [2 x count], of the beam or both, and of the harmonic
    float *planes;        // owned: [2 x parameters x count] likewise
    struct derive_total total;
};

static void part_free(struct part *p)
{
    mem_free(p->listed);
    mem_free(p->photons);
    mem_free(p->planes);
}

static enum status part_open(struct part *p, const struct derive_request *q, size_t most,
                             struct error *e)
{
    *p = (struct part){.whole = q,
                       .listed = mem_array(most, sizeof *p->listed),
                       .photons = mem_array(2 * most, sizeof *p->photons),
                       .planes = mem_array(2 * q->set->count * most, sizeof *p->planes)};
    return p->listed && p->photons && p->planes ? STATUS_OK : error_memory(e, "the derivatives");
}

/* How much its own parameter changes with that of the beam. */
static double chain_of(const struct harmonic *h, const struct parameter *p)
{
    if (p->kind == PARAMETER_WAVELENGTH)
        return 1.0 / HARMONIC_ORDER;
    return p->kind == PARAMETER_ABSORPTION ? h->depths : 1.0;
}

/* One of the two plans computes the items, into the first or second half. */
static enum status compute(struct part *p, const struct engine *engine, struct plan *plan,
                           const struct recipe *r, int half, struct error *e)
{
    const size_t n = (size_t)half * p->count, all = p->whole->set->count;
    const struct derive_request q = {
        .set = p->whole->set,
        .listed = p->whole->listed || p->count < p->whole->npixels ? p->listed : NULL,
        .npixels = p->count,
        .photons = p->photons + n,
        .planes = p->planes + all * n};
    return engine->derive(plan, r, &q, e);
}

static void add_up(struct part *p, const struct harmonic *h)
{
    const size_t n = p->count, all = p->whole->set->count;
    for (size_t i = 0; i < n; i++)
        p->photons[i] += p->photons[n + i];
    for (size_t k = 0; k < all; k++) {
        const float chain = (float)chain_of(h, &p->whole->set->items[k]);
        for (size_t i = 0; i < n; i++)
            p->planes[k * n + i] += chain * p->planes[(all + k) * n + i];
    }
}

/* Puts the items where they were asked for, and adds them to sums. */
static enum status give(struct part *p, struct error *e)
{
    const struct derive_request *q = p->whole;
    const size_t n = p->count, all = q->set->count;
    if (q->photons)
        memcpy(q->photons + p->first, p->photons, n * sizeof *p->photons);
    for (size_t k = 0; k < all && q->planes; k++)
        memcpy(q->planes + k * q->npixels + p->first, p->planes + k * n, n * sizeof *p->planes);
    return q->weights || q->data
               ? derive_total_add(&p->total, q, p->first, n, p->photons, p->planes, e)
               : STATUS_OK;
}

static enum status serve(struct harmonic_image *h, struct part *p, const struct engine *engine,
                         struct plan *plan, const struct recipe *r, const struct recipe *its,
                         struct error *e)
{
    for (size_t i = 0; i < p->count; i++)
        p->listed[i] = p->whole->listed ? p->whole->listed[p->first + i] : (int64_t)(p->first + i);
    enum status s = compute(p, engine, plan, r, 0, e);
    s = s ? s : compute(p, engine, h->plan, its, 1, e);
    if (s)
        return s;
    add_up(p, &h->of);
    return give(p, e);
}

enum status harmonic_image_derive(struct harmonic_image *h, const struct engine *engine,
                                  struct plan *plan, const struct recipe *r,
                                  const struct derive_request *q, struct error *e)
{
    struct recipe its;
    struct part p;
    if (!h->plan)
        return engine->derive(plan, r, q, e);
    if (!harmonic_recipe(&h->of, r, &its))
        return error_memory(e, "the third harmonic");
    const size_t most = q->planes || q->npixels < DERIVE_BATCH ? q->npixels : DERIVE_BATCH;
    enum status s = part_open(&p, q, most, e);
    for (; p.first < q->npixels && !s; p.first += p.count) {
        p.count = q->npixels - p.first < most ? q->npixels - p.first : most;
        s = serve(h, &p, engine, plan, r, &its, e);
    }
    if (!s && (q->weights || q->data))
        derive_total_give(&p.total, q);
    part_free(&p);
    return s;
}
