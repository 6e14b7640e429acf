/* What a report shows beyond figures: samples of pairs, and the frames that were answered worst. */
#ifndef BRAGG_SCORE_REPORT_SAMPLES_H
#define BRAGG_SCORE_REPORT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "score/answer.h"
#include "score/key.h"

enum { SHOWN_PAIRS = 1500, SHOWN_FRAMES = 10, SHOWN_MARKS = 3000 };

/* All pairs up to SHOWN_PAIRS, beyond that a fair sample of them. */
struct shown_pairs {
    size_t n;  // that were added
    double pair[SHOWN_PAIRS][2];
};

enum shown_kind { SHOWN_RIGHT, SHOWN_MISSED, SHOWN_WRONG, SHOWN_KINDS };

/* A spot on a panel of the key: found and true, strong and not found, found and not true. */
struct shown_mark {
    enum shown_kind kind;
    int32_t panel;
    double fast, slow;  // px
};

struct shown_frame {
    uint64_t number;
    const char *path;  // borrowed: of its file in the key
    size_t missed, wrong, lattices_missed;
    size_t faults;  // missed and wrong spots; a missed lattice counts as many
    size_t nmarks;
    struct shown_mark *marks;  // owned
};

struct shown {
    struct shown_pairs offsets_px;   // found - true, along fast and slow
    struct shown_pairs intensities;  // true and measured photons
    size_t nframes;
    struct shown_frame frames[SHOWN_FRAMES];  // the worst one first; each has a fault
};

void shown_add(struct shown_pairs *p, double x, double y);

/* A frame against its answer. */
struct shown_judged {
    const struct key_frame *frame;
    const struct answer *answer;
    const int32_t *panel_of;  // the key's panel of one of the analysis
    const int64_t *partner;   // of each found spot: a row, or -1
    const uint8_t *taken;     // rows that were found
    double strong_photons;
    size_t lattices_missed, lattice_faults;  // faults that a missed lattice counts as
};

/* Keeps the frame when it is one of the worst so far; false when memory is out. */
bool shown_judge(struct shown *s, const struct shown_judged *j);

void shown_free(struct shown *s);

#endif
