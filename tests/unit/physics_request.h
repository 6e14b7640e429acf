/* A small experiment for tests: 100 A cubic cell, 5 cells along each axis, 128 x 128
 * pixels of 0.1 mm at 100 mm, 1 A, as most golden cases have it. */
#ifndef BRAGG_TESTS_PHYSICS_REQUEST_H
#define BRAGG_TESTS_PHYSICS_REQUEST_H

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "physics/request.h"

static inline void set3(double v[3], double x, double y, double z)
{
    v[0] = x;
    v[1] = y;
    v[2] = z;
}

/* Fills *r and *c; r->crystals points to c. */
static inline void plain_request(struct request *r, struct crystal_request *c, enum physics physics)
{
    request_clear(r);
    memset(c, 0, sizeof *c);
    r->physics = physics;
    r->detector.pixel_m = 1e-4;
    r->detector.pixels[0] = r->detector.pixels[1] = 128;
    r->detector.distance_m = 0.1;
    r->beam.wavelength_m = 1e-10;
    r->beam.fluence_ph_m2 = FLUENCE_UNIT_PH_M2;
    r->beam.size_m = -1.0;
    r->oversample = 1;
    r->ncrystals = 1;
    r->crystals = c;
    c->has_cell = true;
    set3(c->cell_A, 100, 100, 100);
    set3(c->cell_rad, M_PI / 2, M_PI / 2, M_PI / 2);
    set3(c->cells, 5, 5, 5);
    c->fudge = 1.0;
    c->table.default_F = 100.0;
}

static inline void set_cell(struct crystal_request *c, double a, double b, double cc, double al,
                            double be, double ga)
{
    set3(c->cell_A, a, b, cc);
    set3(c->cell_rad, deg_to_rad(al), deg_to_rad(be), deg_to_rad(ga));
}

#endif
