/* The reflections of a frame by the CPU: rows given out to threads, see cpu_shares.h. */
#include "engine/cpu_shares.h"

#include <omp.h>

#include "base/isa.h"
#include "engine/recipe_check.h"

typedef bool shares_kernel(const struct cpu_job *job, const struct cpu_where *where,
                           struct cpu_shares *s, struct share_list *list);

static bool any_computed(const struct cpu_where *w)
{
    for (int i = 0; i < w->count; i++)
        if (panel_computes(w->panel, w->fast + i, w->slow))
            return true;
    return false;
}

static bool share_row(shares_kernel *kernel, const struct cpu_job *job, const struct panel *p,
                      int64_t slow, struct cpu_shares *s, struct share_list *list)
{
    bool good = true;
    for (int64_t fast = 0; fast < p->fast_pixels && good; fast += CPU_BLOCK) {
        const int64_t left = p->fast_pixels - fast;
        const struct cpu_where where = {p, fast, slow, (int)(left < CPU_BLOCK ? left : CPU_BLOCK)};
        if (any_computed(&where))
            good = kernel(job, &where, s, list);
    }
    return good;
}

static bool share_frame(shares_kernel *kernel, const struct cpu_job *job, int threads,
                        struct share_list *lists)
{
    struct cpu_shares *room = mem_array((size_t)threads, sizeof *room);
    bool good = room;
    for (size_t i = 0; i < job->x->npanels && good; i++) {
        const struct panel *p = &job->x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(&& : good)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            good =
                share_row(kernel, job, p, slow, &room[omp_get_thread_num()], &lists[slow]) && good;
        lists += p->slow_pixels;
    }
    for (int i = 0; room && i < threads; i++)
        mem_free(room[i].away);
    mem_free(room);
    return good;
}

enum status cpu_reflections(const struct experiment *x, const struct cpu_table *tables,
                            const struct footprint *f, const char *isa, int threads,
                            const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e)
{
    static shares_kernel *const kernels[ISA_COUNT] = ISA_TABLE(cpu_shares_);
    const size_t rows = (size_t)experiment_rows(x);
    enum isa at;
    struct cpu_job job;
    if (isa_choose(&at, isa, e))
        return STATUS_USAGE;
    enum status status = cpu_job_open(&job, x, tables, recipe, e);
    struct share_list *lists = status ? NULL : shares_open(rows);
    const bool good = lists && share_frame(kernels[at], &job, threads, lists);
    const struct shares shares = {x, recipe, f && f->is_seen ? f : NULL, pixels, lists, rows};
    if (!status)
        status =
            good ? shares_table(&shares, wanted, table, e) : error_memory(e, "the reflections");
    shares_free(lists, rows);
    cpu_job_close(&job);
    return status;
}
