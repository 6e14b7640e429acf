/* Frames of the cpu engine in rounds: several stills, one after the other, on one thread. */
#ifndef BRAGG_BENCH_STILLS_H
#define BRAGG_BENCH_STILLS_H

#include "bench.h"
#include "engine/engine.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* A still: its experiment and recipe, an engine for it, and the times of the rounds. */
struct still {
    struct experiment x;
    struct recipe r;
    double faint;  // photons that a pixel may lose
    struct plan *plan;
    struct timing timing;
};

/* Creates the engine of a still.  The caller has filled s->x and s->r. */
enum status still_open(struct still *s, struct error *e);

/* Computes all stills once without times, and then --iterations times.  The images go to `image`,
 * which has room for the largest one. */
enum status stills_run(struct bench *b, struct still *stills, int count, float *image,
                       struct error *e);

/* Frees engines, recipes and experiments.  Members that were not filled are zero. */
void stills_close(struct still *stills, int count);

#endif
