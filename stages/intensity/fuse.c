/* Runs the stages of --fuse: on the engine if it supports their work, otherwise on the CPU after
 * the engine. */
#include "fuse.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model/frame.h"
#include "stages/background/background.h"
#include "stages/noise/noise.h"

/* The stages that --fuse accepts. They must be given in this order, and each at most once. */
static const struct {
    const char *name;
    const struct stage *stage;
} KNOWN[FUSE_MAX] = {{"background", &stage_background}, {"noise", &stage_noise}};

/* ---- images ----------------------------------------------------------------------- */

static void give_back(void *owner)
{
    struct fuse_buffer *b = owner;
    b->used = false;
}

/* Callback of image_allocate: gives a free buffer to the image, and enlarges the buffer if
 * necessary. Returns false if no buffer is free: image_allocate then allocates
 * separate memory. */
static bool take_buffer(struct image_memory *memory, size_t bytes, struct image *image)
{
    struct fuse_memory *m = (struct fuse_memory *)memory;  // first member of struct fuse_memory
    struct fuse_buffer *b = m->buffer[0].used ? &m->buffer[1] : &m->buffer[0];
    if (b->used)
        return false;
    if (b->size < bytes) {
        mem_free(b->bytes);
        b->bytes = mem_array(bytes, 1);
        b->size = bytes;
    }
    b->used = true;
    image->pixels = b->bytes;
    image->owner = b;
    image->release = give_back;
    return true;
}

/* ---- options ---------------------------------------------------------------------- */

/* Returns the index in KNOWN of the stage whose name is the first word of a text. FUSE_MAX:
 * there is no such stage. */
static size_t find_stage(const char *text)
{
    const size_t length = strcspn(text, " ");
    size_t i = 0;
    while (i < FUSE_MAX &&
           (strlen(KNOWN[i].name) != length || strncmp(text, KNOWN[i].name, length) != 0))
        i++;
    return i;
}

enum status fuse_open(struct fuse *f, const struct opt_texts *texts, int64_t threads,
                      struct error *e)
{
    enum status s = STATUS_OK;
    size_t next = 0;
    f->own.memory.take = take_buffer;
    for (size_t i = 0; i < texts->count && !s; i++) {
        const char *text = texts->text[i], *options = text + strcspn(text, " ");
        const size_t index = find_stage(text);
        if (index == FUSE_MAX)
            return error_set(e, STATUS_USAGE,
                             "--fuse: '%.60s': unknown stage; expected background or noise", text);
        if (index < next)
            return error_set(
                e, STATUS_USAGE,
                "--fuse: wrong order of stages; expected background, then noise, each once");
        next = index + 1;
        struct fused_stage *g = &f->guest[f->n++];
        s = fused_stage_open(g, KNOWN[index].stage, options + (*options == ' '), threads, e);
        if (!s && opt_given(g->stage->options, g->state, "engine"))
            return error_set(
                e, STATUS_USAGE,
                "--fuse: the engine of this program does the work of %s. Remove --engine "
                "from its options",
                KNOWN[index].name);
    }
    return s;
}

/* ---- the experiment ---------------------------------------------------------------- */

/* Returns the state of a stage. NULL: the stage is not a guest. */
static void *state_of(const struct fuse *f, const struct stage *stage)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->guest[i].stage == stage)
            return f->guest[i].state;
    return NULL;
}

/* Offers the work of the guests to the engine, and starts the guests whose work the engine does
 * not do. */
static enum status share_out(struct fuse *f, struct error *e)
{
    void *const background = state_of(f, &stage_background), *const noise =
                                                                 state_of(f, &stage_noise);
    struct engine_after after = {.type = PIXEL_F32};
    if (background)
        after.nmaterials = background_materials(background, &after.materials);
    if (noise)
        after.noise = noise_asked(noise, &f->type);
    const bool adds = after.nmaterials, counts = after.noise;
    after.type = f->type;
    enum status s = f->engine->prepare(f->plan, &after, e);
    const bool added = adds && !after.nmaterials, counted = counts && !after.noise;
    f->taken = (size_t)added + counted;
    f->noise = counted ? noise : NULL;
    f->type = counted ? f->type : PIXEL_F32;
    if (!s && background && !added)
        s = background_start(background, e);
    if (!s && noise && !counted)
        s = noise_start(noise, e);
    return s;
}

