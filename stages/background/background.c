/*
 * The stage bragg-background: reads its options and tables, and adds the background to each frame.
 *
 * Frames with the sources of the experiment share one background image, which is computed at the
 * start, and again when the detector moves.  A frame gets an image of its own if it has a spectrum
 * of its own, another amount of matter, a streak, or flat background.  What a recipe says about
 * matter replaces what the options say; where the detector and the sources are as usual, its image
 * is a sum of images of one metre of each material.
 */
#include "background.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "background_options.h"
#include "base/alloc.h"
#include "base/opt.h"
#include "base/program.h"
#include "base/rng.h"
#include "engine/cpu/threads.h"
#include "engine/reflections/photons.h"
#include "grains.h"
#include "materials.h"
#include "matter_images.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/background/background.h"
#include "physics/beam/beam.h"
#include "physics/detector/pixel.h"
#include "stage/stage.h"
#include "stages/shared/engines.h"

/* A background image that frames share. */
struct shared {
    float *photons;  // owned; NULL: no frame needs it
    double by_m[3];  // displacement of the detector that it was computed for
};

/* The state of the stage. */
struct background {
    struct background_options o;  // first member: the option table begins here
    struct materials materials;
    struct matter_images images;  // of frames that have their own amounts of matter
    struct streak streak;
    struct experiment seen;               // the experiment with the true panels
    const struct experiment *experiment;  // &seen
    struct moved moved;                   // detector at its place in the current frame
    struct harmonic harmonic;             // third harmonic, if the beam has one
    struct moved harmonic_moved;          // the same as `moved`, for harmonic.x
    float *extra;                // owned: background of the third harmonic; NULL: not needed yet
    bool deferred;               // background_defer was called
    bool started;                // background_start was called
    struct shared shared[2][2];  // of the sources of the experiment: without ice and with it,
                                 // without powder and with it
    struct grains grains;        // of the current frame
    double *smooth;              // owned: image of the powder alone, for --powder-grains; NULL: not
                                 // needed yet
    double smooth_m[3];          // displacement of the detector that `smooth` was computed for
    bool smooth_usual;           // and whether it was for the sources of the experiment
    float *own;                  // owned: background of a frame that differs from others; NULL: not
                                 // needed yet
    struct source *gathered;     // owned: buffer for the sources of a recipe
};

static enum status open_background(void *state, const char **operands, int noperands,
                                   struct error *e)
{
    struct background *b = state;
    struct background_options *o = &b->o;
    (void)operands;
    (void)noperands;
    enum status s = background_options_check(o, e);
    b->streak = (struct streak){.photons = o->streak_photons,
                                .spread = o->streak_spread,
                                .length = o->streak_size_rad[0],
                                .width = o->streak_size_rad[1],
                                .angle_rad = o->streak_angle_rad[0],
                                .angle_rms_rad = fabs(o->streak_angle_rad[1])};
    s = s ? s : threads_start(&o->threads, e);
    return s ? s : materials_open(&b->materials, o, e);
}

/* Adds the background of the third harmonic to photons[]. It is computed separately, because its
 * wavelength is far from all other wavelengths. */
static enum status add_harmonic(struct background *b, const struct recipe *r,
                                const struct source *sources, size_t nsources,
                                const struct blend *blend, float *photons, struct error *e)
{
    const struct source *its = harmonic_sources(&b->harmonic, sources, nsources);
    const size_t count = (size_t)experiment_pixels(b->experiment);
    if (!b->extra)
        b->extra = mem_array(count, sizeof *b->extra);
    const struct experiment *x = r ? moved_to(&b->harmonic_moved, r) : &b->harmonic.x;
    const enum status s = background_image(x, its, nsources, blend->items, blend->count,
                                           (int)b->o.threads, b->extra, e);
    for (size_t i = 0; i < count && !s; i++)
        photons[i] += b->extra[i];
    return s;
}

/* Computes the background of materials and sources into photons[], with the detector at its
 * position in the frame of *r. r NULL: with the detector at its position in the experiment. */
static enum status compute_background(struct background *b, const struct recipe *r,
                                      const struct source *sources, size_t nsources,
                                      const struct blend *blend, float *photons, struct error *e)
{
    const enum status s =
        background_image(r ? moved_to(&b->moved, r) : b->experiment, sources, nsources,
                         blend->items, blend->count, (int)b->o.threads, photons, e);
    return !s && b->experiment->beam.harmonic_share > 0
               ? add_harmonic(b, r, sources, nsources, blend, photons, e)
               : s;
}

