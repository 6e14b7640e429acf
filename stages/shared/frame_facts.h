/* Facts about frames for a report: number, brightness and arrival times of the frames, and some
 * pictures. */
#ifndef BRAGG_STAGES_FRAME_FACTS_H
#define BRAGG_STAGES_FRAME_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "preview.h"

enum {
    FACTS_DECADES = 14,    // number of decades of the histograms, which begin at FACTS_LEAST
    FACTS_PER_DECADE = 5,  // number of bins per decade
    FACTS_BINS = FACTS_DECADES * FACTS_PER_DECADE,
    FACTS_TIMES = 64,  // number of bins for the time of the run
    FACTS_PICTURES_MAX = 24,
};
#define FACTS_LEAST 1e-4

/* A histogram of frames by a positive value, in logarithmic bins. Bin 0 also counts smaller
 * values. */
struct facts_histogram {
    uint64_t hits[FACTS_BINS], blanks[FACTS_BINS];
};

/* The picture of a frame as PNG. */
struct facts_picture {
    uint64_t id, rank;  // frame number and its hash; pictures with the smallest hashes are kept
    size_t lattices;
    double mean, most;
    char *png;  // owned
    size_t size;
};

struct frame_facts {
    const struct experiment *x;
    int wanted;  // number of pictures to keep, at most FACTS_PICTURES_MAX
    uint64_t frames, hits, saturated;
    uint64_t torn;  // number of frames whose pixels were overwritten while they were read;
                    // `frames` does not count them
    double mean_sum, brightest;  // sum of the means of frames; the largest pixel
    struct facts_histogram means,
        peaks;     // histograms of the mean and of the largest pixel of frames
    double bin_s;  // length of a bin of time, in s
    uint64_t came[FACTS_TIMES], came_hits[FACTS_TIMES];
    double last_s;
    int npictures;
    struct facts_picture pictures[FACTS_PICTURES_MAX];  // the first frame, the brightest, others
    struct preview preview;
};

/* Returns the mean of a sample of the pixels of an image.  Pixels that are not finite count as 0.
 */
double frame_mean(const struct image *image);

/* Begins to collect facts.  *x must stay valid; `pictures` is the number of pictures to keep. */
void frame_facts_open(struct frame_facts *k, const struct experiment *x, int pictures);

/* Adds a frame that came `time_s` after the first one.  A frame whose shared pixels were
 * overwritten meanwhile is only counted as torn.  STATUS_FAILED: out of memory. */
enum status frame_facts_take(struct frame_facts *k, const struct frame *f, double time_s,
                             struct error *e);

void frame_facts_free(struct frame_facts *k);

/* Writes boxes with facts, pictures and plots as HTML. */
void frame_facts_write(const struct frame_facts *k, FILE *out);

/* Writes detector, beam, crystals and history as HTML. */
void frame_facts_write_experiment(const struct experiment *x, FILE *out);

#endif
