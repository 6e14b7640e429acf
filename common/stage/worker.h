/*
 * The main thread of a stage, for main.c (from the command line to the exit status),
 * begin.c (until frames may come), frames.c (one frame after the other), lineage.c and
 * worker.c (messages in and out).
 */
#ifndef BRAGG_STAGE_WORKER_H
#define BRAGG_STAGE_WORKER_H

#include "stage/images.h"
#include "stage/progress.h"
#include "stage/runtime.h"
#include "wire/codec.h"
#include "wire/packed.h"

/* Bytes of the text that the lineage is the hash of, and of its last lines. */
enum { LINEAGE_TEXT = 16384, LINEAGE_MORE = 256 };

struct worker {
    const struct stage *stage;  // &settled, once the stage is open
    struct stage settled;
    enum kind wants;  // of the stage, or what came to one that wants KIND_ANY
    void *state;
    bool has_words;
    char words[LINEAGE_TEXT - LINEAGE_MORE];  // options that decide what frames hold
    struct runtime rt;
    struct experiment experiment;
    struct codec_expected expected;  // of frames that arrive
    struct images images;
    struct packer packer;
    struct progress progress;
    unsigned damaged;  // messages one after the other, by a network, or not to be read
    uint32_t
        first_sum;  // of the first payload part of the message at hand, formed or from its route
    const struct route *route;  // of the frame at hand; NULL in a source
};

/* Identity class of the stage. */
const char *worker_identity(const struct worker *w);

/* Seals *m, of which it takes ownership and which holds the pixels of `image` (NULL: none), and
 * hands it to the I/O thread; false in *more at the end of the stream. */
enum status worker_send(struct worker *w, enum message_type type, struct ticket t,
                        struct message *m, const struct image *image, bool *more, struct error *e);

/* Sums up the payload.  A network may damage it: then it is dropped, and sent again; by
 * other ways, and when none gets through, the sender is at fault. */
enum status worker_check_sum(struct worker *w, const struct item *item, bool *dropped,
                             struct error *e);

/* Finds the pixels that images_borrow took on the card; `dropped` when they cannot be read there:
 * then they are sent again, and no others on a card. */
enum status worker_find_on_card(struct worker *w, const struct item *item, bool *dropped,
                                struct error *e);

/* The error of a payload with another sum than its producer formed: STATUS_FAILED. */
enum status worker_damaged(const struct route *r, struct error *e);

/* Chains what affects the bytes of the output: the stages before, this one, its
 * version, options and identity class; for a first stage what it made. */
enum status worker_extend_lineage(struct worker *w, struct error *e);

/* From nothing to the moment when frames may come; false in *more when that never is. */
enum status worker_begin(struct worker *w, bool *more, struct error *e);

/* All frames, made here or received. */
enum status worker_run_source(struct worker *w, struct error *e);
enum status worker_run_frames(struct worker *w, struct error *e);

#endif
