/*
 * Derivatives in mixed precision: indices in double precision, lattice factors and short sums in
 * single.  Compiled once per instruction set.
 */
#define CPU_DOUBLE 0
#include "engine/derivatives/cpu_slopes_block.h"

void NAME(cpu_slopes_, ISA)(const struct cpu_slopes *job, const struct cpu_slopes_where *where,
                            struct cpu_slopes_scratch *s, double (*values)[DERIVE_BLOCK])
{
    block(job, where, s, values);
}
