/* Libraries that crash on damaged files: a child process reads first. */
#ifndef BRAGG_IO_TRIAL_H
#define BRAGG_IO_TRIAL_H

#include "base/error.h"

/* Runs `read` on the file in a child process.  STATUS_INPUT when that crashes, or takes longer than
 * any sane file; what `read` finds is lost.  Called before there are threads: the child has none of
 * them, but the locks they held. */
enum status trial_read(const char *path, void (*read)(const char *path), struct error *e);

#endif
