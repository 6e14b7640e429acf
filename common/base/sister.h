/* The programs that are installed beside this one. */
#ifndef BRAGG_BASE_SISTER_H
#define BRAGG_BASE_SISTER_H

/* Which of those that make up a pipeline has the option `name` (without --), by what its --help
 * says; NULL: none, or this one.  For messages: it starts each of them. */
const char *sister_with(const char *name);

#endif
