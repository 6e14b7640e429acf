/*
 * The interface of a stage: a program that takes frames from the previous stage, works on them, and
 * passes them to the next one.
 *
 * To write a stage, fill in a `struct stage` and call stage_main:
 *
 *     int main(int argc, char **argv) { return stage_main(&stage, argc, argv); }
 *
 * The stage declares its options, its input and its output.  The runtime does everything else:
 * sockets, flow control, acknowledgements, heartbeats, signals, statistics and the end of the
 * stream.
 *
 * Terms:
 *   source   the stage that numbers the frames and sends them (bragg-orient, bragg-replay)
 *   sink     a stage without output, such as bragg-write
 *   passive  a sink that the run does not wait for; it may leave at any time
 *   durable  stored so that a crash cannot lose it
 */
#ifndef BRAGG_STAGE_STAGE_H
#define BRAGG_STAGE_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "base/opt.h"
#include "link/run.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "wire/message.h"

enum { MADE_SIZE = 4096 };  // bytes of a text in struct made, with the terminator

/* How the stage was started. */
struct start {
    bool piped;           // frames arrive through stdin, not through --in
    bool resume;          // sinks: continue the output of a previous run (--resume)
    struct meter *meter;  // times of the main thread, for callbacks that wait for other programs;
                          // see meter_wait in link/exchange.h
    atomic_uint_fast64_t *bytes_out;  // sinks that send to clients of their own add these bytes
};

/* The files of a sink.  The progress messages show them to the user. */
struct made {
    uint64_t frames;          // set by the caller: number of frames of the run; 0: leave all_heads
    uint64_t bytes;           // size of all files so far
    double heads, all_heads;  // part of `bytes` that does not grow with the number of frames in a
                              // file, such as headers: so far, and for all `frames` frames
    bool replaces;            // existing files are replaced, so that their disk space is reused
    char folder[MADE_SIZE];   // folder of the first file, as this process opens it
    char names[MADE_SIZE];    // names of the files, as the user knows them
};

struct fused_stage;

/*
 * Properties and callbacks of a stage.  The callbacks are listed in the order in which the runtime
 * calls them.  Each callback gets the state of the stage, and may be NULL.
 *
 * A callback that fails ends the run.  If the callback leaves *e unchanged, no message is printed.
 * Use this if the reader of stdout has closed its pipe, as `head` does.  A passive sink then exits
 * with status 0.
 */
struct stage {
    struct role role;  // name, input and output

    /* --- help texts --- */
    const char *summary;   // one line for --help
    const char *operands;  // arguments in the usage line, such as "TEMPLATE"; NULL: none
    int min_operands, max_operands;
    const char *details;        // paragraph after the options in --help; NULL: none
    const char *examples;       // last lines of --help; NULL: none
    const struct opt *options;  // options of this stage; the runtime adds --in, --out and so on

    /* --- properties --- */
    bool reads_only;    // `frame` does not write to the pixels that it receives; see `frame`
    bool takes_fits;    // accepts frames that carry fit results instead of images
    bool verbatim;      // sends the work of other stages unchanged; adds nothing to the lineage
    bool speaks;        // sink that prints results to stdout; the runtime shows no progress
    size_t state_size;  // bytes of the state; the runtime clears it.  Options come first in it

    /* --- before the stage is connected --- */

    /* Returns endpoint `number` (from 0) at which the stage serves clients of its own, as the user
     * typed it; NULL: there are no more.  Sets *keyed to true if these clients need keys.  Called
     * before `open`, which binds the endpoint.  The runtime checks whether the endpoint is allowed
     * before it calls `open`. */
    const char *(*binds)(void *state, size_t number, bool *keyed);

    /* Checks options and reads files.  The options have been parsed. */
    enum status (*open)(void *state, const char **operands, int noperands, struct error *e);

    /* Changes *self, the runtime's copy of this table, if options, files or *start decide about
     * role, speaks, verbatim, have, announce, finish or due_ns. */
    enum status (*settle)(void *state, const struct start *start, struct stage *self,
                          struct error *e);

    /* Gives the stage two facts: the endpoint at which the source answers status requests of
     * observers, and the number of the run.  The runtime calls this function once, before `begin`.
     * It does not call this function in the source, or in a stage that makes the experiment. */
    void (*meet)(void *state, const char *control, uint64_t run);

