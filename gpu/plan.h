/*
 * The data of a plan of the CUDA engine: what the engine prepares once for an experiment and reuses
 * for each frame.  Private to the files of this folder.
 *
 * "Here" is the memory of the host, "there" is the memory of the GPU.
 */
#ifndef BRAGG_GPU_PLAN_H
#define BRAGG_GPU_PLAN_H

#include "engine/cpu/cpu.h"
#include "engine/derivatives/derive.h"
#include "engine/reflections/footprint.h"
#include "engine/spots/shares.h"
#include "gpu/device.h"
#include "gpu/frame.h"
#include "model/recipe.h"
#include "physics/background/background_pixel.h"

/*
 * Packs the data that kernels need into one block of memory, which is copied to the GPU unchanged.
 * The block holds structs with pointers to their arrays; these pointers are GPU addresses.
 *
 * The caller packs twice: the first pass only counts the bytes, the second pass writes them.
 */

struct gpu_pack {
    unsigned char *to;        // host memory of the block; NULL: bytes are only counted
    uintptr_t base;           // GPU address that the block will have
    size_t bytes;             // number of bytes packed so far
    struct gpu_apart *apart;  // arrays are in separate allocations, see gpu_pack_into; NULL: they
                              // follow each other in the block
};

/* Reserves `bytes` in the block.  Sets *here to the host address to write to, NULL in the counting
 * pass.  Returns the GPU address. */
void *gpu_pack_room(struct gpu_pack *pack, size_t bytes, void **here);

/* Copies an array into the block.  Returns its GPU address; NULL if `items` is NULL. */
void *gpu_pack_add(struct gpu_pack *pack, const void *items, size_t count, size_t size);

/* Returns the index of a panel if the panels are ordered by their first pixel. */
size_t gpu_panel_rank(const struct experiment *x, const struct panel *p);

/* Returns the panels in the order of their pixels, with the numbers of their rows.  Returns NULL if
 * memory runs out.  The caller frees the array with mem_free; masks still belong to *x. */
struct gpu_panel *gpu_panels(const struct experiment *x);

/* Packs the data of the experiment: first the panels (see gpu_panels) with their masks, then the
 * structure factors.  Sets the members of *frame that depend on the experiment, and *on_card to the
 * GPU address of the tables. */
void gpu_pack_experiment(struct gpu_pack *pack, const struct experiment *x,
                         const struct gpu_panel *panels, const struct cpu_table *tables,
                         enum engine_precision precision, struct gpu_frame *frame,
                         const struct cpu_table **on_card);

/* Packs sources and lattices of an open job.  The job's tables are at `tables` in host memory and
 * at `on_card` on the GPU.  Sets the members of *frame that depend on the recipe. */
void gpu_pack_recipe(struct gpu_pack *pack, const struct cpu_job *job,
                     const struct cpu_table *tables, const struct cpu_table *on_card,
                     struct gpu_frame *frame);

/* Squared structure factors of a crystal on the GPU, see struct dense_table. */
struct gpu_padded {
    float *F_sqr;  // GPU memory; NULL: not uploaded yet
    int32_t reach[3];
};

/* Packs the dense lattices of an open job, none of which is scattered.  Sets the members of *frame
 * that belong to the dense form; call it after gpu_pack_recipe.
 * `panels`: see gpu_panels; `padded`: one per crystal. */
void gpu_pack_dense(struct gpu_pack *pack, const struct cpu_job *job,
                    const struct gpu_panel *panels, const struct gpu_padded *padded,
                    struct gpu_frame *frame);

/* Packs sources and materials of *scene.  The pointers in *scene become GPU addresses. */
void gpu_pack_scene(struct gpu_pack *pack, struct background_scene *scene);

/* The steps that follow the photons on the GPU: background and noise.  If `type` is PIXEL_F32 and
 * the scene has no materials, there are no such steps. */
struct gpu_afterwards {
    enum pixel_type type;           // type of the output pixels
    struct noise_pixels noise;      // parameters of the noise, without seed and frame number
    struct clipped *clipped;        // member of struct noise: counts of clipped pixels
    void *resident;                 // GPU memory: materials and sources
    struct poisson_table *table;    // GPU memory: table of the noise
    struct background_scene scene;  // scene of the experiment; its pointers are GPU addresses
    struct background_scene recipe_scene;  // the same scene with the sources of the current recipe
    const struct source *sources;          // GPU memory: sources of the current recipe
    size_t nsources;
    struct source *gathered;  // owned: host buffer for `sources`
    double *ratios;           // owned: absorption of the sources in the sensor, in host memory;
                              // NULL: the same for all sources
    const double *absorb;     // GPU memory: copy of `ratios`
    bool has_background;      // the background of `scene` is on the GPU for the rows from
                              // background_row on
    int64_t background_row;
};

