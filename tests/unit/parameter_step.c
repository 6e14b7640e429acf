/* Steps of parameters, compared with derivatives: the difference of two images after small steps,
 * divided by the step, is the derivative image. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/parameter.h"
#include "engine/engine.h"

enum { EDGE = 4, PIXELS = EDGE * EDGE };

#include "derive_scene.h"

static void serve(const struct experiment *x, const struct recipe *r,
                  const struct derive_request *q)
{
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = 1};
    if (engine_reference.create(&plan, x, &options, &e) || engine_reference.derive(plan, r, q, &e))
        fail_msg("%s", e.text);
    engine_reference.destroy(&plan);
}

/* Photons after steps, of a copy. */
static void photons_after(const struct scene *s, const struct parameters *set, const double *steps,
                          double *photons)
{
    static const struct parameters none = {0};
    struct experiment x;
    struct recipe r;
    experiment_copy(&x, &s->x);
    recipe_copy(&r, &s->recipe);
    parameter_step_take(set, steps, &x, &r);
    serve(&x, &r, &(struct derive_request){.set = &none, .npixels = PIXELS, .photons = photons});
    experiment_free(&x);
    recipe_free(&r);
}

static double rms(const double *a)
{
    double sum = 0.0;
    for (int i = 0; i < PIXELS; i++)
        sum += a[i] * a[i];
    return sqrt(sum / PIXELS);
}

/* Checks one parameter of a scene alone, and together with all others, which stay the same. */
static void check_one(const struct scene *s, const struct parameters *set, size_t k,
                      const float *planes)
{
    double steps[PARAMETERS_MAX] = {0}, up[PIXELS], down[PIXELS], wrong[PIXELS], plane[PIXELS];
    const struct parameter *p = &set->items[k];
    const double value = parameter_step_value(p, &s->x, &s->recipe);
    const double step = 1e-4 * parameter_step_limit(p, &s->x, &s->recipe);
    const double unit = parameter_step_is_log(p) ? value : 1.0;
    steps[k] = step;
    photons_after(s, set, steps, up);
    steps[k] = -step;
    photons_after(s, set, steps, down);
    for (int i = 0; i < PIXELS; i++) {
        plane[i] = unit * (double)planes[k * PIXELS + (size_t)i];
        wrong[i] = (up[i] - down[i]) / (2.0 * step) - plane[i];
    }
    if (!(rms(wrong) < 1e-4 * rms(plane)))
        fail_msg("%s: %g of %g", p->name, rms(wrong), rms(plane));
}

static void check(const struct variant *v, const char *names)
{
    static float planes[PARAMETERS_MAX * PIXELS];
    struct parameters set;
    struct scene s;
    struct error e = {0};
    open_scene(&s, v, &(struct change){"", 0});
    if (parameters_parse(names, &s.x, &set, &e) || parameter_step_check(&set, &e))
        fail_msg("%s", e.text);
    serve(&s.x, &s.recipe,
          &(struct derive_request){.set = &set, .npixels = PIXELS, .planes = planes});
    for (size_t k = 0; k < set.count; k++)
        check_one(&s, &set, k, planes);
    close_scene(&s);
}

static void steps_are_what_derivatives_say(void **state)
{
    (void)state;
    check(&SQUARE, "rot,cell,ncells,mosaic,scale,phi0,osc,wavelength,distance,beam_x,beam_y,"
                   "panel.0.shift_f,panel.0.shift_s,panel.0.shift_o,share.0,share.1");
    struct variant v = SQUARE;
    v.shape = SHAPE_ROUND;
    v.fudge = 1.3;
    check(&v, "rot,cell,ncells,fudge,mosaic");
    v = SQUARE;
    v.tetragonal = true;
    v.convention = CONVENTION_XDS;
    check(&v, "rot,cell,beam_x,beam_y,distance");
}

/* Forth and back is nowhere; a large turn keeps the cell. */
static void steps_add_up(void **state)
{
    (void)state;
    struct scene s;
    struct parameters set;
    struct error e = {0};
    double cell[6], was[6], steps[PARAMETERS_MAX] = {0};
    open_scene(&s, &SQUARE, &(struct change){"", 0});
    assert_int_equal(parameters_parse("rot,cell,mosaic", &s.x, &set, &e), 0);
    lattice_cell(&s.x, &s.recipe.lattices[0], was);
    steps[0] = 40;
    steps[1] = -70;
    parameter_step_take(&set, steps, &s.x, &s.recipe);
    lattice_cell(&s.x, &s.recipe.lattices[0], cell);
    for (int i = 0; i < 6; i++)
        assert_true(fabs(cell[i] - was[i]) < 1e-9 * was[i]);
    memset(steps, 0, sizeof steps);
    steps[3] = 0.5;
    steps[6] = 0.25;
    parameter_step_take(&set, steps, &s.x, &s.recipe);
    lattice_cell(&s.x, &s.recipe.lattices[0], cell);
    assert_true(fabs(cell[0] - was[0] - 0.5) < 1e-9 && fabs(cell[3] - was[3] - 0.25) < 1e-9);
    assert_true(fabs(cell[1] - was[1]) < 1e-9 && fabs(cell[5] - was[5]) < 1e-9);
    close_scene(&s);
}

static void some_are_not_refined(void **state)
{
    (void)state;
    struct scene s;
    struct parameters set;
    struct error e = {0};
    open_scene(&s, &SQUARE, &(struct change){"", 0});
    assert_int_equal(parameters_parse("rot,polarization", &s.x, &set, &e), 0);
    assert_int_equal(parameter_step_check(&set, &e), STATUS_USAGE);
    assert_non_null(strstr(e.text, "'polarization'"));
    close_scene(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_what_derivatives_say),
        cmocka_unit_test(steps_add_up),
        cmocka_unit_test(some_are_not_refined),
    };
    return unit_run(tests);
}
