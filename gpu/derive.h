/* Derivatives on the card. */
#ifndef BRAGG_GPU_DERIVE_H
#define BRAGG_GPU_DERIVE_H

#include "engine/derivatives/derive.h"
#include "gpu/plan.h"

/* See struct engine. */
enum status gpu_derive(struct plan *p, const struct recipe *recipe,
                       const struct derive_request *request, struct error *e);

#endif
