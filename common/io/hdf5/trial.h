/*
 * Libraries that crash on damaged files, or never come back from them: a child process reads first.
 * It has a limit on CPU time and memory, and no open() of a pipe or a device holds it for long.
 */
#ifndef BRAGG_IO_TRIAL_H
#define BRAGG_IO_TRIAL_H

#include <stdbool.h>

#include "base/error.h"

/* Runs read(what, e) in a child process and returns its status and error.  STATUS_INPUT if that
 * crashes, or takes longer than any sane file.  Nothing else of what `read` does has an effect
 * here. `path` names the file in errors.  The child has one thread, and the locks that others hold:
 * `read` must not print. */
enum status trial_run(const char *path, enum status (*read)(void *what, struct error *e),
                      void *what, struct error *e);

/* In the child: names the file that is read from here on, which has limits of its own.  Elsewhere
 * it does nothing. */
void trial_reach(const char *path);

/* Whether this process is such a child. */
bool trial_is_on(void);

#endif
