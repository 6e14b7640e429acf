#include "gpu/slopes_pack.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "physics/constants.h"

/* Moves of the panels in the order of their pixels. */
static const struct panel_move *pack_moves(struct gpu_pack *pack, const struct slopes_frame *slopes)
{
    const struct experiment *x = slopes->x;
    const size_t count = slopes->set->count;
    void *memory;
    const struct panel_move *there =
        gpu_pack_room(pack, x->npanels * count * sizeof *slopes->moves, &memory);
    struct panel_move *here = memory;
    for (size_t i = 0; here && i < x->npanels; i++)
        memcpy(here + gpu_panel_rank(x, &x->panels[i]) * count, slopes->moves + i * count,
               count * sizeof *here);
    return there;
}

static const struct gpu_slope *pack_set(struct gpu_pack *pack, const struct parameters *set)
{
    void *memory;
    const struct gpu_slope *there = gpu_pack_room(pack, set->count * sizeof *there, &memory);
    struct gpu_slope *here = memory;
    for (size_t k = 0; here && k < set->count; k++) {
        const struct parameter *p = &set->items[k];
        here[k] = (struct gpu_slope){p->kind, p->axis, p->index, p->unit_SI};
    }
    return there;
}

static const struct gpu_slopes_source *pack_sources(struct gpu_pack *pack,
                                                    const struct slopes_frame *slopes)
{
    const struct recipe *r = slopes->recipe;
    const struct source *sources = r->nsources ? r->sources : slopes->x->beam.sources;
    const size_t count = slopes->set->count;
    void *memory;
    const struct gpu_slopes_source *there =
        gpu_pack_room(pack, slopes->nsources * sizeof *there, &memory);
    struct gpu_slopes_source *here = memory;
    for (size_t i = 0; i < slopes->nsources; i++) {
        const struct slopes_source *from = &slopes->sources[i];
        const struct gpu_slopes_source s = {
            sources[i].wavelength_m, gpu_pack_add(pack, from->ln_wave, count, sizeof(double)),
            gpu_pack_add(pack, from->turned, count, 3 * sizeof(double))};
        if (here)
            here[i] = s;
    }
    return there;
}

/* All steps of lattice `index`. */
static const struct slopes_step *pack_steps(struct gpu_pack *pack, const struct cpu_job *job,
                                            const struct slopes_frame *slopes, size_t index)
{
    const struct cpu_lattice *from = &job->lattices[index];
    const size_t domains = slopes->recipe->lattices[index].ndomains;
    void *memory;
    const struct slopes_step *there = gpu_pack_room(pack, from->nsteps * sizeof *there, &memory);
    struct slopes_step *here = memory;
    for (size_t i = 0; here && i < from->nsteps; i++)
        slopes_step(slopes, index, i / domains, i % domains, from->cells + 9 * i, &here[i]);
    return there;
}

static struct gpu_slopes_lattice pack_lattice(struct gpu_pack *pack, const struct cpu_job *job,
                                              const struct slopes_frame *slopes, size_t index)
{
    const struct cpu_lattice *from = &job->lattices[index];
    const struct beam *beam = &job->x->beam;
    const struct sampling *each = &job->x->sampling;
    const double samples = (double)job->nsources * each->oversample * each->oversample;
    struct gpu_slopes_lattice l = {
        .shape = from->shape,
        .fudge = from->crystal->fudge,
        .nsteps = from->nsteps,
        .steps = pack_steps(pack, job, slopes, index),
        .cell = gpu_pack_add(pack, slopes->lattices[index].cell, slopes->set->count,
                             9 * sizeof(double)),
        .scale = ELECTRON_RADIUS_SQR_M2 * beam->fluence_ph_m2 / samples * from->table->F_max *
                 from->table->F_max / (double)from->nsteps,
        .weight = slopes->recipe->lattices[index].weight,
    };
    vec_copy(l.N, from->crystal->cells);
    return l;
}

static enum status pack_lattices(struct gpu_pack *pack, const struct cpu_job *job,
                                 const struct slopes_frame *slopes, const struct cpu_table *tables,
                                 const struct cpu_table *on_card, struct gpu_slopes *to,
                                 struct error *e)
{
    const size_t count = job->nlattices;
    void *memory;
    double *none = mem_array(slopes->set->count + 1, 9 * sizeof *none);
    if (!none)
        return error_memory(e, "the derivatives");
    to->nlattices = count + (job->water > 0.0);
    to->lattices = gpu_pack_room(pack, (count + 1) * sizeof *to->lattices, &memory);
    struct gpu_slopes_lattice *here = memory;
    for (size_t i = 0; i <= count; i++) {
        struct gpu_slopes_lattice l = {.scale = 1.0, .weight = 1.0, .value = job->water};
        if (i < count)
            l = pack_lattice(pack, job, slopes, i);
        else
            l.cell = gpu_pack_add(pack, none, slopes->set->count, 9 * sizeof *none);
        l.table = on_card + (i < count ? job->lattices[i].table - tables : 0);
        if (here)
            here[i] = l;
    }
    mem_free(none);
    return STATUS_OK;
}

enum status gpu_pack_slopes(struct gpu_pack *pack, const struct cpu_job *job,
                            const struct slopes_frame *slopes, const struct cpu_table *tables,
                            const struct cpu_table *on_card, const struct gpu_frame *frame,
                            struct gpu_slopes *to, struct error *e)
{
    *to = (struct gpu_slopes){.frame = *frame, .count = slopes->set->count};
    vec_copy(to->axis, job->x->beam.polarization);
    to->frame.nsources = job->nsources;
    to->frame.absorbs = job->absorbs;
    to->frame.sources = gpu_pack_add(pack, job->sources, job->nsources, sizeof *job->sources);
    to->set = pack_set(pack, slopes->set);
    to->moves = pack_moves(pack, slopes);
    to->sources = pack_sources(pack, slopes);
    return pack_lattices(pack, job, slopes, tables, on_card, to, e);
}
