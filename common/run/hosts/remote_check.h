/* Checks a host for bragg-run --remote (remote.h). */
#ifndef BRAGG_RUN_REMOTE_CHECK_H
#define BRAGG_RUN_REMOTE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { REMOTE_LACKING_MAX = 8 };

struct remote_check {
    char lacking[REMOTE_LACKING_MAX][64];  // programs that were not found
    size_t nlacking;
    bool lacks_file;
    size_t ports;
};

/* Processes one item.  STATUS_USAGE: the item is unknown. */
enum status remote_check_take(struct remote_check *c, const char *name, const char *value,
                              struct error *e);

#endif
