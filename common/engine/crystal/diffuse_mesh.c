#include "engine/crystal/diffuse_mesh.h"

#include "base/alloc.h"

/* The last node that is not behind a pixel of the plane, which has no negative ones. */
static int64_t node_of(const struct mesh *m, int64_t pixel)
{
    return pixel / m->step;
}

/* Lagrange's polynomials at t between the second and the third of four nodes. */
static void set_weights(double t, double weight[MESH_POINTS])
{
    weight[0] = -t * (t - 1.0) * (t - 2.0) / 6.0;
    weight[1] = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0;
    weight[2] = -(t + 1.0) * t * (t - 2.0) / 2.0;
    weight[3] = (t + 1.0) * t * (t - 1.0) / 6.0;
}

bool mesh_open(struct mesh *m, const struct panel *p, int step, mesh_value *value,
               const void *context, int threads)
{
    *m = (struct mesh){.panel = p, .step = step};
    const int64_t from[2] = {p->roi.fast_min + p->grid_fast, p->roi.slow_min + p->grid_slow};
    const int64_t to[2] = {p->roi.fast_max + p->grid_fast, p->roi.slow_max + p->grid_slow};
    for (int i = 0; i < 2; i++) {
        m->first[i] = node_of(m, from[i]) - 1;
        m->count[i] = node_of(m, to[i]) + MESH_POINTS - 1 - m->first[i];
    }
    for (int i = 0; i < step; i++)
        set_weights((double)i / step, m->weight[i]);
    m->values = mem_array((size_t)(m->count[0] * m->count[1]), sizeof *m->values);
    if (!m->values)
        return false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t row = 0; row < m->count[1]; row++)
        for (int64_t i = 0; i < m->count[0]; i++)
            m->values[row * m->count[0] + i] =
                value(context, p, (m->first[0] + i) * step - p->grid_fast,
                      (m->first[1] + row) * step - p->grid_slow);
    return true;
}

void mesh_close(struct mesh *m)
{
    mem_free(m->values);
    *m = (struct mesh){0};
}

/* Nodes of a row of pixels. */
static void row_nodes(const struct mesh *m, int64_t slow, double *line)
{
    const int64_t pixel = slow + m->panel->grid_slow, node = node_of(m, pixel), n = m->count[0];
    const double *weight = m->weight[pixel - node * m->step];
    const double *values = m->values + (node - 1 - m->first[1]) * n;
    for (int64_t i = 0; i < n; i++)
        line[i] = weight[0] * values[i] + weight[1] * values[i + n] +
                  weight[2] * values[i + 2 * n] + weight[3] * values[i + 3 * n];
}

void mesh_row(const struct mesh *m, int64_t slow, double *room, double *pixels)
{
    const struct roi *roi = &m->panel->roi;
    const int64_t first = roi->fast_min + m->panel->grid_fast, node = node_of(m, first);
    const double *at = room + (node - 1 - m->first[0]);
    int part = (int)(first - node * m->step);
    row_nodes(m, slow, room);
    for (int64_t i = 0; i <= roi->fast_max - roi->fast_min; i++) {
        const double *weight = m->weight[part];
        const double sum =
            weight[0] * at[0] + weight[1] * at[1] + weight[2] * at[2] + weight[3] * at[3];
        pixels[i] = sum > 0.0 ? sum : 0.0;
        if (++part == m->step) {
            part = 0;
            at++;
        }
    }
}
