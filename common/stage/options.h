/* The options that the runtime adds to every stage, and what they ask of it. */
#ifndef BRAGG_STAGE_OPTIONS_H
#define BRAGG_STAGE_OPTIONS_H

#include "link/run.h"
#include "stage/stage.h"

/* The defaults of all of them. */
void options_defaults(struct settings *o);

/* The table for opt_parse: a source has more than others; NULL: all of them.  Until the next call.
 */
const struct opt *options_table(const struct role *role);

/* Before the stage is open: checks the endpoints, also its own, and takes the keys that guard them,
 * to be forgotten by runtime_close. */
enum status options_guard(const struct stage *stage, void *state, struct run *run, struct error *e);

/* Checks the rest (groups, pipes) when it is settled what the stage wants and gives. */
enum status options_check(const struct stage *stage, const struct settings *o, struct error *e);

#endif
