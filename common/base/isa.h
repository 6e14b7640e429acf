/* The instruction sets for which hot loops are compiled.  The Makefile has the compiler flags. */
#ifndef BRAGG_BASE_ISA_H
#define BRAGG_BASE_ISA_H

#include <stdbool.h>

#include "base/error.h"

enum isa { ISA_BASELINE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

/* Returns true if this CPU has the instructions that the Makefile enables for `isa`. */
bool isa_present(enum isa isa);

/* Returns the best instruction set of this CPU. */
enum isa isa_best(void);

/* Finds the instruction set called `name`; NULL: the best one.  STATUS_USAGE: the name is unknown,
 * or this CPU does not have the instructions. */
enum status isa_choose(enum isa *isa, const char *name, struct error *e);

/* Name of a function of a hot loop, which is compiled once per instruction set: NAME(stem, ISA). */
#define NAME(stem, isa) NAME_PASTED(stem, isa)
#define NAME_PASTED(a, b) a##b

/* Initialiser of a table with one entry per instruction set: STEMbaseline, STEMavx2, ... */
#define ISA_TABLE(stem)                              \
    {                                                \
        &stem##baseline, &stem##avx2, &stem##avx512, \
    }

/* Returns "baseline", "avx2" or "avx512". */
const char *isa_name(enum isa isa);

#endif
