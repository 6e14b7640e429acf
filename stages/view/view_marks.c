#include "view_marks.h"

#include <string.h>

#include "base/alloc.h"
#include "model/moved.h"
#include "physics/beam/aim.h"
#include "physics/detector/pixel.h"
#include "stages/shared/preview.h"

/* Computes the position of a point of a panel, in m from the sample. */
static void place(const struct experiment *x, const struct panel *p, double fast, double slow,
                  double position[3])
{
    if (p->curved) {
        pixel_curve(p, x->beam.direction, fast * p->pixel_m - p->beam_fast_m,
                    slow * p->pixel_m - p->beam_slow_m, position);
        return;
    }
    for (int i = 0; i < 3; i++)
        position[i] = p->origin_m[i] + p->pixel_m * (fast * p->fast[i] + slow * p->slow[i]);
}

/* Computes where a ray meets the picture.  False if it does not meet the picture. */
static bool aim(const struct experiment *x, const struct panel *shown, const double direction[3],
                struct web_mark *m)
{
    double fast, slow;
    if (!aim_panel(shown, x->beam.direction, direction, &fast, &slow) ||
        !(fast >= 0 && slow >= 0 && fast <= (double)shown->fast_pixels &&
          slow <= (double)shown->slow_pixels))
        return false;
    m->x = (float)fast;
    m->y = (float)slow;
    return true;
}

static size_t mark_true(const struct experiment *x, const struct panel *shown,
                        const struct reflection_table *t, struct web_mark *marks)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count && n < VIEW_MARKS_MAX; i++) {
        const struct reflection_row *row = &t->rows[i];
        double position[3];
        if (row->panel < 0 || (size_t)row->panel >= x->npanels)
            continue;
        place(x, &x->panels[row->panel], row->fast, row->slow, position);
        marks[n] = (struct web_mark){.photons = (float)row->photons, .lattice = row->lattice};
        memcpy(marks[n].hkl, row->hkl, sizeof row->hkl);
        n += aim(x, shown, position, &marks[n]);
    }
    return n;
}

static size_t mark_predicted(const struct experiment *x, const struct panel *shown,
                             const struct reflections *list, struct web_mark *marks)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count && n < VIEW_MARKS_MAX; i++) {
        const struct reflection *r = &list->all[i];
        marks[n] = (struct web_mark){.lattice = (int32_t)r->lattice};
        for (int k = 0; k < 3; k++)
            marks[n].hkl[k] = (int32_t)r->hkl[k];
        n += aim(x, shown, r->direction, &marks[n]);
    }
    return n;
}

enum status view_marks(const struct experiment *x, const struct panel *shown, const struct frame *f,
                       struct web_mark **marks, size_t *count, struct error *e)
{
    struct reflections list = {0};
    struct panel seen = *shown;  // with the shift of this frame
    panel_shift(x, &seen, f->recipe.shift_m);
    const bool exact = f->reflections.present;
    *marks = NULL;
    *count = 0;
    const enum status s = exact ? STATUS_OK : preview_predict(x, &seen, &f->recipe, &list, e);
    const size_t n = exact ? f->reflections.count : list.count;
    if (s == STATUS_OK && n)
        *marks = mem_array(n < VIEW_MARKS_MAX ? n + 1 : VIEW_MARKS_MAX + 1, sizeof **marks);
    if (*marks)
        *count = exact ? mark_true(x, shown, &f->reflections, *marks)
                       : mark_predicted(x, &seen, &list, *marks);
    predict_free(&list);
    return s == STATUS_OK && n && !*marks ? error_memory(e, "the marks") : s;
}
