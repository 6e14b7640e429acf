/* A build without CUDA has this file instead of cuda_device.c: `attach` fails with a message. */
#include "gpu/device.h"

static enum status absent_attach(void **context, const struct engine_options *options,
                                 char description[GPU_DESCRIPTION], struct error *e)
{
    (void)options;
    (void)description;
    *context = NULL;
    return error_set(e, STATUS_USAGE,
                     "--engine=cuda: this build has no CUDA, nvcc was not found when it was made");
}

const struct gpu_device gpu_device_cuda = {
    .identity = {"cuda-2", "cuda-double"},
    .attach = absent_attach,
};