/* Adds the photons of --flat to each pixel that is computed. */
static void add_flat(const struct background *b, float *photons)
{
    const struct experiment *x = b->experiment;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            float *row = photons + p->first_pixel + slow * p->fast_pixels;
            for (int64_t fast = 0; fast < p->fast_pixels; fast++)
                if (pixel_is_computed(p, fast, slow))
                    row[fast] = (float)((double)row[fast] + b->o.flat_photons);
        }
}

/* Returns true if --flat is part of the images that frames share: matter is not multiplied. */
static bool shares_flat(const struct background *b)
{
    return b->o.flat_photons > 0 && !(b->o.jitter > 0) && !b->experiment->matter_varies;
}

/* Computes an image that frames share, with --flat if shares_flat says so.  Arguments are those of
 * compute_background. */
static enum status compute_shared(struct background *b, const struct recipe *r,
                                  const struct source *sources, size_t nsources, struct chance with,
                                  struct error *e)
{
    float *photons = b->shared[with.ice][with.powder].photons;
    const struct blend blend = materials_usual(&b->materials, with);
    const enum status s = compute_background(b, r, sources, nsources, &blend, photons, e);
    if (!s && shares_flat(b))
        add_flat(b, photons);
    return s;
}

enum status background_start(void *state, struct error *e)
{
    struct background *b = state;
    const struct experiment *x = b->experiment;
    b->started = true;
    const struct background_options *o = &b->o;
    const bool ice[2] = {!(o->ice_m > 0) || o->ice_frames<1, o->ice_m> 0};
    const bool smooth = o->powder && !(o->powder_grains > 0);
    const bool powder[2] = {!smooth || o->powder_frames < 1, smooth};
    size_t nsources;
    const struct source *sources =
        background_sources(&x->beam, &(struct recipe){0}, &b->gathered, &nsources);
    enum status s = STATUS_OK;
    for (int i = 0; i < 4 && !s; i++) {
        const struct chance with = {.ice = i & 1, .powder = i & 2};
        if (!ice[with.ice] || !powder[with.powder])
            continue;
        b->shared[with.ice][with.powder].photons =
            mem_array((size_t)experiment_pixels(x), sizeof(float));
        s = compute_shared(b, NULL, sources, nsources, with, e);
    }
    return s;
}

/* Prepares for frames on the GPU, if --engine=cuda is given and the GPU supports this background,
 * or else on the CPU.  The first frame that the GPU does not support calls background_start. */
static enum status prepare_frames(struct background *b, struct error *e)
{
    const struct experiment *x = b->experiment;
    const bool alike = !background_varies(b) && !(x->beam.harmonic_share > 0);
    const struct engine_after after = {.materials = b->materials.items,
                                       .nmaterials = alike ? b->materials.nmaterials : 0,
                                       .type = PIXEL_F32};
    const enum status s = gpu_postprocess_begin(
        &b->o.card, x, &after, b->o.threads,
        "curved detectors, harmonics, and background that is flat or varies between frames", e);
    return s || b->o.card.plan ? s : background_start(b, e);
}

static enum status background_begin(void *state, struct experiment *given, struct error *e)
{
    struct background *b = state;
    const enum status usable = background_options_check_probe(&b->o, given->probe, e);
    if (usable)
        return usable;
    if (!(given->beam.size_m > 0))
        return error_set(
            e, STATUS_INPUT,
            "the beam has no size, so the amount of matter is unknown. Give bragg-geometry "
            "--beam-size=MM");
    experiment_view_true(&b->seen, given);
    const struct experiment *x = b->experiment = &b->seen;
    const bool harmonic = x->beam.harmonic_share > 0;
    moved_open(&b->moved, x);
    if (harmonic) {
        harmonic_open(&b->harmonic, x);
        moved_open(&b->harmonic_moved, &b->harmonic.x);
    }
    enum status s = materials_begin(&b->materials, x, e);
    s = s || b->deferred ? s : prepare_frames(b, e);
    if (!b->deferred)  // images were computed with all threads, and are only added from now on
        program_set_threads(photons_threads((int)b->o.threads, (size_t)experiment_pixels(x)));
    return s;
}

void background_defer(void *state)
{
    ((struct background *)state)->deferred = true;
}

bool background_varies(const void *state)
{
    const struct background *b = state;
    return b->o.flat_photons > 0 || b->o.jitter > 0 || b->o.streak_photons > 0 ||
           (b->o.ice_m > 0 && b->o.ice_frames < 1) ||
           (b->o.powder && (b->o.powder_grains > 0 || b->o.powder_frames < 1)) ||
           (b->experiment && b->experiment->matter_varies);
}

