#include "host_loop.h"

#include "gpu/dense.h"
#include "gpu/pixel.h"
#include "gpu/shares.h"

/* Computes the blocks of a row in the dense form.  Each block has a single thread. */
static void dense_blocks(const struct gpu_frame *frame, const struct gpu_rows *rows, int64_t row,
                         float *out, uint64_t *worst)
{
    const struct gpu_team team = {0, 1};
    const struct gpu_dense_kind kind = frame->dense_kind;
    const int pixels = gpu_dense_pixels(kind, rows->each);
    struct gpu_room room;
    struct gpu_dense_pixel pixel;
    for (int64_t block = 0; block * pixels < rows->widest; block++)
        gpu_dense_block(frame, kind, rows->first + row, block, pixels, team, rows->first_pixel,
                        &room, &pixel, out, worst);
}

uint64_t NAME(gpu_host_row_, ISA)(const struct gpu_frame *frame, const struct gpu_rows *rows,
                                  int64_t row, float *out)
{
    uint64_t worst = GPU_GOOD;
    if (frame->ndense) {
        dense_blocks(frame, rows, row, out, &worst);
        return worst;
    }
    for (int64_t block = 0; block * GPU_THREADS < rows->widest; block++)
        for (int thread = 0; thread < GPU_THREADS; thread++)
            gpu_thread(frame, frame->kind, rows->first + row, block, thread, rows->first_pixel,
                       out);
    return GPU_GOOD;
}

void NAME(gpu_host_shares_, ISA)(const struct gpu_shares *frame,
                                 const struct gpu_shares_batch *batch,
                                 const struct gpu_pieces *pieces, int threads)
{
#pragma omp parallel for schedule(dynamic, GPU_THREADS) num_threads(threads)
    for (size_t i = 0; i < batch->count; i++)
        gpu_shares_thread(frame, frame->frame.kind, batch, i);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < batch->count; i += GPU_SHARES_RUN)
        gpu_pieces_thread(frame, batch, pieces, i / GPU_SHARES_RUN);
}
