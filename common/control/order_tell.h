/* Tells who asked for order what is still to come. */
#ifndef BRAGG_CONTROL_ORDER_TELL_H
#define BRAGG_CONTROL_ORDER_TELL_H

#include "control/stream.h"

/* All of them, as far as that has changed; one that takes frames in order beside another is out. */
void order_tell(struct stream *s);

#endif
