/*
 * Data that the CPU engine prepares: structure factors once per experiment; sources, cell vectors
 * and scale factors once per frame.  Nothing here is compiled per instruction set, and the only
 * function of the C library used is sqrt, so that all kernels start from the same bits.
 */
#include <math.h>

#include "base/units.h"
#include "base/vec.h"
#include "engine/cpu/cpu.h"
#include "engine/dense/faint.h"
#include "engine/reference/recipe_check.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/shape_fast.h"
#include "physics/detector/sensor.h"

/* ---- structure factors ------------------------------------------------------- */

static double largest_F(const struct hkl_table *t, size_t count)
{
    double largest = fabs(t->default_F);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(t->F[i]));
    return largest > 0.0 ? largest : 1.0;
}

static double relative_sqr(double F, double F_max)
{
    return (F / F_max) * (F / F_max);
}

/* Computes the squares of the structure factors of the table. The last item is the square of
 * default_F. */
static void square_table(struct cpu_table *t, const struct hkl_table *from, size_t count,
                         enum engine_precision precision)
{
    t->F_sqr = mem_array(count + 1, sizeof *t->F_sqr);
    if (precision == PRECISION_DOUBLE)
        t->F_sqr_double = mem_array(count + 1, sizeof *t->F_sqr_double);
    for (size_t i = 0; i <= count; i++) {
        const double F_sqr = relative_sqr(i < count ? from->F[i] : from->default_F, t->F_max);
        t->F_sqr[i] = (float)F_sqr;
        if (t->F_sqr_double)
            t->F_sqr_double[i] = F_sqr;
    }
}

enum status cpu_table_open(struct cpu_table *t, const struct crystal *c,
                           enum engine_precision precision, struct error *e)
{
    const struct hkl_table *from = &c->table;
    *t = (struct cpu_table){0};
    size_t count = 0;
    if (!from->F || from->count[0] <= 0 || from->count[1] <= 0 || from->count[2] <= 0)
        t->flat = true;
    else if (!size_multiply((size_t)from->count[0], (size_t)from->count[1], &count) ||
             !size_multiply(count, (size_t)from->count[2], &count) || count >= INT32_MAX)
        return error_set(e, STATUS_INPUT, "a box of %d x %d x %d structure factors is too large",
                         from->count[0], from->count[1], from->count[2]);
    t->F_max = largest_F(from, count);
    square_table(t, from, count, precision);
    t->default_slot = (int32_t)count;
    bool room = !t->flat;
    for (int i = 0; i < 3; i++) {
        t->min[i] = from->min[i];
        t->count[i] = t->flat ? 0 : from->count[i];
        room = room && from->count[i] >= 4;
    }
    t->F = room && c->interpolate ? from->F : NULL;
    return STATUS_OK;
}

void cpu_table_free(struct cpu_table *t)
{
    mem_free(t->F_sqr);
    mem_free(t->F_sqr_double);
    *t = (struct cpu_table){0};
}

enum status cpu_tables_open(struct cpu_table **tables, const struct experiment *x,
                            enum engine_precision precision, struct error *e)
{
    *tables = mem_array(x->ncrystals, sizeof **tables);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < x->ncrystals && !status; i++)
        status = cpu_table_open(&(*tables)[i], &x->crystals[i], precision, e);
    return status;
}

void cpu_tables_free(struct cpu_table *tables, const struct experiment *x)
{
    for (size_t i = 0; tables && i < x->ncrystals; i++)
        cpu_table_free(&tables[i]);
    mem_free(tables);
}

/* ---- sources ----------------------------------------------------------------- */

static void source_open(struct cpu_source *to, const struct source *from,
                        const struct experiment *x)
{
    for (int i = 0; i < 3; i++)
        to->incident[i] = -from->direction[i];
    to->index_per_m = INDEX_SCALE / from->wavelength_m;
    to->weight = from->weight * sensor_signal(&x->beam, from->wavelength_m);
    const double reach = x->dmin_m > 0.0 ? from->wavelength_m / x->dmin_m : HUGE_VAL;
    to->reach_sqr = reach * reach;
    polarization_axes(to->incident, x->beam.polarization, to->e, to->b);
}

static enum status absorb_open(struct cpu_job *job, const struct source *sources, struct error *e)
{
    double *ratios = mem_array(job->nsources, sizeof *ratios);
    const enum status s = sensor_ratios(job->x, sources, job->nsources, ratios, &job->absorbs, e);
    for (size_t i = 0; i < job->nsources && !s; i++)
        job->sources[i].absorb = ratios[i];
    mem_free(ratios);
    return s;
}

/* ---- lattices ---------------------------------------------------------------- */

/* Computes the cell vectors of all steps, in the order of the reference engine. */
static void multiply_cells(const struct lattice *l, double *cells)
{
    for (size_t t = 0; t < l->nphi; t++)
        for (size_t k = 0; k < l->ndomains; k++, cells += 9)
            for (int i = 0; i < 3; i++) {
                const double *turned = l->cells_m + 9 * t + 3 * i;
                if (l->mosaic)
                    mat_apply(l->domains + 9 * k, turned, cells + 3 * i);
                else
                    vec_copy(cells + 3 * i, turned);
            }
}

