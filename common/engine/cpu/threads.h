/* The threads of OpenMP. */
#ifndef BRAGG_ENGINE_THREADS_H
#define BRAGG_ENGINE_THREADS_H

#include <stdint.h>

#include "base/error.h"

/* Starts them, so many with the calling one, for all parallel loops of this thread to come: 0
 * becomes the number of processors.  They take no signals.  Where the system allows less the
 * program ends now, see base/program.h, and not when others wait for it; STATUS_FAILED when their
 * stacks are too small. */
enum status threads_start(int64_t *threads, struct error *e);

#endif
