/*
 * The main thread of a stage, which computes: its state, and the functions that its files call in
 * each other.
 *
 *   worker.c    calls the callbacks of the stage for the experiment and for each frame
 *   images.c    gives images their memory
 *   lineage.c   records everything that affects the bytes of the output
 *   progress.c  shows the progress of a sink on a terminal
 *   main.c      is the program around them
 */
#ifndef BRAGG_STAGE_WORKER_H
#define BRAGG_STAGE_WORKER_H

#include "base/error.h"
#include "link/links.h"
#include "stage/runtime.h"
#include "wire/codec.h"
#include "wire/payload.h"

/* The memory of images in the main thread: memory for images that leave, and the pixels of the
 * current frame if another process lent them. */
struct images {
    struct image_memory memory;  // for image_reserve
    bool given_up;               // the system had no memory for slots
    struct part lease;           // borrowed pixels of the current frame, in the pool of another
                                 // process
    void *leased_card;           // address of these pixels on the GPU; NULL: they are not there
    bool expects;                // the checksum of these pixels must be `expected`
    bool reads;                  // the stage has reported that it read some of these pixels
    uint32_t expected, sum;      // `sum` is the checksum of the first summed_bytes bytes
    size_t summed_bytes;
    struct links *links;  // links of the process, with its pool.  Without a pool, the heap is used
};

/* The progress that a sink shows, unless it writes results to stdout. */
struct progress {
    pthread_mutex_t mutex;  // guards the progress line, which both threads draw
    bool draws, tells;      // draw the progress line; log the totals and the files (LOG_TELL)
    bool planned;           // the expected size of all files was compared with the room on the disk
    uint64_t start_ns, last_ns, drawn_ns;  // time of the first frame, the last frame and the line
    bool arrived;                          // a frame came since the I/O thread looked
    uint64_t rows, former_rows;  // rows of the latest forecast, and of the last one before
                                 // that frame; 0: the forecast is for the next frame
    uint64_t images;             // number of images
    double brightest, sum;       // brightest pixel, and sum of all pixels, of all images
    enum pixel_unit unit;
};

/* The state of the main thread. */
struct worker {
    struct stage stage;     // copy of the table, as the callback `settle` has changed it
    void *state;            // owned
    const char **operands;  // owned
    char *words;            // owned; see stage_words
    int noperands;
    enum kind wants;  // input of the stage; for KIND_ANY the kind that the previous stage gives
    struct runtime rt;
    struct experiment experiment;
    struct codec_expected expected;  // properties that every received frame must have
    struct images images;
    struct packer packer;
    struct progress progress;
    unsigned damaged;  // number of corrupt or unreadable messages since the last good one
    uint32_t
        first_sum;  // checksum of the first payload part of the message; formed or from its route
    const struct route *route;  // route of the current frame; NULL in a source
    bool late;                  // sink: frame late_id is not durable yet (callback `finish`)
    uint64_t late_id;
};

/* --- worker.c, lineage.c, progress.c --------------------------------------------------------- */

/* Returns the identity class of a stage. */
const char *stage_identity(const struct stage *stage, void *state);

/* Returns the options that decide what frames hold, as words of a command line, for the history.
 * NULL: the words are too long, or there is not enough memory.  The caller frees the text with
 * mem_free. */
char *stage_words(const struct stage *stage, const void *state);

/* Adds this stage to the lineage: its name, physics version, options and identity class.  A stage
 * without input also adds the experiment that it made.  Fused stages follow. */
enum status worker_extend_lineage(struct worker *w, struct error *e);

/* Decides what a sink shows of its progress.  Call before the I/O thread starts.  The progress
 * line is drawn only if stderr is a terminal. */
void progress_open(struct worker *w);

/* Shows progress after a frame, whose pixels must still be valid.  Draws the line a few times per
 * second.  After the first frame, compares the size that all files will have with the room on the
 * disk, and warns if there is not enough. */
void progress_show(struct worker *w, const struct image *image);

/* Shows the totals at the end: the number of frames, the brightness, and the files.  `whole`: all
 * frames of the stream are done. */
void progress_end(struct worker *w, bool whole);

/* Does everything that comes before the first frame: receives the experiment, calls the callback
 * `begin`, opens the memory of images, and sends the experiment.  A sink finds its durable
 * frames instead of sending the experiment, and a source lists its frames.  Sets *more to false
 * if the stream ends before the first frame. */
enum status worker_begin(struct worker *w, bool *more, struct error *e);

/* Source: makes all frames. */
enum status worker_run_source(struct worker *w, struct error *e);

/* Stages with input: receives and processes all frames. */
enum status worker_run_frames(struct worker *w, struct error *e);

/* --- images.c ---------------------------------------------------------------------------- */

/* Makes a pool for images of up to image_bytes bytes, and stores it in links->pool.  Makes none for
 * small images, which the heap holds.  If the system has no memory for a pool, a warning says so
 * and the heap is used.  If *links has a GPU, the images may also be in the memory of that GPU. */
void images_open(struct images *m, struct links *links, size_t image_bytes);

/* Returns the memory that image_reserve must use; NULL: the heap. */
struct image_memory *images_memory(struct images *m);

/* Copies the pixels of *image into memory that may be written to and sent.  Does nothing if they
 * are there already: in the pool, or on the heap if there is no pool.  Pixels in the GPU memory of
 * another process are copied from the GPU.  STATUS_FAILED: not enough memory, or the pixels were
 * replaced while they were copied. */
enum status images_make_own(struct images *m, struct image *image, struct error *e);

/* If the pixels of a frame's message are in the pool of another process, takes ownership of
 * their lease.  Call before the pixels are read.  After the frame is decoded, call images_mark. */
void images_borrow(struct images *m, struct message *message);

/* Sets the callbacks of an image whose pixels were borrowed, so that image_is_intact checks
 * these pixels. */
void images_mark(struct images *m, struct image *image);

/* Finds the address of borrowed pixels on the GPU, if they are there.  Call between images_borrow
 * and images_mark.  STATUS_FAILED: the pixels are on the GPU and cannot be read. */
enum status images_find_on_card(struct images *m, struct error *e);

/* Sets the checksum that borrowed pixels must have.  The checksum of the pixels is formed when a
 * caller asks whether they are intact, or reports that they have been read.  At that time the
 * pixels may still be in the caches of the CPU.  ahead: the first bytes, if their checksum has been
 * formed already. */
void images_expect(struct images *m, uint32_t sum, struct crc32c_piece ahead);

/* The state of borrowed pixels when they are returned: unchanged, replaced by their owner, or
 * with another checksum than expected. */
enum images_were { IMAGES_INTACT, IMAGES_REPLACED, IMAGES_DAMAGED };

/* Returns borrowed pixels, if there are any, to their owner. */
enum images_were images_return(struct images *m);

#endif
