/* Frames in closed form.  The host lists the reflections and the pixels that each of them may
 * reach.  The GPU computes the pixels in batches. */
#include "gpu/plan.h"

#include "base/vec.h"
#include "engine/closed/closed.h"
#include "engine/reflections/photons.h"
#include "gpu/kernel.h"

enum { CLOSED_BATCH = 1 << 22 };  // maximum number of pixels of a batch

static const struct gpu_closed_beam *pack_beams(struct gpu_pack *pack, const struct closed *c)
{
    void *memory;
    const struct gpu_closed_beam *there = gpu_pack_room(pack, c->nbeams * sizeof *there, &memory);
    struct gpu_closed_beam *here = memory;
    for (size_t i = 0; i < c->nbeams; i++) {
        const struct closed_beam *from = &c->beams[i];
        struct gpu_closed_beam b = {.waves = from->waves};
        vec_copy(b.incident, from->incident);
        vec_copy(b.e, from->e);
        vec_copy(b.b, from->b);
        b.waves.channels = gpu_pack_add(pack, from->waves.channels, from->waves.count,
                                        sizeof *from->waves.channels);
        b.waves.groups =
            gpu_pack_add(pack, from->waves.groups, from->waves.begin[from->waves.levels],
                         sizeof *from->waves.groups);
        if (here)
            here[i] = b;
    }
    return there;
}

static const struct gpu_closed_spot *pack_spots(struct gpu_pack *pack, const struct closed *c,
                                                const struct gpu_closed_beam *beams)
{
    void *memory;
    const struct gpu_closed_spot *there = gpu_pack_room(pack, c->nspots * sizeof *there, &memory);
    struct gpu_closed_spot *here = memory;
    for (size_t i = 0; here && i < c->nspots; i++) {
        const struct closed_spot *from = &c->spots[i];
        here[i] = (struct gpu_closed_spot){from->spot, from->scale,
                                           beams + c->steps[from->step].beam, from->absorb};
    }
    return there;
}

static void pack_places(struct gpu_pack *pack, const struct closed *c,
                        const struct closed_row_places *sorted, struct gpu_closed *f)
{
    const size_t rows = (size_t)experiment_rows(c->x), count = sorted->begin[rows];
    void *memory[2];
    f->begin = gpu_pack_room(pack, (rows + 1) * sizeof *f->begin, &memory[0]);
    f->places = gpu_pack_room(pack, count * sizeof *f->places, &memory[1]);
    uint64_t *begin = memory[0];
    struct gpu_closed_place *places = memory[1];
    for (size_t i = 0; begin && i <= rows; i++)
        begin[i] = sorted->begin[i];
    for (size_t i = 0; places && i < count; i++) {
        const struct closed_place *from = &c->places[sorted->items[i]];
        places[i] = (struct gpu_closed_place){(uint32_t)from->spot, from->fast_min, from->fast_max};
    }
}

/* Packs the number of the first row of each panel, with the panels in the order of their pixels. */
static const int64_t *pack_rows(struct gpu_pack *pack, const struct experiment *x)
{
    void *memory;
    const int64_t *there = gpu_pack_room(pack, x->npanels * sizeof *there, &memory);
    int64_t *here = memory, row = 0;
    for (size_t i = 0; here && i < x->npanels; row += x->panels[i++].slow_pixels)
        here[gpu_panel_rank(x, &x->panels[i])] = row;
    return there;
}

static void pack_frame(struct gpu_pack *pack, const struct plan *p, const struct closed *c,
                       const struct closed_row_places *sorted, struct gpu_closed *f)
{
    *f = (struct gpu_closed){.frame = p->frame};
    f->spots = pack_spots(pack, c, pack_beams(pack, c));
    f->first_row = pack_rows(pack, c->x);
    pack_places(pack, c, sorted, f);
}

static enum status upload(struct plan *p, const struct closed *c, struct gpu_closed *f,
                          struct error *e)
{
    struct gpu_pack pack = {0};
    struct closed_row_places sorted = {0};
    enum status s = c->nspots < UINT32_MAX ? STATUS_OK : error_memory(e, "the reflections");
    closed_sort_places(c, &sorted);
    if (!s) {
        pack_frame(&pack, p, c, &sorted, f);
        s = gpu_grow_recipe(p, pack.bytes, e);
    }
    if (!s) {
        pack = gpu_pack_into(p, BLOCK_RECIPE, p->packed, p->recipe);
        pack_frame(&pack, p, c, &sorted, f);
        s = gpu_pack_send(p, &pack, e);
    }
    mem_free(sorted.begin);
    mem_free(sorted.items);
    return s;
}

static enum status run_pixels(struct plan *p, const struct gpu_closed *f, float *photons,
                              struct error *e)
{
    const int64_t pixels = experiment_pixels(p->experiment);
    enum status s = STATUS_OK;
    for (int64_t first = 0; first < pixels && !s; first += CLOSED_BATCH) {
        const size_t left = (size_t)(pixels - first);
        struct gpu_closed_batch b = {first, left < CLOSED_BATCH ? left : CLOSED_BATCH, NULL};
        if (photons)
            s = gpu_open_batch(p, BATCH_VALUES, b.count * sizeof *b.pixels, e);
        b.pixels = photons ? p->batch[BATCH_VALUES] : (float *)p->out[OUT_PHOTONS] + first;
        if (!s)
            s = p->device->closed(p->context, f, &b, photons ? photons + first : NULL, e);
    }
    return s;
}

enum status gpu_closed_run(struct plan *p, const struct recipe *recipe, float *photons,
                           atomic_uint_fast64_t *rows, struct error *e)
{
    struct closed c;
    struct gpu_closed f;
    const struct experiment *x = p->experiment;
    enum status s = closed_open(&c, x, recipe, closed_kernels_choose(NULL, NULL), p->threads, e);
    if (!s)
        s = gpu_move_panels(p, e);
    if (!s)
        s = upload(p, &c, &f, e);
    if (!s)
        s = run_pixels(p, &f, photons, e);
    closed_close(&c);
    if (!s && rows)
        atomic_fetch_add_explicit(rows, (uint_fast64_t)experiment_rows(x), memory_order_relaxed);
    return s || !photons ? s : photons_check(x, recipe->id, photons, e);
}
