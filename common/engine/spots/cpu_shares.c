/* The reflections of a frame, computed by the CPU: rows are distributed to threads, see
 * cpu_shares.h. */
#include "engine/spots/cpu_shares.h"

#include <omp.h>

#include "base/isa.h"

typedef void shares_kernel(const struct cpu_job *job, const struct cpu_where *where,
                           struct cpu_shares *s, struct share_list *list);

/* What all rows share. */
struct shares_pass {
    shares_kernel *kernel;
    const struct cpu_job *job;
    const float *photons;  // of the image, as of points
};

static bool any_lit(const float *photons, int64_t count)
{
    bool lit = false;
    for (int64_t i = 0; i < count; i++)
        lit = lit || (double)photons[i] > CPU_SHARES_LEAST_PHOTONS;
    return lit;
}

/* Finds the next group of pixels of a row, from *fast on, that may have shares. The group
 * consists of whole lanes. Returns false if there is none. */
static bool next_block(const float *row, int64_t end, int64_t *fast, int *count)
{
    *count = 0;
    while (*fast + *count < end && *count < CPU_BLOCK) {
        const int64_t at = *fast + *count, left = end - at;
        const int64_t lanes = left < CPU_LANES ? left : CPU_LANES;
        if (any_lit(row + at, lanes))
            *count += (int)lanes;
        else if (*count)
            break;
        else
            *fast += lanes;
    }
    return *count;
}

static void share_row(const struct shares_pass *l, const struct panel *p, int64_t slow,
                      struct cpu_shares *s, struct share_list *list)
{
    const float *row = l->photons + p->first_pixel + slow * p->fast_pixels;
    struct cpu_where where = {p, 0, slow, 0};
    for (; next_block(row, p->fast_pixels, &where.fast, &where.count); where.fast += where.count)
        l->kernel(l->job, &where, s, list);
}

static void share_frame(const struct shares_pass *l, int threads, struct share_list *lists)
{
    const struct experiment *x = l->job->x;
    struct cpu_shares *room = mem_array((size_t)threads, sizeof *room);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            share_row(l, p, slow, &room[omp_get_thread_num()], &lists[slow]);
        lists += p->slow_pixels;
    }
    for (int i = 0; i < threads; i++)
        mem_free(room[i].away);
    mem_free(room);
}

enum status cpu_share_rows(const struct experiment *x, const struct cpu_table *tables,
                           const char *isa, int threads, const struct recipe *recipe,
                           const float *photons, struct share_list *lists, struct error *e)
{
    static shares_kernel *const all[ISA_COUNT] = ISA_TABLE(cpu_shares_);
    enum isa at;
    struct cpu_job job;
    if (isa_choose(&at, isa, e))
        return STATUS_USAGE;
    const enum status status = cpu_job_open(&job, x, tables, recipe, e);
    const struct shares_pass look = {all[at], &job, photons};
    if (!status)
        share_frame(&look, threads, lists);
    cpu_job_close(&job);
    return status;
}

enum status cpu_reflections(const struct experiment *x, const struct cpu_table *tables,
                            const struct footprint *f, const char *isa, int threads,
                            const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e)
{
    const size_t rows = (size_t)experiment_rows(x);
    struct share_list *lists = shares_open(rows);
    const bool spread = f && f->is_seen;
    const enum status status =
        cpu_share_rows(x, tables, isa, threads, recipe, spread ? f->photons : pixels, lists, e);
    const struct shares shares = {.x = x,
                                  .recipe = recipe,
                                  .footprint = spread ? f : NULL,
                                  .pixels = pixels,
                                  .lists = lists,
                                  .nlists = rows,
                                  .threads = threads};
    if (!status)
        shares_table(&shares, wanted, table);
    shares_free(lists, rows);
    return status;
}

static void name(const void *job, uint32_t key, int32_t *lattice, int32_t hkl[3])
{
    dense_shares_name(job, key, lattice, hkl);
}

enum status cpu_dense_reflections(const struct experiment *x, const struct cpu_table *tables,
                                  struct dense_table *padded, const struct footprint *f,
                                  struct dense_frame *dense, const struct recipe *recipe,
                                  const float *pixels, const struct reflections_wanted *wanted,
                                  struct reflection_table *table, struct error *e)
{
    struct cpu_job job;
    enum status status = cpu_job_open(&job, x, tables, recipe, e);
    if (!status)
        cpu_dense_choose(&job, padded);
    struct shares shares = {.x = x,
                            .recipe = recipe,
                            .footprint = f && f->is_seen ? f : NULL,
                            .pixels = pixels,
                            .runs = dense->rows,
                            .nruns = dense->nrows,
                            .name = name,
                            .context = &job,
                            .threads = dense->threads,
                            .room = &dense->sorting};
    for (size_t i = 0; i < recipe->nlattices; i++)
        shares.turns = shares.turns || lattice_turns(recipe, i);
    if (!status)
        shares_table(&shares, wanted, table);
    cpu_job_close(&job);
    return status;
}