/* How often data on the GPU were made, and how often they could be reused ("found"). */
struct gpu_counts {
    uint64_t tables_found;  // reuses by frames or parts of frames; tables are made once
    uint64_t buffers_made, buffers_found;
    uint64_t backgrounds_made, backgrounds_found;
    uint64_t places_pinned;  // regions of host memory that were pinned
    uint64_t upload_bytes;   // bytes copied from the host to the GPU
    uint64_t begun_early;    // frames that were begun before the frame before them was complete
};

#define GPU_CLOSED_IDENTITY "cuda-closed-1"

/* GPU arrays of batches: pixels that are requested by their numbers, and the results for them. */
enum gpu_batch {
    BATCH_NUMBERS,
    BATCH_VALUES,
    BATCH_FOUND,
    BATCH_RUNS,
    BATCH_PIECES,
    BATCH_PHOTONS,
    BATCH_TURN,
    BATCH_USED,
    GPU_BATCHES
};

/* Blocks of packed arrays.  The arrays of a block are uploaded together. */
enum gpu_block { BLOCK_EXPERIMENT, BLOCK_AFTER, BLOCK_RECIPE, GPU_BLOCKS };

/* For debugging: the arrays of a block, each in a separate piece of GPU memory.  See
 * gpu_pack_into. */
struct gpu_apart {
    const struct gpu_device *device;
    void *context;
    size_t count;
    struct gpu_piece {
        void *there;       // GPU address
        size_t at, bytes;  // place of the array in the host block: offset and size
    } * pieces;            // owned: [count]
    bool failed;           // an allocation failed
};

/* An image, or a part of an image, in host memory (here) or in GPU memory (there); the other
 * pointer is NULL. */
struct gpu_image {
    char *here, *there;
};

/* A request for one frame. */
struct gpu_task {
    const struct recipe *recipe;
    const uint64_t *seed;               // seed of the noise; NULL: photons only
    struct gpu_image photons;           // photons that the caller provides; both NULL: compute them
    const struct gpu_smear_job *smear;  // kernels that compute photons.there first; NULL: none
    struct gpu_image to;                // destination of the pixels
    bool later;                         // this one and the next one: as in struct gpu_run
    void *behind;
    bool sums;                   // form p->sum, if the pixels leave for host memory
    atomic_uint_fast64_t *done;  // counter of finished rows; may be NULL
};

/* The buffers of pixels on the GPU. */
enum { OUT_PHOTONS, OUT_BACKGROUND, OUT_COUNTS, GPU_OUTS };

struct plan {
    const struct gpu_device *device;
    void *context;  // first argument of the functions of `device`
    struct moved moved;
    const struct experiment *experiment;  // points to moved.x
    enum engine_precision precision;
    bool after;                       // the plan serves only background and noise: photons arrive
                                      // from a previous stage
    int threads;                      // number of threads for the work of the host
    struct gpu_panel *panels;         // in the order of their pixels; masks are in GPU memory
    double by_m[3];                   // shift of the panels that are on the GPU, see struct moved
    struct cpu_table *tables;         // structure factors, one table per crystal
    const struct cpu_table *on_card;  // GPU memory: the same tables
    bool closed;                      // crystals are in closed form, see engine/closed/closed.h
    bool as_cpu;                      // frames have the same bytes as with the CPU engine
    struct dense_table *padded;       // one per crystal; NULL: no dense form for this plan
    struct gpu_padded *padded_there;  // the same with F_sqr in GPU memory
    struct gpu_smeared *smeared;  // owned, see smear_run.c; NULL: sensors are thin or have layers
    bool thin;                    // the plan serves the thin images of another plan
    struct footprint *footprint;  // applied on the host, after the copy; NULL: point-like spots
    struct gpu_frame frame;       // the members that depend on the experiment
    void *resident;               // GPU memory: panels and tables
    void *recipe;                 // GPU memory: sources and lattices
    unsigned char *packed;        // host memory: the same, before the copy to the GPU
    size_t recipe_bytes;          // size of `recipe` and of `packed`
    struct gpu_apart apart[GPU_BLOCKS];
    void *batch[GPU_BATCHES];  // GPU memory: pixels of a batch and their results, in separate
                               // allocations like out[]
    size_t batch_bytes[GPU_BATCHES];
    uint32_t *listed;                // buffer for the numbers of all pixels, from device->lend
    struct share_room sorting;       // buffers for the table of reflections
    void *out[GPU_OUTS];             // GPU memory for out_rows rows.  Separate allocations, so that
                                     // memory checkers detect a write beyond the end of one
    size_t out_bytes[GPU_OUTS];      // bytes per pixel; 0: this buffer is not used
    int64_t rows, out_rows, widest;  // rows of all panels; of a part; pixels of the longest row
    bool timed, apart_times;         // gpu_keep_times was called; with times of each kernel
    struct gpu_times times;          // times of the latest frame, if `timed`
    const struct recipe *next;       // recipe of the next frame; NULL: not known
    bool sums;                       // option `sums` of the engine
    bool has_sum;                    // `sum` is the checksum of the latest frame
    uint32_t sum;
    struct gpu_counts counts;
    struct gpu_afterwards afterwards;
    char description[GPU_DESCRIPTION];
};

