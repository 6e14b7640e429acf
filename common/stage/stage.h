/*
 * A stage is a table of callbacks and one line of main:
 *
 *     int main(int argc, char **argv) { return stage_main(&stage, argc, argv); }
 *
 * It declares its options, what it consumes and what it produces, and never
 * sees a socket.  The runtime owns sockets, credit, acknowledgement,
 * heartbeats, signals, statistics and the end of the stream.
 */
#ifndef BRAGG_STAGE_STAGE_H
#define BRAGG_STAGE_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "base/opt.h"
#include "link/stage_kind.h"
#include "model/card.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "wire/message.h"

enum { MADE_SIZE = 4096 };

/* How a stage was started. */
struct start {
    bool piped;   // input comes through stdin
    bool resume;  // a sink continues existing output (--resume)
};

/* The files of a sink, for messages. */
struct made {
    uint64_t frames;          // set by the caller: frames of the run, 0 if all_heads is not wanted
    uint64_t bytes;           // of the files so far
    double heads, all_heads;  // bytes that do not grow with frames: of these files, of all files
    bool replaces;            // existing files are replaced, which frees their room
    char folder[MADE_SIZE];   // of the first file, as this process opens it
    char names[MADE_SIZE];    // of the files, for the user
};

struct fused_stage;

/*
 * What a stage is, and its callbacks in the order in which they are called.  Each gets the state,
 * and may be NULL.  A failure ends the run.  A failure that leaves *e as it was ends it without a
 * message: the reader of the stage's output has left, as `head` does.  A passive sink then ends
 * with status 0.
 */
struct stage {
    struct role role;  // its place in the stream

    /* --- for people --- */
    const char *summary;   // one line for --help
    const char *operands;  // for --help, e.g. "TEMPLATE"; NULL for none
    int min_operands, max_operands;
    const char *details;        // more for --help; NULL for none
    const char *examples;       // lines that end --help; NULL for none
    const struct opt *options;  // the stage's own; the runtime adds --in, --out, ...

    /* --- what it does with frames --- */
    bool reads_only;    // `frame` never writes to the pixels that came, see there
    bool takes_fits;    // frames without images may come with results of a fit
    bool verbatim;      // passes on what others computed: adds nothing to the lineage
    bool speaks;        // a sink that writes to stdout: shows no progress
    size_t state_size;  // bytes of the state, zeroed; the options struct comes first in it

    /* --- before anything is connected --- */

    /* An endpoint of the stage's own for foreign clients, as typed, or NULL: `open` binds it.
     * *keyed becomes true when they need keys.  Which ones are allowed is checked before. */
    const char *(*binds)(void *state, bool *keyed);

    /* After parsing: checks options and reads files. */
    enum status (*open)(void *state, const char **operands, int noperands, struct error *e);

    /* Settles what the options, a file or the start decide, in the runtime's copy of
     * this table: role, speaks, verbatim, have, due_ns. */
    enum status (*settle)(void *state, const struct start *start, struct stage *self,
                          struct error *e);

    /* Called once, before begin, except in the source: the source of the run listens at `control`,
     * also for observers. */
    void (*meet)(void *state, const char *control);

    /* --- the experiment --- */

    /* wants KIND_NONE: makes the experiment.  Otherwise the experiment of the
     * stage before has arrived: *x may be changed in place for the stages after.
     * Called once; *x lives, unchanged, until close. */
    enum status (*begin)(void *state, struct experiment *x, struct error *e);

    /* Identity class for the hello and lineage, after begin; NULL: "any". */
    const char *(*identity)(void *state);

    /* Stages whose work this process does as well, on every frame after its own, in that order. The
     * lineage and the history list them as if they came after it.  Called after begin; returns how
     * many there are, and points *fused at them; the stage keeps them.  NULL: none. */
    size_t (*fused)(void *state, const struct fused_stage **fused);

    /* With --resume, asked once, after begin: adds to the empty *ids the frames that
     * are durable already.  What all last stages have is not computed again.  Without it
     * frames are done for good once `frame` has returned. */
    enum status (*have)(void *state, struct id_set *ids, struct error *e);

