#include "io/crystfel/geom_bad.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "io/crystfel/geom.h"

/* Pixels fast .. end-1 of the rows from `slow` on. */
struct strip {
    int64_t fast, end, slow;
};

struct strips {
    struct strip *list;  // owned, by rising `fast`
    size_t count;
};

static bool is_computed(const struct panel *p, int64_t f, int64_t s)
{
    const struct roi *r = &p->roi;
    return f >= r->fast_min && f <= r->fast_max && s >= r->slow_min && s <= r->slow_max &&
           (!p->mask || p->mask[s * p->fast_pixels + f]);
}

/* What is bad in row s; nothing behind the last one. */
static void find_strips(const struct panel *p, int64_t s, struct strips *row)
{
    row->count = 0;
    for (int64_t f = 0; f < p->fast_pixels && s < p->slow_pixels; f++) {
        const int64_t first = f;
        while (f < p->fast_pixels && !is_computed(p, f, s))
            f++;
        if (f > first)
            row->list[row->count++] = (struct strip){first, f, s};
    }
}

static enum status write_region(FILE *out, const struct strip *r, size_t panel, int64_t first_row,
                                int64_t end_row, size_t *count, struct error *e)
{
    const size_t n = (*count)++;
    if (n == GEOM_BAD_MAX)
        return error_set(e, STATUS_INPUT, "the masks are made of more than %d rectangles",
                         GEOM_BAD_MAX);
    fprintf(out, "\nbad%zu/panel = p%zu\nbad%zu/min_fs = %" PRId64 "\nbad%zu/max_fs = %" PRId64, n,
            panel, n, r->fast, n, r->end - 1);
    fprintf(out, "\nbad%zu/min_ss = %" PRId64 "\nbad%zu/max_ss = %" PRId64 "\n", n,
            first_row + r->slow, n, first_row + end_row - 1);
    return STATUS_OK;
}

/* Strips that row s has too begin where they began before; those that it has not are written. */
static enum status follow(FILE *out, const struct strips *before, struct strips *row, int64_t s,
                          size_t panel, int64_t first_row, size_t *count, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0, k = 0; i < before->count && !status; i++) {
        const struct strip *old = &before->list[i];
        while (k < row->count && row->list[k].fast < old->fast)
            k++;
        if (k < row->count && row->list[k].fast == old->fast && row->list[k].end == old->end)
            row->list[k].slow = old->slow;
        else
            status = write_region(out, old, panel, first_row, s, count, e);
    }
    return status;
}

enum status geom_write_bad(FILE *out, const struct panel *p, size_t panel, int64_t first_row,
                           size_t *count, struct error *e)
{
    struct strips rows[2] = {{0}};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2; i++)
        rows[i].list = mem_array((size_t)p->fast_pixels / 2 + 1, sizeof *rows[i].list);
    if (!rows[0].list || !rows[1].list)
        status = error_memory(e, "the bad regions");
    for (int64_t s = 0; s <= p->slow_pixels && !status; s++) {
        find_strips(p, s, &rows[s & 1]);
        status = follow(out, &rows[!(s & 1)], &rows[s & 1], s, panel, first_row, count, e);
    }
    mem_free(rows[0].list);
    mem_free(rows[1].list);
    return status;
}
