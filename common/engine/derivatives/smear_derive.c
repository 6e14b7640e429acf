#include "engine/derivatives/smear_derive.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/slopes.h"
#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_tiles.h"

enum { AT_ONCE = 1 << 21 };  // subpixels that are in memory together, with their derivatives

/* Where a change of the panel is half of this part of its distance, of an angle in rad or of the
 * sensor, the weights of the smear follow it linearly. */
static const double NEAR = 2e-4, NEAR_SENSOR = 2e-3;

/* Arguments of smear_derive, and the images of the whole frame: photons first, then one image for
 * each parameter. */
struct pass {
    const struct experiment *x;
    int threads;
    const struct recipe *recipe;
    smear_derive_thin *compute;
    void *engine;
    const struct parameters *set;
    struct parameters thin;        // those that change thin images
    size_t place[PARAMETERS_MAX];  // of these, in *set
    size_t pixels;
    float *planes;  // owned: [1 + set->count][pixels]
};

/* Thin images have no sensor. */
static bool is_sensor(const struct parameter *p)
{
    return p->kind == PARAMETER_THICKNESS || p->kind == PARAMETER_ABSORPTION;
}

static void list_thin(struct pass *pass)
{
    for (size_t k = 0; k < pass->set->count; k++)
        if (!is_sensor(&pass->set->items[k])) {
            pass->place[pass->thin.count] = k;
            pass->thin.items[pass->thin.count++] = pass->set->items[k];
        }
}

static struct panel_move move_of(const struct pass *pass, const struct panel *p, size_t k)
{
    struct panel_move move = {0};
    slopes_move(pass->x, &pass->set->items[k], (size_t)(p - pass->x->panels), &move);
    return move;
}

/* Returns image number k: 0 for photons. */
static struct smear_target image_of(const struct pass *pass, size_t k)
{
    return (struct smear_target){.pixels = pass->planes + k * pass->pixels};
}

/* ---- changes of the smear -------------------------------------------------------------------- */

/* Returns true if a parameter changes the smear of a panel.  Sets *step to a small change in its
 * unit. */
static bool changes_smear(const struct panel *p, const struct parameter *q,
                          const struct panel_move *move, double *step)
{
    *step = NEAR / q->unit_SI;
    if (!(p->thickness_m > 0.0) || !parameter_moves_points(q->kind))
        return false;
    if (q->kind == PARAMETER_THICKNESS)
        *step = NEAR_SENSOR * p->thickness_m / q->unit_SI;
    else if (q->kind == PARAMETER_ABSORPTION)
        *step = NEAR_SENSOR / p->absorption_1_m / q->unit_SI;
    else if (q->kind != PARAMETER_TILT)
        *step = NEAR * p->close_distance_m / q->unit_SI;
    return is_sensor(q) || vec_length(move->shift) > 0.0 || vec_length(move->tilt) > 0.0;
}

static void turn_axis(const double tilt[3], double by, double axis[3])
{
    double turned[3];
    vec_cross(tilt, axis, turned);
    for (int i = 0; i < 3; i++)
        axis[i] += by * turned[i];
}

static void move_point(const struct panel_move *m, double by, double point[3])
{
    double moved[3], arm[3];
    for (int i = 0; i < 3; i++)
        arm[i] = point[i] - m->centre[i];
    vec_cross(m->tilt, arm, moved);
    for (int i = 0; i < 3; i++)
        point[i] += by * (moved[i] + m->shift[i]);
}

/* Returns the panel where a parameter is `by` units more, as far as the smear depends on it. */
static struct panel changed(const struct panel *p, const struct panel_move *m, double by)
{
    struct panel to = *p;
    turn_axis(m->tilt, by, to.fast);
    turn_axis(m->tilt, by, to.slow);
    turn_axis(m->tilt, by, to.normal);
    move_point(m, by, to.origin_m);
    move_point(m, by, to.grid_m);
    to.thickness_m += by * m->layer * p->layers;
    to.absorption_1_m += by * m->absorption;
    return to;
}

