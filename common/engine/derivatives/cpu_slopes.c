/*
 * Data that the loops of cpu_slopes.h need for a frame, and the choice of the experiments that they
 * can compute.  Nothing here is compiled per instruction set.
 */
#include "engine/derivatives/cpu_slopes.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "physics/crystal/shape.h"

bool cpu_slopes_can(const struct experiment *x, enum engine_precision precision)
{
    if (x->physics != PHYSICS_PHYSICAL)
        return false;
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return false;
    for (size_t i = 0; i < x->ncrystals; i++) {
        const struct crystal *c = &x->crystals[i];
        if (c->interpolate || !shape_has_slopes(c->shape))
            return false;
        for (int k = 0; k < 3; k++)
            if (precision == PRECISION_MIXED && c->cells[k] > SLOPES_CELLS_MAX)
                return false;
    }
    return true;
}

/* c_ik when the direct vectors cell[] turn about `axis`, for an angle of `factor`; reciprocal[] has
 * a*_k in its columns. */
static void turn_rate(const double axis[3], double factor, const double cell[9],
                      const double reciprocal[9], double rate[9])
{
    double change[9];
    for (int i = 0; i < 3; i++) {
        vec_cross(axis, cell + 3 * i, change + 3 * i);
        vec_scale(change + 3 * i, factor, change + 3 * i);
    }
    mat_multiply(change, reciprocal, rate);
}

/* Prepares phi step `t`, domain `k` of a lattice.  The loop leaves the factors per_index out of its
 * slopes by indices. */
static void open_step(const struct slopes_frame *f, size_t index, size_t t, size_t k,
                      const double per_index[3], struct cpu_slopes_step *to)
{
    struct slopes_step step;
    double reciprocal[9];
    slopes_step(f, index, t, k, to->cell, &step);
    mat_invert(to->cell, reciprocal);
    turn_rate(step.axis, 1.0, to->cell, reciprocal, to->rate[SLOPES_MOSAIC]);
    turn_rate(step.spindle, 1.0, to->cell, reciprocal, to->rate[SLOPES_PHI]);
    turn_rate(step.spindle, step.part, to->cell, reciprocal, to->rate[SLOPES_OSC]);
    for (int i = 0; i < 9; i++) {
        to->opposite[i] = -to->cell[i];
        to->cell_A[i] = (float)(to->cell[i] * per_index[i / 3] * ANGSTROM_1_M);
        for (int rate = 0; rate < SLOPES_RATES; rate++)
            to->rate_f[rate][i] = (float)(to->rate[rate][i] * per_index[i / 3] / 2.0);
    }
}

/* c_ik of all parameters; reciprocal_A[] has a*_k in its rows. */
static void open_changes(const struct slopes_frame *f, size_t index, const double reciprocal_A[9],
                         double *change)
{
    double columns[9];
    for (int i = 0; i < 9; i++)
        columns[i] = reciprocal_A[3 * (i % 3) + i / 3] * ANGSTROM_1_M;
    for (size_t k = 0; k < f->set->count; k++) {
        const struct parameter *p = &f->set->items[k];
        mat_multiply(f->lattices[index].cell + 9 * k, columns, change + 9 * k);
        for (int i = 0; i < 9 && p->kind == PARAMETER_WAVELENGTH; i += 4)
            change[9 * k + (size_t)i] = -p->unit_SI / f->x->beam.wavelength_m;
    }
}

static void open_lattice(const struct cpu_slopes *job, size_t index, struct cpu_slopes_lattice *to)
{
    const struct cpu_lattice *from = &job->job->lattices[index];
    const struct lattice *l = &job->frame.recipe->lattices[index];
    const struct crystal *c = from->crystal;
    *to = (struct cpu_slopes_lattice){.table = from->table, .shape = from->shape};
    vec_copy(to->N, c->cells);
    const bool square = shape_is_grating(c->shape);
    to->top = square ? pow(c->cells[0] * c->cells[1] * c->cells[2], 2.0) : 1.0;
    to->per_N = square ? 1.0 / (double)SLOPES_SQUARE_SINE : 1.0;
    for (int i = 0; i < 3; i++)  // one cell is no grating
        to->per_index[i] = !square             ? c->cells[i]
                           : c->cells[i] > 1.0 ? 2.0 * to->per_N * c->cells[i]
                                               : 0.0;
    to->fudge = c->fudge;
    to->weight = l->weight;
    to->scale = job->photons * from->table->F_max * from->table->F_max / (double)from->nsteps;
    to->nsteps = from->nsteps;
    to->steps = mem_array(from->nsteps, sizeof *to->steps);
    to->change = mem_array(job->frame.set->count + 1, 9 * sizeof *to->change);
    open_changes(&job->frame, index, l->reciprocal_A, to->change);
    for (size_t i = 0; i < from->nsteps; i++) {
        memcpy(to->steps[i].cell, from->cells + 9 * i, sizeof to->steps[i].cell);
        open_step(&job->frame, index, i / l->ndomains, i % l->ndomains, to->per_index,
                  &to->steps[i]);
    }
}

