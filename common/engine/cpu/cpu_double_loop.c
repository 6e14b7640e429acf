/*
 * The loop of the CPU engine in double precision throughout, for results within 1e-9
 * of the reference: polynomials twice as long as those of cpu_loop.c on half as many lanes.
 * Compiled once per instruction set.
 */
#define CPU_DOUBLE 1
#include "engine/cpu/cpu_lattice.h"
#include "engine/derivatives/cpu_slopes.h"

static void square_shapes(const struct cpu_lattice *l, const double *step, int n,
                          struct cpu_scratch *s)
{
    offset_shape(l, step, SHAPE_SQUARE, n, s);
}

const struct cpu_kernels NAME(cpu_kernels_double_, ISA) = {
    .name = TEXT_OF(ISA),
    .identity = "cpu-" ARITHMETIC "-double",
    .block = block,
    .scatter = NAME(cpu_scatter_, ISA),
    .rows = NAME(cpu_rows_, ISA),
    .slopes = NAME(cpu_slopes_double_, ISA),
};
