/*
 * What the engine asks of a card, as a table of functions: the CUDA runtime is one, this
 * processor, for checks without a GPU, the other.  Memory "on the card" is what reserve
 * returned.
 */
#ifndef BRAGG_GPU_DEVICE_H
#define BRAGG_GPU_DEVICE_H

#include "engine/engine.h"
#include "gpu/frame.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"

enum { GPU_DESCRIPTION = 192, GPU_PARTS = 8 };  // bytes of a description; parts at most

/* Rows of a frame, what is computed, and where on the card: in parts, so that some are on the
 * bus while others are computed. */
struct gpu_run {
    const struct gpu_frame *frame;
    int nparts;
    struct gpu_part {
        struct gpu_rows rows;  // first_pixel is that of part 0
        int64_t first, end;    // pixels, counted from that one
    } part[GPU_PARTS];
    float *photons;                        // of all parts, to be made
    bool given;                            // they are there, at after->photons ...
    const float *here;                     // ... or here, to be copied to photons[]; NULL: neither
    const struct gpu_after *after;         // what becomes of them
    const struct background_scene *scene;  // of after->background, which is made first; NULL: it
                                           // is there, or there is none
    bool apart;  // parts wait for each other, so that each kernel has its time
};

/* Type, and place on the card, of the pixels that leave, all parts'. */
static inline enum pixel_type gpu_leaving(const struct gpu_run *r, const void **from)
{
    const enum pixel_type type = r->after->type;
    *from = type == PIXEL_F32 ? (const void *)r->after->sum : r->after->counts;
    return type;
}

/* Whether the kernels of photons judge them and nothing follows: those of the dense form, where
 * photons leave as they are. */
static inline bool gpu_is_bare(const struct gpu_run *r)
{
    return !r->given && r->frame->ndense && r->after->type == PIXEL_F32 && !r->after->background;
}

struct gpu_device {
    const char *identity[2];  // class of equal bytes, by enum engine_precision

    /* The class of the cpu engine whose operations the card has. */
    const char *(*as_cpu)(void *context, enum engine_precision precision);

    int64_t part_pixels;  // of a part, about, where there are several

    /* Takes the card and describes it, for people.  STATUS_USAGE with one line when there
     * is none that can be used; *context is then NULL. */
    enum status (*attach)(void **context, const struct engine_options *options,
                          char description[GPU_DESCRIPTION], struct error *e);
    void (*detach)(void *context);

    /* Its memory as others know it. */
    const struct card *(*card)(void *context);

    /* Free memory, bytes. */
    enum status (*room)(void *context, size_t *bytes, struct error *e);

    /* Memory on the card; *memory is NULL after an error.  release takes NULL too. */
    enum status (*reserve)(void *context, size_t bytes, void **memory, struct error *e);
    void (*release)(void *context, void *memory);
    /* Memory here that is uploaded again and again: the bus reads it without a copy in between.
     * *memory is NULL after an error; take_back takes NULL too. */
    enum status (*lend)(void *context, size_t bytes, void **memory, struct error *e);
    void (*take_back)(void *context, void *memory);
    /* from[] is any memory here, and may change after the call; if it is lent, not before what
     * is asked for next is done. */
    enum status (*upload)(void *context, void *to, const void *from, size_t bytes, struct error *e);

    /* Memory here that pixels will be copied to, once or often, and that stays mapped until
     * unpin, which is for all of it.  STATUS_FAILED: copies take a longer way. */
    enum status (*pin)(void *context, void *memory, size_t bytes, struct error *e);
    void (*unpin)(void *context);
    /* Where kernels write to pinned memory here, over the bus; NULL: they cannot. */
    void *(*reach)(void *context, void *memory, size_t bytes);

    /* Computes rows of a frame on the card and copies what leaves to to[] here, NULL: it stays;
     * adds to *times, NULL: nobody asks, and to *verdict. */
    enum status (*run)(void *context, const struct gpu_run *r, void *to, struct gpu_times *times,
                       struct gpu_verdict *verdict, struct error *e);

    /* Begins to compute pixels and their derivatives on the card, as a struct derive_batches; sets
     * *values to where a copy of batch->planes, or without these of batch->values, will be here.
     * Room for `room` pixels in each place. */
    enum status (*slopes)(void *context, const struct gpu_slopes *frame,
                          const struct gpu_slopes_batch *batch, size_t room, int place,
                          const void **values, struct error *e);
    enum status (*slopes_wait)(void *context, int place, struct error *e);

    /* Computes pixels in closed form, and copies them to to[] here. */
    enum status (*closed)(void *context, const struct gpu_closed *frame,
                          const struct gpu_closed_batch *batch, float *to, struct error *e);

    /* The same for what reflections give to pixels, any number of them: adds up here->used.  If all
     * pieces fit into *there, the others of *here are a copy of them. */
    enum status (*shares)(void *context, const struct gpu_shares *frame,
                          const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                          struct gpu_pieces_here *here, struct error *e);
};

/* The card of several that options ask for; STATUS_USAGE when there is no such.  *card is from 0
 * to count - 1. */
enum status gpu_choose(int count, const struct engine_options *options, int *card, struct error *e);

/* Without CUDA in this build, attach fails and says so. */
extern const struct gpu_device gpu_device_cuda;
extern const struct gpu_device gpu_device_host;

#endif
