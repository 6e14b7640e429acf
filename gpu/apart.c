#include "gpu/apart.h"

#include <stdlib.h>

static void drop(struct gpu_apart *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->device->release(a->context, a->pieces[i].there);
    mem_free(a->pieces);
    *a = (struct gpu_apart){0};
}

void gpu_apart_close(struct plan *p)
{
    for (int i = 0; i < GPU_BLOCKS; i++)
        drop(&p->apart[i]);
}

struct gpu_pack gpu_pack_into(struct plan *p, enum gpu_block block, void *to, void *there)
{
    struct gpu_apart *a = &p->apart[block];
    const bool wanted = getenv("BRAGG_GPU_APART") != NULL;
    drop(a);
    *a = (struct gpu_apart){.device = p->device, .context = p->context};
    return (struct gpu_pack){to, (uintptr_t)there, 0, wanted ? a : NULL};
}

void *gpu_apart_room(struct gpu_apart *a, size_t at, size_t bytes)
{
    struct gpu_piece piece = {.at = at, .bytes = bytes};
    struct gpu_piece *more = mem_array(a->count + 1, sizeof *more);
    if (!more || a->device->reserve(a->context, bytes ? bytes : 1, &piece.there, NULL)) {
        a->failed = true;
        mem_free(more);
        return NULL;
    }
    for (size_t i = 0; i < a->count; i++)
        more[i] = a->pieces[i];
    mem_free(a->pieces);
    a->pieces = more;
    a->pieces[a->count++] = piece;
    return piece.there;
}

enum status gpu_pack_send(struct plan *p, const struct gpu_pack *pack, struct error *e)
{
    const struct gpu_apart *a = pack->apart;
    enum status status = STATUS_OK;
    if (!a)
        return gpu_upload(p, (void *)pack->base, pack->to, pack->bytes, e);
    if (a->failed)
        return error_memory(e, "arrays apart");
    for (size_t i = 0; i < a->count && !status; i++)
        if (a->pieces[i].bytes)
            status = gpu_upload(p, a->pieces[i].there, pack->to + a->pieces[i].at,
                                a->pieces[i].bytes, e);
    return status;
}