enum status fuse_begin(struct fuse *f, const struct engine *engine, struct plan *plan,
                       struct experiment *x, struct error *e)
{
    enum status s = STATUS_OK;
    const void *background = state_of(f, &stage_background);
    const bool takes = engine->prepare && !f->reflections &&
                       !f->harmonic &&  // both need photons on the CPU
                       !(background && background_varies(background));
    f->engine = engine;
    f->plan = plan;
    for (size_t i = 0; i < f->n && !s; i++) {
        struct fused_stage *g = &f->guest[i];
        if (takes)
            (g->stage == &stage_noise ? noise_defer : background_defer)(g->state);
        if (i + 1 < f->n)
            experiment_copy(&f->before, x);
        s = fused_stage_begin(g, i + 1 < f->n ? &f->before : x, e);
    }
    if (!s && f->n && takes)
        s = share_out(f, e);
    if (!s && engine->card && !f->reflections && !f->harmonic && f->taken == f->n)
        f->card = engine->card(plan);
    return s;
}

/* ---- frames ----------------------------------------------------------------------- */

/* Warns if the crystals of the frame scatter less than one photon in total.  The frame must have
 * crystals, and pixels of float32 photons.  The function stops reading when the sum reaches one
 * photon. */
static void warn_if_dim(const struct frame *f)
{
    const float *photons = f->image.pixels;
    double sum = 0.0;
    for (size_t i = 0; i < f->image.count && sum < 1.0; i++)
        sum += (double)photons[i];
    if (sum == 0.0)
        log_line(LOG_WARNING,
                 "frame %" PRIu64
                 ": the crystals give no photons. Either no reflection hits the detector, or its "
                 "structure factor is 0 (check --hkl, --mtz and --default-F of bragg-geometry)",
                 f->recipe.id);
    else if (sum < 1.0)
        log_line(LOG_WARNING,
                 "frame %" PRIu64
                 ": the crystals give %.3g photons in total, less than one. Increase --fluence (or "
                 "--flux and --exposure) or --ncells of bragg-geometry, or check the structure "
                 "factors",
                 f->recipe.id, sum);
}

/* Returns true if the image may stay on the GPU, because this process does not read it. */
static bool stays_there(const struct fuse *f)
{
    return f->card && (f->taken || f->looked);
}

/* Computes the image of a frame in GPU memory, where it stays. The memory is that of frame->image.
 */
static enum status render_there(struct fuse *f, struct frame *frame, atomic_uint_fast64_t *rows,
                                struct error *e)
{
    const uint64_t seed = f->noise ? noise_seed(f->noise, &frame->recipe) : 0;
    f->given++;
    return f->engine->develop_there(f->plan, &frame->recipe, seed, frame->image.card, rows, e);
}

/* Computes the image of a frame with the work of the guests that the engine does.  If it does the
 * work of all guests, the checksum of the image is that of the engine. */
static enum status develop(const struct fuse *f, struct frame *frame, uint64_t seed,
                           atomic_uint_fast64_t *rows, struct error *e)
{
    struct image *image = &frame->image;
    const enum status s = f->engine->develop(f->plan, &frame->recipe, seed, image->pixels, rows, e);
    image->has_sum =
        !s && f->taken == f->n && f->engine->sum && f->engine->sum(f->plan, &image->sum);
    return s;
}

/* Does the part of a frame that the engine computes: the image with its checksum, the
 * reflections and the third harmonic. frame->image.memory must be set. */
static enum status render(struct fuse *f, struct frame *frame, size_t pixels,
                          atomic_uint_fast64_t *rows, struct error *e)
{
    struct image *image = &frame->image;
    const enum pixel_unit unit = f->noise ? UNIT_ADU : UNIT_PHOTONS;
    if (stays_there(f) && image_reserve_on_card(image, f->type, unit, pixels))
        return render_there(f, frame, rows, e);
    image_allocate(image, f->type, unit, pixels);
    engine_pin(&f->pins, f->engine, f->plan, image);
    const uint64_t seed = f->noise ? noise_seed(f->noise, &frame->recipe) : 0;
    if (f->taken)
        return develop(f, frame, seed, rows, e);
    enum status s = f->engine->run(f->plan, &frame->recipe, image->pixels, rows, e);
    if (!s && f->engine->sum)
        image->has_sum = f->engine->sum(f->plan, &image->sum);
    if (!s && f->reflections)
        s = f->engine->reflections(f->plan, &frame->recipe, image->pixels, f->reflections,
                                   &frame->reflections, e);
    return s || !f->harmonic ? s : harmonic_image_add(f->harmonic, frame, rows, e);
}

