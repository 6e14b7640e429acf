/* Bounds of spots in closed form: pixels outside the bounds have less than e^-20 of the brightest
 * value of the spot. */
#include "engine/closed/closed.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "near.h"
#include "physics/setup.h"
#include "physics_request.h"
#include "unit.h"

enum { EDGE = 200, WAVES = 31 };

/* A scene: everything except the orientation of the crystal. */
struct look_at {
    const char *name;
    double pixel_m, distance_m, twotheta_rad, cell, cells, mosaic_rad[3], strain, wave_step;
    int oversample, layers;
    double most_pixels;  // largest number of pixels in places, per illuminated pixel
};

static const struct look_at scenes[] = {
    {"blocks alone", 1e-5, 0.06, 0, 4, 3, {0}, 0, 8e-4, 1, 1, 4.2},
    {"mosaic, band of 3 %", 4e-5, 0.2, 0, 3, 10, {0.01, 0.003, 0.006}, 0, 1e-3, 1, 1, 2.5},
    {"one wavelength, strain", 1e-4, 0.2, 0, 1, 40, {5e-3, 5e-3, 5e-3}, 2e-2, 0, 1, 1, 4},
    {"wide spots near by", 2e-4, 0.25, 0, 1, 5, {0.02, 0.01, 0.03}, 0, 1e-3, 1, 1, 6},
    {"turned, layers, subpixels", 2e-4, 0.4, 0.6, 3, 13, {0}, 0, 1.6e-3, 2, 3, 4},
};

static void build(const struct look_at *l, struct experiment *x, struct recipe *r)
{
    struct request q;
    struct crystal_request c;
    struct error e = {0};
    const struct orientation_request o = {.misset_rad = {0.2, 0.35, 0.5}, .phi = NO_STEPS};
    plain_request(&q, &c, PHYSICS_PHYSICAL);
    set_cell(&c, 79 * l->cell, 70 * l->cell, 45 * l->cell, 90, 100, 90);
    set3(c.cells, l->cells, l->cells, 2 * l->cells);
    c.shape = SHAPE_GAUSS;
    q.detector.pixels[0] = q.detector.pixels[1] = EDGE;
    q.detector.pixel_m = l->pixel_m;
    q.detector.distance_m = l->distance_m;
    q.detector.twotheta_rad = l->twotheta_rad;
    q.detector.thickness = (struct steps_request){l->layers, 1e-3, 0.0};
    q.detector.absorption_1_m = 1000.0;
    q.oversample = l->oversample;
    *r = (struct recipe){.nlattices = 1,
                         .lattices = mem_array(1, sizeof(struct lattice)),
                         .nsources = WAVES,
                         .sources = mem_array(WAVES, sizeof(struct source))};
    assert_int_equal(setup_experiment(&q, x, &e), STATUS_OK);
    assert_int_equal(setup_lattice(x, 0, &o, r->lattices, &e), STATUS_OK);
    x->crystals[0].has_ensemble = true;
    for (int k = 0; k < 3; k++) {
        x->crystals[0].mosaic_rms_rad[k] = l->mosaic_rad[k];
        x->crystals[0].strain_rms[k] = l->strain;
    }
    for (int i = 0; i < WAVES; i++) {
        r->sources[i] = x->beam.sources[0];
        r->sources[i].wavelength_m *= 1.0 + l->wave_step * (i - WAVES / 2);
    }
}

static float *image_of(const struct closed *c)
{
    float *image = mem_array((size_t)EDGE * EDGE, sizeof *image);
    closed_rows(c, 2, image, NULL, NULL);
    return image;
}

static double pixels_of(const struct closed_place *p)
{
    return (double)(p->fast_max - p->fast_min + 1) * (p->row_max - p->row_min + 1);
}

/* The same where each spot is looked for on all of the panel, in the same lanes; and the bounds are
 * worth it. */
static void compare(const struct look_at *l)
{
    struct experiment x;
    struct recipe r;
    struct closed c;
    struct error e = {0};
    size_t lit = 0;
    double sum = 0.0, most = 0.0;
    build(l, &x, &r);
    assert_int_equal(closed_open(&c, &x, &r, closed_kernels_choose(NULL, &e), 2, &e), STATUS_OK);
    float *got = image_of(&c);
    for (size_t i = 0; i < c.nplaces; i++) {
        sum += pixels_of(&c.places[i]);
        c.places[i] = (struct closed_place){.spot = c.places[i].spot,
                                            .fast_min = c.places[i].fast_min % ENSEMBLE_LANES,
                                            .fast_max = EDGE - 1,
                                            .row_max = EDGE - 1};
    }
    float *want = image_of(&c);
    for (size_t i = 0; i < (size_t)EDGE * EDGE; i++) {
        lit += got[i] > 0.0f;
        most = fmax(most, (double)want[i]);
    }
    for (size_t i = 0; i < (size_t)EDGE * EDGE; i++) {
        if (!(fabs((double)got[i] - (double)want[i]) <= 1e-8 * most))
            fail_msg("%s: pixel %zu of row %zu is %.9g, not %.9g", l->name, i % EDGE, i / EDGE,
                     (double)got[i], (double)want[i]);
    }
    printf("# %s: %zu places with %.0f pixels, %zu illuminated\n", l->name, c.nplaces, sum, lit);
    assert_true(c.nplaces > 20 && lit > 200 && sum < l->most_pixels * (double)lit);
    mem_free(got);
    mem_free(want);
    closed_close(&c);
    recipe_free(&r);
    experiment_free(&x);
}

static void test_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        compare(&scenes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
    return unit_run(tests);
}
