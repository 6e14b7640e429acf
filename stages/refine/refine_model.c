/*
 * The fitted model: places in the space of parameters, each with an experiment and a recipe, and
 * the photons and derivatives at a place, after the point spread of the detector.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/parameter.h"
#include "engine/detector/spread.h"
#include "refine.h"

/* --- point spread ------------------------------------------------------------ */

/* The point spread of the model, which is that of the frames.  Arrays of size [all] have an item
 * for each pixel of the detector. */
struct refine_spread {
    struct psf psf;
    struct spread *spread;
    const struct experiment *x;
    /* Near pixels: the pixels whose light reaches the pixels of a list. */
    unsigned char *reach;  // [all]: flags REACH_x of each pixel
    int64_t *near;         // [all]: numbers of the `count` near pixels
    size_t count;
    double *photons;  // [all]: photons of the near pixels
    float *image;     // [all]: image to which the point spread is applied
    float *slopes;    // [room]: derivatives at the near pixels
    size_t room;
};

enum { REACH_LISTED = 1, REACH_ROW = 2, REACH_NEAR = 4 };

enum status refine_spread_open(struct refine_spread **spread, const struct psf *psf,
                               const struct experiment *x, int threads, struct error *e)
{
    const size_t all = (size_t)experiment_pixels(x);
    struct refine_spread *s = *spread = mem_array(1, sizeof *s);
    if (!s)
        return error_memory(e, "the point spread");
    *s = (struct refine_spread){.psf = *psf,
                                .x = x,
                                .reach = mem_array(all, 1),
                                .near = mem_array(all, sizeof *s->near),
                                .photons = mem_array(all, sizeof *s->photons),
                                .image = mem_array(all, sizeof *s->image)};
    return s->reach && s->near && s->photons && s->image
               ? spread_create(&s->spread, psf, NULL, threads, e)
               : error_memory(e, "the point spread");
}

void refine_spread_close(struct refine_spread **spread)
{
    struct refine_spread *s = *spread;
    if (!s)
        return;
    spread_destroy(&s->spread);
    mem_free(s->reach);
    mem_free(s->near);
    mem_free(s->photons);
    mem_free(s->image);
    mem_free(s->slopes);
    mem_free(s);
    *spread = NULL;
}

/* Returns the reach of the point spread on a panel in pixels.  It depends on the photons of the
 * brightest pixel of the frame. */
static int64_t half_of(const struct refine_spread *s, const struct panel *p, double brightest)
{
    return spread_half(&s->psf, brightest, p->fast_pixels, p->slow_pixels);
}

/* Applies the point spread to an image.  Its reach is that for the brightest pixel of a frame. */
static enum status spread_image(struct refine_spread *s, double brightest, float *image,
                                struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->x->npanels && !status; i++) {
        const struct panel *p = &s->x->panels[i];
        status = spread_signed(s->spread, image + p->first_pixel, p->fast_pixels, p->slow_pixels,
                               half_of(s, p, brightest), e);
    }
    return status;
}

/* --- pixels near those of a list --------------------------------------------- */

/* Marks pixels of a line with the flag `to`: each pixel that has the flag `from`, and the `half`
 * pixels after it.  `stride` is the distance of neighbouring pixels of the line in the array; if
 * it is negative, the pixels after a pixel are those before it in the array. */
static void mark(unsigned char *line, int64_t count, int64_t stride, int64_t half, int from, int to)
{
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        unsigned char *at = &line[i * stride];
        left = *at & from ? half + 1 : left;
        if (left-- > 0)
            *at = (unsigned char)(*at | to);
        else
            left = 0;
    }
}

static void mark_both(unsigned char *line, int64_t count, int64_t stride, int64_t half, int from,
                      int to)
{
    mark(line, count, stride, half, from, to);
    mark(line + (count - 1) * stride, count, -stride, half, from, to);
}

static void mark_panel(struct refine_spread *s, const struct panel *p, int64_t half)
{
    unsigned char *first = s->reach + p->first_pixel;
    const int64_t fast = p->fast_pixels, slow = p->slow_pixels;
    for (int64_t row = 0; row < slow; row++)
        mark_both(first + row * fast, fast, 1, half, REACH_LISTED, REACH_ROW);
    for (int64_t column = 0; column < fast; column++)
        mark_both(first + column, slow, fast, half, REACH_ROW, REACH_NEAR);
}

