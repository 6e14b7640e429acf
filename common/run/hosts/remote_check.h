/* What a host has, as bragg-run --remote tells it (remote.h). */
#ifndef BRAGG_RUN_REMOTE_CHECK_H
#define BRAGG_RUN_REMOTE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { REMOTE_LACKING_MAX = 8 };

struct remote_check {
    char lacking[REMOTE_LACKING_MAX][64];  // programs
    size_t nlacking;
    bool lacks_file;
    size_t ports;
};

/* One item.  STATUS_USAGE for one that is not known. */
enum status remote_check_take(struct remote_check *c, const char *name, const char *value,
                              struct error *e);

#endif
