/*
 * The operations that the engine needs from a GPU, as a table of functions.  There are two
 * implementations: the CUDA runtime, and the CPU as a stand-in for tests without a GPU.
 *
 * "On the GPU", or "there", is memory that `reserve` returned.  "Here" is the memory of the host.
 */
#ifndef BRAGG_GPU_DEVICE_H
#define BRAGG_GPU_DEVICE_H

#include "engine/engine.h"
#include "gpu/frame.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"

enum { GPU_PARTS = 8 };  // maximum number of parts

/* Bands of a smeared sensor, whose thin images are on the GPU. */
struct gpu_smear_job {
    const struct gpu_smear *smear;
    size_t nbands;
    const struct gpu_smear_band *here;  // copy of smear->bands in host memory
    void *after;                        // the context whose latest `run` makes the thin images
};

/* Sets *part to the rows of a band that are among these rows of the frame; NULL: all rows.  Returns
 * false if there are none. */
static inline bool gpu_smear_cut(const struct gpu_smear_band *b, const struct gpu_rows *rows,
                                 struct gpu_smear_part *part)
{
    const int64_t first = rows ? rows->first - b->frame_row : b->begin[1];
    const int64_t end = rows ? first + rows->count : b->end[1];
    part->rows[0] = first > b->begin[1] ? first : b->begin[1];
    part->rows[1] = end < b->end[1] ? end : b->end[1];
    return part->rows[0] < part->rows[1];
}

/* A job for the GPU: rows of a frame, what is to be computed, and the GPU memory for it.  The rows
 * are in parts, so that some parts are copied over the bus while others are computed. */
struct gpu_run {
    const struct gpu_frame *frame;
    int nparts;
    struct gpu_part {
        struct gpu_rows rows;  // rows.first_pixel is that of part 0
        int64_t first, end;    // pixels of the part, counted from first_pixel
    } part[GPU_PARTS];
    float *photons;                     // GPU memory for the photons of all parts
    bool given;                         // the photons exist already: at `here`, or, if `here` is
                                        // NULL, on the GPU at after->photons
    const float *here;                  // photons in host memory, to be copied to photons[];
                                        // NULL: none
    const struct gpu_smear_job *smear;  // if `given`: computes the photons of each part from sums
                                        // that are on the GPU; NULL: the photons exist already
    const struct gpu_after *after;      // steps after the photons
    const struct background_scene *scene;  // compute after->background from this scene first;
                                           // NULL: it is already computed, or there is none
    bool apart;    // parts wait for each other, so that each kernel can be timed separately
    bool later;    // return while the GPU is still computing; the pixels stay on the GPU
    void *behind;  // context whose latest `run` must have computed its pixels before the first
                   // kernel of this run starts; NULL: none
    void (*meanwhile)(void *plan);  // called when all kernels of the run are queued, before the
    void *plan;                     // host waits for them; NULL: none
    bool sums;  // form the checksum of the output pixels: the member `sum` of the verdict, which
                // is 0 before
};

/* Returns the type of the output pixels, and in *from their GPU address; for all parts. */
static inline enum pixel_type gpu_leaving(const struct gpu_run *r, const void **from)
{
    const enum pixel_type type = r->after->type;
    *from = type == PIXEL_F32 ? (const void *)r->after->sum : r->after->counts;
    return type;
}

/* Returns the output pixels of a run, whose checksum is wanted. */
struct gpu_checksum gpu_checksum_of(const struct gpu_run *r);

/* Returns the CRC-32C of `count` bytes.  `sum` is the register that gpu_checksum_launch made. */
uint32_t gpu_checksum_finish(uint32_t sum, uint64_t count);

/* Returns true if the photons are the output and no other kernel follows. This is possible only
 * in the dense form, whose kernels also check the photons (gpu_judge). */
static inline bool gpu_is_bare(const struct gpu_run *r)
{
    return !r->given && r->frame->ndense && r->after->type == PIXEL_F32 && !r->after->background;
}

struct gpu_device {
    const char *identity[2];  // bit-compatibility class, indexed by enum engine_precision

    /* Returns the bit-compatibility class of the CPU engine whose operations the GPU reproduces. */
    const char *(*as_cpu)(void *context, enum engine_precision precision);

    int64_t part_pixels;  // approximate number of pixels of a part, if there are several parts
    size_t sum_bytes;     // size of the smallest image whose checksum the GPU forms

    /* Describes a GPU, see gpu_describe (gpu/gpu.h). */
    enum status (*describe)(int number, int *count, char description[GPU_DESCRIPTION],
                            struct error *e);

