/* Checks names of outputs against each other, the index, and files of other programs. */
#ifndef BRAGG_STAGES_OUTPUTS_NAMES_H
#define BRAGG_STAGES_OUTPUTS_NAMES_H

#include "base/idset.h"
#include "outputs.h"

/* STATUS_USAGE: an output may write a file with the name of the index, however the name is spelled.
 */
enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e);

/* STATUS_USAGE: two outputs may write files of the same name, however the names are spelled. */
enum status outputs_check_names(const struct outputs *o, struct error *e);

/* Files that existed before the run. */
struct taken {
    struct id_set numbers[1 + OUTPUTS_MAX];  // their numbers: [0] data files of the series,
                                             // [1 + i] files of output i
};

/* Finds the existing files, which are not empty, with names of the outputs.  The caller calls
 * taken_free, also after an error. */
enum status taken_find(struct taken *t, const struct outputs *o, struct error *e);

/* STATUS_FAILED: an existing file has the name of a file of frames 0 to frames - 1. */
enum status taken_check(const struct taken *t, const struct outputs *o, uint64_t frames,
                        struct error *e);

void taken_free(struct taken *t);

#endif
