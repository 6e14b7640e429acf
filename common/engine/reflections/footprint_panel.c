/* The passes of a panel: projection, decomposition and kernels at its nodes. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/reflections/footprint.h"
#include "physics/crystal/illuminated_volume.h"
#include "physics/detector/pixel.h"

enum { DIRECTIONS_MAX = 1024 };  // of a panel; widths from 0.3 to 100 px need fewer

/* Steps and variances at one node. */
struct node {
    int v[3][2];
    double variance[3];
};

static void position_of(const struct footprint *f, const struct panel *p, int64_t fast,
                        int64_t slow, double position[3])
{
    pixel_position(p, f->x->physics, f->x->beam.direction, fast, slow, 0, 0, 0, 1, position);
}

/* Half the way from one pixel to the one behind the next, in m. */
static void edge_of(const double from[3], const double to[3], double edge[3])
{
    for (int i = 0; i < 3; i++)
        edge[i] = 0.5 * (to[i] - from[i]);
}

/* The covariance on the panel at a pixel. */
static enum status covariance_at(const struct footprint *f, const struct panel *p, int64_t fast,
                                 int64_t slow, double on[3], struct error *e)
{
    double s[3], low[3], high[3], along_fast[3], along_slow[3], projection[6];
    position_of(f, p, fast - 1, slow, low);
    position_of(f, p, fast + 1, slow, high);
    edge_of(low, high, along_fast);
    position_of(f, p, fast, slow - 1, low);
    position_of(f, p, fast, slow + 1, high);
    edge_of(low, high, along_slow);
    position_of(f, p, fast, slow, s);
    vec_unit(s, s);
    footprint_projection(along_fast, along_slow, s, projection);
    footprint_covariance(f->lit, projection, on);
    const double widest = sqrt(fmax(on[0], on[2]));
    if (widest <= FOOTPRINT_WIDEST_PX)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "the crystal's footprint is %.3g pixels wide (rms) at pixel %lld,%lld (fast, "
                     "slow) of panel %d, must be at most %g: see --crystal-size",
                     widest, (long long)fast, (long long)slow, (int)(p - f->x->panels),
                     FOOTPRINT_WIDEST_PX);
}

/* The number of the pass along v, made where there is none yet; -1 when there are too many. */
static int pass_along(struct footprint_panel *p, const int v[2])
{
    for (size_t i = 0; i < p->npasses; i++)
        if (p->pass[i].fast == v[0] && p->pass[i].slow == v[1])
            return (int)i;
    if (p->npasses == DIRECTIONS_MAX)
        return -1;
    p->pass[p->npasses] = (struct footprint_pass){.fast = v[0], .slow = v[1]};
    return (int)p->npasses++;
}

/* Directions, reaches and the margin, of the decompositions at all nodes. */
static enum status collect(struct footprint_panel *p, const struct node *nodes, struct error *e)
{
    for (int64_t at = 0; at < p->columns * p->rows; at++) {
        int64_t away = 0;
        for (int k = 0; k < 3; k++) {
            const int *v = nodes[at].v[k], reach = footprint_reach(nodes[at].variance[k]);
            if (!reach)
                continue;
            const int i = pass_along(p, v);
            if (i < 0)
                return error_set(e, STATUS_INPUT, "the crystal's footprint has too many shapes");
            struct footprint_pass *pass = &p->pass[i];
            pass->reach = reach > pass->reach ? reach : pass->reach;
            away += (int64_t)reach * (abs(v[0]) > v[1] ? abs(v[0]) : v[1]);
        }
        p->margin = away > p->margin ? away : p->margin;
    }
    return STATUS_OK;
}

/* The variance at a node along the direction of a pass. */
static double variance_along(const struct node *n, const struct footprint_pass *pass)
{
    for (int k = 0; k < 3; k++)
        if (n->v[k][0] == pass->fast && n->v[k][1] == pass->slow)
            return n->variance[k];
    return 0.0;
}

static enum status fill(const struct footprint *f, struct footprint_panel *p,
                        const struct node *nodes, struct error *e)
{
    for (size_t i = 0; i < p->npasses; i++) {
        struct footprint_pass *pass = &p->pass[i];
        const size_t size = (size_t)pass->reach + 1;
        pass->weight = mem_array((size_t)(p->columns * p->rows) * size, sizeof *pass->weight);
        if (!pass->weight)
            return error_memory(e, "the footprint");
#pragma omp parallel for num_threads(f->threads)
        for (int64_t at = 0; at < p->columns * p->rows; at++) {
            const double variance = variance_along(&nodes[at], pass);
            footprint_kernel(variance, footprint_reach(variance), pass->weight + (size_t)at * size);
        }
    }
    return STATUS_OK;
}

enum status footprint_panel_make(struct footprint *f, size_t index, struct error *e)
{
    struct footprint_panel *p = &f->panel[index];
    const struct panel *panel = &f->x->panels[index];
    footprint_panel_free(p);
    p->columns = (panel->fast_pixels + FOOTPRINT_NODE - 1) / FOOTPRINT_NODE + 1;
    p->rows = (panel->slow_pixels + FOOTPRINT_NODE - 1) / FOOTPRINT_NODE + 1;
    struct node *nodes = mem_array((size_t)(p->columns * p->rows), sizeof *nodes);
    p->pass = mem_array(DIRECTIONS_MAX, sizeof *p->pass);
    enum status s = nodes && p->pass ? STATUS_OK : error_memory(e, "the footprint");
    for (int64_t at = 0; at < p->columns * p->rows && !s; at++) {
        double on[3];
        s = covariance_at(f, panel, at % p->columns * FOOTPRINT_NODE,
                          at / p->columns * FOOTPRINT_NODE, on, e);
        if (!s)
            footprint_directions(on, nodes[at].v, nodes[at].variance);
    }
    if (!s)
        s = collect(p, nodes, e);
    if (!s)
        s = fill(f, p, nodes, e);
    mem_free(nodes);
    return s;
}

void footprint_panel_free(struct footprint_panel *p)
{
    for (size_t i = 0; i < p->npasses; i++)
        mem_free(p->pass[i].weight);
    mem_free(p->pass);
    *p = (struct footprint_panel){0};
}

bool footprint_pass_acts(const struct footprint_panel *p, const struct footprint_pass *pass,
                         int64_t column, int64_t last_column, int64_t row, int64_t last_row)
{
    column = footprint_within(column, p->columns);
    row = footprint_within(row, p->rows);
    last_column = footprint_within(last_column, p->columns);
    last_row = footprint_within(last_row, p->rows);
    for (int64_t r = row; r <= last_row; r++)
        for (int64_t c = column; c <= last_column; c++)
            if (pass->weight[(r * p->columns + c) * (pass->reach + 1)] < 1.0f)
                return true;
    return false;
}
