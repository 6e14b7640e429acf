/* Background and noise that every engine must compute alike, see engine_after. */
#ifndef BRAGG_TESTS_AFTER_CASE_H
#define BRAGG_TESTS_AFTER_CASE_H

#include "base/alloc.h"
#include "engine/detector/noise.h"
#include "physics/background/amorphous.h"
#include "physics/background/background.h"

/* Counts; all that a card can do; no counts, 32 bits. */
static const struct noise after_noises[] = {
    {.poisson = true, .gain = 1, .offset_adu = 40, .saturation_adu = 65535, .threads = 1},
    {.poisson = true,
     .flicker = 0.02,
     .calibration = 0.03,
     .calibration_seed = 5,
     .gain = 1.7,
     .offset_adu = 10.5,
     .readout_adu = 3,
     .saturation_adu = 2000.5,
     .threads = 2},
    {.flicker = 0.9, .gain = 0.3, .readout_adu = 30, .saturation_adu = 4294967295.0, .threads = 1},
};

/* Water; its table is freed by amorphous_free. */
static inline enum status after_water(struct background_material *m, struct error *e)
{
    double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    water_table(water_F, stol, F);
    for (int i = 0; i < WATER_TABLE_ROWS; i++)
        stol[i] *= 1e10;
    m->molecules = 1.0;
    return amorphous_make(&m->table, stol, F, WATER_TABLE_ROWS, true, e);
}

/* Makes so much of it that the brightest pixel has `most` photons; `photons` of the
 * experiment's pixels become its image. */
static inline void after_set_brightest(const struct experiment *x, struct background_material *m,
                                       double most, float *photons)
{
    struct source *gathered = NULL;
    size_t count;
    const struct source *sources =
        background_sources(&x->beam, &(struct recipe){0}, &gathered, &count);
    double brightest = 0.0;
    m->molecules = 1.0;
    background_image(x, sources, count, m, 1, 2, photons, NULL);
    for (int64_t i = 0; i < experiment_pixels(x); i++)
        brightest = (double)photons[i] > brightest ? (double)photons[i] : brightest;
    m->molecules = brightest > 0.0 ? most / brightest : 0.0;
    background_image(x, sources, count, m, 1, 2, photons, NULL);
    mem_free(gathered);
}

#endif
