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

void gpu_cut_parts(const struct plan *p, int64_t row, int64_t end, struct gpu_run *r)
{
    const int64_t first_pixel = pixels_before(p, row);
    const int64_t pixels = pixels_before(p, end) - first_pixel, most = end - row;
    int64_t parts = pixels / p->device->part_pixels;
    parts = parts > GPU_PARTS ? GPU_PARTS : parts;
    parts = parts > most ? most : parts < 1 ? 1 : parts;
    r->nparts = (int)parts;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t from = row + most * i / parts, to = row + most * (i + 1) / parts;
        r->part[i] = (struct gpu_part){{from, to - from, first_pixel, p->widest},
                                       pixels_before(p, from) - first_pixel,
                                       pixels_before(p, to) - first_pixel};
    }
}
