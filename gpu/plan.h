/* The inside of a plan: for engine.c, and for after.c, which goes on where photons are there. */
#ifndef BRAGG_GPU_PLAN_H
#define BRAGG_GPU_PLAN_H

#include "engine/cpu/cpu.h"
#include "engine/derivatives/derive.h"
#include "engine/reflections/footprint.h"
#include "engine/spots/shares.h"
#include "gpu/device.h"
#include "gpu/pack.h"
#include "model/recipe.h"

/* The steps that follow the photons on the GPU; PIXEL_F32 and no materials: there are none. */
struct gpu_afterwards {
    enum pixel_type type;                  // of the output
    struct noise_pixels noise;             // without seed and frame
    struct clipped *clipped;               // of struct noise
    void *resident;                        // on the card: materials, sources
    struct poisson_table *table;           // there: of the noise
    struct background_scene scene;         // of the experiment; its pointers are of the card
    struct background_scene recipe_scene;  // the same with the sources of the current recipe
    const struct source *sources;          // these, on the card
    size_t nsources;
    struct source *gathered;  // room for them here; owned
    double *ratios;  // absorption of the sources in the sensor, in host memory; owned, NULL: all
                     // are alike
    const double *absorb;  // the same on the card
    bool has_background;   // that of `scene` for rows from background_row on is there
    int64_t background_row;
};

/* What was made on the card, and what was there when it was wanted. */
struct gpu_counts {
    uint64_t tables_found;  // by frames or parts of them; made once
    uint64_t buffers_made, buffers_found;
    uint64_t backgrounds_made, backgrounds_found;
    uint64_t places_pinned;
    uint64_t upload_bytes;
};

#define GPU_CLOSED_IDENTITY "cuda-closed-1"

/* Arrays of pixels that are asked for by number: these, and what is told of them. */
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

/* Packed arrays that are uploaded together. */
enum gpu_block { BLOCK_EXPERIMENT, BLOCK_AFTER, BLOCK_RECIPE, GPU_BLOCKS };

/* For debugging: these arrays, each in memory of its own, see gpu_pack_into. */
struct gpu_apart {
    const struct gpu_device *device;
    void *context;
    size_t count;
    struct gpu_piece {
        void *there;       // on the card
        size_t at, bytes;  // here, in the block
    } * pieces;            // owned: [count]
    bool failed;           // memory was out
};

/* An image, or a part of one: here, or on the card; the other is NULL. */
struct gpu_image {
    char *here, *there;
};

/* A frame that is asked for. */
struct gpu_task {
    const struct recipe *recipe;
    const uint64_t *seed;        // NULL: photons only
    struct gpu_image photons;    // that are given; both NULL: they are computed
    struct gpu_image to;         // pixels
    atomic_uint_fast64_t *done;  // rows; may be NULL
};

/* What is made of pixels. */
enum { OUT_PHOTONS, OUT_BACKGROUND, OUT_COUNTS, GPU_OUTS };

struct plan {
    const struct gpu_device *device;
    void *context;  // of the device
    struct moved moved;
    const struct experiment *experiment;  // &moved.x
    enum engine_precision precision;
    bool after;                       // nothing but gpu_go_on is wanted
    int threads;                      // of the work of the host
    struct gpu_panel *panels;         // in the order of their pixels, masks on the card
    double by_m[3];                   // how they stand there, see struct moved
    struct cpu_table *tables;         // one per crystal
    const struct cpu_table *on_card;  // the same there
    bool closed;                      // crystals of closed form, see engine/closed/closed.h
    bool as_cpu;                      // frames have the bytes of the cpu engine
    struct dense_table *padded;       // one per crystal; NULL: the dense form is not for this plan
    struct gpu_padded *padded_there;  // the same on the card
    struct footprint *footprint;      // applied here, behind the copy; NULL: of points
    struct gpu_frame frame;           // of the experiment
    void *resident;                   // on the card: panels, tables
    void *recipe;                     // on the card: sources, lattices
    unsigned char *packed;            // here: the same, before it is copied
    size_t recipe_bytes;              // of both
    struct gpu_apart apart[GPU_BLOCKS];
    void *batch[GPU_BATCHES];  // on the card: pixels and what is told of them, apart as out[]
    size_t batch_bytes[GPU_BATCHES];
    uint32_t *listed;                // here, lent: room for the numbers of all pixels
    struct share_room sorting;       // of reflections
    void *out[GPU_OUTS];             // on the card, of out_rows rows: apart, so that tools see
                                     // what is written beyond the end of one
    size_t out_bytes[GPU_OUTS];      // of a pixel; 0: there is none
    int64_t rows, out_rows, widest;  // of all panels; of a part; pixels of the longest
    bool timed, apart_times;         // somebody asks for, each kernel's own,
    struct gpu_times times;          // ... those of the last frame
    struct gpu_counts counts;
    struct gpu_afterwards afterwards;
    char description[GPU_DESCRIPTION];
};

