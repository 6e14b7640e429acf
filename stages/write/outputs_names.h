/* Names that the outputs of bragg-write would take: whose are they? */
#ifndef BRAGG_STAGES_OUTPUTS_NAMES_H
#define BRAGG_STAGES_OUTPUTS_NAMES_H

#include "base/idset.h"
#include "outputs.h"

/* STATUS_USAGE when some output may write a file of that name, however it is spelled. */
enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e);

/* STATUS_USAGE when two outputs may write a file of the same name, however they are spelled. */
enum status outputs_check_names(const struct outputs *o, struct error *e);

/* Numbers whose names are taken: by the data files of a series, then by each output. */
struct taken {
    struct id_set numbers[1 + OUTPUTS_MAX];
};

/* Finds the files that are there, and are not empty, with names of the outputs.  *t is freed by
 * taken_free in any case. */
enum status taken_find(struct taken *t, const struct outputs *o, struct error *e);

/* STATUS_FAILED when one has the name of a file of frames 0 to frames - 1. */
enum status taken_check(const struct taken *t, const struct outputs *o, uint64_t frames,
                        struct error *e);

void taken_free(struct taken *t);

#endif
