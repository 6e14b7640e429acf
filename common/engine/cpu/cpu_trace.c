/*
 * What the CPU engine tells about one pixel, under the names that the reference
 * engine uses where the quantity is the same.  Everything is read out of the
 * arrays of a block of one pixel, that is, computed by the code that computes
 * images; but a job with dense lattices is computed twice, by cpu_block.h for what leads to
 * the photons, and for these by the dense path (dense.h), which forms no such quantities.
 */
#include <math.h>

#include "engine/cpu/cpu.h"
#include "physics/crystal/shape_fast.h"

static void report(const struct cpu_job *job, const char *name, int count, const double *values,
                   const char *unit)
{
    job->trace->value(job->trace->context, name, count, values, unit);
}

static void report_one(const struct cpu_job *job, const char *name, double value, const char *unit)
{
    report(job, name, 1, &value, unit);
}

void cpu_trace_subpixel(const struct cpu_job *job, const struct cpu_scratch *s, int layer,
                        int sub_slow, int sub_fast)
{
    report(job, "layer sub_slow sub_fast", 3, (double[]){layer, sub_slow, sub_fast}, "");
    report(job, "position", 3, (double[]){s->x[0], s->y[0], s->z[0]}, "m");
}

void cpu_trace_direction(const struct cpu_job *job, const struct cpu_scratch *s)
{
    report_one(job, "airpath", 1.0 / s->inverse_airpath[0], "m");
    report_one(job, "solid_angle", s->solid_angle[0], "sr");
    report_one(job, "capture", s->capture[0], "");
}

void cpu_trace_source(const struct cpu_job *job, const struct cpu_scratch *s, size_t source)
{
    const double scale = 1.0 / INDEX_SCALE;
    report_one(job, "source", (double)source, "");
    report_one(job, "wavelength", INDEX_SCALE / job->sources[source].index_per_m, "m");
    report(job, "q", 3, (double[]){s->qx[0] * scale, s->qy[0] * scale, s->qz[0] * scale}, "1/m");
    if (job->absorbs)
        report_one(job, "capture", s->capture[0], "");
    report_one(job, "polarization", s->polarization[0], "");
    report_one(job, "factor", s->factor[0], "");
}

/* Squared structure factor of the step, relative to F_max squared. */
static double factor_sqr(const struct cpu_table *t, const struct cpu_scratch *s,
                         const struct cpu_term *term)
{
    if (t->F)
        return term->F_sqr;
    return t->F_sqr[t->flat ? t->default_slot : s->slot[0]];
}

void cpu_trace_step(const struct cpu_job *job, const struct cpu_scratch *s, size_t lattice,
                    size_t step, const struct cpu_term *term)
{
    const struct cpu_lattice *l = &job->lattices[lattice];
    const struct lattice *from = &job->recipe->lattices[lattice];
    const size_t phi = step / from->ndomains;
    const double *cell = l->cells + 9 * step;
    double hkl[3];
    for (int i = 0; i < 3; i++)
        hkl[i] =
            (cell[3 * i] * s->qx[0] + cell[3 * i + 1] * s->qy[0] + cell[3 * i + 2] * s->qz[0]) /
            INDEX_SCALE;
    report(job, "lattice phi_step domain", 3,
           (double[]){(double)lattice, (double)phi, (double)(step % from->ndomains)}, "");
    report_one(job, "phi", from->phi_rad[phi], "rad");
    report(job, "hkl", 3, hkl, "");
    report_one(job, "|F_latt|", sqrt(term->shape * l->shape_unit), "");
    report_one(job, "|F_cell|", sqrt(factor_sqr(l->table, s, term)) * l->table->F_max, "electrons");
    report_one(job, "scale", l->scale, "photons");
    report_one(job, "short_sum", term->sum, "");
}

void cpu_trace_pixel(const struct cpu_job *job, double total, float photons)
{
    report_one(job, "total", total, "photons");
    report_one(job, "steps", job->steps, "");
    report_one(job, "photons", photons, "photons");
}
