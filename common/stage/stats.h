/* What a stage cost: one line of JSON. */
#ifndef BRAGG_STAGE_STATS_H
#define BRAGG_STAGE_STATS_H

#include "base/error.h"
#include "wire/control.h"

/* Appends the line to a file ("-": stderr); several stages may share one. */
enum status stats_write(const struct work *w, const char *path, const char *stage,
                        const char *identity, struct error *e);

#endif
