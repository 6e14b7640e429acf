/* From photons on, which others have computed: background and noise alone. */
#include "gpu/apart.h"
#include "gpu/plan.h"

/* The recipe's own sources, if background asks for them. */
static enum status upload_sources(struct plan *p, const struct recipe *recipe, struct error *e)
{
    struct gpu_pack count = {0};
    enum status status = gpu_after_recipe(p, &count, recipe, e);
    if (status || !count.bytes)
        return status;
    if ((status = gpu_grow_recipe(p, count.bytes, e)))
        return status;
    struct gpu_pack pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
    status = gpu_after_recipe(p, &pack, recipe, e);
    return status ? status : gpu_pack_send(p, &pack, e);
}

static struct gpu_image place_of(const struct image *image)
{
    return image->card ? (struct gpu_image){.there = image->card}
                       : (struct gpu_image){.here = image->pixels};
}

enum status gpu_go_on(struct plan *p, const struct recipe *recipe, uint64_t seed,
                      const struct image *photons, const struct image *to, struct error *e)
{
    const struct gpu_task task = {
        .recipe = recipe, .seed = &seed, .photons = place_of(photons), .to = place_of(to)};
    p->times = (struct gpu_times){0};
    if (!p->rows || !p->widest)
        return STATUS_OK;
    (void)moved_to(&p->moved, recipe);
    enum status status = gpu_move_panels(p, e);
    if (!status)
        status = upload_sources(p, recipe, e);
    if (!status)
        status = gpu_open_out(p, e);
    return status ? status : gpu_run_rows(p, &p->frame, &task, e);
}
