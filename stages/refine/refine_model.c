/*
 * The pixels that are fitted, with the background between the spots, and the fitted model: places
 * in the space of parameters, each with an experiment and a recipe, and the photons and derivatives
 * at a place, after the point spread of the detector.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/parameter.h"
#include "engine/detector/spread.h"
#include "refine.h"

/* Chooses the pixels of a frame that are fitted, and finds the background between the spots. */

enum { TILE = 16, TILE_LEAST = 40 };  // edge of a square, px; minimum number of pixels for a mean
static const double LEAST_PHOTONS = 1.0 / 3.0;

void refine_pixels_open(struct refine_pixels *p, size_t all)
{
    p->all = all;
    p->list.listed = mem_array(all, sizeof *p->list.listed);
    float **arrays[] = {&p->counts, &p->blurred, &p->background, &p->list.counts,
                        &p->list.background};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = mem_array(all, sizeof **arrays[i]);
}

void refine_list_free(struct refine_list *list)
{
    mem_free(list->listed);
    mem_free(list->counts);
    mem_free(list->background);
    *list = (struct refine_list){0};
}

void refine_pixels_close(struct refine_pixels *p)
{
    mem_free(p->counts);
    mem_free(p->blurred);
    mem_free(p->background);
    refine_list_free(&p->list);
    *p = (struct refine_pixels){0};
}

/* Returns true if a pixel is marked as not measured.  Detectors mark such pixels with the
 * largest number of the type, or with -1 and -2. */
static bool is_marked(const struct image *image, double value)
{
    switch (image->type) {
    case PIXEL_U16:
        return value >= UINT16_MAX;
    case PIXEL_U32:
        return value >= UINT32_MAX;
    case PIXEL_I32:
        return value < 0;
    default:
        return !isfinite(value);
    }
}

static void count_panel(struct refine_pixels *p, const struct experiment *x,
                        const struct panel *panel, double gain, double adc_offset,
                        const struct image *image)
{
    const int64_t pixels = panel->fast_pixels * panel->slow_pixels;
    for (int64_t k = 0; k < pixels; k++) {
        const size_t i = (size_t)(panel->first_pixel + k);
        const double value = image_value(image, i);
        const bool saturated = x->saturation > 0.0 && value >= x->saturation;
        const bool counts = panel_computes(panel, k % panel->fast_pixels, k / panel->fast_pixels) &&
                            !saturated && !is_marked(image, value);
        p->counts[i] = counts ? (float)((value - adc_offset) / gain) : NAN;
    }
}

void refine_pixels_count(struct refine_pixels *p, const struct experiment *x, double gain,
                         double adc_offset, const struct image *image)
{
    for (size_t i = 0; i < x->npanels; i++)
        count_panel(p, x, &x->panels[i], gain, adc_offset, image);
    p->list.brightest = 0.0;
    for (size_t i = 0; i < p->all; i++)
        p->list.brightest = fmax(p->list.brightest, (double)p->counts[i]);  // fmax ignores NaN
}

/* ---- background ------------------------------------------------------------------------- */

/* Returns the mean background of a square in photons, from the pixels that no spot reaches.
 * Returns NaN if there are fewer than TILE_LEAST such pixels. */
static double tile_mean(const struct refine_pixels *p, const struct panel *panel, int64_t fast,
                        int64_t slow)
{
    double sum = 0.0;
    int n = 0;
    for (int64_t s = slow; s < slow + TILE && s < panel->slow_pixels; s++)
        for (int64_t f = fast; f < fast + TILE && f < panel->fast_pixels; f++) {
            const size_t i = (size_t)(panel->first_pixel + s * panel->fast_pixels + f);
            if (isnan(p->counts[i]) || (double)p->blurred[i] > LEAST_PHOTONS)
                continue;
            sum += (double)p->counts[i] - (double)p->blurred[i];
            n++;
        }
    return n >= TILE_LEAST ? fmax(sum / n, 0.0) : NAN;
}

/* Returns the background at a place, interpolated between the centres of the four nearest
 * squares.  Squares without a mean are ignored.  If none of the four has a mean, returns
 * `otherwise`. */
