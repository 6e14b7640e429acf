#include "base/isa.h"

#include <string.h>

bool isa_present(enum isa isa)
{
    __builtin_cpu_init();
    switch (isa) {
    case ISA_AVX512:
#ifdef AVX512_EMULATED
        return isa_present(ISA_AVX2);
#endif
        return isa_present(ISA_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl");
    case ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case ISA_BASELINE:
        return true;
    case ISA_COUNT:
        break;
    }
    return false;
}

enum isa isa_best(void)
{
    return isa_present(ISA_AVX512) ? ISA_AVX512 : isa_present(ISA_AVX2) ? ISA_AVX2 : ISA_BASELINE;
}

enum status isa_choose(enum isa *isa, const char *name, struct error *e)
{
    if (!name) {
        *isa = isa_best();
        return STATUS_OK;
    }
    for (*isa = 0; *isa < ISA_COUNT; ++*isa)
        if (!strcmp(name, isa_name(*isa)))
            return isa_present(*isa)
                       ? STATUS_OK
                       : error_set(e, STATUS_USAGE, "this CPU does not support %s", name);
    return error_set(e, STATUS_USAGE,
                     "unknown instruction set '%s'; expected baseline, avx2 or avx512", name);
}

const char *isa_name(enum isa isa)
{
    static const char *const names[ISA_COUNT] = {"baseline", "avx2", "avx512"};
    return names[isa];
}