size_t background_materials(const void *state, const struct background_material **materials)
{
    const struct background *b = state;
    *materials = b->materials.items;
    return b->materials.nmaterials;
}

/* Replaces the image of a frame by a new image: the sum of its pixels and the background. */
static enum status add_background(const struct experiment *x, struct frame *f,
                                  const float *background, struct error *e)
{
    struct image *image = &f->image;
    struct image sum = {.memory = image->memory};
    image_allocate(&sum, PIXEL_F32, UNIT_PHOTONS, image->count);
    if (!photons_add(image->pixels, background, sum.count, sum.pixels, &sum.sum)) {
        const enum status s = photons_check(x, f->recipe.id, sum.pixels, e);
        image_free(&sum);
        return s;
    }
    sum.has_sum = true;
    image_free(image);
    *image = sum;
    reflection_table_add(&f->reflections, background);
    return STATUS_OK;
}

/* Returns what the options give a frame by chance.  The result depends only on the seed and the
 * frame number, like that of amount_of. */
static struct chance chance_of(const struct background *b, const struct recipe *r)
{
    const struct background_options *o = &b->o;
    struct rng ice = rng_stream(r->seed, RNG_ICE, r->id, 0);
    struct rng powder = rng_stream(r->seed, RNG_POWDER, r->id, 0);
    return (struct chance){
        .ice = o->ice_m > 0 && (o->ice_frames == 1 || rng_uniform(&ice) < o->ice_frames),
        .powder = o->powder && (o->powder_frames == 1 || rng_uniform(&powder) < o->powder_frames)};
}

/* Returns the amount of matter in the frame, relative to the mean. */
static double amount_of(const struct background *b, const struct recipe *r)
{
    struct rng random = rng_stream(r->seed, RNG_MATTER, r->id, 0);
    const double scale = r->matter.has_scale ? r->matter.scale : 1.0;
    return b->o.jitter > 0 ? scale * rng_lognormal(&random, b->o.jitter) : scale;
}

/* Returns true if the recipe has amounts of matter of its own, other than a factor on all. */
static bool has_amounts(const struct matter *m)
{
    return m->has_water || m->has_air || m->has_ice || m->has_ice_crystal;
}

/* Returns the fluence of the pulse, relative to the mean. */
static double fluence_of(const struct recipe *r)
{
    double sum = 0.0;
    for (size_t i = 0; i < r->nsources; i++)
        sum += r->sources[i].weight;
    return r->nsources ? sum / (double)r->nsources : 1.0;
}

/* Sets *photons to the background of the sources of the experiment. The background is computed
 * again if the detector has moved since the last frame. */
static enum status usual_background(struct background *b, const struct recipe *r,
                                    struct chance with, const float **photons, struct error *e)
{
    const struct beam *beam = &moved_to(&b->moved, r)->beam;
    size_t nsources;
    const struct source *sources = background_sources(beam, r, &b->gathered, &nsources);
    enum status s = STATUS_OK;
    struct shared *shared = &b->shared[with.ice][with.powder];
    if (memcmp(shared->by_m, b->moved.by_m, sizeof b->moved.by_m) != 0)
        s = compute_shared(b, r, sources, nsources, with, e);
    memcpy(shared->by_m, b->moved.by_m, sizeof b->moved.by_m);
    *photons = shared->photons;
    return s;
}

static enum status add_streak(struct background *b, const struct experiment *x,
                              const struct recipe *r, float *photons, struct error *e)
{
    struct streak_frame f = {.relative = fluence_of(r), .seed = r->seed, .id = r->id};
    enum status s;
    f.sources = background_sources(&x->beam, r, &b->gathered, &f.nsources);
    double *absorb = background_absorb(x, f.sources, f.nsources, &s, e);
    f.absorb = absorb;
    if (!s)
        streak_add(&b->streak, x, &f, (int)b->o.threads, photons);
    mem_free(absorb);
    return s;
}

/* Returns true if the images of struct matter_images have the sources and the detector of a frame,
 * which moved_to has placed.  The third harmonic has an image of its own. */
static bool stands_as_usual(const struct background *b, const struct recipe *r)
{
    const double *by_m = b->moved.by_m;
    return !r->nsources && by_m[0] == 0.0 && by_m[1] == 0.0 && by_m[2] == 0.0 &&
           !(b->experiment->beam.harmonic_share > 0);
}

/* Computes the matter of a frame that has its own sources or amounts of matter.  The way depends on
 * the recipe alone, and so do the bytes. */
