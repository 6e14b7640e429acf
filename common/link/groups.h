/* Which groups of last stages a source waits for: --groups, how many or their names. */
#ifndef BRAGG_LINK_GROUPS_H
#define BRAGG_LINK_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { GROUPS_MAX = 64 };

/* Checks "N" or "NAME,NAME"; NULL is as "1".  STATUS_USAGE. */
enum status groups_check(const char *text, struct error *e);

/* How many groups a good text asks for. */
size_t groups_count(const char *text);

/* True when it asks for this group: by its name, or as one of so many, of which others already
 * take `taken`. */
bool groups_ask_for(const char *text, const char *group, size_t taken);

#endif
