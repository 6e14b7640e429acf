#include "base/isa.h"
#include "engine/detector/noise_loop.h"

const struct noise_kernels *noise_kernels_choose(const char *isa, struct error *e)
{
    static const struct noise_kernels *const all[ISA_COUNT] = ISA_TABLE(noise_kernels_);
    enum isa at;
    return isa_choose(&at, isa, e) ? NULL : all[at];
}