/* Returns an upper bound of |index| for all sources: |cell| |q|, with |q| <= 2/wavelength. */
static double largest_index(const struct cpu_job *job, const struct cpu_lattice *l)
{
    double cell = 0.0, per_m = 0.0;
    for (size_t i = 0; i < 3 * l->nsteps; i++)
        cell = fmax(cell, vec_length(l->cells + 3 * i));
    for (size_t i = 0; i < job->nsources; i++)
        per_m = fmax(per_m, (1.0 + vec_length(job->sources[i].incident)) *
                                job->sources[i].index_per_m / INDEX_SCALE);
    return cell * per_m;
}

/* Sets what the four shapes need in addition to the cell. */
static enum status shape_open(struct cpu_lattice *to, const struct lattice *l, bool faithful,
                              struct error *e)
{
    const struct crystal *c = to->crystal;
    const double N[3] = {c->cells[0], c->cells[1], c->cells[2]};
    const double cells = N[0] * N[1] * N[2];
    int exponent;
    for (int i = 0; i < 3; i++) {
        if (!(N[i] >= 1.0 && N[i] <= 1e6))
            return error_set(e, STATUS_INPUT,
                             "the crystal has %g cells along an axis; expected 1 to 1000000", N[i]);
        to->N[i] = (float)N[i];
        to->turns[i] = (uint32_t)N[i] << 16;
        to->wide = to->wide || N[i] > WIDE_CELLS;
        to->cells_fudge[i] = N[i] * N[i] * c->fudge;
    }
    (void)frexp(cells, &exponent);
    to->start = ldexpf(1.0f, -exponent);
    to->shape_unit = shape_square_unit(to->shape, cells, (double)to->start);
    to->scale *= to->shape_unit;
    shape_form(c, l->reciprocal_A, faithful, to->form);
    return STATUS_OK;
}

static enum status lattice_open(struct cpu_job *job, struct cpu_lattice *to,
                                const struct cpu_table *tables, const struct lattice *l,
                                double photons, struct error *e)
{
    size_t items;
    to->crystal = &job->crystals[to - job->lattices];
    to->shape = to->crystal->shape;
    to->table = &tables[l->crystal];
    to->scale = photons * l->weight * to->table->F_max * to->table->F_max;
    to->damping_m2 = lattice_damping_m2(l);
    job->damps = job->damps || to->damping_m2 > 0.0;
    if (!size_multiply(l->nphi, l->ndomains, &to->nsteps) || !size_multiply(to->nsteps, 9, &items))
        return error_set(e, STATUS_INPUT,
                         "%zu phi steps x %zu mosaic domains are too many for this engine. Reduce "
                         "--phi-steps or --mosaic-domains",
                         l->nphi, l->ndomains);
    to->scale /= (double)to->nsteps;
    to->cells = mem_array(items, sizeof *to->cells);
    multiply_cells(l, to->cells);
    const double largest = largest_index(job, to);
    if (!(largest < INDEX_LIMIT))
        return error_set(e, STATUS_INPUT, "the indices reach %.3g; expected less than %g: %s",
                         largest, INDEX_LIMIT, "only --engine=reference supports larger ones");
    return shape_open(to, l, job->x->physics == PHYSICS_FAITHFUL, e);
}

/* ---- the frame --------------------------------------------------------------- */

enum status cpu_job_open_slopes(struct cpu_job *job, const struct experiment *x,
                                const struct cpu_table *tables, const struct recipe *r,
                                struct error *e)
{
    *job = (struct cpu_job){.x = x, .recipe = r};
    enum status status = recipe_check(x, r, e);
    if (status)
        return status;
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    job->nsources = r->nsources ? r->nsources : x->beam.nsources;
    job->nlattices = r->nlattices;
    job->sources = mem_array(job->nsources, sizeof *job->sources);
    job->lattices = mem_array(job->nlattices, sizeof *job->lattices);
    job->crystals = recipe_crystals(x, r);
    for (size_t i = 0; i < job->nsources; i++)
        source_open(&job->sources[i], &sources[i], x);
    if ((status = absorb_open(job, sources, e)))
        return status;
    const double samples = (double)job->nsources * x->sampling.oversample * x->sampling.oversample;
    const double photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2 / samples;
    const double w = x->water_m;
    job->steps = samples * recipe_lattice_steps(r, 0);
    job->water = photons * (2.57 * 2.57 * w * w * w * 1e6 * AVOGADRO_1_MOL / 18.0);
    for (size_t i = 0; i < job->nlattices && !status; i++)
        status = lattice_open(job, &job->lattices[i], tables, &r->lattices[i], photons, e);
    return status;
}

enum status cpu_job_open(struct cpu_job *job, const struct experiment *x,
                         const struct cpu_table *tables, const struct recipe *r, struct error *e)
{
    const enum status status = cpu_job_open_slopes(job, x, tables, r, e);
    for (size_t i = 0; i < 3 * job->nlattices && !status; i++) {
        const double cells = job->lattices[i / 3].crystal->cells[i % 3];
        if (cells != floor(cells))
            return error_set(
                e, STATUS_INPUT,
                "the crystal has %g cells along an axis; expected a whole number from 1 to 1000000",
                cells);
    }
    return status;
}

void cpu_job_close(struct cpu_job *job)
{
    for (size_t i = 0; job->lattices && i < job->nlattices; i++)
        mem_free(job->lattices[i].cells);
    mem_free(job->lattices);
    mem_free(job->crystals);
    mem_free(job->sources);
    mem_free(job->dense);
    dense_faint_close(job);
    job->dense = NULL;
    job->lattices = NULL;
    job->crystals = NULL;
    job->sources = NULL;
}
