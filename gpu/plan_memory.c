/*
 * The memory of a plan on the GPU: buffers that are kept from frame to frame, arrays that are
 * packed into one block and uploaded together, and the counts of both that --stats prints.
 *
 * The buffers of pixels make way for everything else: they are released if other data find no
 * memory, and the next frame is computed in parts of fewer rows.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/dense.h"
#include "gpu/kernel.h"
#include "gpu/plan.h"

size_t gpu_plan_counts(const struct plan *p, struct engine_count counts[ENGINE_COUNTS])
{
    const struct gpu_counts *c = &p->counts;
    const struct engine_count all[] = {
        {"gpu_tables_made", !p->after},
        {"gpu_tables_found", c->tables_found},
        {"gpu_buffers_made", c->buffers_made},
        {"gpu_buffers_found", c->buffers_found},
        {"gpu_backgrounds_made", c->backgrounds_made},
        {"gpu_backgrounds_found", c->backgrounds_found},
        {"gpu_upload_bytes", c->upload_bytes},
        {"gpu_places_pinned", c->places_pinned},
        {"gpu_frames_begun_early", c->begun_early},
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
static enum status reserve_rows(struct plan *p, int64_t rows, struct error *e)
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
    while (p->out_rows > 1 && reserve_rows(p, p->out_rows, NULL))
        p->out_rows /= 2;
    return p->out[OUT_PHOTONS] ? STATUS_OK : reserve_rows(p, 1, e);
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

static void drop_array(struct gpu_apart *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->device->release(a->context, a->pieces[i].there);
    mem_free(a->pieces);
    *a = (struct gpu_apart){0};
}

void gpu_apart_close(struct plan *p)
{
    for (int i = 0; i < GPU_BLOCKS; i++)
        drop_array(&p->apart[i]);
}

struct gpu_pack gpu_pack_into(struct plan *p, enum gpu_block block, void *to, void *there)
{
    struct gpu_apart *a = &p->apart[block];
    const bool wanted = getenv("BRAGG_GPU_APART") != NULL;
    drop_array(a);
    *a = (struct gpu_apart){.device = p->device, .context = p->context};
    return (struct gpu_pack){to, (uintptr_t)there, 0, wanted ? a : NULL};
}

/* Allocates `bytes` of GPU memory for the array that begins at byte `at` of a block.  Returns NULL
 * and sets a->failed if memory runs out. */
static void *gpu_apart_room(struct gpu_apart *a, size_t at, size_t bytes)
{
    struct gpu_piece piece = {.at = at, .bytes = bytes};
    struct gpu_piece *more = mem_array(a->count + 1, sizeof *more);
    if (a->device->reserve(a->context, bytes ? bytes : 1, &piece.there, NULL)) {
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

/* Decides which plans and frames are computed in the dense form, and keeps the structure factors of
 * the dense form on the GPU. */

/* Returns true if each crystal has one of these two shapes. */
static bool all_are(const struct experiment *x, enum crystal_shape shape, enum crystal_shape other)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].shape != shape && x->crystals[i].shape != other)
            return false;
    return true;
}

/* Returns true if there is no footprint, or if the footprint does not change the
 * bit-compatibility class of the frames. The host spreads the photons of a footprint with the
 * instruction set of its CPU. */
static bool footprint_is_alike(const struct plan *p)
{
    const struct cpu_kernels *here = cpu_kernels_choose(NULL, p->precision, NULL);
    return !p->footprint || !strcmp(here->identity, p->device->as_cpu(p->context, p->precision));
}

void gpu_dense_open(struct plan *p)
{
    const struct experiment *x = p->experiment;
    const bool mixed = p->precision == PRECISION_MIXED;
    const bool square = !p->closed && all_are(x, SHAPE_SQUARE, mixed ? SHAPE_SQUARE : SHAPE_ROUND);
    p->as_cpu = square && footprint_is_alike(p) && !(mixed && x->b_factors_vary);
    if (!square || !mixed)
        return;
    p->padded = mem_array(x->ncrystals, sizeof *p->padded);
    p->padded_there = mem_array(x->ncrystals, sizeof *p->padded_there);
}

void gpu_dense_close(struct plan *p)
{
    for (size_t i = 0; p->padded_there && i < p->experiment->ncrystals; i++)
        p->device->release(p->context, p->padded_there[i].F_sqr);
    cpu_dense_tables_free(p->padded, p->experiment->ncrystals);
    mem_free(p->padded_there);
}

