/* What the files of bragg-write cannot say of their frames: one warning for each such fact. */
#ifndef BRAGG_STAGES_OUTPUTS_UNSAID_H
#define BRAGG_STAGES_OUTPUTS_UNSAID_H

#include "outputs.h"

/* In the bits of what has been said: that numbers become longer, the business of outputs.c. */
#define OUTPUTS_SAID_NUMBERS (1U << 31)

/* A frame as files get it. */
struct unsaid_frame {
    const struct experiment *image;  // what formats of one image get: one panel
    const struct experiment *x;      // what all others get
    const struct frame *f;
    double scale;          // --scale, 0: not given
    enum cbf_header kind;  // of headers of CBF
};

/* Warns of each fact of the frame that some output cannot say, once for as long as *said lasts,
 * which is 0 at first.  Devices such as /dev/null count as no files. */
void outputs_warn_of_unsaid(const struct outputs *o, const struct unsaid_frame *u, uint32_t *said);

#endif
