/* Polarization in Stokes parameters, from any direction of the E field. */
#include "unit.h"

#include <math.h>

#include "base/units.h"
#include "model/recipe.h"

/* Along z; horizontal and vertical are x and y. */
static struct beam beam = {.direction = {0, 0, 1}, .kahn = 0.98};
static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};

static void has(double q, double u)
{
    double s[4];
    beam_stokes(&beam, x, y, s);
    assert_true(s[0] == 1 && s[3] == 0);
    assert_true(fabs(s[1] - q) < 1e-12 && fabs(s[2] - u) < 1e-12);
    assert_true(fabs(beam_fraction_along(&beam, x) - (1 + q) / 2) < 1e-12);
    assert_true(fabs(beam_fraction_along(&beam, y) - (1 - q) / 2) < 1e-12);
}

static void field_at(double angle_deg, double along_beam)
{
    beam.polarization[0] = cos(deg_to_rad(angle_deg));
    beam.polarization[1] = sin(deg_to_rad(angle_deg));
    beam.polarization[2] = along_beam;
}

static void q_is_along_the_horizontal(void **state)
{
    (void)state;
    field_at(0, 0);
    has(0.98, 0);
    field_at(90, 0);
    has(-0.98, 0);
    field_at(45, 0);
    has(0, 0.98);
    field_at(30, 0);
    has(0.49, 0.98 * sqrt(0.75));
    field_at(210, 3);  // the other way round, and aslant: only what is across the beam counts
    has(0.49, 0.98 * sqrt(0.75));
    beam.kahn = 0;
    has(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(q_is_along_the_horizontal)};
    return unit_run(tests);
}
