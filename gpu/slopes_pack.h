/* Puts what derivatives need into a block of memory for the card, see gpu/pack.h. */
#ifndef BRAGG_GPU_SLOPES_PACK_H
#define BRAGG_GPU_SLOPES_PACK_H

#include "engine/derivatives/slopes.h"
#include "gpu/pack.h"
#include "gpu/slopes_frame.h"

/* All of *to, for an open job: *frame is of the experiment, its tables are `tables` here and
 * `on_card` there.  STATUS_FAILED when memory is out. */
enum status gpu_pack_slopes(struct gpu_pack *pack, const struct cpu_job *job,
                            const struct slopes_frame *slopes, const struct cpu_table *tables,
                            const struct cpu_table *on_card, const struct gpu_frame *frame,
                            struct gpu_slopes *to, struct error *e);

#endif
