/*
 * The memory of a plan on the GPU: buffers that are kept from frame to frame, arrays that are
 * packed into one block and uploaded together, and the counts of both that --stats prints.
 *
 * The buffers of pixels make way for everything else: they are released if other data find no
 * memory, and the next frame is computed in parts of fewer rows.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/layout.h"
#include "gpu/plan.h"

size_t gpu_plan_counts(const struct plan *p, struct engine_count counts[ENGINE_COUNTS])
{
    const struct gpu_counts *c = &p->counts;
    const struct engine_count all[] = {
        {"card_tables_made", !p->after},
        {"card_tables_found", c->tables_found},
        {"card_buffers_made", c->buffers_made},
        {"card_buffers_found", c->buffers_found},
        {"card_backgrounds_made", c->backgrounds_made},
        {"card_backgrounds_found", c->backgrounds_found},
        {"card_upload_bytes", c->upload_bytes},
        {"card_places_pinned", c->places_pinned},
    };
    _Static_assert(sizeof all / sizeof *all <= ENGINE_COUNTS, "room for all");
    memcpy(counts, all, sizeof all);
    return sizeof all / sizeof *all;
}

enum status gpu_upload(struct plan *p, void *to, const void *from, size_t bytes, struct error *e)
{
    p->counts.upload_bytes += bytes;
    return p->device->upload(p->context, to, from, bytes, e);
}

/* ---- data that a frame may change ---------------------------------------------------- */

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

/* ---- buffers of pixels: photons and, if `afterwards` has them, background and counts ---- */

static void release(struct plan *p)
{
    for (int i = 0; i < GPU_OUTS; i++) {
        p->device->release(p->context, p->out[i]);
        p->out[i] = NULL;
    }
}

void gpu_drop_out(struct plan *p)
{
    release(p);
    p->afterwards.has_background = false;
}

/* Allocates all buffers for `rows` rows, or none of them. */
static enum status reserve(struct plan *p, int64_t rows, struct error *e)
{
    const size_t pixels = (size_t)(rows * p->widest);
    enum status s = STATUS_OK;
    for (int i = 0; i < GPU_OUTS && !s; i++)
        if (p->out_bytes[i])
            s = p->device->reserve(p->context, pixels * p->out_bytes[i], &p->out[i], e);
    if (s)
        release(p);
    return s;
}

/* See gpu/plan.h. Leaves 1/16 of the free memory to other processes. If the allocation fails,
 * because another process took memory meanwhile, tries half as many rows. */
enum status gpu_open_out(struct plan *p, struct error *e)
{
    size_t room, row = 0;
    p->counts.buffers_found += p->out[OUT_PHOTONS] != NULL;
    if (p->out[OUT_PHOTONS])
        return STATUS_OK;
    p->counts.buffers_made++;
    const enum status status = p->device->room(p->context, &room, e);
    if (status)
        return status;
    for (int i = 0; i < GPU_OUTS; i++)
        row += (size_t)p->widest * p->out_bytes[i];
    const size_t rows = (room - room / 16) / row;
    p->out_rows = rows < 1 ? 1 : rows < (size_t)p->rows ? (int64_t)rows : p->rows;
    while (p->out_rows > 1 && reserve(p, p->out_rows, NULL))
        p->out_rows /= 2;
    return p->out[OUT_PHOTONS] ? STATUS_OK : reserve(p, 1, e);
}

enum status gpu_reserve(struct plan *p, size_t bytes, void **memory, struct error *e)
{
    if (!p->device->reserve(p->context, bytes, memory, NULL))
        return STATUS_OK;
    gpu_drop_out(p);
    return p->device->reserve(p->context, bytes, memory, e);
}

enum status gpu_open_batch(struct plan *p, enum gpu_batch which, size_t bytes, struct error *e)
{
    if (bytes <= p->batch_bytes[which])
        return STATUS_OK;
    p->device->release(p->context, p->batch[which]);
    p->batch[which] = NULL;
    p->batch_bytes[which] = 0;
    const enum status s = gpu_reserve(p, bytes, &p->batch[which], e);
    p->batch_bytes[which] = s ? 0 : bytes;
    return s;
}

/* ---- packed arrays, which may be apart, see gpu_pack_into ------------------------------ */

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
