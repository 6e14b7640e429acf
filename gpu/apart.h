/*
 * Blocks of packed arrays on their way to the card.  For debugging, where the environment has
 * BRAGG_GPU_APART, each array gets memory of its own there, so that a tool that watches memory sees
 * a thread that reads beyond the end of one.
 */
#ifndef BRAGG_GPU_APART_H
#define BRAGG_GPU_APART_H

#include "gpu/pack.h"
#include "gpu/plan.h"

/* A pack that writes to to[] here what will stand at `there`.  What the block had apart before is
 * given back. */
struct gpu_pack gpu_pack_into(struct plan *p, enum gpu_block block, void *to, void *there);

/* Uploads what was packed. */
enum status gpu_pack_send(struct plan *p, const struct gpu_pack *pack, struct error *e);

/* Gives back what blocks have apart. */
void gpu_apart_close(struct plan *p);

#endif
