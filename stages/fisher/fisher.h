/* What bragg-fisher knows: parameters, an experiment for each distance, what frames told. */
#ifndef BRAGG_STAGES_FISHER_H
#define BRAGG_STAGES_FISHER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/opt.h"
#include "engine/engine.h"
#include "refine/information.h"
#include "stages/shared/beam_plan.h"
#include "stages/shared/free_parameters.h"

enum { FISHER_DISTANCES_MAX = 32 };

struct fisher_options {
    const char *parameters, *share, *distances, *table, *report, *engine;
    struct opt_texts priors;
    double background, readout;
    int64_t threads;
    bool overwrite;
};

/* Pixels that are computed, and what is expected in each besides crystals. */
struct fisher_pixels {
    int64_t *computed;  // numbers, owned
    float *background;  // photons, owned
    size_t ncomputed;
};

/* The experiment at one distance. */
struct fisher_design {
    double distance_mm;
    struct experiment x;
    struct beam_plan *plan;
    struct information frames;
    struct information_bounds bounds;
};

struct fisher {
    const struct fisher_options *options;
    const struct engine *engine;
    struct free_parameters free;
    struct fisher_pixels pixels;
    struct fisher_design design[FISHER_DISTANCES_MAX];
    size_t ndesigns;
};

/* Takes names, priors and distances for this experiment, and makes plans.  *f is zeroed but for
 * its options; followed by fisher_close after errors, too. */
enum status fisher_begin(struct fisher *f, const struct experiment *x, struct error *e);

/* What one frame tells at every distance. */
enum status fisher_take(struct fisher *f, const struct recipe *r, struct error *e);

/* Works out the bounds of all designs; what is not told apart is named in *e. */
enum status fisher_solve(struct fisher *f, struct error *e);

void fisher_close(struct fisher *f);

/* A table for people; one with a line for each frame, items parted by tabs; a page. */
void fisher_print(const struct fisher *f, FILE *out);
void fisher_write_table(const struct fisher *f, FILE *out);
void fisher_write_page(const struct fisher *f, FILE *out);

#endif
