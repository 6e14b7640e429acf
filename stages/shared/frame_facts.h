/* What a report says of frames: how many, how bright, when they came, and some pictures. */
#ifndef BRAGG_STAGES_FRAME_FACTS_H
#define BRAGG_STAGES_FRAME_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "preview.h"

enum {
    FACTS_DECADES = 14,    // of values, from FACTS_LEAST on
    FACTS_PER_DECADE = 5,  // bins of each
    FACTS_BINS = FACTS_DECADES * FACTS_PER_DECADE,
    FACTS_TIMES = 64,  // bins of the course of the run
    FACTS_PICTURES_MAX = 24,
};
#define FACTS_LEAST 1e-4

/* Frames by a value, in bins of equal ratios; bin 0 also holds what is less. */
struct facts_histogram {
    uint64_t hits[FACTS_BINS], blanks[FACTS_BINS];
};

/* A frame as PNG. */
struct facts_picture {
    uint64_t id, rank;  // the least ranks are kept
    size_t lattices;
    double mean, most;
    char *png;  // owned
    size_t size;
};

struct frame_facts {
    const struct experiment *x;
    int wanted;  // pictures, at most FACTS_PICTURES_MAX
    uint64_t frames, hits, saturated;
    uint64_t torn;               // replaced while they were looked at; not among the others
    double mean_sum, brightest;  // of the means of frames; the largest pixel of all
    struct facts_histogram means, peaks;  // of the mean and the largest pixel
    double bin_s;                         // of the course
    uint64_t came[FACTS_TIMES], came_hits[FACTS_TIMES];
    double last_s;
    int npictures;
    struct facts_picture pictures[FACTS_PICTURES_MAX];  // the first frame, the brightest, others
    struct preview preview;
};

/* The mean of some pixels of an image, which are numbers. */
double frame_mean(const struct image *image);

/* Begins with the experiment, which lasts. */
void frame_facts_open(struct frame_facts *k, const struct experiment *x, int pictures);

/* Takes a frame in that came at `time_s` after the first; one that was replaced meanwhile is only
 * counted as torn.  STATUS_FAILED when memory is out. */
enum status frame_facts_take(struct frame_facts *k, const struct frame *f, double time_s,
                             struct error *e);

/* Makes the bins of the course twice as long. */
void frame_facts_fold(struct frame_facts *k);

void frame_facts_free(struct frame_facts *k);

/* Writes cards, pictures and plots as HTML. */
void frame_facts_write(const struct frame_facts *k, FILE *out);

/* Detector, beam, crystals and how all was made, as HTML. */
void frame_facts_write_experiment(const struct experiment *x, FILE *out);

#endif
