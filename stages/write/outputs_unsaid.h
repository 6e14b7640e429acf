/* Warns of facts about the frames that the files of bragg-write do not store: one warning per fact.
 */
#ifndef BRAGG_STAGES_OUTPUTS_UNSAID_H
#define BRAGG_STAGES_OUTPUTS_UNSAID_H

#include "outputs.h"

/* Bit in outputs.said of a warning that outputs.c prints: the numbers in names become longer. */
#define OUTPUTS_SAID_NUMBERS (1U << 31)

/* The frame that is being written, with the settings of the outputs. */
struct unsaid_frame {
    const struct experiment *image;  // experiment with one panel, for formats of one image
    const struct experiment *x;      // experiment with its panels, for all other formats
    const struct frame *f;
    double scale;          // --scale in ADU per photon; 0: not given
    enum cbf_header kind;  // --cbf-header
};

/* Warns of each fact of the frame that an output does not store, unless its bit in *said is set,
 * and sets the bit.  *said is 0 at first.  Devices such as /dev/null do not count as outputs. */
void outputs_warn_of_unsaid(const struct outputs *o, const struct unsaid_frame *u, uint32_t *said);

#endif
