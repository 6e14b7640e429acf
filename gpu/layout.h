/*
 * The sizes, in bytes, of structs that code of gcc fills in and kernels of nvcc read.  Both
 * compilers must use the same layout, so both check the sizes against these numbers.
 */
#ifndef BRAGG_GPU_LAYOUT_H
#define BRAGG_GPU_LAYOUT_H

#include <assert.h>

#include "gpu/frame.h"
#include "gpu/kernel.h"

#define SIZE_IS(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
SIZE_IS(panel, 344);
SIZE_IS(gpu_panel, 360);
SIZE_IS(gpu_frame, 280);
SIZE_IS(dense_lattice, 144);
SIZE_IS(gpu_rows, 40);
SIZE_IS(gpu_after, 128);
SIZE_IS(gpu_verdict, 24);
SIZE_IS(cpu_source, 104);
SIZE_IS(cpu_lattice, 176);
SIZE_IS(cpu_table, 64);
SIZE_IS(background_scene, 120);
SIZE_IS(noise_pixels, 88);
SIZE_IS(panel_move, 88);
SIZE_IS(slopes_step, 200);
SIZE_IS(gpu_slope, 24);
SIZE_IS(gpu_slopes_source, 24);
SIZE_IS(gpu_slopes_lattice, 96);
SIZE_IS(gpu_slopes, 352);
SIZE_IS(gpu_slopes_batch, 40);
SIZE_IS(share_piece, 16);
SIZE_IS(share_run, 32);
SIZE_IS(gpu_share, 12);
SIZE_IS(gpu_keys, 32);
SIZE_IS(gpu_pieces, 64);
SIZE_IS(gpu_pieces_used, 24);
SIZE_IS(gpu_shares, 296);
SIZE_IS(gpu_shares_batch, 32);
SIZE_IS(gpu_closed_beam, 216);
SIZE_IS(gpu_closed_spot, 168);
SIZE_IS(gpu_closed_place, 12);
SIZE_IS(gpu_closed, 312);
SIZE_IS(gpu_closed_batch, 24);
#undef SIZE_IS

#endif
