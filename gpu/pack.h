/*
 * Puts what a pixel needs into one block of memory that is copied to the card as it is:
 * structs with pointers to their arrays, the pointers being addresses on the card.
 * Packing runs twice, first to count the bytes.
 */
#ifndef BRAGG_GPU_PACK_H
#define BRAGG_GPU_PACK_H

#include "engine/cpu/cpu.h"
#include "gpu/frame.h"
#include "physics/background/background_pixel.h"

struct gpu_pack {
    unsigned char *to;        // here; NULL: bytes are only counted
    uintptr_t base;           // where the block will stand on the card
    size_t bytes;             // so far
    struct gpu_apart *apart;  // NULL: arrays stand side by side, see gpu_pack_into
};

/* Memory of its own for `bytes` at `at` of a block; NULL, and a->failed, when there is none. */
void *gpu_apart_room(struct gpu_apart *a, size_t at, size_t bytes);

/* Room for `bytes`; *here is where to write it, NULL while counting.  Returns its address
 * on the card. */
void *gpu_pack_room(struct gpu_pack *pack, size_t bytes, void **here);

/* A copy of an array; returns its address on the card, NULL for NULL. */
void *gpu_pack_add(struct gpu_pack *pack, const void *items, size_t count, size_t size);

/* The place of a panel in the order of their pixels. */
size_t gpu_panel_rank(const struct experiment *x, const struct panel *p);

/* The panels in the order of their pixels, with the numbers of their rows; NULL when memory
 * is out.  Masks are borrowed; the caller frees the array with mem_free. */
struct gpu_panel *gpu_panels(const struct experiment *x);

/* Takes over where the panels of *x stand, whose masks stay. */
void gpu_panels_move(struct gpu_panel *panels, const struct experiment *x);

/* Panels (see gpu_panels), which come first, with their masks, and structure factors.  Sets the
 * members of *frame that are of the experiment, and *on_card to the address of the tables there. */
void gpu_pack_experiment(struct gpu_pack *pack, const struct experiment *x,
                         const struct gpu_panel *panels, const struct cpu_table *tables,
                         enum engine_precision precision, struct gpu_frame *frame,
                         const struct cpu_table **on_card);

/* Sources and lattices of an open job, whose tables are `tables` here and `on_card` there.
 * Sets the members of *frame that are of the recipe. */
void gpu_pack_recipe(struct gpu_pack *pack, const struct cpu_job *job,
                     const struct cpu_table *tables, const struct cpu_table *on_card,
                     struct gpu_frame *frame);

/* Squared structure factors of a crystal on the card, see struct dense_table; NULL: none yet. */
struct gpu_padded {
    float *F_sqr;
    int32_t reach[3];
};

/* Dense lattices of an open job, none of which is scattered: sets the members of *frame that are of
 * the dense form, after those of the recipe.  `panels`: see gpu_panels; `padded`: of crystals. */
void gpu_pack_dense(struct gpu_pack *pack, const struct cpu_job *job,
                    const struct gpu_panel *panels, const struct gpu_padded *padded,
                    struct gpu_frame *frame);

/* Sources and materials of *scene, whose pointers become addresses on the card. */
void gpu_pack_scene(struct gpu_pack *pack, struct background_scene *scene);

#endif
