/*
 * A workload is a command line of nanoBragg.  The peer gets this command line, and bench parses the
 * same command line, so that both compute the same image.
 */
#ifndef BRAGG_BENCH_WORKLOAD_H
#define BRAGG_BENCH_WORKLOAD_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

enum { WORDS_MAX = 64 };

struct workload {
    const char *name;
    const char *words;  // besides the words of all workloads, see workload.c
    bool table;         // with an F table that holds every index of the detector
    bool sweep;         // over all sizes, not only its own
    bool quirks;        // nanoBragg's image is the faithful one, not the physical one
    int64_t size;       // edge in pixels, unless --sizes
    double flops;       // per step, counted in the formulas, see workload.c
};

extern const struct workload workloads[];
extern const size_t nworkloads;

/* A command line, split. */
struct words {
    const char *argv[WORDS_MAX];  // argv[0] is NULL and left to the caller; ended by NULL
    int argc;
    char text[1024];
};

/* The words of a workload on a detector of 102.4 mm edge and size x size pixels, so
 * that the reflections are the same whatever the size. */
void workload_words(const struct workload *w, int64_t size, struct words *words);

/* Experiment and recipe of these words; the caller frees both, after an error too. */
enum status workload_build(const struct workload *w, const struct words *words,
                           enum physics physics, struct experiment *x, struct recipe *r,
                           struct error *e);

/* Writes the F table of the workloads as `h k l F` text. */
enum status workload_write_table(const char *path, struct error *e);

/* pixel x layer x subpixel x source x phi x domain. */
double workload_steps(const struct experiment *x, const struct recipe *r);

#endif
