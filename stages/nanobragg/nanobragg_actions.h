/* Flags of nanoBragg that do more than store a value. */
#ifndef BRAGG_STAGES_NANOBRAGG_ACTIONS_H
#define BRAGG_STAGES_NANOBRAGG_ACTIONS_H

#include "legacy_options.h"
#include "nanobragg_options.h"

/* Applies an option of FLAGS_ACTION; `args` stands behind it. */
enum status nanobragg_act(struct nanobragg *n, const struct legacy_option *o,
                          const struct legacy_args *args, struct error *e);

/* What a value or vector that was stored means for pivot and convention. */
void nanobragg_side_effects(struct nanobragg *n, const struct legacy_option *o);

#endif
