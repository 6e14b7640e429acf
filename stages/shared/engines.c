#include "engines.h"

#include <string.h>

#include "gpu/gpu.h"

const struct engine *const engines[] = {&engine_reference, &engine_cpu, &engine_cuda, NULL};

const struct engine *engine_find(const char *name)
{
    for (const struct engine *const *engine = engines; *engine; engine++)
        if (strcmp((*engine)->name, name) == 0)
            return *engine;
    return NULL;
}