/* Copies to the card, and counts what. */
enum status gpu_upload(struct plan *p, void *to, const void *from, size_t bytes, struct error *e);

/* Room for a recipe of that size at p->packed and, on the card, p->recipe. */
enum status gpu_grow_recipe(struct plan *p, size_t bytes, struct error *e);

/* Room of that size at p->batch[which], kept from request to request. */
enum status gpu_open_batch(struct plan *p, enum gpu_batch which, size_t bytes, struct error *e);

/* Copies the panels of p->experiment to the GPU, if the recipe has moved them. */
enum status gpu_move_panels(struct plan *p, struct error *e);

/* Prepares the dense form if it is for this experiment, and finds out whether frames have the
 * bytes of the cpu engine. */
enum status gpu_dense_open(struct plan *p, struct error *e);

/* Sets job->dense where the dense form is for this recipe, with its tables on the card. */
enum status gpu_dense_choose(struct plan *p, struct cpu_job *job, struct error *e);

/* Frees the memory that gpu_dense_open allocated. */
void gpu_dense_close(struct plan *p);

/* Buffers of pixels: as many rows as fit, all of them where they do, unless they are there. */
enum status gpu_open_out(struct plan *p, struct error *e);

/* Frees the buffers of pixels; the next frame makes them anew. */
void gpu_drop_out(struct plan *p);

/* Memory of the card for what is kept from frame to frame; the buffers of pixels make way. */
enum status gpu_reserve(struct plan *p, size_t bytes, void **memory, struct error *e);

/* All rows of a frame, whose buffers and recipe are there. */
enum status gpu_run_rows(struct plan *p, const struct gpu_frame *frame, const struct gpu_task *t,
                         struct error *e);

/* See struct engine. */
enum status gpu_after_prepare(struct plan *p, struct engine_after *after, struct error *e);

/* Packs the recipe's own sources if background asks for them; fails as background_absorb. */
enum status gpu_after_recipe(struct plan *p, struct gpu_pack *pack, const struct recipe *recipe,
                             struct error *e);

/* Completes *r, whose parts are set, with what comes after photons but their places; *after is
 * r->after.  `seed`:
 * NULL for photons that leave as they are. */
void gpu_after_rows(struct plan *p, const struct recipe *recipe, const uint64_t *seed,
                    struct gpu_run *r, struct gpu_after *after);

/* See struct engine. */
size_t gpu_plan_counts(const struct plan *p, struct engine_count counts[ENGINE_COUNTS]);

/* The error of a bad pixel, see struct gpu_device. */
enum status gpu_after_verdict(const struct plan *p, const struct recipe *recipe,
                              const struct gpu_verdict *v, struct error *e);

/* ---- packed arrays ---------------------------------------------------------------------
 * For debugging, where the environment has BRAGG_GPU_APART, each array gets memory of its own on
 * the GPU, so that a tool that watches memory sees a thread that reads beyond the end of one. */

/* A pack that writes to the host memory to[] the bytes that will be at the device address `there`.
 * Arrays that the block had in memory of their own before are freed. */
struct gpu_pack gpu_pack_into(struct plan *p, enum gpu_block block, void *to, void *there);

/* Uploads the packed arrays. */
enum status gpu_pack_send(struct plan *p, const struct gpu_pack *pack, struct error *e);

/* Frees the arrays that blocks have in memory of their own. */
void gpu_apart_close(struct plan *p);

/* Photons, as of points, of a frame of a plan in closed form; `rows` as in struct engine. */
enum status gpu_closed_run(struct plan *p, const struct recipe *recipe, float *photons,
                           atomic_uint_fast64_t *rows, struct error *e);

/* See struct engine. */
enum status gpu_derive(struct plan *p, const struct recipe *recipe,
                       const struct derive_request *request, struct error *e);

/* See struct engine. */
enum status gpu_reflections(struct plan *p, const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e);

#endif