static void keep_sums(struct cpu_slopes *job, bool wanted, int sum, int count)
{
    for (int i = 0; i < count && wanted; i++)
        job->kept[job->nkept++] = sum + i;
}

/* Which sums are wanted. */
static void choose_sums(struct cpu_slopes *job)
{
    for (size_t k = 0; k < job->frame.set->count; k++) {
        const struct parameter *p = &job->frame.set->items[k];
        job->cell = job->cell || slopes_of_cell(p);
        job->cells = job->cells || p->kind == PARAMETER_CELLS;
        job->fudge = job->fudge || p->kind == PARAMETER_FUDGE;
        job->rate[SLOPES_MOSAIC] = job->rate[SLOPES_MOSAIC] || p->kind == PARAMETER_MOSAIC;
        job->rate[SLOPES_PHI] = job->rate[SLOPES_PHI] || p->kind == PARAMETER_PHI0;
        job->rate[SLOPES_OSC] = job->rate[SLOPES_OSC] || p->kind == PARAMETER_OSC;
        job->share = job->share || p->kind == PARAMETER_SHARE;
        job->tilt = job->tilt || p->kind == PARAMETER_TILT;
        job->pull = job->pull || slopes_of_panel(p);
        job->v = job->v || slopes_of_source(p) || p->kind >= PARAMETER_DISTANCE;
    }
    keep_sums(job, job->cell, SLOPES_CELL, 9);
    keep_sums(job, job->cells, SLOPES_CELLS, 3);
    for (int i = 0; i < SLOPES_RATES; i++)
        keep_sums(job, job->rate[i], SLOPES_RATE + i, 1);
    keep_sums(job, job->fudge, SLOPES_FUDGE, 1);
    keep_sums(job, job->share, SLOPES_VALUE, 1);
}

/* Arrays of all threads. */
static void open_scratch(struct cpu_slopes *job, int threads)
{
    job->scratch = mem_array((size_t)threads, sizeof *job->scratch);
    job->nscratch = threads;
    for (int i = 0; i < job->nscratch; i++) {
        struct cpu_slopes_scratch *s = &job->scratch[i];
        s->lattices = mem_array(job->job->nlattices + 1, sizeof *s->lattices);
        s->gathered = mem_array(job->job->nlattices + 1, sizeof *s->gathered);
        s->of = mem_array(job->frame.set->count + 1, sizeof *s->of);
    }
}

static void close_slopes(struct cpu_slopes *job)
{
    for (int i = 0; i < job->nscratch; i++) {
        mem_free(job->scratch[i].lattices);
        mem_free(job->scratch[i].gathered);
        mem_free(job->scratch[i].of);
    }
    for (size_t i = 0; i < job->job->nlattices; i++) {
        mem_free(job->lattices[i].steps);
        mem_free(job->lattices[i].change);
    }
    mem_free(job->lattices);
    mem_free(job->scratch);
    slopes_close(&job->frame);
}

/* See derive_pixels. */
static void pixels(const void *context, const struct panel *p, const int64_t *numbers, int count,
                   double (*values)[DERIVE_BLOCK])
{
    const struct cpu_slopes *job = context;
    const struct cpu_slopes_where where = {p, numbers, count};
    job->block(job, &where, &job->scratch[omp_get_thread_num()], values);
}

enum status cpu_slopes_derive(const struct cpu_job *cpu, const struct cpu_kernels *kernels,
                              struct footprint *footprint, int threads,
                              const struct derive_request *request, struct error *e)
{
    const struct experiment *x = cpu->x;
    struct cpu_slopes job = {.job = cpu, .block = kernels->slopes};
    const struct derive_job served = {.x = x,
                                      .recipe = cpu->recipe,
                                      .footprint = footprint,
                                      .threads = threads,
                                      .pixels = pixels,
                                      .context = &job};
    slopes_open(&job.frame, x, cpu->recipe, request);
    const double samples = (double)cpu->nsources * x->sampling.oversample * x->sampling.oversample;
    job.photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2 / samples;
    job.lattices = mem_array(cpu->nlattices + 1, sizeof *job.lattices);
    for (size_t i = 0; i < cpu->nlattices; i++)
        open_lattice(&job, i, &job.lattices[i]);
    choose_sums(&job);
    open_scratch(&job, threads);
    const enum status s = derive_run(&served, request, e);
    close_slopes(&job);
    return s;
}
