/*
 * Computes the rows of a frame.  If not all rows fit into the memory of the GPU, they are computed
 * in several runs.  Each run is cut into parts, which have separate launches.
 */
#include "base/hash.h"
#include "gpu/device.h"
#include "gpu/plan.h"
#include "model/frame.h"

/* Returns the number of pixels of the frame before this row.  For the row after the last one it is
 * the number of all pixels. */
static int64_t pixels_before(const struct plan *p, int64_t row)
{
    const struct gpu_panel *g = p->panels;
    for (size_t i = 1; i < p->experiment->npanels && p->panels[i].first_row <= row; i++)
        g = &p->panels[i];
    return g->panel.first_pixel + (row - g->first_row) * g->panel.fast_pixels;
}

/* Returns the number of units before part i of n. The rows are divided into 2 n - 2 units: the
 * first and the last part have one unit each, all other parts two. With a small first part the
 * copies over the bus start early. With a small last part little is left to copy after the last
 * kernel. */
static int64_t units_before(int64_t i, int64_t n)
{
    return i == 0 ? 0 : i == n ? 2 * n - 2 : 2 * i - 1;
}

/* Returns the number of pixels that each thread of a kernel computes, of `pixels` in rows that are
 * `widest` long.  It is small enough to keep all multiprocessors busy.  All blocks of a row have
 * about as many pixels. */
static int64_t each_of(int64_t pixels, int64_t widest)
{
    const int64_t threads = 1 << 18, most = 16;
    const int64_t each = pixels / threads < most ? pixels / threads : most;
    const int64_t block = GPU_THREADS * (each < 1 ? 1 : each);
    const int64_t blocks = (widest + block - 1) / block;
    return (widest + GPU_THREADS * blocks - 1) / (GPU_THREADS * blocks);
}

/* Cuts rows [row, end) into the parts of *r.  No part is too small for a launch of its own.
 * `whole`: makes only one part, because nothing is copied during the computation. */
static void cut_parts(const struct plan *p, int64_t row, int64_t end, bool whole, struct gpu_run *r)
{
    const int64_t first_pixel = pixels_before(p, row);
    const int64_t pixels = pixels_before(p, end) - first_pixel, most = end - row;
    int64_t parts = whole ? 1 : 1 + pixels / p->device->part_pixels;
    parts = parts > GPU_PARTS ? GPU_PARTS : parts;
    parts = parts > 1 + most / 2 ? 1 + most / 2 : parts;  // each part has at least one row
    const int64_t units = parts > 1 ? units_before(parts, parts) : 1;
    r->nparts = (int)parts;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t from = row + most * units_before(i, parts) / units;
        const int64_t to = i + 1 < parts ? row + most * units_before(i + 1, parts) / units : end;
        const int64_t before = pixels_before(p, from) - first_pixel;
        const int64_t behind = pixels_before(p, to) - first_pixel;
        r->part[i] = (struct gpu_part){
            {from, to - from, first_pixel, p->widest, each_of(behind - before, p->widest)},
            before,
            behind};
    }
}

/* Returns the address of pixel `first` in an image with pixels of `size` bytes. Returns NULL if
 * `image` is NULL. */
static void *pixel_address(char *image, int64_t first, size_t size)
{
    return image ? image + (size_t)first * size : NULL;
}

/* Largest image, in bytes, that kernels write directly to host memory, over the bus. These
 * stores are slower than a copy, but avoid the fixed time of the copies of parts. Measured with
 * an H200: a frame of 4 MB is 8 % faster with direct stores, a frame of 64 MB is 9 % slower. */
enum { REACHED_BYTES = 8 << 20 };

/* Returns the address at which kernels write the output directly to host memory. NULL: the
 * output is copied to the host instead. This is necessary if a kernel reads output pixels that
 * another kernel has written. */
static void *reach(const struct plan *p, const struct gpu_frame *frame, const struct gpu_task *t,
                   size_t size)
{
    const size_t bytes = (size_t)experiment_pixels(p->experiment) * size;
    const bool counts = t->seed && p->afterwards.type != PIXEL_F32;
    const bool bare = !t->seed && frame->ndense && !t->photons.here && !t->photons.there;
    return t->to.here && bytes <= REACHED_BYTES && (counts || bare)
               ? p->device->reach(p->context, t->to.here, bytes)
               : NULL;
}

