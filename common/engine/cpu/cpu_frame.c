/*
 * A frame of the CPU engine: rows are given to threads, and each row is cut into blocks of pixels.
 * Then the trace of one pixel, which reports quantities under the names of the reference engine
 * where they are the same.  All of them are read out of the arrays of a block of one pixel, so they
 * were computed by the code that computes images.  A job with dense lattices is computed twice: by
 * cpu_block.h for these quantities, and for the photons by the dense path (dense.h), which forms no
 * such quantities.
 */
#include "engine/cpu/cpu.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/hash.h"
#include "engine/cpu/threads.h"
#include "engine/dense/faint.h"
#include "engine/reflections/photons.h"
#include "engine/spots/cpu_spots.h"
#include "physics/crystal/shape_fast.h"

/* ---- a frame -------------------------------------------------------------------------------- */

/* Blocks that are completely masked (gaps, beam stop) are skipped. */
static bool any_unmasked(const struct cpu_where *w)
{
    const uint8_t *mask = w->panel->mask;
    if (!mask)
        return true;
    for (int i = 0; i < w->count; i++)
        if (mask[w->slow * w->panel->fast_pixels + w->fast + i])
            return true;
    return false;
}

void cpu_add_sums(const struct cpu_job *job, const struct cpu_where *w, double *total)
{
    const struct panel *p = w->panel;
    if (job->sums)
        for (int i = 0; i < w->count; i++)
            total[i] += job->sums[p->first_pixel + w->slow * p->fast_pixels + w->fast + i];
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void clear(float *row, int64_t begin, int64_t end)
{
    if (end > begin)
        memset(row + begin, 0, (size_t)(end - begin) * sizeof *row);
}

/* Sets the range of columns in the region of interest. */
static void find_columns(const struct panel *p, int64_t fast[2])
{
    fast[0] = clamp(p->roi.fast_min, 0, p->fast_pixels);
    fast[1] = clamp(p->roi.fast_max + 1, fast[0], p->fast_pixels);
}

/* Computes the columns begin .. end - 1 of a row. */
static void run_blocks(const struct cpu_kernels *kernels, const struct cpu_job *job,
                       const struct panel *p, int64_t slow, int64_t begin, int64_t end,
                       struct cpu_room *room, float *row)
{
    const int most = job->ndense ? DENSE_BLOCK : CPU_BLOCK;
    for (int64_t fast = begin; fast < end; fast += most) {
        const int count = (int)(end - fast < most ? end - fast : most);
        const struct cpu_where where = {p, fast, slow, count};
        if (!any_unmasked(&where))
            clear(row, fast, fast + count);
        else if (job->ndense)
            kernels->dense(job, &where, &room->dense, row + fast);
        else
            kernels->block(job, &where, &room->block, row + fast);
    }
}

/* Computes one row of a panel. Pixels outside the region of interest and masked pixels are 0.  If
 * the job has lists of steps, run_shown has computed the other pixels. */
static void run_row(const struct cpu_kernels *kernels, const struct cpu_job *job,
                    const struct panel *p, int64_t slow, struct cpu_room *room, float *pixels)
{
    float *row = pixels + p->first_pixel + slow * p->fast_pixels;
    int64_t columns[2];
    find_columns(p, columns);
    if (slow < p->roi.slow_min || slow > p->roi.slow_max)
        columns[1] = columns[0];
    clear(row, 0, columns[0]);
    clear(row, columns[1], p->fast_pixels);
    if (!job->shown)
        run_blocks(kernels, job, p, slow, columns[0], columns[1], room, row);
    if (p->mask)
        for (int64_t fast = columns[0]; fast < columns[1]; fast++)
            if (!p->mask[slow * p->fast_pixels + fast])
                row[fast] = 0.0f;
}

/* Computes the rows begin .. end - 1 of a panel, in the region of interest, from lists of steps. */
static void run_shown(const struct cpu_kernels *kernels, const struct cpu_job *job,
                      const struct panel *p, int64_t begin, int64_t end, struct cpu_room *room,
                      float *pixels)
{
    int64_t columns[2];
    find_columns(p, columns);
    const int64_t rows[2] = {clamp(p->roi.slow_min, begin, end),
                             clamp(p->roi.slow_max + 1, begin, end)};
    dense_faint_rows(kernels, job, p, columns, rows, room->shown, &room->dense, pixels);
}

/* A panel, and the number of rows of all panels before it. */
struct place {
    const struct panel *panel;
    int64_t above;
};

/* Sets the panel that contains a row of the frame. */
static void go_to(struct place *at, int64_t row)
{
    while (row < at->above)
        at->above -= (--at->panel)->slow_pixels;
    while (row >= at->above + at->panel->slow_pixels)
        at->above += (at->panel++)->slow_pixels;
}

/* Computes the rows that are assigned to this thread.  The bytes of a row do not depend on the
 * thread.  Continues the checksum *sum, if it is not NULL, while the rows are in the cache.  Counts
 * each row in *rows (NULL: not counted), because 16 slow rows can take minutes. */
static void run_rows(const struct cpu_kernels *kernels, const struct cpu_job *job, int64_t first,
                     int64_t end, struct place *at, struct cpu_room *room, float *pixels,
                     struct crc32c_piece *sum, atomic_uint_fast64_t *rows)
{
    struct dense_shares *shares = room->dense.shares;
    int64_t shown = first;
    for (int64_t row = first; row < end; row++) {
        go_to(at, row);
        const struct panel *p = at->panel;
        const int64_t slow = row - at->above;
        if (job->shown && row == shown) {
            const int64_t below = at->above + p->slow_pixels;
            shown = below < end ? below : end;
            run_shown(kernels, job, p, slow, shown - at->above, room, pixels);
        }
        const size_t bytes = (size_t)p->fast_pixels * sizeof *pixels;
        const struct share_pack *pack = shares ? &shares->pack : NULL;
        struct share_run run = {pack, pack ? pack->npieces : 0, 0, pack ? pack->count : 0};
        run_row(kernels, job, p, slow, room, pixels);
        if (rows)
            atomic_fetch_add_explicit(rows, 1, memory_order_relaxed);
        if (pack) {
            run.end = pack->npieces;
            job->shares->rows[row] = run;
        }
        if (sum) {
            const float *from = pixels + p->first_pixel + slow * p->fast_pixels;
            *sum = (struct crc32c_piece){crc32c(sum->sum, from, bytes), sum->bytes + bytes};
        }
    }
}

/* Where photons go: into the image of the frame, or in parts to a taker. */
struct target {
    float *pixels;                     // NULL: to the taker
    const struct engine_taker *taker;  // NULL: into the image
    int64_t width;                     // of all rows; only set for a taker
};

/* Returns the address that the first pixel of a frame has if own[] holds the frame from `pixel` on.
 * Numbers are subtracted, because C allows no pointer in front of an array. */
static float *first_of_frame(float *own, int64_t pixel)
{
    return (float *)((uintptr_t)own - (uintptr_t)pixel * sizeof *own);
}

/* Computes a portion in own[], memory of this thread, and gives it to the taker. */
static bool run_part(const struct cpu_kernels *kernels, const struct cpu_job *job, int64_t first,
                     int64_t end, struct place *at, struct cpu_room *room, const struct target *to,
                     float *own, struct crc32c_piece *sum, atomic_uint_fast64_t *rows)
{
    const int64_t pixel = first * to->width;
    run_rows(kernels, job, first, end, at, room, first_of_frame(own, pixel), NULL, rows);
    return to->taker->take(to->taker->context, pixel, (end - first) * to->width, own, sum);
}

/* Computes all rows.  Returns false if a pixel, possibly a masked one, is not finite, or if the
 * taker has refused a part. */
static bool run_bands(const struct cpu_kernels *kernels, const struct cpu_job *job,
                      struct bands *bands, const struct target *to, struct crc32c_piece *sums,
                      atomic_uint_fast64_t *rows)
{
    struct dense_frame *shares = job->shares;
    bool good = true;
#pragma omp parallel num_threads(bands->count) reduction(&& : good)
    {
        struct cpu_room room;  // on the thread's own stack, 112 KiB
        struct place at = {job->x->panels, 0};
        int64_t first, end;
        room.block.not_finite = room.dense.not_finite = false;
        room.dense.shares = shares ? &shares->room[omp_get_thread_num()] : NULL;
        room.dense.columns.count = 0;
        room.shown = job->shown ? dense_faint_room_open(job) : NULL;
        float *own =
            to->taker ? mem_room((size_t)(bands->at_once * to->width) * sizeof *own) : NULL;
        while (bands_take(bands, omp_get_thread_num(), &first, &end)) {
            struct crc32c_piece *sum = sums ? &sums[first / bands->at_once] : NULL;
            if (!own)
                run_rows(kernels, job, first, end, &at, &room, to->pixels, sum, rows);
            else if (!run_part(kernels, job, first, end, &at, &room, to, own, sum, rows))
                good = false;
        }
        good = good && !room.block.not_finite && !room.dense.not_finite;
        mem_free(own);
        dense_faint_room_close(&room.shown);
    }
    return good;
}

/* Returns the smallest number of rows whose pixels are a multiple of ENGINE_PART. */
static int64_t rows_of_part(int64_t width)
{
    int64_t rows = 1;
    while (rows * width % ENGINE_PART)
        rows *= 2;
    return rows;
}

/* Distributes all rows to threads. Returns the result of run_bands. */
static bool run_frame(const struct cpu_kernels *kernels, const struct cpu_job *job, int threads,
                      const struct target *to, atomic_uint_fast64_t *rows)
{
    struct bands bands;
    struct crc32c_piece *sums = NULL;
    int64_t count = 0;
    for (size_t i = 0; i < job->x->npanels; i++)
        count += job->x->panels[i].slow_pixels;
    bands_open(&bands, count, threads, to->taker ? rows_of_part(to->width) : 1);
    const size_t takes = (size_t)bands_takes(&bands);
    if (job->sum)
        sums = mem_array(takes, sizeof *sums);
    const bool good = run_bands(kernels, job, &bands, to, sums, rows);
    if (job->sum)
        *job->sum = crc32c_join(sums, takes);
    mem_free(sums);
    bands_close(&bands);
    return good;
}

/* Computes the sums of scattered lattices, which the caller frees. If there are none, returns
 * NULL. */
static double *scatter(const struct cpu_kernels *kernels, struct cpu_job *job, int threads)
{
    bool any = false;
    for (size_t i = 0; i < job->nlattices; i++)
        any = any || job->lattices[i].scattered;
    if (!any)
        return NULL;
    double *sums = mem_array((size_t)experiment_pixels(job->x), sizeof *sums);
    job->sums = sums;
    cpu_spots_add(kernels, job, threads, sums);
    return sums;
}

/* Computes the frame of an open job. */
static bool run_job(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                    const struct target *to, atomic_uint_fast64_t *rows)
{
    double *sums = scatter(kernels, job, threads);
    const bool good = run_frame(kernels, job, threads, to, rows);
    job->sums = NULL;
    mem_free(sums);
    return good;
}

enum status cpu_frame(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                      float *pixels, atomic_uint_fast64_t *rows, struct error *e)
{
    return run_job(kernels, job, threads, &(struct target){.pixels = pixels}, rows)
               ? STATUS_OK
               : photons_check(job->x, job->recipe->id, pixels, e);
}

bool cpu_frame_parts(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                     const struct engine_taker *taker, atomic_uint_fast64_t *rows)
{
    const struct target to = {.taker = taker, .width = job->x->panels[0].fast_pixels};
    return run_job(kernels, job, threads, &to, rows);
}

/* ---- the trace of a pixel ------------------------------------------------------------------- */

static void report(const struct cpu_job *job, const char *name, int count, const double *values,
                   const char *unit)
{
    job->trace->value(job->trace->context, name, count, values, unit);
}

static void report_one(const struct cpu_job *job, const char *name, double value, const char *unit)
{
    report(job, name, 1, &value, unit);
}

void cpu_trace_subpixel(const struct cpu_job *job, const struct cpu_scratch *s, int layer,
                        int sub_slow, int sub_fast)
{
    report(job, "layer sub_slow sub_fast", 3, (double[]){layer, sub_slow, sub_fast}, "");
    report(job, "position", 3, (double[]){s->x[0], s->y[0], s->z[0]}, "m");
}

void cpu_trace_direction(const struct cpu_job *job, const struct cpu_scratch *s)
{
    report_one(job, "airpath", 1.0 / s->inverse_airpath[0], "m");
    report_one(job, "solid_angle", s->solid_angle[0], "sr");
    report_one(job, "capture", s->capture[0], "");
}

void cpu_trace_source(const struct cpu_job *job, const struct cpu_scratch *s, size_t source)
{
    const double scale = 1.0 / INDEX_SCALE;
    report_one(job, "source", (double)source, "");
    report_one(job, "wavelength", INDEX_SCALE / job->sources[source].index_per_m, "m");
    report(job, "q", 3, (double[]){s->qx[0] * scale, s->qy[0] * scale, s->qz[0] * scale}, "1/m");
    if (job->absorbs)
        report_one(job, "capture", s->capture[0], "");
    report_one(job, "polarization", s->polarization[0], "");
    report_one(job, "factor", s->factor[0], "");
}

/* Returns the squared structure factor of the step, relative to F_max squared. */
static double factor_sqr(const struct cpu_table *t, const struct cpu_scratch *s,
                         const struct cpu_term *term)
{
    if (t->F)
        return term->F_sqr;
    return t->F_sqr[t->flat ? t->default_slot : s->slot[0]];
}

void cpu_trace_step(const struct cpu_job *job, const struct cpu_scratch *s, size_t lattice,
                    size_t step, const struct cpu_term *term)
{
    const struct cpu_lattice *l = &job->lattices[lattice];
    const struct lattice *from = &job->recipe->lattices[lattice];
    const size_t phi = step / from->ndomains;
    const double *cell = l->cells + 9 * step;
    double hkl[3];
    for (int i = 0; i < 3; i++)
        hkl[i] =
            (cell[3 * i] * s->qx[0] + cell[3 * i + 1] * s->qy[0] + cell[3 * i + 2] * s->qz[0]) /
            INDEX_SCALE;
    report(job, "lattice phi_step domain", 3,
           (double[]){(double)lattice, (double)phi, (double)(step % from->ndomains)}, "");
    report_one(job, "phi", from->phi_rad[phi], "rad");
    report(job, "hkl", 3, hkl, "");
    report_one(job, "|F_latt|", sqrt(term->shape * l->shape_unit), "");
    report_one(job, "|F_cell|", sqrt(factor_sqr(l->table, s, term)) * l->table->F_max, "electrons");
    report_one(job, "scale", l->scale, "photons");
    report_one(job, "short_sum", term->sum, "");
}

void cpu_trace_pixel(const struct cpu_job *job, double total, float photons)
{
    report_one(job, "total", total, "photons");
    report_one(job, "steps", job->steps, "");
    report_one(job, "photons", photons, "photons");
}