static void find_near(struct refine_spread *s, const struct refine_list *list)
{
    const size_t all = (size_t)experiment_pixels(s->x);
    memset(s->reach, 0, all);
    for (size_t i = 0; i < list->count; i++)
        s->reach[list->listed[i]] = REACH_LISTED;
    for (size_t i = 0; i < s->x->npanels; i++)
        mark_panel(s, &s->x->panels[i], half_of(s, &s->x->panels[i], list->brightest));
    s->count = 0;
    for (size_t i = 0; i < all; i++)
        if (s->reach[i] & REACH_NEAR)
            s->near[s->count++] = (int64_t)i;
}

/* --- the model --------------------------------------------------------------- */

/* Makes room for `count` slopes in s->slopes.  Returns false if memory runs out. */
static bool reserve(struct refine_spread *s, size_t count)
{
    if (count > s->room) {
        mem_free(s->slopes);
        s->slopes = mem_array(count, sizeof *s->slopes);
        s->room = s->slopes ? count : 0;
    }
    return count <= s->room;
}

/* Applies the point spread to values of the near pixels: `slopes`, or s->photons if `slopes` is
 * NULL.  Sets s->image, which is valid only at the pixels of the list. */
static enum status spread_near(struct refine_spread *s, double brightest, const float *slopes,
                               struct error *e)
{
    memset(s->image, 0, (size_t)experiment_pixels(s->x) * sizeof *s->image);
    for (size_t i = 0; i < s->count; i++)
        s->image[s->near[i]] = slopes ? slopes[i] : (float)s->photons[i];
    return spread_image(s, brightest, s->image, e);
}

/* Computes photons means[list->count] and derivatives slopes[set->count x list->count] of the
 * pixels of a list, including the point spread. */
static enum status spread_derive(struct refine_spread *s, struct refine_place *at,
                                 const struct parameters *set, const struct refine_list *list,
                                 double *means, float *slopes, struct error *e)
{
    find_near(s, list);
    if (!reserve(s, s->count * set->count))
        return error_memory(e, "the derivatives");
    const struct derive_request q = {.set = set,
                                     .listed = s->near,
                                     .npixels = s->count,
                                     .photons = s->photons,
                                     .planes = s->slopes};
    enum status status = beam_plan_derive(at->plan, &at->recipe, &q, e);
    status = status ? status : spread_near(s, list->brightest, NULL, e);
    for (size_t i = 0; i < list->count && !status; i++)
        means[i] = (double)s->image[list->listed[i]];
    for (size_t k = 0; k < set->count && !status; k++) {
        status = spread_near(s, list->brightest, s->slopes + k * s->count, e);
        for (size_t i = 0; i < list->count; i++)
            slopes[k * list->count + i] = s->image[list->listed[i]];
    }
    return status;
}

/* --- places ------------------------------------------------------------------ */

/* Maximum number of cells along an edge of a small block.  The main lobe of a spot is then 2/7,
 * about a third, of the distance between spots. */
enum { CELLS_BLURRED = 7 };
static const double SPREAD_BLURRED_RAD = 0.2 * M_PI / 180.0;

enum status refine_copy(struct recipe *to, const struct recipe *from, struct error *e)
{
    return recipe_copy(to, from) ? STATUS_OK : error_memory(e, "a recipe");
}

enum status refine_own(struct refine_place *p, const struct experiment *x, struct error *e)
{
    p->x = mem_array(1, sizeof *p->x);
    p->plan = NULL;
    p->owns = p->x;
    return p->x && experiment_copy(p->x, x) ? STATUS_OK : error_memory(e, "the experiment");
}

enum status refine_plan(const struct refine *f, struct refine_place *p, struct error *e)
{
    const struct engine_options how = {.threads = (int)f->options->threads};
    return beam_plan_create(&p->plan, f->engine, p->x, &how, e);
}

void refine_leave(struct refine_place *p)
{
    recipe_free(&p->recipe);
    if (p->owns) {
        beam_plan_destroy(&p->plan);
        experiment_free(p->x);
        mem_free(p->x);
    }
    *p = (struct refine_place){0};
}

enum status refine_go(struct refine *f, const struct refine_place *from, const double *steps,
                      struct refine_place *to, struct error *e)
{
    double of_set[PARAMETERS_MAX];
    for (size_t k = 0; k < f->free.set.count; k++)
        of_set[k] = steps[free_parameters_place(&f->free, k)];
    refine_leave(to);
    *to = (struct refine_place){.x = from->x, .plan = from->plan, .level = from->level};
    if (f->free.has_background)
        to->level *= exp(steps[f->free.local_of_set]);
    enum status s = refine_copy(&to->recipe, &from->recipe, e);
    if (!s && f->moves_experiment)
        s = refine_own(to, from->x, e);
    s = s ? s : parameter_step_take(&f->free.set, of_set, to->x, &to->recipe, e);
    return s || !f->moves_experiment ? s : refine_plan(f, to, e);
}

