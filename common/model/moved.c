#include "model/moved.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

bool moved_open(struct moved *m, const struct experiment *of)
{
    *m = (struct moved){.of = of, .x = *of};
    m->x.panels = mem_copy(of->panels, of->npanels, sizeof *of->panels);
    return m->x.panels;
}

void moved_close(struct moved *m)
{
    mem_free(m->x.panels);
    *m = (struct moved){0};
}

const struct experiment *moved_to(struct moved *m, const struct recipe *r)
{
    static const double none[3];
    const double *by_m = r->has_shift ? r->shift_m : none;
    if (memcmp(m->by_m, by_m, sizeof m->by_m) == 0)
        return &m->x;
    memcpy(m->by_m, by_m, sizeof m->by_m);
    for (size_t i = 0; i < m->x.npanels; i++) {
        m->x.panels[i] = m->of->panels[i];
        if (r->has_shift)
            panel_shift(&m->x, &m->x.panels[i], by_m);
    }
    return &m->x;
}

void panel_shift(const struct experiment *x, struct panel *p, const double by_m[3])
{
    for (int i = 0; i < 3; i++) {
        p->origin_m[i] += by_m[i];
        p->grid_m[i] += by_m[i];
    }
    const double fast_m = vec_dot(by_m, p->fast), slow_m = vec_dot(by_m, p->slow);
    const double along_m = vec_dot(by_m, x->beam.direction);
    p->distance_m += along_m;
    p->close_distance_m += vec_dot(p->normal, by_m);
    p->close_fast_m -= fast_m;
    p->close_slow_m -= slow_m;
    p->beam_fast_m -= fast_m - along_m * vec_dot(x->beam.direction, p->fast);
    p->beam_slow_m -= slow_m - along_m * vec_dot(x->beam.direction, p->slow);
}