static enum status own_matter(struct background *b, const struct recipe *r, struct chance with,
                              float *photons, struct error *e)
{
    size_t nsources;
    const struct experiment *x = moved_to(&b->moved, r);
    const struct source *sources = background_sources(&x->beam, r, &b->gathered, &nsources);
    struct blend blend = materials_usual(&b->materials, with);
    struct amounts amounts;
    enum status s = STATUS_OK;
    if (has_amounts(&r->matter)) {
        s = materials_amounts(&b->materials, r, with, &amounts, e);
        if (!s && stands_as_usual(b, r))
            return matter_images_sum(&b->images, &b->materials, x, sources, nsources,
                                     (int)b->o.threads, &amounts, photons, e);
        s = s ? s : materials_blend(&b->materials, &amounts, &blend, e);
    }
    return s ? s : compute_background(b, r, sources, nsources, &blend, photons, e);
}

/* Sets *sources and *mean_m to the sources of a frame and their mean wavelength.  STATUS_INPUT: the
 * rings of --powder-grains would be blurred. */
static enum status grain_sources(struct background *b, const struct recipe *r,
                                 const struct source **sources, size_t *nsources, double *mean_m,
                                 struct error *e)
{
    const struct beam *beam = &b->moved.x.beam;
    double weights = 0.0, sum_m = 0.0, shortest_m = INFINITY, longest_m = 0.0;
    *sources = background_sources(beam, r, &b->gathered, nsources);
    for (size_t i = 0; i < *nsources; i++) {
        const struct source *source = &(*sources)[i];
        weights += source->weight;
        sum_m += source->weight * source->wavelength_m;
        shortest_m = fmin(shortest_m, source->wavelength_m);
        longest_m = fmax(longest_m, source->wavelength_m);
    }
    *mean_m = weights > 0.0 ? sum_m / weights : shortest_m;
    return longest_m <= shortest_m * (1.0 + BACKGROUND_NARROW) && !(beam->harmonic_share > 0)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "--powder-grains needs a narrow band (got %.6g to %.6g A%s); expected "
                           "wavelengths within %g %%. Remove --powder-grains for smooth rings",
                           m_to_angstrom(shortest_m), m_to_angstrom(longest_m),
                           beam->harmonic_share > 0 ? " and a third harmonic" : "",
                           100.0 * BACKGROUND_NARROW);
}

/* Computes the image of the smooth rings, unless it is that of the last frame. */
static enum status smooth_rings(struct background *b, const struct recipe *r,
                                const struct source *sources, size_t nsources, struct error *e)
{
    const struct amounts alone = {.powder = true};
    const bool same = b->smooth && !r->nsources && b->smooth_usual &&
                      memcmp(b->smooth_m, b->moved.by_m, sizeof b->smooth_m) == 0;
    struct blend blend;
    enum status s = same ? STATUS_OK : materials_blend(&b->materials, &alone, &blend, e);
    if (s || same)
        return s;
    if (!b->smooth)
        b->smooth = mem_array((size_t)experiment_pixels(b->experiment), sizeof *b->smooth);
    s = background_image_double(&b->moved.x, sources, nsources, blend.items, blend.count,
                                (int)b->o.threads, b->smooth, e);
    b->smooth_usual = !s && !r->nsources;
    memcpy(b->smooth_m, b->moved.by_m, sizeof b->smooth_m);
    return s;
}

/* Adds the powder of --powder-grains to a frame, whose detector moved_to has placed. */
static enum status add_grains(struct background *b, const struct recipe *r, float *photons,
                              struct error *e)
{
    const bool fixed = opt_given(background_options, &b->o, "powder-seed");
    const struct source *sources;
    size_t nsources;
    struct grains_frame f = {.x = &b->moved.x,
                             .crystals = (double)b->o.powder_grains,
                             .seed = fixed ? (uint64_t)b->o.powder_seed : r->seed,
                             .id = fixed ? 0 : r->id};
    enum status s = grain_sources(b, r, &sources, &nsources, &f.wavelength_m, e);
    s = s ? s : smooth_rings(b, r, sources, nsources, e);
    s = s ? s : grains_draw(&b->grains, &b->materials.powder, &f, (int)b->o.threads, e);
    if (!s)
        grains_add(&b->grains, f.x, (int)b->o.threads, b->smooth, photons);
    return s;
}

/* Sets to[i] to amount * from[i] for all pixels.  `to` may be `from`. */
static void scale(const struct background *b, const float *from, double amount, float *to)
{
    const int64_t count = experiment_pixels(b->experiment);
#pragma omp parallel for num_threads((int)b->o.threads) schedule(static)
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)(amount * from[i]);
}

