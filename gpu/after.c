/* Background and noise after the photons: which of them the GPU can compute, and their data in its
 * memory. */
#include <math.h>
#include <string.h>

#include "engine/detector/noise.h"
#include "engine/reflections/photons.h"
#include "gpu/plan.h"
#include "physics/background/background.h"
#include "physics/noise/poisson.h"

/* Returns true if all panels are flat. Curved panels need sines, and the sines of the GPU and of
 * the CPU differ in the last bits. */
static bool is_flat(const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return false;
    return true;
}

/* Returns true if the noise of a pixel depends only on the photons and the number of this pixel. */
static bool is_plain(const struct noise *n)
{
    return n->psf.kind == PSF_NONE && !n->passes && !n->nbad && !n->stages && !n->dead_time;
}

static void take_noise(struct gpu_afterwards *a, const struct engine_after *after)
{
    const struct noise *n = after->noise;
    a->type = after->type;
    a->clipped = n->clipped;
    a->noise = (struct noise_pixels){.flicker = n->flicker,
                                     .calibration = n->calibration,
                                     .calibration_seed = n->calibration_seed,
                                     .poisson = n->poisson,
                                     .gain = n->gain,
                                     .offset_adu = n->offset_adu,
                                     .readout_adu = n->readout_adu,
                                     .largest_adu = floor(n->saturation_adu),
                                     .table = a->table};
}

static enum status upload_table(struct plan *p, struct error *e)
{
    struct gpu_afterwards *a = &p->afterwards;
    void *to = NULL;
    const enum status s = p->device->reserve(p->context, sizeof *a->table, &to, e);
    a->table = to;
    return s ? s : gpu_upload(p, to, poisson_table(), sizeof *a->table, e);
}

static enum status upload_scene(struct plan *p, const struct engine_after *after, struct error *e)
{
    struct gpu_afterwards *a = &p->afterwards;
    struct gpu_pack pack = {0};
    enum status s;
    size_t nsources;
    const struct source *sources =
        background_sources(&p->experiment->beam, &(struct recipe){0}, &a->gathered, &nsources);
    mem_free(a->ratios);
    a->ratios = background_absorb(p->experiment, sources, nsources, &s, e);
    if (s)
        return s;
    a->scene = background_scene(p->experiment, sources, nsources, a->ratios, after->materials,
                                after->nmaterials);
    gpu_pack_scene(&pack, &a->scene);
    if ((s = p->device->reserve(p->context, pack.bytes, &a->resident, e)))
        return s;
    pack = gpu_pack_into(p, BLOCK_AFTER, mem_array(pack.bytes, 1), a->resident);
    a->scene = background_scene(p->experiment, sources, nsources, a->ratios, after->materials,
                                after->nmaterials);
    gpu_pack_scene(&pack, &a->scene);
    s = gpu_pack_send(p, &pack, e);
    mem_free(pack.to);
    return s;
}

enum status gpu_after_prepare(struct plan *p, struct engine_after *after, struct error *e)
{
    struct gpu_afterwards *a = &p->afterwards;
    const bool adds = after->nmaterials && is_flat(p->experiment);
    const bool counts = after->noise && is_plain(after->noise) && (adds || !after->nmaterials);
    a->type = PIXEL_F32;
    if (p->footprint || (p->closed && !p->smeared))
        return STATUS_OK;  // the footprint precedes these steps and is applied on the host, so that
                           // no kernels can follow
    if (adds) {
        const enum status s = upload_scene(p, after, e);
        if (s)
            return s;
        after->nmaterials = 0;
        p->out_bytes[OUT_BACKGROUND] = sizeof(float);
    }
    if (counts) {
        const enum status s = after->noise->poisson ? upload_table(p, e) : STATUS_OK;
        if (s)
            return s;
        take_noise(a, after);
        after->noise = NULL;
        p->out_bytes[OUT_COUNTS] = pixel_size(a->type);
    }
    return STATUS_OK;
}

enum status gpu_after_recipe(struct plan *p, struct gpu_pack *pack, const struct recipe *recipe,
                             struct error *e)
{
    struct gpu_afterwards *a = &p->afterwards;
    if (!a->scene.nmaterials || !recipe->nsources)
        return STATUS_OK;
    enum status s;
    const struct source *sources =
        background_sources(&p->experiment->beam, recipe, &a->gathered, &a->nsources);
    a->sources = gpu_pack_add(pack, sources, a->nsources, sizeof *a->sources);
    mem_free(a->ratios);
    a->ratios = background_absorb(p->experiment, sources, a->nsources, &s, e);
    a->absorb = gpu_pack_add(pack, a->ratios, a->nsources, sizeof *a->absorb);
    return s;
}

/* Returns the scene of the background that must be computed for this frame from row `row` on.
 * Returns NULL if there is no background, or if the GPU still has it from a previous frame. */
static const struct background_scene *scene_of(struct gpu_afterwards *a,
                                               const struct recipe *recipe, int64_t row,
                                               struct gpu_counts *counts)
{
    if (!a->scene.nmaterials)
        return NULL;
    const bool found = !recipe->nsources && a->has_background && a->background_row == row;
    counts->backgrounds_found += found;
    counts->backgrounds_made += !found;
    if (found)
        return NULL;
    if (recipe->nsources) {
        a->recipe_scene = a->scene;
        a->recipe_scene.sources = a->sources;
        a->recipe_scene.nsources = a->nsources;
        a->recipe_scene.absorb = a->absorb;
        a->has_background = false;
        return &a->recipe_scene;
    }
    a->has_background = true;
    a->background_row = row;
    return &a->scene;
}

void gpu_after_rows(struct plan *p, const struct recipe *recipe, const uint64_t *seed,
                    struct gpu_run *r, struct gpu_after *after)
{
    struct gpu_afterwards *a = &p->afterwards;
    *after = (struct gpu_after){.type = PIXEL_F32};
    r->after = after;
    if (!seed)
        return;
    after->type = a->type;
    after->noise = a->noise;
    after->background = p->out[OUT_BACKGROUND];
    after->counts = p->out[OUT_COUNTS];
    after->noise.seed = *seed;
    after->noise.frame = recipe->id;
    r->scene = scene_of(a, recipe, r->part[0].rows.first, &p->counts);
}

enum status gpu_after_verdict(const struct plan *p, const struct recipe *recipe,
                              const struct gpu_verdict *v, struct error *e)
{
    const uint32_t bits = (uint32_t)v->bad;
    float photons;
    if (v->bad == GPU_GOOD)
        return STATUS_OK;
    memcpy(&photons, &bits, sizeof photons);
    return photons_refuse(p->experiment, recipe->id, (int64_t)(v->bad >> 32), photons, e);
}
