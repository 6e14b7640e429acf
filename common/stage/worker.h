/*
 * The main thread of a stage, for main.c (from the command line to the exit status), worker.c (the
 * experiment, then one frame after the other), lineage.c, and progress.c (what a sink shows on a
 * terminal).
 */
#ifndef BRAGG_STAGE_WORKER_H
#define BRAGG_STAGE_WORKER_H

#include "stage/images.h"
#include "stage/runtime.h"
#include "wire/codec.h"
#include "wire/payload.h"

/* What a last stage that does not speak says of its frames. */
struct progress {
    bool draws, tells;                     // the line is drawn; what is made is told, see LOG_TELL
    bool planned;                          // it was said what all frames take
    uint64_t start_ns, last_ns, drawn_ns;  // first and last frame, the line
    uint64_t images;
    double brightest, sum;  // pixel, and of all pixels, of all images
    enum pixel_unit unit;
};

struct worker {
    struct stage stage;  // as it has settled, once it is open
    void *state;         // owned, like the next two
    const char **operands;
    char *words;  // as of stage_words
    int noperands;
    enum kind wants;  // of the stage, or what came to one that wants KIND_ANY
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

/* Identity class of a stage. */
const char *stage_identity(const struct stage *stage, void *state);

/* The options that decide what frames hold, as words that give them again, for the history; NULL:
 * they find no room.  The caller frees them with mem_free. */
char *stage_words(const struct stage *stage, const void *state);

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

/* Draws nothing at all unless stderr is a terminal. */
void progress_open(struct worker *w);

/* After a frame, whose pixels are still there; rewrites the line a few times a second.  After the
 * first one compares what all take with the room on the disk, and warns when there is not enough.
 */
void progress_show(struct worker *w, const struct image *image);

/* Ends the line: how many frames there are, how bright, and where.  `whole`: these are all. */
void progress_end(struct worker *w, bool whole);

/* From nothing to the moment when frames may come; false in *more when that never is. */
enum status worker_begin(struct worker *w, bool *more, struct error *e);

/* All frames, made here or received. */
enum status worker_run_source(struct worker *w, struct error *e);
enum status worker_run_frames(struct worker *w, struct error *e);

#endif
