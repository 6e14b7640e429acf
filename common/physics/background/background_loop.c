/*
 * Background of pixels in a row, compiled once per instruction set.  Nothing is fused, so all give
 * the bytes of background_photons.  What bounds it: divisions, some 15 for each pixel and source.
 */
#include "physics/background/background.h"

#include <string.h>

#include "base/isa.h"

/* The arrays of a run. */
struct run {
    double position[3][BACKGROUND_RUN];
    double diffracted[3][BACKGROUND_RUN], airpath[BACKGROUND_RUN];
    double stol_1_m[BACKGROUND_RUN];
    double scattered[BACKGROUND_RUN];  // by all materials, of the current source
    double caught[BACKGROUND_RUN];     // share that the sensor absorbs of the source, where sources
                                       // differ; else 1
    double sum[BACKGROUND_RUN];        // of the sources so far
    int32_t row[BACKGROUND_RUN];       // of the current table
};

/* Moves points from the front of the sensor to where photons stop in it. */
static void deep_positions(const struct panel *panel, double first, double slow_m, int count,
                           struct run *r)
{
    const struct panel p = *panel;
    const double edge = p.pixel_m;
    double depth[BACKGROUND_RUN], exp_x[BACKGROUND_RUN];
    for (int i = 0; i < count; i++) {  // vectorised
        const double front[3] = {r->position[0][i], r->position[1][i], r->position[2][i]};
        depth[i] = background_path(&p, front);
    }
    for (int i = 0; i < count; i++)  // vectorised
        exp_x[i] = portable_exp(depth[i]);
    for (int i = 0; i < count; i++)  // vectorised
        depth[i] = background_depth(&p, depth[i], exp_x[i]);
    for (int i = 0; i < count; i++) {  // vectorised
        double position[3];
        pixel_flat_point(&p, edge * (first + (double)i) + edge / 2.0, slow_m, depth[i], position);
        for (int k = 0; k < 3; k++)
            r->position[k][i] = position[k];
    }
}

static void flat_positions(const struct panel *p, int64_t fast, int64_t slow, int count,
                           struct run *r)
{
    const double first = (double)(fast + p->grid_fast), edge = p->pixel_m;
    const double s = edge * (double)(slow + p->grid_slow) + edge / 2.0;
    for (int i = 0; i < count; i++) {  // vectorised
        double position[3];
        pixel_flat_point(p, edge * (first + (double)i) + edge / 2.0, s, 0.0, position);
        for (int k = 0; k < 3; k++)
            r->position[k][i] = position[k];
    }
    if (p->layer_depth_m > 0.0)
        deep_positions(p, first, s, count, r);
}

static void curved_positions(const struct background_scene *scene, const struct panel *p,
                             int64_t fast, int64_t slow, int count, struct run *r)
{
    for (int i = 0; i < count; i++) {
        double position[3];
        pixel_position(p, scene->physics, scene->beam, fast + i, slow, 0, 0, 0, 1, position);
        for (int k = 0; k < 3; k++)
            r->position[k][i] = position[k];
    }
}

static void directions(int count, struct run *r)
{
    for (int i = 0; i < count; i++) {  // vectorised
        const double position[3] = {r->position[0][i], r->position[1][i], r->position[2][i]};
        double diffracted[3];
        r->airpath[i] = vec_unit(position, diffracted);
        for (int k = 0; k < 3; k++)
            r->diffracted[k][i] = diffracted[k];
        r->sum[i] = 0.0;
        r->caught[i] = 1.0;
    }
}

static void stols(const double incident[3], double wavelength_m, int count, struct run *r)
{
    const double along[3] = {incident[0], incident[1], incident[2]};
    for (int i = 0; i < count; i++) {  // vectorised
        const double diffracted[3] = {r->diffracted[0][i], r->diffracted[1][i],
                                      r->diffracted[2][i]};
        r->stol_1_m[i] = amorphous_stol(along, diffracted, wavelength_m);
        r->scattered[i] = 0.0;
    }
}

/* Like amorphous_row. Neighbouring pixels mostly have the same row, which is tried first. */
static void find_rows(const struct amorphous *a, int count, struct run *r)
{
    const double *x = a->stol_1_m;
    size_t row = amorphous_row(a, r->stol_1_m[0]);
    for (int i = 0; i < count; i++) {
        const double at = r->stol_1_m[i];
        while (row > 1 && at < x[row])
            row--;
        while (row + 3 < a->count && at >= x[row + 1])
            row++;
        r->row[i] = (int32_t)row;
    }
}

