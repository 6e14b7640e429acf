#include "engine/derivatives/smear_derive.h"

#include "base/alloc.h"
#include "engine/reflections/smear_bands.h"
#include "engine/reflections/smear_frame.h"

enum { AT_ONCE = 1 << 21 };  // subpixels that are in memory together, with their derivatives

/* Arguments of smear_derive, and the images of the whole frame: photons first, then one image for
 * each parameter. */
struct pass {
    const struct experiment *x;
    int threads;
    const struct recipe *recipe;
    smear_derive_thin *compute;
    void *engine;
    const struct parameters *set;
    size_t pixels;
    float *planes;  // owned: [1 + set->count][pixels]
};

static enum status refuse_detector(const struct parameters *set, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        switch (set->items[i].kind) {
        case PARAMETER_DISTANCE:
        case PARAMETER_CENTRE:
        case PARAMETER_SHIFT:
        case PARAMETER_TILT:
        case PARAMETER_THICKNESS:
        case PARAMETER_ABSORPTION:
            return error_set(e, STATUS_INPUT,
                             "no derivative by '%s' with --sensor=smear. Give bragg-geometry "
                             "--sensor=layers",
                             set->items[i].name);
        default:
            break;
        }
    return STATUS_OK;
}

/* Computes the images of some bands, see smear_compute. */
static enum status run_bands(void *context, const struct smear_bands *bands, struct error *e)
{
    const struct pass *pass = context;
    const struct experiment thin = smear_bands_thin(bands, pass->x);
    const size_t pixels = (size_t)bands->subpixels, count = pass->set->count;
    float *planes = mem_array((1 + count) * pixels, sizeof *planes);
    double *photons = mem_array(pixels, sizeof *photons);
    const struct derive_request request = {
        .set = pass->set, .npixels = pixels, .photons = photons, .planes = planes + pixels};
    const enum status status = pass->compute(pass->engine, &thin, pass->recipe, &request, e);
    for (size_t i = 0; i < pixels && !status; i++)
        planes[i] = (float)photons[i];
    for (size_t k = 0; k <= count && !status; k++)
        for (size_t i = 0; i < bands->count; i++)
            smear_band_add(&bands->band[i], planes + k * pixels, k > 0, pass->threads,
                           pass->planes + k * pass->pixels);
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
    if (s || (s = refuse_detector(request->set, e)) || (s = smear_check_wavelengths(x, r, e)))
        return s;
    struct pass pass = {
        x, threads, r, compute, engine, request->set, (size_t)experiment_pixels(x), NULL};
    struct smear_bands *bands = mem_array(1, sizeof *bands);
    bands->at_once = AT_ONCE;
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