/* --- frames whose rows pass all stages while they are in the cache ------------------ */

struct joined {
    const float *background;  // NULL: none
    struct noise_plan *noise;
    uint64_t seed, id;
    struct image adu;
};

/* Callback of struct engine_taker: adds background and noise to a part of a frame. */
static bool take_part(void *context, int64_t first, int64_t count, float *photons,
                      struct crc32c_piece *sum)
{
    const struct joined *j = context;
    for (int64_t i = 0; i < count && j->background; i++)
        photons[i] += j->background[first + i];
    return noise_part(j->noise, j->seed, j->id, first, count, photons, &j->adu, sum);
}

/* Prepares the work of the guests on a frame.  Returns false if they need the whole image. */
static bool prepare_parts(struct fuse *f, const struct frame *frame, struct joined *j)
{
    struct error none;
    void *const background = state_of(f, &stage_background), *const noise =
                                                                 state_of(f, &stage_noise);
    if (!f->engine->run_parts || f->taken || !f->looked || !noise || f->reflections ||
        f->harmonic || frame->planes.count ||
        !f->engine->run_parts(f->plan, &frame->recipe, NULL, NULL, NULL))
        return false;
    j->noise = noise_by_parts(noise, &frame->recipe);
    j->seed = noise_seed(noise, &frame->recipe);
    j->id = frame->recipe.id;
    return j->noise && (!background || background_of(background, &frame->recipe, &j->background,
                                                     &none) == STATUS_OK);
}

/* Computes the image of a frame in parts.  Returns false if this is not possible, or if a stage
 * refuses a part: then the stages work one after the other, and have the error. */
static bool join_stages(struct fuse *f, struct frame *frame, size_t pixels,
                        atomic_uint_fast64_t *rows)
{
    struct joined j = {.adu = {.memory = frame->image.memory}};
    const struct engine_taker taker = {take_part, &j};
    enum pixel_type type;
    if (!prepare_parts(f, frame, &j))
        return false;
    (void)noise_asked(state_of(f, &stage_noise), &type);
    image_allocate(&j.adu, type, UNIT_ADU, pixels);
    noise_parts_begin(j.noise);
    j.adu.has_sum = f->engine->run_parts(f->plan, &frame->recipe, &taker, &j.adu.sum, rows);
    if (!j.adu.has_sum) {
        image_free(&j.adu);
        atomic_store(rows, 0);
        return false;
    }
    noise_parts_end(j.noise);
    f->joined++;
    image_free(&frame->image);
    frame->image = j.adu;
    return true;
}

enum status fuse_frame(struct fuse *f, struct frame *frame, size_t pixels,
                       atomic_uint_fast64_t *rows, struct error *e)
{
    struct image_memory *const last = frame->image.memory;
    if (join_stages(f, frame, pixels, rows))
        return STATUS_OK;
    frame->image.memory = f->taken < f->n ? &f->own.memory : last;
    enum status s = render(f, frame, pixels, rows, e);
    if (!s && !f->taken && !f->looked && frame->recipe.nlattices) {
        f->looked = true;
        warn_if_dim(frame);
    }
    for (size_t i = f->taken; i < f->n && !s; i++) {
        frame->image.memory = i + 1 < f->n ? &f->own.memory : last;
        s = fused_stage_frame(&f->guest[i], frame, e);
    }
    frame->image.memory = last;
    return s;
}

void fuse_close(struct fuse *f)
{
    for (size_t i = 0; i < f->n; i++)
        fused_stage_close(&f->guest[i]);
    experiment_free(&f->before);
    for (size_t i = 0; i < 2; i++)
        mem_free(f->own.buffer[i].bytes);
    *f = (struct fuse){0};
}
