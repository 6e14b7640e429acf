/* Samples for a report: pairs of numbers for plots, and the frames with most faults. */
#ifndef BRAGG_SCORE_REPORT_SAMPLES_H
#define BRAGG_SCORE_REPORT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "score/answer.h"
#include "score/score.h"
#include "score/truth.h"

enum { SHOWN_PAIRS = 1500, SHOWN_FRAMES = 10, SHOWN_MARKS = 3000 };

/* All pairs, or a random sample of SHOWN_PAIRS if there are more. */
struct shown_pairs {
    size_t n;  // pairs that were added
    double pair[SHOWN_PAIRS][2];
};

enum shown_kind { SHOWN_RIGHT, SHOWN_MISSED, SHOWN_WRONG, SHOWN_KINDS };

/* A spot on a panel of the ground truth.  RIGHT: found and true; MISSED: strong and not found;
 * WRONG: found and not true. */
struct shown_mark {
    enum shown_kind kind;
    int32_t panel;
    double fast, slow;  // px
};

struct shown_frame {
    uint64_t number;
    const char *path;  // borrowed: path of its file in the ground truth
    size_t missed, wrong, lattices_missed;
    size_t faults;  // missed and wrong spots; each missed lattice counts as several faults
    size_t nmarks;
    struct shown_mark *marks;  // owned
};

struct shown_samples {
    struct shown_pairs offsets_px;   // found - true place, along fast and slow
    struct shown_pairs intensities;  // true and measured photons
    size_t nframes;
    struct shown_frame frames[SHOWN_FRAMES];  // sorted, most faults first; each frame has at least
                                              // one fault
};

/* Adds a pair.  The sample is the same for the same pairs in the same order. */
void shown_add(struct shown_pairs *p, double x, double y);

/* A frame with its answer and the pairs of spots. */
struct shown_judged {
    const struct truth_frame *frame;
    const struct answer *answer;
    const int32_t *panel_of;  // panel of the ground truth for each panel of the analysis
    const int64_t *partner;   // [found spots]: row of the ground truth, or -1
    const uint8_t *taken;     // [rows]: 1 if the row was found
    const struct score_settings *settings;
    size_t lattices_missed, lattice_faults;  // number of faults that each missed lattice counts as
};

/* Keeps the frame if it is one of the worst so far. */
void shown_judge(struct shown_samples *s, const struct shown_judged *j);

/* Frees what *s owns. */
void shown_free(struct shown_samples *s);

#endif
