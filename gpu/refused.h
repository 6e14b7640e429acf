/*
 * What the CUDA engine does not compute, by the options that ask for it.  The engine refuses these
 * experiments (gpu/engine.c), and bragg-run does not choose a GPU for pipelines with these options
 * (stages/run/gpu_choice.c).  This header needs no other one, so that bragg-run is not linked with
 * the CUDA runtime.
 */
#ifndef BRAGG_GPU_REFUSED_H
#define BRAGG_GPU_REFUSED_H

/* ROW(program, option, refused): the engine refuses the experiment `x` with the engine options
 * `how` if `refused` is true. */
#define GPU_REFUSES(ROW)                                      \
    ROW("bragg-geometry", "diffuse-sigma", diffuse_wanted(x)) \
    ROW("bragg-intensity", "faint", how->faint > 0.0)

/* ROW(program, option): some experiments with the option are refused: derivatives of closed forms
 * and of interpolated structure factors (gpu/derive.c), the trace of a smeared sensor
 * (plan_trace). */
#define GPU_REFUSES_SOME(ROW)             \
    ROW("bragg-intensity", "derivatives") \
    ROW("bragg-intensity", "trace-pixel")

#endif