/* Sets the addresses of the photons and of the output of a run of rows, which begins with pixel
 * `first`: buffers of the plan, images on the GPU, or images to which the GPU writes directly. */
static void set_addresses(const struct plan *p, const struct gpu_task *t, char *image,
                          int64_t first, size_t size, struct gpu_run *r, struct gpu_after *after)
{
    const bool counts = after->type != PIXEL_F32;
    void *leaves = pixel_address(image, first, size);
    r->photons = leaves && !counts ? leaves : p->out[OUT_PHOTONS];
    r->given = t->photons.here || t->photons.there;
    r->here = pixel_address(t->photons.here, first, sizeof *r->here);
    r->smear = t->smear;
    after->photons = t->photons.there
                         ? pixel_address(t->photons.there, first, sizeof *after->photons)
                         : (const void *)r->photons;
    after->sum = r->photons;
    after->counts = leaves && counts ? leaves : after->counts;
}

/* Adds the checksum of a run, whose pixels follow those of the runs before, to p->sum. */
static void add_sum(struct plan *p, const struct gpu_run *r, uint32_t sum)
{
    const size_t bytes = gpu_checksum_of(r).count;
    const struct crc32c_piece pieces[] = {{.sum = p->sum},
                                          {gpu_checksum_finish(sum, bytes), bytes}};
    p->sum = crc32c_join(pieces, 2);
}

static void begin_next(void *plan)
{
    gpu_smear_begin_next(plan);
}

/* Computes the rows of a run, and copies their pixels to to[].  Adds to *v and to p->sum. */
static enum status compute_rows(struct plan *p, const struct gpu_task *t, const struct gpu_run *r,
                                void *to, struct gpu_verdict *v, struct error *e)
{
    v->sum = 0;
    p->counts.tables_found += !r->given;
    enum status status = p->device->run(p->context, r, to, p->timed ? &p->times : NULL, v, e);
    if (status)
        p->afterwards.has_background = false;
    else if (!t->later)
        status = gpu_after_verdict(p, t->recipe, v, e);
    if (!status && r->sums)
        add_sum(p, r, v->sum);
    return status;
}

/* Returns true if the GPU forms the checksum of the output, whose pixels have `size` bytes. */
static bool sums_pixels(const struct plan *p, const struct gpu_task *t, size_t size)
{
    return t->sums && t->to.here &&
           (size_t)experiment_pixels(p->experiment) * size >= p->device->sum_bytes;
}

enum status gpu_run_rows(struct plan *p, const struct gpu_frame *frame, const struct gpu_task *t,
                         struct error *e)
{
    enum status status = STATUS_OK;
    struct gpu_verdict v = {GPU_GOOD, 0, 0, 0};
    const size_t size = t->seed ? pixel_size(p->afterwards.type) : sizeof(float);
    const bool sums = sums_pixels(p, t, size);
    char *const image = t->to.there ? t->to.there : sums ? NULL : reach(p, frame, t, size);
    const bool whole = image && !t->photons.here;
    p->sum = 0;
    for (int64_t row = 0; row < p->rows && !status; row += p->out_rows) {
        const int64_t end = p->rows - row < p->out_rows ? p->rows : row + p->out_rows;
        struct gpu_run r = {.frame = frame,
                            .apart = p->apart_times,
                            .later = t->later,
                            .behind = t->behind,
                            .meanwhile = t->smear && p->next ? begin_next : NULL,
                            .plan = p,
                            .sums = sums};
        struct gpu_after after;
        cut_parts(p, row, end, whole, &r);
        gpu_after_rows(p, t->recipe, t->seed, &r, &after);
        const int64_t first = r.part[0].rows.first_pixel;
        set_addresses(p, t, image, first, size, &r, &after);
        status =
            compute_rows(p, t, &r, image ? NULL : pixel_address(t->to.here, first, size), &v, e);
        if (!status && t->done)
            atomic_fetch_add_explicit(t->done, (uint_fast64_t)(end - row), memory_order_relaxed);
    }
    p->has_sum = !status && sums;
    if (!status && t->seed && p->afterwards.clipped)
        clipped_add(p->afterwards.clipped, v.saturated, v.below);
    return status;
}
