/* Names for stretches of time, for NVIDIA's profilers; nothing where their header is missing. */
#ifndef BRAGG_GPU_RANGES_H
#define BRAGG_GPU_RANGES_H

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

/* Begins a stretch within the one that is open, if any; range_end ends the last one. */
static inline void range_begin(const char *name)
{
    (void)nvtxRangePushA(name);
}

static inline void range_end(void)
{
    (void)nvtxRangePop();
}
#else
static inline void range_begin(const char *name)
{
    (void)name;
}

static inline void range_end(void) {}
#endif

#endif
