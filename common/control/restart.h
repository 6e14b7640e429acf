/*
 * A source that was started again opens another run.  The processes of the
 * run before begin anew as well: each executes its own program again, with its own
 * command line, so that nothing of the former run is left in it.  Frames under way
 * are computed again; a last stage gets --resume and says what it has.  One that cannot
 * tell from its output inherits what it has acknowledged, in a file without a name.
 */
#ifndef BRAGG_CONTROL_RESTART_H
#define BRAGG_CONTROL_RESTART_H

#include "control/member.h"

/* Begins anew; returns only after an error, which ends this process. */
void restart(struct member *me);

/* The run before this process began anew; 0 for none. */
uint64_t restart_former_run(void);

/* Adds what this process had acknowledged before it began anew.  STATUS_INPUT when that was
 * of another lineage. */
enum status restart_remember(const char *lineage, struct id_set *ids, struct error *e);

#endif