static double between(const double *tiles, int64_t across, int64_t down, double fast, double slow,
                      double otherwise)
{
    const double u = fast / TILE - 0.5, v = slow / TILE - 0.5;
    const int64_t i = (int64_t)floor(u), k = (int64_t)floor(v);
    double sum = 0.0, weights = 0.0;
    for (int64_t b = k; b < k + 2; b++)
        for (int64_t a = i; a < i + 2; a++) {
            const double w = (1.0 - fabs(u - (double)a)) * (1.0 - fabs(v - (double)b));
            const int64_t column = a < 0 ? 0 : a >= across ? across - 1 : a;
            const int64_t row = b < 0 ? 0 : b >= down ? down - 1 : b;
            const double mean = tiles[row * across + column];
            if (isnan(mean) || !(w > 0.0))
                continue;
            sum += w * mean;
            weights += w;
        }
    return weights > 0.0 ? sum / weights : otherwise;
}

static void find_panel_background(struct refine_pixels *p, const struct panel *panel)
{
    const int64_t across = (panel->fast_pixels + TILE - 1) / TILE;
    const int64_t down = (panel->slow_pixels + TILE - 1) / TILE;
    double *tiles = mem_array((size_t)(across * down), sizeof *tiles), sum = 0.0;
    int n = 0;
    for (int64_t i = 0; i < across * down; i++) {
        tiles[i] = tile_mean(p, panel, i % across * TILE, i / across * TILE);
        sum += isnan(tiles[i]) ? 0.0 : tiles[i];
        n += !isnan(tiles[i]);
    }
    const double otherwise = n ? sum / n : 0.0;
    for (int64_t k = 0; k < panel->fast_pixels * panel->slow_pixels; k++)
        p->background[panel->first_pixel + k] =
            (float)between(tiles, across, down, (double)(k % panel->fast_pixels) + 0.5,
                           (double)(k / panel->fast_pixels) + 0.5, otherwise);
    mem_free(tiles);
}

bool refine_pixels_choose(struct refine_pixels *p, const struct experiment *x, double flat,
                          bool keeps)
{
    struct refine_list *list = &p->list;
    for (size_t i = 0; i < list->count && keeps; i++)
        p->blurred[list->listed[i]] = INFINITY;
    for (size_t i = 0; i < x->npanels && isnan(flat); i++)
        find_panel_background(p, &x->panels[i]);
    const size_t before = list->count;
    bool changed = false;
    list->count = 0;
    for (size_t i = 0; i < p->all; i++) {
        if (isnan(p->counts[i]) || !((double)p->blurred[i] > LEAST_PHOTONS))
            continue;
        changed = changed || list->count >= before || list->listed[list->count] != (int64_t)i;
        list->listed[list->count] = (int64_t)i;
        list->counts[list->count] = p->counts[i];
        list->background[list->count++] = isnan(flat) ? p->background[i] : (float)flat;
    }
    return changed || list->count != before;
}

void refine_list_copy(struct refine_list *to, const struct refine_list *from)
{
    to->count = from->count;
    to->brightest = from->brightest;
    to->listed = mem_copy(from->listed, from->count, sizeof *to->listed);
    to->counts = mem_copy(from->counts, from->count, sizeof *to->counts);
    to->background = mem_copy(from->background, from->count, sizeof *to->background);
}

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
    *s = (struct refine_spread){.psf = *psf,
                                .x = x,
                                .reach = mem_array(all, 1),
                                .near = mem_array(all, sizeof *s->near),
                                .photons = mem_array(all, sizeof *s->photons),
                                .image = mem_array(all, sizeof *s->image)};
    return spread_create(&s->spread, psf, NULL, threads, e);
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
static void spread_image(struct refine_spread *s, double brightest, float *image)
{
    for (size_t i = 0; i < s->x->npanels; i++) {
        const struct panel *p = &s->x->panels[i];
        spread_signed(s->spread, image + p->first_pixel, p->fast_pixels, p->slow_pixels,
                      half_of(s, p, brightest));
    }
}

/* --- pixels near those of a list --------------------------------------------- */

/* Marks pixels of a line with the flag `to`: each pixel that has the flag `from`, and the `half`
 * pixels after it.  `stride` is the distance of neighbouring pixels of the line in the array; if
 * it is negative, the pixels after a pixel are those before it in the array. */
