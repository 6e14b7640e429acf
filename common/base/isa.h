/* The instruction sets that hot loops are compiled for; the Makefile has the flags. */
#ifndef BRAGG_BASE_ISA_H
#define BRAGG_BASE_ISA_H

#include <stdbool.h>

enum isa { ISA_BASELINE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

/* Whether this processor has what the Makefile compiles for it with. */
bool isa_present(enum isa isa);

/* The best that is present. */
enum isa isa_best(void);

/* "baseline", "avx2", "avx512". */
const char *isa_name(enum isa isa);

#endif