    /* Opens the GPU, and writes its name for the user to description[].
     * STATUS_USAGE: there is no usable GPU; *context is then NULL. */
    enum status (*attach)(void **context, const struct engine_options *options,
                          char description[GPU_DESCRIPTION], struct error *e);
    void (*detach)(void *context);

    /* Returns the interface through which other processes open memory of this GPU. */
    const struct card *(*card)(void *context);

    /* Sets *bytes to the free GPU memory. */
    enum status (*room)(void *context, size_t *bytes, struct error *e);

    /* Allocates GPU memory; *memory is NULL after an error.  `release` frees it and accepts
     * NULL. */
    enum status (*reserve)(void *context, size_t bytes, void **memory, struct error *e);
    void (*release)(void *context, void *memory);
    /* Allocates host memory for data that are uploaded repeatedly: the bus reads it without an
     * intermediate copy.  *memory is NULL after an error.  `take_back` frees it and accepts
     * NULL. */
    enum status (*lend)(void *context, size_t bytes, void **memory, struct error *e);
    void (*take_back)(void *context, void *memory);
    /* Copies from[] in host memory to the GPU memory `to`.  The caller may change from[] after the
     * call.  Memory from `lend` may change only after the next operation has finished. */
    enum status (*upload)(void *context, void *to, const void *from, size_t bytes, struct error *e);

    /* Pins host memory to which pixels will be copied once or repeatedly.  The memory must stay
     * mapped until `unpin`, which releases all pinned memory.
     * STATUS_FAILED: the memory cannot be pinned; copies to it work, but are slower. */
    enum status (*pin)(void *context, void *memory, size_t bytes, struct error *e);
    void (*unpin)(void *context);
    /* Returns the address at which kernels can write to this pinned host memory over the bus;
     * NULL: they cannot. */
    void *(*reach)(void *context, void *memory, size_t bytes);

    /* Computes rows of a frame on the GPU, and copies the output pixels to to[] in host memory.
     * `to` is NULL: the pixels stay on the GPU.  Adds to *verdict and, unless `times` is NULL, to
     * *times.  r->later: returns while the GPU is still computing, and adds nothing. */
    enum status (*run)(void *context, const struct gpu_run *r, void *to, struct gpu_times *times,
                       struct gpu_verdict *verdict, struct error *e);

    /* Returns when the latest `run` with r->later has finished.  Sets *verdict to its verdict. */
    enum status (*settle)(void *context, struct gpu_verdict *verdict, struct error *e);

    /* Starts to compute pixels and their derivatives on the GPU, for struct derive_batches.  Sets
     * *values to the host address at which the results will be: a copy of batch->planes or, if
     * that is NULL, of batch->values.  Each place has room for `room` pixels.  `slopes_wait`
     * returns when the results of a place have arrived. */
    enum status (*slopes)(void *context, const struct gpu_slopes *frame,
                          const struct gpu_slopes_batch *batch, size_t room, int place,
                          const void **values, struct error *e);
    enum status (*slopes_wait)(void *context, int place, struct error *e);

    /* Computes pixels in closed form, and copies them to to[] in host memory; NULL: they stay on
     * the GPU. */
    enum status (*closed)(void *context, const struct gpu_closed *frame,
                          const struct gpu_closed_batch *batch, float *to, struct error *e);

    /* Computes the sums of bands from their thin images and, if `pixels`, their pixels.  Returns
     * when they are there, and adds the time to *ms.  If `ms` is NULL, returns while the GPU is
     * still computing.  The next `run` of this context waits for it. */
    enum status (*smear)(void *context, const struct gpu_smear_job *job, bool pixels, double *ms,
                         struct error *e);

    /* Computes what each reflection adds to each of any number of pixels.  Counts the results in
     * here->used.  If all pieces fit into *there, the other members of *here describe a copy of
     * them in host memory. */
    enum status (*shares)(void *context, const struct gpu_shares *frame,
                          const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                          struct gpu_pieces_here *here, struct error *e);
};

/* Sets `*card` to the number, 0 to count - 1, of the GPU that the options select.
 * STATUS_USAGE: there is no such GPU. */
enum status gpu_choose(int count, const struct engine_options *options, int *card, struct error *e);

/* Creates a plan of the CUDA engine, as `create` in engine/engine.h, on this device. */
enum status gpu_plan_create(struct plan **plan, const struct gpu_device *device,
                            const struct experiment *x, const struct engine_options *options,
                            struct error *e);

/* The CUDA runtime.  In a build without CUDA, gpu_device_cuda.attach fails with a message.
 * Tests have a second device, the CPU as a stand-in (tests/hostgpu/host_engine.c). */
extern const struct gpu_device gpu_device_cuda;

#endif
