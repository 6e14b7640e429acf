/*
 * Photons that change slowly from pixel to pixel, computed for some of them and interpolated
 * between: by polynomials of the third order through the four nearest nodes along fast and slow.
 * Nodes are pixels of the plane that a panel is cut from, so that cuts change nothing.
 */
#ifndef BRAGG_ENGINE_DIFFUSE_MESH_H
#define BRAGG_ENGINE_DIFFUSE_MESH_H

#include "model/experiment.h"

enum { MESH_MOST = 8, MESH_POINTS = 4 };

/* What a node has: photons of pixel (fast, slow), which may be a few pixels beside the panel. */
typedef double mesh_value(const void *context, const struct panel *p, int64_t fast, int64_t slow);

struct mesh {
    const struct panel *panel;
    int step;                               // pixels from node to node, 1 .. MESH_MOST
    int64_t first[2];                       // number of the first node, along fast and slow
    int64_t count[2];                       // of nodes
    double weight[MESH_MOST][MESH_POINTS];  // of nodes, by pixels behind the second of them
    double *values;                         // owned: [count[1]][count[0]]
};

/* Nodes about the region of interest of a panel; false when memory is out.  mesh_close frees
 * them. */
bool mesh_open(struct mesh *m, const struct panel *p, int step, mesh_value *value,
               const void *context, int threads);
void mesh_close(struct mesh *m);

/* Into pixels[] those of a row of the region of interest, of which none is negative; room[] holds
 * m->count[0] numbers. */
void mesh_row(const struct mesh *m, int64_t slow, double *room, double *pixels);

#endif
