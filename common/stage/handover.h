/*
 * What the main thread gives leaves at once while the I/O thread only waits: it takes that one's
 * part for so long, and nobody is woken.
 */
#ifndef BRAGG_STAGE_HANDOVER_H
#define BRAGG_STAGE_HANDOVER_H

#include <stdbool.h>

/* By the main thread, which has given something; false: the I/O thread must be woken. */
bool handover(void *runtime);

#endif
