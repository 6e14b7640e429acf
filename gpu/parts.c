/* Which pixels rows have, and rows in parts. */
#include "gpu/plan.h"

/* Pixels of the frame before that row; of all of it for the row behind the last. */
static int64_t pixels_before(const struct plan *p, int64_t row)
{
    const struct gpu_panel *g = p->panels;
    for (size_t i = 1; i < p->experiment->npanels && p->panels[i].first_row <= row; i++)
        g = &p->panels[i];
    return g->panel.first_pixel + (row - g->first_row) * g->panel.fast_pixels;
}

/* Rows before part i of n, in units of which the first and the last part have one, all others
 * two: little is computed before the bus has work, and little is left for it behind the last. */
static int64_t units_before(int64_t i, int64_t n)
{
    return i == 0 ? 0 : i == n ? 2 * n - 2 : 2 * i - 1;
}

/* Pixels for each thread of a kernel, so many that all multiprocessors have work. */
static int64_t each_of(int64_t pixels)
{
    const int64_t threads = 1 << 18, most = 8;
    const int64_t each = pixels / threads;
    return each < 1 ? 1 : each > most ? most : each;
}

void gpu_cut_parts(const struct plan *p, int64_t row, int64_t end, bool whole, struct gpu_run *r)
{
    const int64_t first_pixel = pixels_before(p, row);
    const int64_t pixels = pixels_before(p, end) - first_pixel, most = end - row;
    int64_t parts = whole ? 1 : 1 + pixels / p->device->part_pixels;
    parts = parts > GPU_PARTS ? GPU_PARTS : parts;
    parts = parts > 1 + most / 2 ? 1 + most / 2 : parts;  // none is without a row
    const int64_t units = parts > 1 ? units_before(parts, parts) : 1;
    r->nparts = (int)parts;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t from = row + most * units_before(i, parts) / units;
        const int64_t to = i + 1 < parts ? row + most * units_before(i + 1, parts) / units : end;
        const int64_t before = pixels_before(p, from) - first_pixel;
        const int64_t behind = pixels_before(p, to) - first_pixel;
        r->part[i] = (struct gpu_part){
            {from, to - from, first_pixel, p->widest, each_of(behind - before)}, before, behind};
    }
}