/* Copies `bytes` from host memory `from` to GPU memory `to`, and adds them to
 * counts.upload_bytes. */
enum status gpu_upload(struct plan *p, void *to, const void *from, size_t bytes, struct error *e);

/* Makes p->packed in host memory and p->recipe in GPU memory at least `bytes` long. */
enum status gpu_grow_recipe(struct plan *p, size_t bytes, struct error *e);

/* Makes p->batch[which] at least `bytes` long.  The memory is kept for later requests. */
enum status gpu_open_batch(struct plan *p, enum gpu_batch which, size_t bytes, struct error *e);

/* Copies the panels of p->experiment to the GPU, if the recipe has moved them. */
enum status gpu_move_panels(struct plan *p, struct error *e);

/* Prepares the dense form, if it fits this experiment.  Sets p->as_cpu. */
void gpu_dense_open(struct plan *p);

/* Sets job->dense if the dense form fits this recipe; its tables are on the GPU then. */
enum status gpu_dense_choose(struct plan *p, struct cpu_job *job, struct error *e);

/* Frees the memory that gpu_dense_open allocated. */
void gpu_dense_close(struct plan *p);

/* Allocates the buffers of pixels, if they are missing: for all rows of the frame, or for the
 * number of rows that fits into the GPU memory. */
enum status gpu_open_out(struct plan *p, struct error *e);

/* Frees the buffers of pixels.  The next frame allocates them again. */
void gpu_drop_out(struct plan *p);

/* Allocates GPU memory for data that are kept from frame to frame.  If memory is short, the buffers
 * of pixels are freed. */
enum status gpu_reserve(struct plan *p, size_t bytes, void **memory, struct error *e);

/* Prepares the background and the noise. The contract is that of `prepare` in struct engine. */
enum status gpu_after_prepare(struct plan *p, struct engine_after *after, struct error *e);

/* Packs the sources of the recipe, if the background depends on them. Errors are those of
 * background_absorb. */
enum status gpu_after_recipe(struct plan *p, struct gpu_pack *pack, const struct recipe *recipe,
                             struct error *e);

/* Adds the steps after the photons to *r, whose parts are set, and to *after, which is r->after.
 * Sets everything except the addresses of the photons.
 * `seed`: seed of the noise; NULL: the photons are the output. */
void gpu_after_rows(struct plan *p, const struct recipe *recipe, const uint64_t *seed,
                    struct gpu_run *r, struct gpu_after *after);

/* Computes all rows of a frame, and the steps after the photons.  *frame describes the recipe,
 * which is on the GPU, as are the buffers of pixels (gpu_open_out).  Sets p->sum, if the task asks
 * for it. STATUS_INPUT: see gpu_after_verdict. */
enum status gpu_run_rows(struct plan *p, const struct gpu_frame *frame, const struct gpu_task *t,
                         struct error *e);

/* Member `counts` of struct engine for the engines of this folder. */
size_t gpu_plan_counts(const struct plan *p, struct engine_count counts[ENGINE_COUNTS]);

/* Returns the error of a bad pixel that the verdict names, or STATUS_OK.  See `run` in struct
 * gpu_device. */
enum status gpu_after_verdict(const struct plan *p, const struct recipe *recipe,
                              const struct gpu_verdict *v, struct error *e);

