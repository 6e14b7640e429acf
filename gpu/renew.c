/* Data of a plan on the GPU that a frame may change, and how they are renewed. */
#include <string.h>

#include "gpu/layout.h"
#include "gpu/plan.h"

enum status gpu_grow_recipe(struct plan *p, size_t bytes, struct error *e)
{
    p->counts.buffers_found += bytes <= p->recipe_bytes;
    if (bytes <= p->recipe_bytes)
        return STATUS_OK;
    p->counts.buffers_made++;
    p->device->take_back(p->context, p->packed);
    p->packed = NULL;
    p->device->release(p->context, p->recipe);
    p->recipe = NULL;
    p->recipe_bytes = 0;
    void *packed;
    enum status status = p->device->lend(p->context, bytes, &packed, e);
    p->packed = packed;
    if (!status)
        status = gpu_reserve(p, bytes, &p->recipe, e);
    p->recipe_bytes = status ? 0 : bytes;
    return status;
}

enum status gpu_move_panels(struct plan *p, struct error *e)
{
    if (memcmp(p->by_m, p->moved.by_m, sizeof p->by_m) == 0)
        return STATUS_OK;
    memcpy(p->by_m, p->moved.by_m, sizeof p->by_m);
    p->afterwards.has_background = false;
    gpu_panels_move(p->panels, p->experiment);
    return gpu_upload(p, (void *)(uintptr_t)p->frame.panels, p->panels,
                      p->experiment->npanels * sizeof *p->panels, e);
}
