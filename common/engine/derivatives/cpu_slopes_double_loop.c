/*
 * Derivatives in double precision throughout.  Compiled once per instruction set.
 */
#define CPU_DOUBLE 1
#include "engine/derivatives/cpu_slopes_block.h"

void NAME(cpu_slopes_double_, ISA)(const struct cpu_slopes *job,
                                   const struct cpu_slopes_where *where,
                                   struct cpu_slopes_scratch *s, double (*values)[DERIVE_BLOCK])
{
    block(job, where, s, values);
}