/* ---- packed arrays ---------------------------------------------------------------------
 * For debugging: if the environment has BRAGG_GPU_APART, each array gets a separate allocation on
 * the GPU.  A memory checker then detects a thread that reads beyond the end of an array. */

/* Returns a pack that writes to the host memory to[] the bytes that will be at the device address
 * `there`.  Frees separate allocations that the block had before. */
struct gpu_pack gpu_pack_into(struct plan *p, enum gpu_block block, void *to, void *there);

/* Copies the packed arrays from host memory to the GPU. */
enum status gpu_pack_send(struct plan *p, const struct gpu_pack *pack, struct error *e);

/* Frees the separate allocations of all blocks. */
void gpu_apart_close(struct plan *p);

/* Computes the photons of a frame of a plan in closed form, before a footprint is applied; `rows`
 * is the counter of finished rows, as in struct engine.  `photons` is NULL: they stay on the GPU in
 * p->out[OUT_PHOTONS], which has room for the frame, and are not checked. */
enum status gpu_closed_run(struct plan *p, const struct recipe *recipe, float *photons,
                           atomic_uint_fast64_t *rows, struct error *e);

/* How plans for the thin images of a smeared sensor are made and used. */
struct gpu_thin_plans {
    /* Creates a plan with these options: the experiment *x has the panels of smear_bands_thin, at
     * their place in the frame.  Errors are those of gpu_plan_create. */
    enum status (*create)(struct plan **plan, const struct gpu_device *device,
                          const struct experiment *x, const struct engine_options *options,
                          struct error *e);
    /* Computes a frame as *t asks, without checks of the recipe. */
    enum status (*perform)(struct plan *p, const struct gpu_task *t, struct error *e);
    /* gpu_derive and gpu_share_thin. */
    enum status (*derive)(struct plan *p, const struct recipe *recipe,
                          const struct derive_request *request, struct error *e);
    enum status (*share)(struct plan *p, const struct recipe *recipe, const float *photons,
                         struct share_list *lists, struct error *e);
    /* Frees a plan and sets the pointer to NULL. */
    void (*destroy)(struct plan **plan);
};

/* Prepares p->smeared, if the sensor of p->experiment is smeared.  *plans must outlive it.
 * STATUS_INPUT: see smear_bands_check. */
enum status gpu_smear_open(struct plan *p, const struct engine_options *options,
                           const struct gpu_thin_plans *plans, struct error *e);

/* Computes the photons of a frame of a smeared sensor, t->recipe.  t->photons becomes their GPU
 * address, and t->smear what is still to be computed.  The panels must be at their place in the
 * frame, in host memory and on the GPU.  STATUS_INPUT: see smear_frame_smears, or photons that are
 * not finite. */
enum status gpu_smear_run(struct plan *p, struct gpu_task *t, struct error *e);

/* Begins the frame p->next, if it is known: queues its thin image behind the kernels of the current
 * frame, whose pixels are computed and copied meanwhile.  Begins nothing if the frame needs more
 * than that, or if the thin image of the current frame is not finite. */
void gpu_smear_begin_next(struct plan *p);

/* Returns when the thin image of the latest gpu_smear_run is complete.  STATUS_INPUT: its photons
 * are not finite. */
enum status gpu_smear_settle(struct plan *p, const struct recipe *r, struct error *e);

/* Derivatives and reflections of a frame of a smeared sensor, see gpu_derive and gpu_reflections.
 * The GPU computes those of thin images, the host smears them. */
enum status gpu_smear_derive(struct plan *p, const struct recipe *recipe,
                             const struct derive_request *request, struct error *e);
enum status gpu_smear_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                                  const struct reflections_wanted *wanted,
                                  struct reflection_table *table, struct error *e);

/* Appends the shares of a thin image, of the photons photons[], to lists[experiment_rows()].  *p is
 * a plan of thin images. */
enum status gpu_share_thin(struct plan *p, const struct recipe *recipe, const float *photons,
                           struct share_list *lists, struct error *e);

/* Frees p->smeared. */
void gpu_smear_close(struct plan *p);

/* Member `derive` of struct engine for the engines of this folder. */
enum status gpu_derive(struct plan *p, const struct recipe *recipe,
                       const struct derive_request *request, struct error *e);

/* Member `reflections` of struct engine for the engines of this folder. */
enum status gpu_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e);

#endif
