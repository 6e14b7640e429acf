/*
 * The main thread of a stage, which computes: its state, and what its files do for each other.
 * worker.c calls the callbacks of the stage for the experiment and for each frame; images.c gives
 * images their memory; lineage.c records what affects the bytes of the output; main.c is the
 * program around them, and what a sink shows on a terminal.
 */
#ifndef BRAGG_STAGE_WORKER_H
#define BRAGG_STAGE_WORKER_H

#include "base/error.h"
#include "link/links.h"
#include "stage/runtime.h"
#include "wire/codec.h"
#include "wire/payload.h"

/* Images of the main thread: where images that leave get their memory, and whether images that came
 * may be written to. */
struct images {
    struct image_memory memory;  // for image_reserve
    bool given_up;               // the system had no memory for slots
    struct part lease;           // pixels at hand that lie in memory of another process
    void *leased_card;           // where these pixels lie on the GPU, or NULL
    bool expects;                // their sum is to be formed, and compared with this one
    uint32_t expected, sum;      // the latter of the first summed_bytes
    size_t summed_bytes;
    struct links *links;  // those of the process, with the pool; without one the heap does
};

/* What a sink shows of its frames, unless it writes to stdout itself. */
struct progress {
    bool draws, tells;  // the line is drawn; lines say what is made, see LOG_TELL
    bool planned;       // a line has said how large all files will be
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
    unsigned damaged;  // corrupt or unreadable messages one after the other
    uint32_t
        first_sum;  // of the first payload part of the message at hand, formed or from its route
    const struct route *route;  // of the frame at hand; NULL in a source
};

/* --- worker.c, lineage.c, progress.c --------------------------------------------------------- */

/* Identity class of a stage. */
const char *stage_identity(const struct stage *stage, void *state);

/* The options that decide what frames hold, as words that give them again, for the history; NULL:
 * they find no room.  The caller frees them with mem_free. */
char *stage_words(const struct stage *stage, const void *state);

/* Adds this stage to the lineage: its name, version, options and identity class; for a first stage
 * also the experiment that it made.  Fused stages follow. */
enum status worker_extend_lineage(struct worker *w, struct error *e);

/* Draws nothing at all unless stderr is a terminal. */
void progress_open(struct worker *w);

/* Shows progress after a frame, whose pixels are still there: rewrites the line a few times a
 * second.  After the first frame compares the size of all files with the room on the disk, and
 * warns if there is not enough. */
void progress_show(struct worker *w, const struct image *image);

/* Ends the line: how many frames there are, how bright, and where.  `whole`: these are all. */
void progress_end(struct worker *w, bool whole);

/* Everything before the first frame; false in *more if the stream ends before it. */
enum status worker_begin(struct worker *w, bool *more, struct error *e);

/* Makes all frames; receives and processes all frames. */
enum status worker_run_source(struct worker *w, struct error *e);
enum status worker_run_frames(struct worker *w, struct error *e);

/* --- images.c ---------------------------------------------------------------------------- */

/* From here on images of up to image_bytes come from a pool, that of *links, if that is worth it
 * and the system has one; else one line says so.  Images of the heap do as well, then.  They may
 * lie on the card of *links, too. */
void images_open(struct images *m, struct links *links, size_t image_bytes);

/* What image_reserve is to use; NULL: the heap. */
struct image_memory *images_memory(struct images *m);

/* Copies the pixels of *image into memory that may be written to and sent, unless they lie
 * in such: in the pool, or on the heap while there is none.  Those on a card come from there,
 * unless it is the pool's.  STATUS_FAILED when memory is out or the pixels were replaced
 * meanwhile. */
enum status images_make_own(struct images *m, struct image *image, struct error *e);

/* Takes the pixels of a frame's message out of it if another process lent them, before
 * anything reads them; the frame that is decoded from it must then be marked. */
void images_borrow(struct images *m, struct message *message);
void images_mark(struct images *m, struct image *image);

/* Between the two: where on the card they lie, if they do.  STATUS_FAILED when they do and cannot
 * be read. */
enum status images_find_on_card(struct images *m, struct error *e);

/* Borrowed pixels are intact only with this sum, which is formed when somebody asks, or says
 * that they have been read: then they may lie in the caches. */
void images_expect(struct images *m, uint32_t sum);

/* How borrowed pixels were until they went back. */
enum images_were { IMAGES_INTACT, IMAGES_REPLACED, IMAGES_DAMAGED };

/* Gives borrowed pixels, if there are any, back. */
enum images_were images_return(struct images *m);

#endif
