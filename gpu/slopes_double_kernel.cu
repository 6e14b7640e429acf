/* The kernel of gpu/slopes_kernel.cu with lattice factors in double precision. */
#define CPU_DOUBLE 1
#include "gpu/slopes_kernel.cu"
