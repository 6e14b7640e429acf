/* The engines that were linked in. */
#ifndef BRAGG_STAGES_ENGINES_H
#define BRAGG_STAGES_ENGINES_H

#include "engine/engine.h"

/* All engines, ended by NULL. */
extern const struct engine *const engines[];

/* The engine of that name, NULL when there is none. */
const struct engine *engine_find(const char *name);

#endif