/* Copies the structure factors *t from the host to the GPU, as *to. */
static enum status upload_table(struct plan *p, const struct dense_table *t, struct gpu_padded *to,
                                struct error *e)
{
    if (!t->F_sqr || (to->F_sqr && !memcmp(to->reach, t->reach, sizeof t->reach)))
        return STATUS_OK;
    const size_t bytes = (size_t)dense_box_items(t->reach) * sizeof *t->F_sqr;
    p->device->release(p->context, to->F_sqr);
    to->F_sqr = NULL;
    enum status status = gpu_reserve(p, bytes, (void **)&to->F_sqr, e);
    memset(to->reach, 0, sizeof to->reach);
    if (!status)
        status = gpu_upload(p, to->F_sqr, t->F_sqr, bytes, e);
    if (!status)
        memcpy(to->reach, t->reach, sizeof t->reach);
    return status;
}

enum status gpu_dense_choose(struct plan *p, struct cpu_job *job, struct error *e)
{
    enum status status = STATUS_OK;
    if (p->padded && !job->damps)  // the dense form has no B factors
        cpu_dense_choose(job, p->padded);
    for (size_t i = 0; i < p->experiment->ncrystals && job->ndense && !status; i++)
        status = upload_table(p, &p->padded[i], &p->padded_there[i], e);
    return status;
}

enum { ALIGNMENT = 256 };  // in bytes; the alignment of cudaMalloc

void *gpu_pack_room(struct gpu_pack *pack, size_t bytes, void **here)
{
    const size_t at = pack->bytes;
    pack->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *here = pack->to ? pack->to + at : NULL;
    return pack->apart ? gpu_apart_room(pack->apart, at, bytes) : (void *)(pack->base + at);
}

void *gpu_pack_add(struct gpu_pack *pack, const void *items, size_t count, size_t size)
{
    void *here;
    if (!items)
        return NULL;
    void *there = gpu_pack_room(pack, count * size, &here);
    if (here)
        memcpy(here, items, count * size);
    return there;
}

size_t gpu_panel_rank(const struct experiment *x, const struct panel *p)
{
    size_t before = 0;
    for (size_t i = 0; i < x->npanels; i++)
        before += x->panels[i].first_pixel < p->first_pixel;
    return before;
}

struct gpu_panel *gpu_panels(const struct experiment *x)
{
    struct gpu_panel *panels = mem_array(x->npanels, sizeof *panels);
    for (size_t i = 0; i < x->npanels; i++)
        panels[gpu_panel_rank(x, &x->panels[i])].panel = x->panels[i];
    for (size_t i = 1; i < x->npanels; i++)
        panels[i].first_row = panels[i - 1].first_row + panels[i - 1].panel.slow_pixels;
    for (size_t i = 0; i < x->npanels; i++)
        panels[i].nearest_column = nearest_column(&panels[i].panel);
    return panels;
}

/* Copies the geometry of the panels of *x to panels[], without their masks. */
static void gpu_panels_move(struct gpu_panel *panels, const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++) {
        struct gpu_panel *to = &panels[gpu_panel_rank(x, &x->panels[i])];
        uint8_t *mask = to->panel.mask;
        to->panel = x->panels[i];
        to->panel.mask = mask;
        to->nearest_column = nearest_column(&to->panel);
    }
}

/* Returns the shape for which the kernel of this experiment is compiled: see `shape` of struct
 * gpu_kind. */
static int32_t shape_of_all(const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return GPU_ANY_SHAPE;
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].shape != x->crystals[0].shape || x->crystals[i].interpolate)
            return GPU_ANY_SHAPE;
    return x->ncrystals ? (int32_t)x->crystals[0].shape : GPU_ANY_SHAPE;
}

static void pack_panels(struct gpu_pack *pack, const struct gpu_panel *panels,
                        struct gpu_frame *frame)
{
    void *memory;
    const size_t count = (size_t)frame->npanels;
    frame->panels = gpu_pack_room(pack, count * sizeof *panels, &memory);
    struct gpu_panel *here = memory;
    for (size_t i = 0; i < count; i++) {
        struct gpu_panel p = panels[i];
        const size_t pixels = (size_t)p.panel.fast_pixels * (size_t)p.panel.slow_pixels;
        p.panel.mask = gpu_pack_add(pack, p.panel.mask, pixels, 1);
        if (here)
            here[i] = p;
    }
}

