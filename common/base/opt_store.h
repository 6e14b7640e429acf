/* Values of options in the program's struct: from what is typed, and the usual ones. */
#ifndef BRAGG_BASE_OPT_STORE_H
#define BRAGG_BASE_OPT_STORE_H

#include "base/opt.h"

/* Stores what was typed at the place of an option.  STATUS_USAGE names the option, says what is
 * wrong and what is allowed. */
enum status opt_store(const struct opt *o, void *options, const char *text, struct error *e);

#endif
