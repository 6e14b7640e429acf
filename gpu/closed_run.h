/* Frames in closed form on the card. */
#ifndef BRAGG_GPU_CLOSED_RUN_H
#define BRAGG_GPU_CLOSED_RUN_H

#include "gpu/plan.h"

/* Photons, as of points, of a frame of a plan in closed form; `rows` as in struct engine. */
enum status gpu_closed_run(struct plan *p, const struct recipe *recipe, float *photons,
                           atomic_uint_fast64_t *rows, struct error *e);

#endif