static void add_material(const struct background_material *m, int count, struct run *r)
{
    const struct amorphous *a = &m->table;
    const double *x = a->stol_1_m - 1, *F = a->F - 1;  // of the four rows around
    const double molecules = m->molecules;
    const struct amorphous_ends ends = amorphous_ends(a);
    find_rows(a, count, r);
    for (int i = 0; i < count; i++) {  // vectorised
        const int32_t n = r->row[i];
        const double stol = r->stol_1_m[i];
        const double xs[4] = {x[n], x[n + 1], x[n + 2], x[n + 3]};
        const double Fs[4] = {F[n], F[n + 1], F[n + 2], F[n + 3]};
        const double intensity =
            amorphous_square(amorphous_within(&ends, stol, cubic_lagrange(xs, Fs, stol)));
        r->scattered[i] += intensity > 0.0 ? molecules * intensity : 0.0;
    }
}

static void add_source(const struct background_scene *scene, const struct source *source,
                       const double incident[3], int count, struct run *r)
{
    const double weight = source->weight, kahn = scene->kahn;
    double along[3], e[3], b[3];
    vec_copy(along, incident);
    polarization_axes(incident, scene->polarization, e, b);
    if (scene->no_polarization)
        for (int i = 0; i < count; i++)  // vectorised
            r->sum[i] += weight * r->scattered[i] * r->caught[i];
    else
        for (int i = 0; i < count; i++) {  // vectorised
            const double diffracted[3] = {r->diffracted[0][i], r->diffracted[1][i],
                                          r->diffracted[2][i]};
            r->sum[i] += weight * r->scattered[i] *
                         polarization_factor(kahn, along, diffracted, e, b) * r->caught[i];
        }
}

static void take_solid_angles(const struct background_scene *scene, const struct panel *panel,
                              int count, struct run *r)
{
    const struct panel p = *panel;
    const double scale = ELECTRON_RADIUS_SQR_M2 * scene->fluence_ph_m2;
    const double nsources = (double)scene->nsources;
    for (int i = 0; i < count; i++)  // vectorised
        r->sum[i] = scale * (r->sum[i] / nsources) * pixel_solid_angle(&p, r->airpath[i]);
}

/* There are two loops because compilers do not vectorise a single one. */
static void stop_in_sensor(const struct panel *panel, double absorb, int count, struct run *r)
{
    const struct panel p = *panel;
    double passed[BACKGROUND_RUN];
    for (int i = 0; i < count; i++) {  // vectorised
        const double diffracted[3] = {r->diffracted[0][i], r->diffracted[1][i],
                                      r->diffracted[2][i]};
        passed[i] = background_passed(&p, diffracted, absorb);
    }
    for (int i = 0; i < count; i++)  // vectorised
        r->caught[i] = 1.0 - portable_exp(passed[i]);
}

static void add_scattering(const struct background_scene *scene, const struct panel *p,
                           int64_t fast, int64_t slow, int count, double *photons)
{
    struct run r;
    if (p->curved)
        curved_positions(scene, p, fast, slow, count, &r);
    else
        flat_positions(p, fast, slow, count, &r);
    directions(count, &r);
    for (size_t s = 0; s < scene->nsources; s++) {
        const struct source *source = &scene->sources[s];
        double incident[3];
        vec_scale(source->direction, -1.0, incident);
        stols(incident, source->wavelength_m, count, &r);
        for (size_t m = 0; m < scene->nmaterials; m++)
            add_material(&scene->materials[m], count, &r);
        if (scene->absorb && p->thickness_m > 0.0 &&
            (s == 0 || scene->absorb[s] != scene->absorb[s - 1]))
            stop_in_sensor(p, scene->absorb[s], count, &r);
        add_source(scene, source, incident, count, &r);
    }
    take_solid_angles(scene, p, count, &r);
    if (!scene->absorb && p->thickness_m > 0.0) {
        stop_in_sensor(p, 1.0, count, &r);
        for (int i = 0; i < count; i++)  // vectorised
            r.sum[i] *= r.caught[i];
    }
    memcpy(photons, r.sum, (size_t)count * sizeof *photons);
}

const struct background_kernels NAME(background_kernels_, ISA) = {.run = add_scattering};
