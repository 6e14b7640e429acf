/* Derivatives in the middle of a spot, where a difference of cotangents would lose all digits.  The
 * fast loops are compared with the reference, in pixels that are a millionth of a spot wide and
 * wider. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { EDGE = 8, PIXELS = EDGE * EDGE };

#include "derive_scene.h"
#include "engine/engine.h"

static const char NAMES[] = "rot_x,rot_y,cell_b,ncells,wavelength";
enum { COUNT = 7 };

/* A still whose beam, the spot of index 0, meets the corner of pixels so large. */
static void open_middle(struct scene *s, double cells, double pixel_m)
{
    struct variant v = SQUARE;
    v.perfect = v.still = true;
    set3(v.cells, cells, 1, cells > 1 ? cells + 1 : 1);
    open_scene(s, &v, &(struct change){"", 0});
    struct panel *p = &s->x.panels[0];
    s->x.beam.nsources = 1;
    s->x.sampling.oversample = 1;
    p->pixel_m = pixel_m;
    for (int i = 0; i < 3; i++)
        p->origin_m[i] = 0.07 * s->x.beam.direction[i];
    detector_derive(p, s->x.beam.direction, detector_ratio(p, s->x.beam.direction));
}

static void planes_of(const struct scene *s, const struct engine *engine,
                      enum engine_precision precision, float *planes)
{
    struct error e = {0};
    struct plan *plan = NULL;
    struct parameters set;
    const struct engine_options options = {.threads = 1, .precision = precision};
    if (parameters_parse(NAMES, &s->x, &set, &e) || engine->create(&plan, &s->x, &options, &e))
        fail_msg("%s", e.text);
    assert_int_equal(set.count, COUNT);
    const struct derive_request q = {.set = &set, .npixels = PIXELS, .planes = planes};
    if (engine->derive(plan, &s->recipe, &q, &e))
        fail_msg("%s", e.text);
    engine->destroy(&plan);
}

/* rms of the difference over that of the plane; 0 if the plane is 0 in both. */
static double apart(const float *want, const float *got)
{
    double wrong = 0, sum = 0;
    for (int i = 0; i < PIXELS; i++) {
        wrong += pow((double)want[i] - (double)got[i], 2);
        sum += pow((double)want[i], 2);
    }
    return wrong == 0 ? 0 : sqrt(wrong / sum);
}

static void compare(double cells, double pixel_m)
{
    static const struct {
        const struct engine *engine;
        enum engine_precision precision;
        double limit;
    } HOW[] = {{&engine_cpu, PRECISION_DOUBLE, 1e-7},
               {&engine_cuda_host, PRECISION_DOUBLE, 1e-7},
               {&engine_cpu, PRECISION_MIXED, 1e-5},
               {&engine_cuda_host, PRECISION_MIXED, 1e-5}};
    static float want[COUNT * PIXELS], got[COUNT * PIXELS];
    struct scene s;
    open_middle(&s, cells, pixel_m);
    planes_of(&s, &engine_reference, PRECISION_DOUBLE, want);
    for (size_t i = 0; i < sizeof HOW / sizeof *HOW; i++) {
        planes_of(&s, HOW[i].engine, HOW[i].precision, got);
        const double limit = HOW[i].limit * (i > 1 && cells > 20 ? 10 : 1);
        for (int k = 0; k < COUNT; k++)
            if (!(apart(want + k * PIXELS, got + k * PIXELS) < limit))
                fail_msg("%s, %s: plane %d is wrong by %.3g, %g cells, pixels of %g m",
                         HOW[i].engine->name, i < 2 ? "double" : "mixed", k,
                         apart(want + k * PIXELS, got + k * PIXELS), cells, pixel_m);
    }
    for (int k = 3; k < 6 && cells == 1; k++)
        for (int i = 0; i < PIXELS; i++)
            assert_true(want[k * PIXELS + i] == 0 && got[k * PIXELS + i] == 0);
    close_scene(&s);
}

static void test_middle(void **state)
{
    (void)state;
    static const double CELLS[] = {1, 2, 3, 20, 200};
    for (size_t i = 0; i < sizeof CELLS / sizeof *CELLS; i++)
        for (double pixel_m = 1e-4; pixel_m > 1e-9; pixel_m /= 10)
            compare(CELLS[i], pixel_m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_middle)};
    return unit_run(tests);
}
