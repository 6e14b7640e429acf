#include "alone.h"

#include <stdlib.h>

enum status alone_check(const char *instead, struct error *e)
{
    return getenv("BRAGG_WORKER")
               ? error_set(e, STATUS_USAGE,
                           "what comes of all frames is for one process: count: 1%s", instead)
               : STATUS_OK;
}
