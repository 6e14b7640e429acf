/* A frame computed again and compared. */
#ifndef BRAGG_STAGES_RECOMPUTE_H
#define BRAGG_STAGES_RECOMPUTE_H

#include <stdbool.h>

/* Whether the command line asks for this, and not for --help of all options. */
bool recompute_asked(int argc, char **argv);

/* bragg-replay --recompute TARGET (see origin_open), which plays nothing: other stages compute
 * the frame anew.  Prints whether its bytes are the same, or which pixel differs first.  The exit
 * status: 0 the same, 1 not, or something failed, 2 usage, 3 it cannot be computed again. */
int recompute_main(int argc, char **argv);

#endif
