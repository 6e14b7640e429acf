/* What options ask of a stage, before anything is opened: endpoints, keys, groups, pipes. */
#ifndef BRAGG_STAGE_CHECK_H
#define BRAGG_STAGE_CHECK_H

#include "link/run.h"
#include "stage/stage.h"

/* Before the stage is open: the endpoints, also its own, and their guard. */
enum status check_endpoints(const struct stage *stage, void *state, const struct settings *o,
                            struct error *e);

/* Takes the keys of --keys, to be forgotten by runtime_close. */
enum status check_keys(struct run *run, struct error *e);

/* The rest, when it is settled what the stage wants and gives. */
enum status check_stage(const struct stage *stage, const struct settings *o, struct error *e);

#endif
