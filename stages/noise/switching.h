/* bragg-noise --gain-switching: the words of a detector that switches its gain. */
#ifndef BRAGG_STAGES_SWITCHING_H
#define BRAGG_STAGES_SWITCHING_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/detector/gain_stages.h"
#include "engine/detector/memory_cells.h"
#include "model/frame.h"

/* What a word holds: engine/detector/gain_stages.h, engine/detector/memory_cells.h. */
enum words { WORDS_JUNGFRAU, WORDS_AGIPD };

struct switching {
    /* options */
    bool on;
    int words;
    double gain_adu_keV[GAIN_STAGES], pedestal_adu[GAIN_STAGES], spread[2], cell_spread_adu;
    const char *files;
    /* state */
    struct gain_stages stages;
    struct memory_cells cells;  // of an AGIPD's words
};

/* After parsing: sets gains and pedestals that are usual for these words, where they were not
 * given; STATUS_USAGE for a gain of 0. */
enum status switching_check(struct switching *w, bool has_gains, bool has_pedestals,
                            struct error *e);

/* Makes the stages for the frames of *x, writes the calibration files, and says in *x what words
 * are. */
enum status switching_make(struct switching *w, uint64_t seed, int threads, struct experiment *x,
                           struct error *e);

/* keV of a photon of this frame: of the mean wavelength. */
double switching_energy_keV(const struct experiment *x, const struct recipe *r);

/* The word of a pixel whose charge no stage holds; of an AGIPD's its analog part. */
double switching_full_word(const struct switching *w);

void switching_free(struct switching *w);

#endif