static void mark_line(unsigned char *line, int64_t count, int64_t stride, int64_t half, int from,
                      int to)
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
    mark_line(line, count, stride, half, from, to);
    mark_line(line + (count - 1) * stride, count, -stride, half, from, to);
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

/* Makes room for `count` slopes in s->slopes. */
static void reserve_slopes(struct refine_spread *s, size_t count)
{
    if (count > s->room) {
        mem_free(s->slopes);
        s->slopes = mem_array(count, sizeof *s->slopes);
        s->room = count;
    }
}

/* Applies the point spread to values of the near pixels: `slopes`, or s->photons if `slopes` is
 * NULL.  Sets s->image, which is valid only at the pixels of the list. */
static void spread_near(struct refine_spread *s, double brightest, const float *slopes)
{
    memset(s->image, 0, (size_t)experiment_pixels(s->x) * sizeof *s->image);
    for (size_t i = 0; i < s->count; i++)
        s->image[s->near[i]] = slopes ? slopes[i] : (float)s->photons[i];
    spread_image(s, brightest, s->image);
}

/* Computes photons means[list->count] and derivatives slopes[set->count x list->count] of the
 * pixels of a list, including the point spread. */
static enum status spread_derive(struct refine_spread *s, struct refine_place *at,
                                 const struct parameters *set, const struct refine_list *list,
                                 double *means, float *slopes, struct error *e)
{
    find_near(s, list);
    reserve_slopes(s, s->count * set->count);
    const struct derive_request q = {.set = set,
                                     .listed = s->near,
                                     .npixels = s->count,
                                     .photons = s->photons,
                                     .planes = s->slopes};
    const enum status status = beam_plan_derive(at->plan, &at->recipe, &q, e);
    if (status)
        return status;
    spread_near(s, list->brightest, NULL);
    for (size_t i = 0; i < list->count; i++)
        means[i] = (double)s->image[list->listed[i]];
    for (size_t k = 0; k < set->count; k++) {
        spread_near(s, list->brightest, s->slopes + k * s->count);
        for (size_t i = 0; i < list->count; i++)
            slopes[k * list->count + i] = s->image[list->listed[i]];
    }
    return STATUS_OK;
}

/* --- places ------------------------------------------------------------------ */

/* Maximum number of cells along an edge of a small block.  The main lobe of a spot is then 2/7,
 * about a third, of the distance between spots. */
enum { CELLS_BLURRED = 7 };
static const double SPREAD_BLURRED_RAD = 0.2 * M_PI / 180.0;

void refine_own(struct refine_place *p, const struct experiment *x)
{
    p->x = mem_array(1, sizeof *p->x);
    p->plan = NULL;
    p->owns = p->x;
    experiment_copy(p->x, x);
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
    recipe_copy(&to->recipe, &from->recipe);
    if (f->moves_experiment)
        refine_own(to, from->x);
    parameter_step_take(&f->free.set, of_set, to->x, &to->recipe);
    return f->moves_experiment ? refine_plan(f, to, e) : STATUS_OK;
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
    refine_own(p, f->here.x);
    refine_broaden(p->x);
    return refine_plan(f, p, e);
}

enum status refine_blur(struct refine *f, struct error *e)
{
    struct recipe r = {0};
    struct refine_place broad;
    enum status s = open_broad(f, &broad, e);
    if (!s)
        recipe_copy(&r, &f->here.recipe);
    for (size_t i = 0; i < r.nlattices && !s; i++) {
        const struct crystal *sharp = &f->here.x->crystals[r.lattices[i].crystal];
        const double *cells = broad.x->crystals[r.lattices[i].crystal].cells;
        for (int k = 0; k < 3; k++)
            r.lattices[i].weight *= sharp->cells[k] / cells[k];
        spread(&r.lattices[i]);
    }
    s = s ? s : beam_plan_run(broad.plan, &r, f->pixels.blurred, e);
    if (!s && f->spread)
        spread_image(f->spread, f->pixels.list.brightest, f->pixels.blurred);
    recipe_free(&r);
    refine_leave(&broad);
    return s;
}