void gpu_pack_experiment(struct gpu_pack *pack, const struct experiment *x,
                         const struct gpu_panel *panels, const struct cpu_table *tables,
                         enum engine_precision precision, struct gpu_frame *frame,
                         const struct cpu_table **on_card)
{
    void *memory;
    const bool precise = precision == PRECISION_DOUBLE;
    *frame = (struct gpu_frame){.physics = x->physics,
                                .sampling = x->sampling,
                                .kahn = x->beam.kahn,
                                .no_polarization = x->beam.no_polarization,
                                .culled = x->dmin_m > 0.0,
                                .kind = {.precise = precise, .shape = shape_of_all(x)},
                                .npanels = (int32_t)x->npanels};
    memcpy(frame->beam, x->beam.direction, sizeof frame->beam);
    pack_panels(pack, panels, frame);
    *on_card = gpu_pack_room(pack, x->ncrystals * sizeof **on_card, &memory);
    struct cpu_table *here = memory;
    for (size_t i = 0; i < x->ncrystals; i++) {
        struct cpu_table t = tables[i];
        const size_t items = (size_t)t.default_slot;
        t.F_sqr = precise ? NULL : gpu_pack_add(pack, t.F_sqr, items + 1, sizeof *t.F_sqr);
        t.F_sqr_double = gpu_pack_add(pack, t.F_sqr_double, items + 1, sizeof *t.F_sqr_double);
        t.F = gpu_pack_add(pack, t.F, items, sizeof *t.F);
        frame->kind.cubic = frame->kind.cubic || t.F;
        if (here)
            here[i] = t;
    }
}

void gpu_pack_recipe(struct gpu_pack *pack, const struct cpu_job *job,
                     const struct cpu_table *tables, const struct cpu_table *on_card,
                     struct gpu_frame *frame)
{
    void *memory;
    frame->water = job->water;
    frame->absorbs = job->absorbs;
    frame->nsources = job->nsources;
    frame->nlattices = job->nlattices;
    frame->sources = gpu_pack_add(pack, job->sources, job->nsources, sizeof *job->sources);
    frame->lattices = gpu_pack_room(pack, job->nlattices * sizeof *job->lattices, &memory);
    struct cpu_lattice *here = memory;
    for (size_t i = 0; i < job->nlattices; i++) {
        struct cpu_lattice l = job->lattices[i];
        l.crystal = NULL;
        l.table = on_card + (l.table - tables);
        l.cells = gpu_pack_add(pack, l.cells, l.nsteps, 9 * sizeof *l.cells);
        if (here)
            here[i] = l;
    }
}

void gpu_pack_dense(struct gpu_pack *pack, const struct cpu_job *job,
                    const struct gpu_panel *panels, const struct gpu_padded *padded,
                    struct gpu_frame *frame)
{
    void *memory;
    frame->ndense = job->ndense;
    frame->dense = gpu_pack_room(pack, job->ndense * sizeof *job->dense, &memory);
    struct dense_lattice *here = memory;
    for (size_t i = 0; i < job->ndense; i++) {
        struct dense_lattice l = job->dense[i];
        l.cells = gpu_pack_add(pack, l.cells, l.nsteps, 9 * sizeof *l.cells);
        l.F_sqr = l.flat ? gpu_pack_add(pack, l.F_sqr, 1, sizeof *l.F_sqr)
                         : padded[job->recipe->lattices[i].crystal].F_sqr;
        cpu_dense_widen(&l);
        if (i == 0)
            frame->only = l;
        if (here)
            here[i] = l;
    }
    frame->dense_kind = gpu_dense_kind(frame, panels);
}

void gpu_pack_scene(struct gpu_pack *pack, struct background_scene *scene)
{
    void *memory;
    const struct background_material *from = scene->materials;
    scene->sources = gpu_pack_add(pack, scene->sources, scene->nsources, sizeof *scene->sources);
    scene->absorb = gpu_pack_add(pack, scene->absorb, scene->nsources, sizeof *scene->absorb);
    scene->materials = gpu_pack_room(pack, scene->nmaterials * sizeof *from, &memory);
    struct background_material *here = memory;
    for (size_t i = 0; i < scene->nmaterials; i++) {
        struct background_material m = from[i];
        m.table.stol_1_m = gpu_pack_add(pack, m.table.stol_1_m, m.table.count, sizeof(double));
        m.table.F = gpu_pack_add(pack, m.table.F, m.table.count, sizeof(double));
        if (here)
            here[i] = m;
    }
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
