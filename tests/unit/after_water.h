/* The background of after_case.h for unit tests. */
#ifndef BRAGG_TESTS_AFTER_WATER_H
#define BRAGG_TESTS_AFTER_WATER_H

#include "after_case.h"
#include "unit.h"

/* Its table is freed by amorphous_free. */
static inline struct background_material water(void)
{
    struct background_material m;
    struct error e = {0};
    assert_int_equal(after_water(&m, &e), STATUS_OK);
    return m;
}

/* So much of it that the brightest pixel has `most` photons. */
static inline void set_brightest(const struct experiment *x, struct background_material *m,
                                 double most)
{
    float *photons = mem_array((size_t)experiment_pixels(x), sizeof *photons);
    after_set_brightest(x, m, most, photons);
    assert_true(m->molecules > 0.0);
    mem_free(photons);
}

#endif