enum status refine_model(struct refine *f, const struct free_parameters *free,
                         struct refine_place *at, const struct refine_list *list, double *means,
                         float *slopes, struct error *e)
{
    const size_t n = list->count, own = free->local_of_set;
    const struct derive_request q = {.set = &free->set,
                                     .listed = list->listed,
                                     .npixels = n,
                                     .photons = means,
                                     .planes = slopes};
    const enum status s = f->spread
                              ? spread_derive(f->spread, at, &free->set, list, means, slopes, e)
                              : beam_plan_derive(at->plan, &at->recipe, &q, e);
    if (s)
        return s;
    for (size_t k = 0; k < free->set.count; k++) {
        const struct parameter *p = &free->set.items[k];
        const bool relative = p->kind == PARAMETER_SCALE || p->kind == PARAMETER_MOSAIC;
        const double value = parameter_step_value(p, at->x, &at->recipe);
        for (size_t i = 0; i < n && parameter_step_is_log(p) && !relative; i++)
            slopes[k * n + i] *= (float)value;
    }
    if (free->has_background)
        memmove(slopes + (own + 1) * n, slopes + own * n,
                (free->set.count - own) * n * sizeof *slopes);
    for (size_t i = 0; i < n; i++) {
        const double background = at->level * (double)list->background[i];
        means[i] += background;
        if (free->has_background)
            slopes[own * n + i] = (float)background;
    }
    return STATUS_OK;
}

enum status refine_evaluate(void *model, const double *steps, double *means, float *slopes,
                            struct error *e)
{
    struct refine *f = model;
    const enum status s = refine_go(f, &f->here, steps, &f->there, e);
    return s ? s : refine_model(f, &f->free, &f->there, &f->pixels.list, means, slopes, e);
}

void refine_accept(void *model)
{
    struct refine *f = model;
    const struct refine_place was = f->here;
    f->here = f->there;
    f->there = was;
}

/* --- where spots may be ------------------------------------------------------ */

/* Increases the mosaic spread of a lattice to SPREAD_BLURRED_RAD if it is smaller.  Lattices
 * without mosaic spread do not change. */
static void spread(struct lattice *l)
{
    double sum = 0.0, vector[3];
    for (size_t k = 0; k < l->ndomains && l->mosaic; k++) {
        rotation_vector(l->domains + 9 * k, vector);
        sum += vec_dot(vector, vector);
    }
    const double rms = l->ndomains ? sqrt(sum / (double)l->ndomains) : 0.0;
    for (size_t k = 0; k < l->ndomains && rms > 0.0 && rms < SPREAD_BLURRED_RAD; k++) {
        rotation_vector(l->domains + 9 * k, vector);
        vec_scale(vector, SPREAD_BLURRED_RAD / rms, vector);
        rotation_matrix(vector, l->domains + 9 * k);
    }
}

void refine_broaden(struct experiment *x)
{
    x->sampling.oversample = 1;
    for (size_t i = 0; i < 3 * x->ncrystals; i++)
        x->crystals[i / 3].cells[i % 3] =
            fmin(fmax(1.0, nearbyint(x->crystals[i / 3].cells[i % 3])), CELLS_BLURRED);
}

/* Sets *p to the experiment with broad spots and its plan.  If fits change the experiment, the
 * detector is that of f->here. */
static enum status open_broad(struct refine *f, struct refine_place *p, struct error *e)
{
    *p = (struct refine_place){.x = &f->blurry, .plan = f->blurry_plan};
    if (!f->moves_experiment)
        return STATUS_OK;
    const enum status s = refine_own(p, f->here.x, e);
    if (s)
        return s;
    refine_broaden(p->x);
    return refine_plan(f, p, e);
}

enum status refine_blur(struct refine *f, struct error *e)
{
    struct recipe r = {0};
    struct refine_place broad;
    enum status s = open_broad(f, &broad, e);
    s = s ? s : refine_copy(&r, &f->here.recipe, e);
    for (size_t i = 0; i < r.nlattices && !s; i++) {
        const struct crystal *sharp = &f->here.x->crystals[r.lattices[i].crystal];
        const double *cells = broad.x->crystals[r.lattices[i].crystal].cells;
        for (int k = 0; k < 3; k++)
            r.lattices[i].weight *= sharp->cells[k] / cells[k];
        spread(&r.lattices[i]);
    }
    s = s ? s : beam_plan_run(broad.plan, &r, f->pixels.blurred, e);
    if (!s && f->spread)
        s = spread_image(f->spread, f->pixels.list.brightest, f->pixels.blurred, e);
    recipe_free(&r);
    refine_leave(&broad);
    return s;
}