    /* --- the experiment --- */

    /* Called once.  A stage without input (KIND_NONE) makes the experiment in *x.  Any other stage
     * finds the experiment of the previous stage in *x, and may change it for the stages that
     * follow.  *x stays valid and unchanged until `close`. */
    enum status (*begin)(void *state, struct experiment *x, struct error *e);

    /* Returns the identity class of the stage: two processes of one class make the same bytes.
     * Sent to the neighbours and stored in the lineage.  Called after `begin`.  NULL: "any". */
    const char *(*identity)(void *state);

    /* Returns the number of stages whose work this process does as well, and points *fused at them.
     * They process each frame after this stage, in their order.  The lineage and the history list
     * them as if they were separate stages after this one.  The stage keeps them.  Called after
     * `begin`.  NULL: none. */
    size_t (*fused)(void *state, const struct fused_stage **fused);

    /* Sinks with --resume: adds the frames that are durable already to *ids, which is empty.
     * Frames that all sinks have are not computed again.  Called once, after `begin`.  NULL: a
     * frame is durable once `frame` has returned. */
    enum status (*have)(void *state, struct id_set *ids, struct error *e);

    /* Source: adds the ids of all frames of the run to *ids, which is empty.  The frames are issued
     * in ascending order.  Called once, after `begin`.  NULL: there are no frames. */
    enum status (*list)(void *state, struct id_set *ids, struct error *e);

    /* --- frames --- */

    /* Source: returns the time at which a frame is due, in ns on a clock of the stage's own.  The
     * first frame leaves at once and sets the offset of that clock.  Called once per frame, in the
     * order of issue; the result must not decrease.  NULL: each frame leaves as soon as the window
     * allows. */
    uint64_t (*due_ns)(void *state, uint64_t id);

    /* Passes a message as it was received, with verified checksums: the experiment before `begin`,
     * and each frame before `frame`.  *m stays valid during this call, and for a frame until
     * `frame` returns.  Sinks with this callback read pixels twice: the checksum must be verified
     * before the call. */
    enum status (*message)(void *state, const struct route *r, const struct message *m,
                           struct error *e);

    /* Sinks: passes the number of frames that the source issues in this run.  Called before the
     * first frame. */
    void (*expect)(void *state, uint64_t frames);

    /* Returns the GPU whose memory may hold the images of this stage; NULL: none.  The GPU must
     * stay valid until `close`.  Called once, after `begin`.  Not called for sinks or with
     * --transport=inline.  If a GPU is given, frames may arrive with `image.card` set, and may
     * leave with it set (see image_reserve_on_card).  Otherwise images are always in main
     * memory. */
    const struct card *(*card)(void *state);

    /* Processes one frame:
     *   - the source fills in *f for the frame number f->recipe.id;
     *   - a middle stage changes *f in place;
     *   - a sink makes the frame durable before it returns, because the frame is acknowledged
     *     then (but see `finish`).  f->image.sum is the checksum of the pixels.
     * The result may depend only on options, experiment and *f.
     *
     * Call image_allocate(&f->image, ...) for new pixels.  If the old pixels are still needed,
     * reserve a second image with the same `memory` instead; this avoids a copy.
     *
     * Without reads_only the pixels are a private copy.  With reads_only they may be in the memory
     * of the previous process, and must not be written to.  A sink then calls image_is_intact after
     * it has read the pixels and before it gives a file its final name.  image_is_intact also
     * compares the checksum of the pixels with the checksum that their producer formed. */
    enum status (*frame)(void *state, struct frame *f, struct error *e);

    /* Middle stages that get recipes: announces a frame that waits already, before `frame` is
     * called for the frame before it.  The stage may begin this frame early.  *next stays valid
     * until that call of `frame` has returned.  NULL: the stage begins no frame early. */
    void (*announce)(void *state, const struct recipe *next);

    /* Sinks whose `frame` returns before the frame is durable: makes the latest frame durable.  All
     * frames before it are durable when `frame` returns, and are acknowledged then.  Called when no
     * other frame waits, and after the last frame.  NULL: each frame is durable when `frame`
     * returns. */
    enum status (*finish)(void *state, struct error *e);

