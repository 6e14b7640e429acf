/* The plans of an engine for the beam and for its third harmonic, and the sum of their images. */
#include "beam_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/reflections/photons.h"

enum status harmonic_image_open(struct harmonic_image *h, const struct engine *engine,
                                const struct experiment *x, const struct engine_options *how,
                                struct error *e)
{
    struct engine_options its = *how;
    if (!(x->beam.harmonic_share > 0.0))
        return STATUS_OK;
    its.reflections = its.sums = false;
    its.faint = 0.0;
    h->engine = engine;
    h->pixels = mem_array((size_t)experiment_pixels(x), sizeof *h->pixels);
    harmonic_open(&h->of, x);
    return engine->create(&h->plan, &h->of.x, &its, e);
}

enum status harmonic_image_photons(struct harmonic_image *h, const struct recipe *r, float *photons,
                                   double *all, uint32_t *crc, atomic_uint_fast64_t *rows,
                                   struct error *e)
{
    const size_t count = h->plan ? (size_t)experiment_pixels(&h->of.x) : 0;
    struct recipe its;
    uint32_t sum;
    *all = 0.0;
    if (!h->plan)
        return STATUS_OK;
    harmonic_recipe(&h->of, r, &its);
    const enum status s = h->engine->run(h->plan, &its, h->pixels, rows, e);
    if (s)
        return s;
    for (size_t i = 0; i < count; i++)
        *all += (double)h->pixels[i];
    return photons_add(photons, h->pixels, count, photons, crc ? crc : &sum)
               ? STATUS_OK
               : photons_check(&h->of.x, r->id, photons, e);
}

enum status harmonic_image_add(struct harmonic_image *h, struct frame *f,
                               atomic_uint_fast64_t *rows, struct error *e)
{
    struct image *image = &f->image;
    double all;
    const enum status s =
        harmonic_image_photons(h, &f->recipe, image->pixels, &all, &image->sum, rows, e);
    if (s)
        return s;
    image->has_sum = image->has_sum || h->plan;
    f->reflections.rest_photons += f->reflections.present ? all : 0.0;
    return STATUS_OK;
}

void harmonic_image_close(struct harmonic_image *h)
{
    if (h->plan)
        h->engine->destroy(&h->plan);
    harmonic_close(&h->of);
    mem_free(h->pixels);
    *h = (struct harmonic_image){0};
}

/* ---- derivatives -------------------------------------------------------------------------
 *
 * Both plans compute the derivatives of their own image, a part of the pixels at a time.  These are
 * added pixel by pixel, and sums over pixels are made from the result. */

/* A part of the pixels of a request, with the results of both plans for these pixels. */
struct part {
    const struct derive_request *whole;
    size_t first, count;  // first item of the request, and number of items
    int64_t *listed;      // owned: [count]
    double *photons;      // owned: [2 x count]: photons of the beam, to which those of the harmonic
                          // are added later; then photons of the harmonic
    float *planes;        // owned: [2 x parameters x count] in the same order
    struct derive_total total;
};

static void part_free(struct part *p)
{
    mem_free(p->listed);
    mem_free(p->photons);
    mem_free(p->planes);
}

static void part_open(struct part *p, const struct derive_request *q, size_t most)
{
    *p = (struct part){.whole = q,
                       .listed = mem_array(most, sizeof *p->listed),
                       .photons = mem_array(2 * most, sizeof *p->photons),
                       .planes = mem_array(2 * q->set->count * most, sizeof *p->planes)};
}

/* Returns the derivative of a parameter of the harmonic by the same parameter of the beam. */
static double chain_of(const struct harmonic *h, const struct parameter *p)
{
    if (p->kind == PARAMETER_WAVELENGTH)
        return 1.0 / HARMONIC_ORDER;
    return p->kind == PARAMETER_ABSORPTION ? h->depths : 1.0;
}

/* Computes the photons and derivatives of the part with `plan`. The results go to the first
 * (`half` 0, the beam) or the second half (1, the harmonic) of the arrays. */
static enum status compute_half(struct part *p, const struct engine *engine, struct plan *plan,
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

static void add_halves(struct part *p, const struct harmonic *h)
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

/* Copies the results of the part to the arrays of the request, and adds them to the sums of the
 * request. */
static enum status give_part(struct part *p, struct error *e)
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

static enum status derive_part(struct harmonic_image *h, struct part *p,
                               const struct engine *engine, struct plan *plan,
                               const struct recipe *r, const struct recipe *its, struct error *e)
{
    for (size_t i = 0; i < p->count; i++)
        p->listed[i] = p->whole->listed ? p->whole->listed[p->first + i] : (int64_t)(p->first + i);
    enum status s = compute_half(p, engine, plan, r, 0, e);
    s = s ? s : compute_half(p, engine, h->plan, its, 1, e);
    if (s)
        return s;
    add_halves(p, &h->of);
    return give_part(p, e);
}

enum status harmonic_image_derive(struct harmonic_image *h, const struct engine *engine,
                                  struct plan *plan, const struct recipe *r,
                                  const struct derive_request *q, struct error *e)
{
    struct recipe its;
    struct part p;
    if (!h->plan)
        return engine->derive(plan, r, q, e);
    harmonic_recipe(&h->of, r, &its);
    const size_t most = q->planes || q->npixels < DERIVE_BATCH ? q->npixels : DERIVE_BATCH;
    enum status s = STATUS_OK;
    part_open(&p, q, most);
    for (; p.first < q->npixels && !s; p.first += p.count) {
        p.count = q->npixels - p.first < most ? q->npixels - p.first : most;
        s = derive_part(h, &p, engine, plan, r, &its, e);
    }
    if (!s && (q->weights || q->data))
        derive_total_give(&p.total, q);
    part_free(&p);
    return s;
}

struct beam_plan {
    const struct engine *engine;
    struct plan *plan;
    struct harmonic_image harmonic;
};

enum status beam_plan_create(struct beam_plan **p, const struct engine *engine,
                             const struct experiment *x, const struct engine_options *how,
                             struct error *e)
{
    struct beam_plan *both = *p = mem_array(1, sizeof *both);
    if (!both)
        return error_memory(e, "the plans");
    both->engine = engine;
    enum status s = engine->create(&both->plan, x, how, e);
    s = s ? s : harmonic_image_open(&both->harmonic, engine, x, how, e);
    if (s)
        beam_plan_destroy(p);
    return s;
}

const char *beam_plan_identity(const struct beam_plan *p)
{
    return p->engine->identity(p->plan);
}

enum status beam_plan_run(struct beam_plan *p, const struct recipe *r, float *pixels,
                          struct error *e)
{
    double all;
    const enum status s = p->engine->run(p->plan, r, pixels, NULL, e);
    return s ? s : harmonic_image_photons(&p->harmonic, r, pixels, &all, NULL, NULL, e);
}

enum status beam_plan_derive(struct beam_plan *p, const struct recipe *r,
                             const struct derive_request *request, struct error *e)
{
    return harmonic_image_derive(&p->harmonic, p->engine, p->plan, r, request, e);
}

void beam_plan_destroy(struct beam_plan **p)
{
    if (!*p)
        return;
    if ((*p)->plan)
        (*p)->engine->destroy(&(*p)->plan);
    harmonic_image_close(&(*p)->harmonic);
    mem_free(*p);
    *p = NULL;
}
