#define CPU_DOUBLE 1
#include "slopes_loop.c"
