/* A build without CUDA has this file instead of cuda_device.c: `describe` and
 * `attach` fail with a message. */
#include "gpu/device.h"

static enum status without_cuda(struct error *e)
{
    return error_set(e, STATUS_USAGE,
                     "--engine=cuda: this build has no CUDA, nvcc was not found when it was made");
}

static enum status absent_describe(int number, int *count, char description[GPU_DESCRIPTION],
                                   struct error *e)
{
    (void)number;
    (void)count;
    (void)description;
    return without_cuda(e);
}

static enum status absent_attach(void **context, const struct engine_options *options,
                                 char description[GPU_DESCRIPTION], struct error *e)
{
    (void)options;
    (void)description;
    *context = NULL;
    return without_cuda(e);
}

const struct gpu_device gpu_device_cuda = {
    .identity = {"cuda-2", "cuda-double"},
    .describe = absent_describe,
    .attach = absent_attach,
};
