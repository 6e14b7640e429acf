/*
 * Frames from image files: pixels, and the lattices, reflections and ground truth of NXmx.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/images/image_file.h"
#include "physics/setup.h"
#include "stages/replay/replay_images.h"

static const struct image_entry *entry_of(const struct replay_images *r, uint64_t id)
{
    if (!r->numbered)
        return &r->entries[id];
    return &r->entries[nxmx_rows_find(&r->rows, id)];
}

/* Copies the pixels of a file, unchanged, into the image of a frame.  STATUS_INPUT: the number
 * of pixels is not that of the detector. */
static enum status take_pixels(const char *path, const struct image *from,
                               const struct experiment *x, struct image *to, struct error *e)
{
    if (from->count != (size_t)experiment_pixels(x))
        return error_set(e, STATUS_INPUT,
                         "%s: the image has %zu pixels; expected %" PRId64 " as in the detector",
                         path, from->count, experiment_pixels(x));
    if (!image_reserve(to, from->type, UNIT_ADU, from->count))
        return error_memory(e, "a frame");
    memcpy(to->pixels, from->pixels, from->count * pixel_size(from->type));
    return STATUS_OK;
}

/* Sets the edges and the size of the crystal of a lattice.  STATUS_INPUT: the file is damaged. */
static enum status take_cell(const struct experiment *x, const struct nxmx_lattice *l,
                             struct orientation_request *o, struct error *e)
{
    bool good = l->crystal < x->ncrystals;
    for (int k = 0; k < 3 && good; k++) {
        o->strain[k] = l->cell[k] / x->crystals[l->crystal].cell_A[k] - 1.0;
        o->cells[k] = l->cells[k];
        good = o->strain[k] > -1.0 && isfinite(o->strain[k]);
    }
    o->has_cells = x->sizes_vary;
    o->has_spread = x->spreads_vary;
    o->spread_rad = deg_to_rad(l->spread);
    o->has_b_factor = x->b_factors_vary;
    o->b_factor_A2 = l->b_factor;
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "frame %" PRIu64 " has a lattice with an impossible crystal or cell",
                            l->frame);
}

/* Adds the lattices of a frame of an NXmx file to the recipe, in their orientation at the start
 * of the frame. */
static enum status take_lattices(const struct replay_images *r, const struct experiment *x,
                                 const struct nxmx_frame *frame, struct recipe *recipe,
                                 struct error *e)
{
    const struct nxmx_rows *rows = &r->rows;
    struct orientation_request still = {
        .phi_rad = deg_to_rad(frame->rotation_start + 0.5 * frame->rotation_width),
        .phi = NO_STEPS};
    if (!x->ncrystals || !frame->lattices || frame->lattices > rows->nlattices)
        return STATUS_OK;
    recipe->lattices = mem_try_array((size_t)frame->lattices, sizeof *recipe->lattices);
    if (!recipe->lattices)
        return error_memory(e, "the lattices");
    enum status s = STATUS_OK;
    for (size_t i = 0; i < rows->nlattices && !s && recipe->nlattices < frame->lattices; i++) {
        const struct nxmx_lattice *l = &rows->lattices[i];
        double rotation[9];
        if (l->frame != frame->number)
            continue;
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 3; column++)
                rotation[3 * row + column] = r->axes[row] * l->orientation[column] +
                                             r->axes[3 + row] * l->orientation[3 + column] +
                                             r->axes[6 + row] * l->orientation[6 + column];
        s = take_cell(x, l, &still, e);
        s = s ? s
              : setup_lattice_rotated(x, (uint32_t)l->crystal, rotation, &still,
                                      &recipe->lattices[recipe->nlattices++], e);
    }
    return s;
}

static enum status read_nxmx(const struct replay_images *r, const struct experiment *x,
                             const struct image_entry *entry, struct frame *f, struct error *e)
{
    struct nxmx_one one;
    enum status s =
        nxmx_one_read(entry->path, entry->number, (size_t)experiment_pixels(x), &one, e);
    s = s ? s
          : nxmx_one_check(entry->path, entry->number, &one, r->numbered ? &r->rows : &one.rows, e);
    s = s ? s : take_pixels(entry->path, &one.image, x, &f->image, e);
    if (!s && r->numbered) {
        f->reflections = one.reflections;
        f->planes = one.planes;
        one.reflections = (struct reflection_table){0};
        one.planes = (struct planes){0};
    }
    nxmx_one_free(&one);
    if (s || !r->numbered)
        return s;
    const size_t place = (size_t)nxmx_rows_find(&r->rows, entry->number);
    const struct nxmx_frame *frame = &r->rows.frames[place];
    f->recipe.seed = frame->seed;
    f->recipe.phi_rad = deg_to_rad(frame->rotation_start);
    f->recipe.osc_rad = deg_to_rad(frame->rotation_width);
    for (int i = 0; i < 3; i++) {
        f->recipe.shift_m[i] = r->axes[i] * frame->shift_m[0] + r->axes[3 + i] * frame->shift_m[1] +
                               r->axes[6 + i] * frame->shift_m[2];
        f->recipe.has_shift = f->recipe.has_shift || frame->shift_m[i] != 0.0;
    }
    if (x->matter_varies)
        nxmx_take_matter(frame, &f->recipe);
    f->recipe.has_sample = x->sample_moves;
    memcpy(f->recipe.sample_m, frame->sample_m, sizeof f->recipe.sample_m);
    return take_lattices(r, x, frame, &f->recipe, e);
}

static enum status read_image(const struct replay_images *r, const struct experiment *x,
                              const struct image_entry *entry, struct frame *f, struct error *e)
{
    struct image_file file = {0};
    enum status s = entry->cxi ? cxi_image_read(entry->path, &r->cxi, entry->number, &file.image, e)
                    : entry->nexus
                        ? nexus_image_read(entry->path, &r->nexus, entry->number, &file.image, e)
                        : image_file_read(entry->path, &file, e);
    if (!s && r->geometry.path)
        s = replay_geometry_pixels(&r->geometry, x, entry->path, &file.image, &f->image, e);
    else if (!s)
        s = take_pixels(entry->path, &file.image, x, &f->image, e);
    image_free(&file.image);
    f->recipe.phi_rad = entry->header.phi_rad;
    f->recipe.osc_rad = entry->header.osc_rad;
    return s;
}

enum status replay_images_frame(struct replay_images *r, const struct experiment *x,
                                struct frame *f, struct error *e)
{
    const struct image_entry *entry = entry_of(r, f->recipe.id);
    return entry->nxmx ? read_nxmx(r, x, entry, f, e) : read_image(r, x, entry, f, e);
}
