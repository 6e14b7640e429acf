/* One spot in the middle of a panel, from a crystal with a size. */
#ifndef BRAGG_TESTS_FOOTPRINT_SPOT_H
#define BRAGG_TESTS_FOOTPRINT_SPOT_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "engine_run.h"
#include "physics/setup.h"
#include "unit.h"

/* A cubic crystal that reflects (order,0,0) to the middle of a panel. */
struct spot {
    double twotheta_deg, azimuth_deg;  // where it goes
    double facing_deg;                 // from the beam towards the spot: the panel's normal
    double size_m[3];                  // of the crystal; 0: a point
    double beam_m[2];                  // along E, across it
    int order;                         // the reflection is (order,0,0); 0: 34
    double divergence_rad;             // full, both ways, in 9 steps and with its corners
    enum physics physics;
};

enum { EDGE = 160, COUNT = EDGE * EDGE };
static const double PIXEL_M = 20e-6, DISTANCE_M = 0.1, CELL_M = 50e-10;

/* Unit vector at an angle to the beam, which is x, and an azimuth from y to z. */
static void direction(double angle_deg, double azimuth_deg, double out[3])
{
    const double t = deg_to_rad(angle_deg), a = deg_to_rad(azimuth_deg);
    vec_set(out, cos(t), sin(t) * cos(a), sin(t) * sin(a));
}

/* The panel's middle pixel is where the spot goes; its axes are turned by 20 deg. */
static void place(const struct spot *spot, struct panel *p)
{
    double s[3], up[3];
    direction(spot->twotheta_deg, spot->azimuth_deg, s);
    direction(spot->facing_deg, spot->azimuth_deg, p->normal);
    vec_set(up, 0.0, -sin(0.35), cos(0.35));
    vec_cross(up, p->normal, p->fast);
    vec_unit(p->fast, p->fast);
    vec_cross(p->normal, p->fast, p->slow);
    const double away = DISTANCE_M / vec_dot(s, p->normal), half = PIXEL_M * (EDGE / 2 + 0.5);
    for (int i = 0; i < 3; i++)
        p->origin_m[i] = away * s[i] - half * (p->fast[i] + p->slow[i]);
    p->distance_m = p->close_distance_m = DISTANCE_M;
}

static int order_of(const struct spot *spot)
{
    return spot->order ? spot->order : 34;
}

static void build(const struct spot *spot, struct experiment *x, struct recipe *r)
{
    struct error e = {0};
    struct crystal_request crystal = {.has_cell = true,
                                      .cells = {12, 12, 12},
                                      .blocks = true,
                                      .shape = SHAPE_GAUSS,
                                      .fudge = 1,
                                      .interpolate = INTERPOLATE_OFF,
                                      .table = {.min = {order_of(spot)}, .count = {1, 1, 1}}};
    const double theta = deg_to_rad(spot->twotheta_deg) / 2.0;
    crystal.table.F = mem_array(1, sizeof *crystal.table.F);
    *crystal.table.F = 100.0;
    for (int i = 0; i < 3; i++) {
        crystal.cell_A[i] = CELL_M * 1e10;
        crystal.cell_rad[i] = M_PI / 2.0;
        crystal.size_m[i] = spot->size_m[i];
    }
    struct request q;
    request_clear(&q);
    q.physics = spot->physics;
    q.ncrystals = 1;
    q.crystals = &crystal;
    q.oversample = 1;
    q.detector.pixel_m = PIXEL_M;
    q.detector.pixels[0] = q.detector.pixels[1] = EDGE;
    q.detector.distance_m = DISTANCE_M;
    q.beam.wavelength_m = 2.0 * CELL_M * sin(theta) / order_of(spot);
    q.beam.fluence_ph_m2 = 1e28;
    q.beam.no_polarization = true;
    q.beam.size_m = spot->beam_m[0];
    q.beam.height_m = spot->beam_m[1];
    if (spot->divergence_rad > 0.0)
        q.beam.horizontal = q.beam.vertical =
            (struct steps_request){.count = 9, .range = spot->divergence_rad};
    q.beam.square_divergence = true;
    if (setup_experiment(&q, x, &e))
        fail_msg("%s", e.text);
    place(spot, &x->panels[0]);
    double s[3], axis[3][3], rotation[9];
    direction(spot->twotheta_deg, spot->azimuth_deg, s);
    vec_set(axis[0], s[0] - 1.0, s[1], s[2]);
    vec_unit(axis[0], axis[0]);
    vec_cross((double[3]){0.6, 0.0, 0.8}, axis[0], axis[1]);
    vec_unit(axis[1], axis[1]);
    vec_cross(axis[0], axis[1], axis[2]);
    for (int i = 0; i < 9; i++)
        rotation[i] = axis[i % 3][i / 3];
    const struct orientation_request still = {.phi = NO_STEPS};
    *r = (struct recipe){.nlattices = 1, .lattices = mem_array(1, sizeof *r->lattices)};
    if (setup_lattice_rotated(x, 0, rotation, &still, r->lattices, &e))
        fail_msg("%s", e.text);
    r->lattices->weight = 1.0;  // as much as a point
}

static float *image_of(const struct spot *spot, const struct engine *engine)
{
    struct experiment x;
    struct recipe r;
    build(spot, &x, &r);
    float *image = run_engine(engine, &x, &r, NULL, 2);
    recipe_free(&r);
    experiment_free(&x);
    return image;
}

static const struct spot SPOTS[] = {
    {.twotheta_deg = 20, .azimuth_deg = 70},
    {.twotheta_deg = 40, .azimuth_deg = 70},
    {.twotheta_deg = 40, .azimuth_deg = 70, .facing_deg = 40},
    {.twotheta_deg = 40, .azimuth_deg = -20, .facing_deg = -20},
};
enum { NSPOTS = sizeof SPOTS / sizeof *SPOTS };

#endif
