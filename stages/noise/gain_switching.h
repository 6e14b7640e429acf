/* bragg-noise --gain-switching: raw pixel words of detectors that switch their gain.  A "stage" in
 * the code is a gain level of a pixel. */
#ifndef BRAGG_STAGES_GAIN_SWITCHING_H
#define BRAGG_STAGES_GAIN_SWITCHING_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/detector/gain_stages.h"
#include "model/frame.h"

/* Layouts of a word: engine/detector/gain_stages.h. */
enum words { WORDS_JUNGFRAU, WORDS_AGIPD };

struct gain_switching {
    /* options */
    bool on;                           // --gain-switching was given
    int words;                         // enum words
    double gain_adu_keV[GAIN_STAGES];  // mean gain of each level
    double pedestal_adu[GAIN_STAGES];  // mean ADC value of each level without charge
    double spread[2];                  // relative standard deviations of gain and pedestal
    double cell_spread_adu;            // standard deviation of the pedestals between memory cells
    const char *files;                 // prefix of the calibration files; NULL: write none
    /* state */
    struct gain_stages stages;  // gains and pedestals of each pixel
    struct memory_cells cells;  // WORDS_AGIPD only
};

/* Sets gains and pedestals that were not given to the defaults of the layout w->words. Call this
 * after the options are parsed. STATUS_USAGE: a gain is 0. */
enum status gain_switching_check(struct gain_switching *w, bool has_gains, bool has_pedestals,
                                 struct error *e);

/* Makes gains and pedestals for the pixels of *x, and writes the calibration files. Sets the
 * offset, the gain and the saturation of *x to the values for raw words. STATUS_USAGE: a train
 * has more pulses than there are memory cells. */
enum status gain_switching_make(struct gain_switching *w, uint64_t seed, int threads,
                                struct experiment *x, struct error *e);

/* Returns the energy of a photon of this frame in keV, at the mean wavelength. */
double gain_switching_energy_keV(const struct experiment *x, const struct recipe *r);

/* Returns the word of a pixel whose charge is too large for all levels. For AGIPD, returns the
 * analog value of this word. */
double gain_switching_full_word(const struct gain_switching *w);

void gain_switching_free(struct gain_switching *w);

#endif
