/* What a stage cost: one line of JSON. */
#ifndef BRAGG_STAGE_STATS_H
#define BRAGG_STAGE_STATS_H

#include "base/error.h"
#include "wire/control.h"

/* Appends the line to a file ("-": stderr); several stages may share one.  `more` holds
 * members of the stage's own, `"dropped":3`, or is NULL. */
enum status stats_write(const struct work *w, const char *path, const char *stage,
                        const char *identity, const char *more, struct error *e);

#endif
