/* Names that the outputs of bragg-write would take: whose are they? */
#ifndef BRAGG_STAGES_OUTPUTS_NAMES_H
#define BRAGG_STAGES_OUTPUTS_NAMES_H

#include "outputs.h"

/* STATUS_USAGE when some output may write a file of that name, however it is spelled. */
enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e);

/* STATUS_FAILED when a file is there, and not empty, that has the name of one of frames 0 to
 * frames - 1. */
enum status outputs_check_free(const struct outputs *o, uint64_t frames, struct error *e);

#endif
