#include "gpu/host_loop.h"

#include "gpu/pixel.h"

void NAME(gpu_host_row_, ISA)(const struct gpu_frame *frame, const struct gpu_rows *rows,
                              int64_t row, float *out)
{
    for (int64_t block = 0; block * GPU_THREADS < rows->widest; block++)
        for (int thread = 0; thread < GPU_THREADS; thread++)
            gpu_thread(frame, frame->kind, rows->first + row, block, thread, rows->first_pixel,
                       out);
}
