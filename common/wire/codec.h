/*
 * The model as messages: an experiment, and frames with or without images.
 */
#ifndef BRAGG_WIRE_CODEC_H
#define BRAGG_WIRE_CODEC_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "wire/message.h"

/* Checks that the panels cover the pixels of a frame without a gap, and that regions of interest
 * are inside their panels.  A sender checks its own experiment, so that the process at fault
 * reports it.  STATUS_INPUT: they are not. */
enum status codec_check_panels(const struct experiment *x, struct error *e);

/* Encodes *x into parts 1 and above of *m, which must be empty.  The parts borrow the arrays of *x,
 * which must outlive the message. */
enum status codec_experiment_encode(struct experiment *x, struct message *m, struct error *e);

/* Decodes *x from a message whose route was read with route_open.  STATUS_INPUT: sizes, indices or
 * ROIs contradict each other.  The caller frees *x, after an error too. */
enum status codec_experiment_decode(struct experiment *x, const struct message *m, struct error *e);

/* Encodes *f into parts 1 and above of *m, which must be empty.  Arrays and pixels move into the
 * message: *f is empty on return, also after an error. */
enum status codec_frame_encode(struct frame *f, const char *lineage, struct message *m,
                               struct error *e);

/* Properties of an experiment that its frames must agree with. */
struct codec_expected {
    char lineage[17];
    size_t pixels, panels, crystals;
    bool detector_moves, sample_moves, sizes_vary, spreads_vary, b_factors_vary, matter_varies;
};

/* Returns these properties.  Call it before the stage changes the received experiment. */
struct codec_expected codec_expect(const struct experiment *x);

/* Decodes *f from a message.  Pixels move from the message to the frame without a copy.  The caller
 * frees *f, after an error too. */
enum status codec_frame_decode(struct frame *f, const struct codec_expected *expected,
                               struct message *m, struct error *e);

#endif
