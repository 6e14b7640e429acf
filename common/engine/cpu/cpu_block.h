/*
 * A block of pixels, whatever the precision of its lattices: the sums over layers,
 * subpixels and sources.  A part of the loops of the CPU engine, compiled once per
 * instruction set (ISA = baseline, avx2, avx512); cpu_lattice.h
 * defines add_lattice.  Loops marked "vectorised" must be vectorised by the
 * compiler; scripts/check-vectorised reads its report.  They run over
 * CPU_LANES * n pixels, so that no remainder is left, and over arrays of one struct,
 * so that nothing aliases.
 */
#ifndef BRAGG_ENGINE_CPU_BLOCK_H
#define BRAGG_ENGINE_CPU_BLOCK_H

#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_pixels.h"
#include "engine/reflections/photons.h"

/* Adds all steps of one lattice to s->total, for the current source and subpixel. */
static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s);

/* Adds one source to the sums of the current subpixel. */
static void add_source(const struct cpu_job *job, const struct panel *p, int layer, size_t index,
                       int n, struct cpu_scratch *s)
{
    const struct cpu_source *source = &job->sources[index];
    const struct experiment *x = job->x;
    scattering(source, n, s);
    if (job->absorbs)
        captures(p, layer, source->absorb, n, s);
    if (x->dmin_m > 0.0)
        culls(source, n, s);
    if (!x->beam.no_polarization && x->sampling.each_polarization)
        polarizations(source, x->beam.kahn, true, n, s);
    else if (!x->beam.no_polarization)
        polarizations(source, x->beam.kahn, false, n, s);
    factors(source, &x->sampling, n, s);
    if (job->trace)
        cpu_trace_source(job, s, index);
    const double water = job->water;
    if (water > 0.0)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] = fused(s->factor[i], water, s->total[i]);
    for (size_t l = 0; l < job->nlattices; l++)
        if (!job->lattices[l].scattered)
            add_lattice(job, l, n, s);
}

/* Adds one subpixel of one layer.  Where the options do not ask for the solid angle, the capture
 * fraction or the polarization of each subpixel, the value of the first subpixel is used, as in the
 * reference engine.  Where the capture fraction differs between sources, it is computed for each
 * subpixel. */
static void add_subpixel(const struct cpu_job *job, const struct cpu_where *w, struct subpixel sub,
                         int n, struct cpu_scratch *s)
{
    const struct experiment *x = job->x;
    const bool first = !sub.slow && !sub.fast;
    flat_positions(w, x->sampling.oversample, sub, n, s);
    if (w->panel->curved && x->physics == PHYSICS_FAITHFUL)
        curve_positions_faithful(w->panel, x->beam.direction, n, s);
    else if (w->panel->curved)
        curve_positions(w, x->beam.direction, x->sampling.oversample, sub, n, s);
    if (job->trace)
        cpu_trace_subpixel(job, s, sub.layer, sub.slow, sub.fast);
    directions(n, s);
    if (x->sampling.each_solid_angle || (first && !sub.layer))
        solid_angles(w->panel, n, s);
    if (x->sampling.each_thickness || first)
        captures(w->panel, sub.layer, 1.0, n, s);
    if (job->trace)
        cpu_trace_direction(job, s);
    for (size_t i = 0; i < (job->lean ? 1 : job->nsources); i++)
        add_source(job, w->panel, sub.layer, i, n, s);
}

/* See struct cpu_kernels.  Lanes beyond `count` compute pixels that are not used. */
static void block(const struct cpu_job *job, const struct cpu_where *w, struct cpu_scratch *s,
                  float *out)
{
    const struct sampling *each = &job->x->sampling;
    const int n = (w->count + CPU_LANES - 1) / CPU_LANES;
    const double polarization = job->x->beam.no_polarization ? 1.0 : 0.0;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        s->total[i] = 0.0;
        s->polarization[i] = polarization;
        s->kept[i] = 1.0;
    }
    /* lean: only the first subpixel is asked, for solid angle and polarization */
    const int64_t count = job->lean ? 1 : subpixels_of(w->panel, each->oversample);
    for (int64_t i = 0; i < count; i++)
        add_subpixel(job, w, subpixel_at(i, each->oversample), n, s);
    cpu_add_sums(job, w, s->total);
    if (!each->each_polarization)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] *= s->polarization[i];
    if (!each->each_solid_angle)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] *= s->solid_angle[i];
    for (int i = 0; i < w->count; i++)
        out[i] = (float)s->total[i];
    if (!photons_are_finite(out, (size_t)w->count))
        s->not_finite = true;
    if (job->trace && !job->ndense)
        cpu_trace_pixel(job, s->total[0], out[0]);
}

#endif
