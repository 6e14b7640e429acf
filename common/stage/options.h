/* The options that the runtime adds to every stage, and the checks of their values. */
#ifndef BRAGG_STAGE_OPTIONS_H
#define BRAGG_STAGE_OPTIONS_H

#include "link/run.h"
#include "stage/stage.h"

/* Sets all members of *o to the defaults of the options. */
void options_defaults(struct settings *o);

/* Returns the table of the options that a stage of this role has, for opt_parse.  role NULL: the
 * options of all roles.  The table is valid until the next call. */
const struct opt *options_table(const struct role *role);

/* Checks the endpoints in the options and the endpoint that the stage itself binds, and reads the
 * keys into run->curve.  Call before the stage is opened.  runtime_close overwrites the keys.
 * STATUS_USAGE: an endpoint is not allowed, or see keys_read. */
enum status options_guard(const struct stage *stage, void *state, struct run *run, struct error *e);

/* Checks the other options, such as groups, and whether stdin and stdout are pipes if they must be.
 * Call when the final role of the stage is known.  STATUS_USAGE: a check failed. */
enum status options_check(const struct stage *stage, const struct settings *o, struct error *e);

#endif
