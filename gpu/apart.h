/*
 * Blocks of packed arrays on their way to the card.  For debugging, where the environment has
 * BRAGG_GPU_APART, each array gets memory of its own there, so that a tool that watches memory sees
 * a thread that reads beyond the end of one.
 */
#ifndef BRAGG_GPU_APART_H
#define BRAGG_GPU_APART_H

#include "gpu/pack.h"
#include "gpu/plan.h"

/* A pack that writes to the host memory to[] the bytes that will be at the device address `there`.
 * Arrays that the block had in memory of their own before are freed. */
struct gpu_pack gpu_pack_into(struct plan *p, enum gpu_block block, void *to, void *there);

/* Uploads the packed arrays. */
enum status gpu_pack_send(struct plan *p, const struct gpu_pack *pack, struct error *e);

/* Frees the arrays that blocks have in memory of their own. */
void gpu_apart_close(struct plan *p);

#endif
