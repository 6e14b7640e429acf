#define CPU_DOUBLE 1
#include "gpu/slopes_loop.c"