    /* Sinks that write files: describes the files in *made.  Called after some of the frames.
     * NULL: the stage writes no files. */
    void (*made)(void *state, struct made *made);

    /* Returns the counter of finished rows of the current frame, which shows progress; NULL:
     * none. */
    atomic_uint_fast64_t *(*progress)(void *state);

    /* Returns the value that this counter has after a frame, so that the time of a frame is known
     * before the frame is finished.  Called once, after `begin`.  NULL or 0: not known. */
    uint64_t (*rows)(void *state);

    /* Source: describes in *o what users can expect of a run whose frames take long.  Called once,
     * after `list`.  NULL: all frames are computed, and no option is proposed. */
    void (*outlook)(void *state, struct outlook *o);

    /* Sinks: the user pressed Ctrl-C for the first time.  Only frames that are already under way
     * will arrive.  Called from another thread, at any time between `open` and `report`. */
    void (*interrupt)(void *state);

    /* The run was ended from outside.  `frame` may be running or waiting, and should return soon.
     * Called from another thread, between `begin` and the end of the stream. */
    void (*cancel)(void *state);

    /* --- the end --- */

    /* Source and sinks: the stream ended without an error, perhaps early at the user's request. */
    enum status (*end)(void *state, struct error *e);

    /* Ends all background work and frees the memory of images.  Called when the stream is over,
     * also after an error.  Returns further members for the line of --stats, such as `"dropped":3`;
     * NULL: none. */
    const char *(*report)(void *state);

    /* Frees everything that the state holds.  Called exactly once if `open` was called. */
    void (*close)(void *state);
};

/*
 * A fused stage: a stage that runs in the process of another stage (bragg-intensity --fuse).
 *
 * The other stage calls its callbacks, passes it its options as words of one text, and lists it in
 * the callback `fused`.  A fused stage turns frames into frames.  Only `begin`, `frame`, `close`
 * and the members before `begin` of its table are used, and its identity class is "any".
 */
struct fused_stage {
    const struct stage *stage;
    void *state;  // owned
    char *text;   // owned: text of the words, to which options may point
    char *words;  // owned: the options that decide what frames hold; NULL: they are too long
    bool opened;  // `close` must be called
};

/* Opens a fused stage.  options: the options as on the command line of the stage, words separated
 * by blanks, with quotes as in base/text.h.  threads: default of the option `threads`, if the stage
 * has it.  An error names the stage.  Call fused_stage_close afterwards, also after an error. */
enum status fused_stage_open(struct fused_stage *g, const struct stage *stage, const char *options,
                             int64_t threads, struct error *e);

/* Calls the callback `begin` of the fused stage.  An error names the stage. */
enum status fused_stage_begin(struct fused_stage *g, struct experiment *x, struct error *e);

/* Calls the callback `frame` of the fused stage.  An error names the stage. */
enum status fused_stage_frame(struct fused_stage *g, struct frame *f, struct error *e);

/* Closes the fused stage and frees what *g holds. */
void fused_stage_close(struct fused_stage *g);

/* Runs the stage as a program.  Returns its exit status.  A stage with an option named "threads"
 * calls program_sleeps first. */
int stage_main(const struct stage *stage, int argc, char **argv);

/* The options that the runtime adds to every stage, and the checks of their values. */

/* Sets all members of *o to the defaults of the options. */
void options_defaults(struct settings *o);

/* Returns the table of the options that a stage of this role has, for opt_parse.  role NULL: the
 * options of all roles.  The table is valid until the next call. */
const struct opt *options_table(const struct role *role);

/* Checks the endpoints in the options and the endpoint that the stage itself binds, and reads the
 * keys into run->curve.  Call before the stage is opened.  runtime_close overwrites the keys.
 * STATUS_USAGE: an endpoint is not allowed, or see keys_read. */
enum status options_guard(const struct stage *stage, void *state, struct run *run, struct error *e);

/* Checks the other options, such as groups, and whether stdin and stdout are pipes if they must be.
 * Call when the final role of the stage is known.  STATUS_USAGE: a check failed. */
enum status options_check(const struct stage *stage, const struct settings *o, struct error *e);

#endif
