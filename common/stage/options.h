/* The options that the runtime adds to every stage. */
#ifndef BRAGG_STAGE_OPTIONS_H
#define BRAGG_STAGE_OPTIONS_H

#include "link/settings.h"
#include "stage/stage.h"

/* The defaults of all of them. */
void options_defaults(struct settings *o);

/* The table for opt_parse: a source has more than others. */
const struct opt *options_table(const struct stage *stage);

/* True when some stage has an option of this name there, which is ended by NUL or =. */
bool options_has(const char *text);

/* What it is to its neighbours. */
struct role stage_role(const struct stage *stage);

#endif