/* Computes the background of a frame that cannot use the common background, and stores it in
 * b->own. */
static enum status make_background(struct background *b, const struct recipe *r, struct chance with,
                                   double amount, struct error *e)
{
    float *photons = b->own;
    const size_t count = (size_t)experiment_pixels(b->experiment);
    const struct experiment *x = moved_to(&b->moved, r);
    const float *same = NULL;
    const bool own = r->nsources || has_amounts(&r->matter);
    const bool grains = with.powder && b->o.powder_grains > 0;
    with.powder = with.powder && !grains;
    enum status s =
        own ? own_matter(b, r, with, photons, e) : usual_background(b, r, with, &same, e);
    if (s)
        return s;
    if (!own && grains)
        memcpy(photons, same, count * sizeof *photons);
    if (grains && (s = add_grains(b, r, photons, e)))
        return s;
    if (amount != 1.0 || (!own && !grains))
        scale(b, own || grains ? photons : same, amount, photons);
    if (b->o.flat_photons > 0 && (own || !shares_flat(b)))
        add_flat(b, photons);
    return b->o.streak_photons > 0 ? add_streak(b, x, r, photons, e) : STATUS_OK;
}

enum status background_of(void *state, const struct recipe *r, const float **photons,
                          struct error *e)
{
    struct background *b = state;
    enum status s =
        r->nsources ? materials_check_range(&b->materials, r->sources, r->nsources, e) : STATUS_OK;
    if (!s && !b->started)
        s = background_start(b, e);
    if (s)
        return s;
    const struct chance with = chance_of(b, r);
    const double amount = amount_of(b, r);
    const bool flat = b->o.flat_photons > 0 && !shares_flat(b);
    if (!r->nsources && amount == 1.0 && !(b->o.streak_photons > 0) && !flat &&
        !has_amounts(&r->matter) && !(with.powder && b->o.powder_grains > 0))
        return usual_background(b, r, with, photons, e);
    /* the frame has a spectrum or amounts of matter of its own, or a streak */
    if (!b->own)
        b->own = mem_array((size_t)experiment_pixels(b->experiment), sizeof *b->own);
    *photons = b->own;
    return make_background(b, r, with, amount, e);
}

static enum status background_frame(void *state, struct frame *f, struct error *e)
{
    struct background *b = state;
    const struct recipe *r = &f->recipe;
    const size_t count = (size_t)experiment_pixels(b->experiment);
    if (f->image.type != PIXEL_F32 || f->image.unit != UNIT_PHOTONS || f->image.count != count)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         " has no float32 photons. Put bragg-background before bragg-noise in the "
                         "pipe",
                         r->id);
    if (b->o.card.plan && !f->reflections.npixels) {
        const enum status seen =
            r->nsources ? materials_check_range(&b->materials, r->sources, r->nsources, e)
                        : STATUS_OK;
        return seen ? seen : gpu_postprocess_frame(&b->o.card, f, 0, e);
    }
    const float *photons;
    enum status s = gpu_postprocess_fetch(&b->o.card, &f->image, e);
    s = s ? s : background_of(b, r, &photons, e);
    return s ? s : add_background(b->experiment, f, photons, e);
}

static void close_background(void *state)
{
    struct background *b = state;
    materials_close(&b->materials);
    matter_images_free(&b->images);
    for (int i = 0; i < 4; i++)
        mem_free(b->shared[i & 1][i >> 1].photons);
    mem_free(b->smooth);
    grains_free(&b->grains);
    mem_free(b->own);
    mem_free(b->gathered);
    mem_free(b->extra);
    moved_close(&b->moved);
    moved_close(&b->harmonic_moved);
    harmonic_close(&b->harmonic);
    gpu_postprocess_close(&b->o.card);
    experiment_view_close(&b->seen);
}

static const struct card *background_card(void *state)
{
    return gpu_postprocess_card(&((const struct background *)state)->o.card);
}

static const char *background_report(void *state)
{
    return gpu_postprocess_report(&((struct background *)state)->o.card);
}

const struct stage stage_background = {
    .role = {.name = "bragg-background", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
    .summary = "Add scattering by water, air, ice and other materials.",
    .examples = "... | bragg-intensity | bragg-background --water=0.1 | bragg-noise | ...\n"
                "... | bragg-background --stol=paratone.stol --thickness=100 --density=0.9 | ...",
    .options = background_options,
    .reads_only = true,
    .state_size = sizeof(struct background),
    .open = open_background,
    .begin = background_begin,
    .card = background_card,
    .frame = background_frame,
    .report = background_report,
    .close = close_background,
};
