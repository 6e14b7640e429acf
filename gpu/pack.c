#include "gpu/pack.h"

#include <string.h>

#include "gpu/dense.h"
#include "gpu/plan.h"

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
    for (size_t i = 0; panels && i < x->npanels; i++)
        panels[gpu_panel_rank(x, &x->panels[i])].panel = x->panels[i];
    for (size_t i = 1; panels && i < x->npanels; i++)
        panels[i].first_row = panels[i - 1].first_row + panels[i - 1].panel.slow_pixels;
    for (size_t i = 0; panels && i < x->npanels; i++)
        panels[i].nearest_column = nearest_column(&panels[i].panel);
    return panels;
}

void gpu_panels_move(struct gpu_panel *panels, const struct experiment *x)
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
