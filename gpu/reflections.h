/* Reflections of a frame on the card. */
#ifndef BRAGG_GPU_REFLECTIONS_H
#define BRAGG_GPU_REFLECTIONS_H

#include "gpu/plan.h"

/* See struct engine. */
enum status gpu_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e);

#endif
