/* What several options have in common: pairs that contradict or need each other. */
#ifndef BRAGG_STAGES_OPTION_CHECKS_H
#define BRAGG_STAGES_OPTION_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Two names of the same thing, or one that needs another. */
struct option_pair {
    bool first, second;
    const char *first_name, *second_name;
};

/* STATUS_USAGE for the first pair of which both were given. */
enum status options_exclude(const struct option_pair *pairs, size_t count, struct error *e);

/* STATUS_USAGE for the first pair of which the first was given without the second. */
enum status options_need(const struct option_pair *pairs, size_t count, struct error *e);

#endif
