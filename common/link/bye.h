/* The last words to neighbours. */
#ifndef BRAGG_LINK_BYE_H
#define BRAGG_LINK_BYE_H

#include "link/links.h"

/* Says bye to all of them. */
void bye_say(struct links *ls, enum status status);

/* True in who gives an experiment and nothing else, once all have it who want it. */
bool bye_is_due(struct links *ls);

#endif
