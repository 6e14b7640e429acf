/*
 * Packs the data that kernels need into one block of memory, which is copied to the GPU unchanged.
 * The block holds structs with pointers to their arrays; these pointers are GPU addresses.
 *
 * The caller packs twice: the first pass only counts the bytes, the second pass writes them.
 */
#ifndef BRAGG_GPU_PACK_H
#define BRAGG_GPU_PACK_H

#include "engine/cpu/cpu.h"
#include "gpu/frame.h"
#include "physics/background/background_pixel.h"

struct gpu_pack {
    unsigned char *to;        // host memory of the block; NULL: bytes are only counted
    uintptr_t base;           // GPU address that the block will have
    size_t bytes;             // number of bytes packed so far
    struct gpu_apart *apart;  // arrays are in separate allocations, see gpu_pack_into; NULL: they
                              // follow each other in the block
};

/* Allocates `bytes` of GPU memory for the array that begins at byte `at` of a block.  Returns NULL
 * and sets a->failed if memory runs out. */
void *gpu_apart_room(struct gpu_apart *a, size_t at, size_t bytes);

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

/* Copies the geometry of the panels of *x to panels[], without their masks. */
void gpu_panels_move(struct gpu_panel *panels, const struct experiment *x);

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

#endif
