/* Which card a process takes. */
#include "gpu/device.h"

enum status gpu_choose(int count, const struct engine_options *options, int *card, struct error *e)
{
    *card = options->device_by_turns ? options->device % count : options->device;
    if (*card < count)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE, "--device: there is no GPU %d, must be 0 to %d", *card,
                     count - 1);
}
