/* The instruction sets that hot loops are compiled for; the Makefile has the flags. */
#ifndef BRAGG_BASE_ISA_H
#define BRAGG_BASE_ISA_H

#include <stdbool.h>

#include "base/error.h"

enum isa { ISA_BASELINE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

/* Whether this processor has what the Makefile compiles for it with. */
bool isa_present(enum isa isa);

/* The best that is present. */
enum isa isa_best(void);

/* That called `name`, or the best for NULL; STATUS_USAGE where the name is unknown or this
 * processor lacks the instructions. */
enum status isa_choose(enum isa *isa, const char *name, struct error *e);

/* What a hot loop calls its own of the instruction set it is compiled for: NAME(stem, ISA). */
#define NAME(stem, isa) NAME_PASTED(stem, isa)
#define NAME_PASTED(a, b) a##b

/* The initialiser of a table by instruction set of what STEMbaseline, ... are. */
#define ISA_TABLE(stem)                              \
    {                                                \
        &stem##baseline, &stem##avx2, &stem##avx512, \
    }

/* "baseline", "avx2", "avx512". */
const char *isa_name(enum isa isa);

#endif
