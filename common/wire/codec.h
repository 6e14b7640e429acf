/*
 * The model as messages: an experiment, and frames with or without images.
 */
#ifndef BRAGG_WIRE_CODEC_H
#define BRAGG_WIRE_CODEC_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "wire/message.h"

/* Parts 1 and more of *m (empty before) from *x.  The parts borrow the arrays of
 * *x, which must outlive the message. */
enum status codec_experiment_encode(struct experiment *x, struct message *m, struct error *e);

/* *x from a message whose route was opened.  STATUS_INPUT for what contradicts
 * itself: sizes, indices, ROIs.  The caller frees *x, after an error too. */
enum status codec_experiment_decode(struct experiment *x, const struct message *m, struct error *e);

/* Parts 1 and more of *m (empty before) from *f, whose arrays and pixels move
 * into the message: *f is empty afterwards, whatever the result. */
enum status codec_frame_encode(struct frame *f, const char *lineage, struct message *m,
                               struct error *e);

/* What the frames of an experiment must agree with. */
struct codec_expected {
    char lineage[17];
    size_t pixels, panels, crystals;
    bool detector_moves;
};

/* Taken from the experiment as it arrived, before the stage changes it. */
struct codec_expected codec_expect(const struct experiment *x);

/* *f from a message.  Pixels move from the message to the frame without a copy.
 * The caller frees *f, after an error too. */
enum status codec_frame_decode(struct frame *f, const struct codec_expected *expected,
                               struct message *m, struct error *e);

#endif