/* Adds how the smear of a band changes with parameter number k. */
static void add_change(const struct pass *pass, const struct smear_band *b, size_t k,
                       const float *photons)
{
    double step;
    const struct panel_move move = move_of(pass, b->panel, k);
    if (!changes_smear(b->panel, &pass->set->items[k], &move, &step))
        return;
    const struct panel before = changed(b->panel, &move, -0.5 * step);
    const struct panel after = changed(b->panel, &move, 0.5 * step);
    struct smear_change change = {.factor = 1.0 / step};
    smear_view(&change.before, &before, b->view.oversample);
    smear_view(&change.after, &after, b->view.oversample);
    smear_band_change(b, &change, photons, pass->threads, image_of(pass, 1 + k));
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* Smears the images of some bands: photons first, then one for each parameter of thin images. */
static void smear_planes(const struct pass *pass, const struct smear_bands *bands,
                         const float *planes)
{
    const size_t pixels = (size_t)bands->subpixels;
    for (size_t i = 0; i < bands->count; i++) {
        const struct smear_band *b = &bands->band[i];
        struct smear_kernels kernels;
        smear_kernels_open(&kernels, b, pass->threads);
        smear_band_add(b, &kernels, planes, false, pass->threads, image_of(pass, 0));
        for (size_t k = 0; k < pass->thin.count; k++)
            smear_band_add(b, &kernels, planes + (1 + k) * pixels, true, pass->threads,
                           image_of(pass, 1 + pass->place[k]));
        smear_kernels_close(&kernels);
        for (size_t k = 0; k < pass->set->count; k++)
            add_change(pass, b, k, planes);
    }
}

/* Returns the moves of the panels of thin images, which the caller frees. */
static struct panel_move *moves_of(const struct pass *pass, const struct smear_bands *bands)
{
    const size_t count = pass->thin.count;
    struct panel_move *moves = mem_array(bands->count * count + 1, sizeof *moves);
    for (size_t i = 0; i < bands->count; i++)
        for (size_t k = 0; k < count; k++)
            moves[i * count + k] = move_of(pass, bands->band[i].panel, pass->place[k]);
    return moves;
}

/* Computes the images of some bands, see smear_compute. */
static enum status run_bands(void *context, const struct smear_bands *bands, struct error *e)
{
    const struct pass *pass = context;
    const struct experiment thin = smear_bands_thin(bands, pass->x);
    const size_t pixels = (size_t)bands->subpixels;
    float *planes = mem_array((1 + pass->thin.count) * pixels, sizeof *planes);
    double *photons = mem_array(pixels, sizeof *photons);
    struct panel_move *moves = moves_of(pass, bands);
    const struct derive_request request = {.set = &pass->thin,
                                           .npixels = pixels,
                                           .photons = photons,
                                           .planes = planes + pixels,
                                           .moves = moves};
    const enum status status = pass->compute(pass->engine, &thin, pass->recipe, &request, e);
    for (size_t i = 0; i < pixels && !status; i++)
        planes[i] = (float)photons[i];
    if (!status)
        smear_planes(pass, bands, planes);
    mem_free(moves);
    mem_free(photons);
    mem_free(planes);
    return status;
}

/* Takes the values of pixels from the images, see derive_pixels. */
static void take_pixels(const void *context, const struct panel *p, const int64_t *numbers,
                        int count, double (*values)[DERIVE_BLOCK])
{
    const struct pass *pass = context;
    for (size_t k = 0; k <= pass->set->count; k++)
        for (int i = 0; i < count; i++)
            values[k][i] =
                (double)pass->planes[k * pass->pixels + (size_t)(p->first_pixel + numbers[i])];
}

enum status smear_derive(const struct experiment *x, struct footprint *f, int threads,
                         const struct recipe *r, smear_derive_thin *compute, void *engine,
                         const struct derive_request *request, struct error *e)
{
    enum status s = derive_check(x, r, request, e);
    if (s)
        return s;
    struct pass pass = {.x = x,
                        .threads = threads,
                        .recipe = r,
                        .compute = compute,
                        .engine = engine,
                        .set = request->set,
                        .pixels = (size_t)experiment_pixels(x)};
    struct smear_bands *bands = mem_array(1, sizeof *bands);
    bands->at_once = AT_ONCE;
    list_thin(&pass);
    pass.planes = mem_array((1 + request->set->count) * pass.pixels, sizeof *pass.planes);
    s = smear_bands_each(bands, x, run_bands, &pass, e);
    const struct derive_job job = {.x = x,
                                   .recipe = r,
                                   .footprint = f,
                                   .threads = threads,
                                   .pixels = take_pixels,
                                   .context = &pass};
    if (!s)
        s = derive_run(&job, request, e);
    mem_free(pass.planes);
    mem_free(bands);
    return s;
}
