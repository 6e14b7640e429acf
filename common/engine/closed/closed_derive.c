#include "engine/closed/closed_derive.h"

#include <math.h>
#include <string.h>

#include "engine/derivatives/parameter_step.h"
#include "engine/reference/recipe_check.h"
#include "physics/crystal/sampling.h"

/* The rms width of a spot in |h| N, as in ensemble.c: 0.63^(1/2) / 2. */
static const double BLOCK_RMS = 0.396863;

/* What the images of all steps share. */
struct differences {
    const struct closed_kernels *kernels;
    const struct experiment *x;
    const struct recipe *recipe;
    int threads;
    size_t pixels;
    double turn_rad, spot_m;  // rms widths of the narrowest spot: in a rotation, on a panel
    float *image;             // owned: of the step at hand
    double *sum;              // owned: of the differences so far
};

/* The images of the whole frame: photons first, then one image for each parameter. */
struct planes_of_frame {
    size_t count, pixels;
    float *values;
};

static void measure(struct differences *d)
{
    d->turn_rad = d->spot_m = INFINITY;
    for (size_t i = 0; i < d->recipe->nlattices; i++) {
        const struct lattice *l = &d->recipe->lattices[i];
        const struct sampling_report s = sampling_check(d->x, l, 0.0, 0.0, 0.01);
        const double rms = BLOCK_RMS / sqrt(d->x->crystals[l->crystal].fudge);
        d->turn_rad = fmin(d->turn_rad, rms * s.rocking_rad);
        for (size_t k = 0; k < d->x->npanels; k++)
            d->spot_m = fmin(d->spot_m, rms * s.spot_rad * d->x->panels[k].close_distance_m);
    }
}

/* The step of a parameter that changes images a little, in the unit of the parameter or of its
 * logarithm. */
static double step_of(const struct differences *d, const struct parameter *p)
{
    const double value = parameter_step_value(p, d->x, d->recipe);
    if (parameter_step_is_log(p))
        return 0.3 * CLOSED_STEP;
    switch (p->kind) {
    case PARAMETER_WAVELENGTH:
        return CLOSED_STEP * d->turn_rad * value;
    case PARAMETER_CELL:
        return CLOSED_STEP * d->turn_rad *
               (p->members[0] + p->members[1] + p->members[2] > 0.0 ? value : 1.0 / p->unit_SI);
    case PARAMETER_DISTANCE:
    case PARAMETER_CENTRE:
    case PARAMETER_SHIFT:
        return CLOSED_STEP * d->spot_m / p->unit_SI;
    default:
        return CLOSED_STEP * d->turn_rad / p->unit_SI;
    }
}

/* Adds `factor` times the image where one parameter is `step` away. */
static enum status add_image(const struct differences *d, const struct parameter *p, double step,
                             double factor, struct error *e)
{
    const struct parameters set = {.count = 1, .items = {*p}};
    struct experiment x = *d->x;
    struct recipe r = {0};
    x.panels = mem_copy(x.panels, x.npanels, sizeof *x.panels);
    x.crystals = mem_copy(x.crystals, x.ncrystals, sizeof *x.crystals);
    enum status s = x.panels && x.crystals && recipe_copy(&r, d->recipe)
                        ? parameter_step_take(&set, &step, &x, &r, e)
                        : error_memory(e, "the derivatives");
    if (p->kind == PARAMETER_WAVELENGTH)  // so that the absorption of the sensor stays as it is
        x.beam.wavelength_m += step * p->unit_SI;
    if (!s)
        s = closed_run(d->kernels, &x, &r, d->threads, d->image, NULL, e);
    for (size_t i = 0; i < d->pixels && !s; i++)
        d->sum[i] += factor * (double)d->image[i];
    mem_free(x.panels);
    mem_free(x.crystals);
    recipe_free(&r);
    return s;
}

static enum status make_plane(const struct differences *d, const struct parameter *p, float *plane,
                              struct error *e)
{
    static const double steps[4] = {-2, -1, 1, 2},
                        factors[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const double step = step_of(d, p);
    double unit = step;
    if (parameter_step_is_log(p))
        unit *= parameter_step_value(p, d->x, d->recipe);
    enum status s = STATUS_OK;
    memset(d->sum, 0, d->pixels * sizeof *d->sum);
    for (int i = 0; i < 4 && !s; i++)
        s = add_image(d, p, steps[i] * step, factors[i], e);
    for (size_t i = 0; i < d->pixels && !s; i++)
        plane[i] = (float)(d->sum[i] / unit);
    return s;
}

static void take_pixels(const void *context, const struct panel *p, const int64_t *numbers,
                        int count, double (*values)[DERIVE_BLOCK])
{
    const struct planes_of_frame *f = context;
    for (size_t k = 0; k < f->count; k++)
        for (int i = 0; i < count; i++)
            values[k][i] = (double)f->values[k * f->pixels + (size_t)(p->first_pixel + numbers[i])];
}

static enum status check(const struct parameters *set, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (!parameter_has_steps(&set->items[i]))
            return error_set(e, STATUS_INPUT, "--mosaic-model=gauss has no derivative by '%s'",
                             set->items[i].name);
    return STATUS_OK;
}

/* All planes of the frame; f->values is freed by the caller. */
static enum status make_planes(struct differences *d, const struct parameters *set,
                               struct planes_of_frame *f, struct error *e)
{
    size_t total;
    f->values =
        size_multiply(f->count, f->pixels, &total) ? mem_array(total, sizeof *f->values) : NULL;
    d->image = mem_array(f->pixels, sizeof *d->image);
    d->sum = mem_array(f->pixels, sizeof *d->sum);
    enum status s = f->values && d->image && d->sum
                        ? closed_run(d->kernels, d->x, d->recipe, d->threads, f->values, NULL, e)
                        : error_memory(e, "the derivatives");
    for (size_t k = 0; k < set->count && !s; k++)
        s = make_plane(d, &set->items[k], f->values + (k + 1) * f->pixels, e);
    mem_free(d->image);
    mem_free(d->sum);
    return s;
}

enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e)
{
    enum status s = recipe_check(x, r, e);
    if (s || (s = derive_check(x, r, request, e)) || (s = check(request->set, e)))
        return s;
    struct planes_of_frame planes = {.count = request->set->count + 1,
                                     .pixels = (size_t)experiment_pixels(x)};
    struct differences d = {
        .kernels = kernels, .x = x, .recipe = r, .threads = threads, .pixels = planes.pixels};
    measure(&d);
    s = make_planes(&d, request->set, &planes, e);
    const struct derive_job job = {.x = x,
                                   .recipe = r,
                                   .footprint = f,
                                   .threads = threads,
                                   .pixels = take_pixels,
                                   .context = &planes};
    if (!s)
        s = derive_run(&job, request, e);
    mem_free(planes.values);
    return s;
}