    /* The source: adds to the empty *ids the frames that there are; asked once, after begin.
     * They are issued in ascending order.  NULL: none. */
    enum status (*list)(void *state, struct id_set *ids, struct error *e);

    /* --- frames --- */

    /* The source: when a frame is due, in ns on a clock of its own; the first one leaves
     * at once, others that much later.  Asked once for each, as they are issued; never
     * runs backwards.  NULL: as soon as the window allows. */
    uint64_t (*due_ns)(void *state, uint64_t id);

    /* What came, as it travelled and with good sums: the experiment before begin, borrowed
     * for this call; each frame before the frame callback, borrowed until that returns. */
    enum status (*message)(void *state, const struct route *r, const struct message *m,
                           struct error *e);

    /* A sink, before its first frame: how many frames the source issues in this run. */
    void (*expect)(void *state, uint64_t frames);

    /* The card that images of this stage may lie on, asked once, after begin, but with
     * --transport=inline and of last stages; it lives until close.  NULL: none.  Frames may then
     * come with image.card set, and leave so (see image_reserve_on_card); from stages without a
     * card they never do. */
    const struct card *(*card)(void *state);

    /* One frame.  The source fills *f for f->recipe.id; others change *f in
     * place; a sink makes it durable before it returns (then it is
     * acknowledged); it is told the sum of the pixels.  Must depend on nothing but options,
     * experiment and *f.
     * New pixels come from image_reserve(&f->image, ...), or, while the old ones
     * are read, from a second image with the same `memory`: then they need no copy.
     * With reads_only the pixels that come may lie in memory of the process
     * before; a sink then asks image_is_intact, which also compares the sum of
     * the pixels with that of their maker, when it has read them and before it gives a file
     * its name.  Without, they are the stage's own, at the price of a copy. */
    enum status (*frame)(void *state, struct frame *f, struct error *e);

    /* A last stage that makes files: fills in what they are, after some frame.  NULL: it makes
     * none. */
    void (*made)(void *state, struct made *made);

    /* Finished rows of the frame at hand, for progress; NULL: none. */
    atomic_uint_fast64_t *(*progress)(void *state);

    /* A sink: the first Ctrl-C came, and only frames that are on their way will come.  Comes from
     * another thread, between open and report. */
    void (*interrupt)(void *state);

    /* The run was ended from outside while `frame` may be running, or waiting: it should return
     * soon.  Comes from another thread, between begin and
     * end of the stream. */
    void (*cancel)(void *state);

    /* --- the end --- */

    /* A source or a last stage: the stream ended well, also early on request. */
    enum status (*end)(void *state, struct error *e);

    /* The stream is over, well or not: ends background work, and frees the memory of images.
     * Returns more members for the line of --stats,
     * `"dropped":3`, or NULL. */
    const char *(*report)(void *state);

    /* Always called once if open was called; frees what the state holds. */
    void (*close)(void *state);
};

/*
 * A stage that runs in the process of another one (bragg-intensity --fuse), which calls its
 * callbacks, gives it its options as words of one text, and names it by its callback `fused`.  It
 * turns frames into frames: of its table only `begin`, `frame` and what comes before them are used,
 * and its identity class is "any".
 */
struct fused_stage {
    const struct stage *stage;
    void *state;  // owned
    char *text;   // owned: words that options may point to
    char *words;  // owned: the options that decide what frames hold; NULL: too many
    bool opened;
};

/* Opens a stage with options as on its command line: words separated by blanks, with quotes as in
 * base/text.h.  `threads` is the default of an option of that name.  Always followed by
 * fused_stage_close, also after an error; the error names the stage. */
enum status fused_stage_open(struct fused_stage *g, const struct stage *stage, const char *options,
                             int64_t threads, struct error *e);

/* Calls its callback for the experiment, and for a frame.  An error names the stage. */
enum status fused_stage_begin(struct fused_stage *g, struct experiment *x, struct error *e);
enum status fused_stage_frame(struct fused_stage *g, struct frame *f, struct error *e);

/* Closes the stage and frees what *g holds. */
void fused_stage_close(struct fused_stage *g);

/* Runs the stage as a program; returns the exit status. */
int stage_main(const struct stage *stage, int argc, char **argv);

#endif
