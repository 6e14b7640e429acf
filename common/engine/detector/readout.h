/* How a detector reads out the photons of a pixel.  A counter misses photons during its dead time.
 * A detector that integrates charge switches its gain, and may store the values in memory cells. */
#ifndef BRAGG_ENGINE_READOUT_H
#define BRAGG_ENGINE_READOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/detector/noise_loop.h"

/* ---- dead time ----------------------------------------------------------------------------- */

/*
 * Photons that a counter misses.  For the dead time tau after a photon, the counter sees no other
 * photon.  If N photons fall on a pixel evenly over the exposure T, with r = N tau/T, the mean
 * number of counts is
 *
 *     non-paralysable   N / (1 + r)    photons during the dead time change nothing
 *     paralysable       N exp(-r)      photons during the dead time start it again
 *     pulse             1              all photons come at once, and at most one is seen
 *
 * where r does not include the photon itself: (N - 1) tau/T.  Counts spread around this mean so
 * that the counts of a Poisson beam have the variances known for long exposures (T far above tau),
 * n T/(1 + n tau)^3 and n T exp(-n tau) (1 - 2 n tau exp(-n tau)).
 */

enum counter { COUNTER_PERFECT, COUNTER_NONPARALYSABLE, COUNTER_PARALYSABLE, COUNTER_PULSE };

struct dead_time {
    enum counter counter;
    double share;  // fraction of the exposure, tau/T, below 1
};

enum { DEAD_TIME_ROWS = 1024, DEAD_TIME_SUMS = 16 };

/* Tables for numbers of photons below `rows`, where photons are missed independently of one
 * another: for each number, the mean number of missed photons, and the probabilities that at most
 * 0, 1, ...  photons are missed. */
struct dead_time_table {
    int rows;
    double missed[DEAD_TIME_ROWS], at_most[DEAD_TIME_ROWS][DEAD_TIME_SUMS];
};

void dead_time_tabulate(const struct dead_time *d, struct dead_time_table *table);

/* Converts the photons of the first `count` pixels of *c to counts of frame `id`.  If `expected` is
 * false, the photons are whole numbers, and counts are drawn.  If `expected` is true, the photons
 * are expected values, and the counts are mean values.  Overwrites c->deviate. */
void dead_time_count(const struct dead_time *d, const struct dead_time_table *table,
                     const struct noise_kernels *kernels, bool expected, uint64_t seed, uint64_t id,
                     struct noise_chunk *c, int count);

/* ---- gain stages --------------------------------------------------------------------------- */

/*
 * Detectors that integrate charge and switch their gain, as the Jungfrau does.  Each pixel uses the
 * most sensitive of three gain levels that can hold its charge.  Its word contains the gain level:
 *
 *     word = bits << 14 | ADC,     ADC = pedestal + gain * E + noise,    bits 0, 1, 3
 *
 * with E in keV.  Each pixel has a gain and a pedestal for each level.  A pixel leaves a level if
 * the ADC without noise would pass its top or, if the gain is negative, its bottom.
 */

enum {
    GAIN_STAGES = 3,
    GAIN_STAGES_SHIFT = 14,  // number of bits of the ADC
    GAIN_STAGES_ADC_MAX = (1 << GAIN_STAGES_SHIFT) - 1,
};

/* Mean values of all pixels, and their variation from pixel to pixel (relative standard
 * deviations). */
struct gain_request {
    double gain_adu_keV[GAIN_STAGES], pedestal_adu[GAIN_STAGES];  // no gain is 0
    double gain_spread, pedestal_spread;
    double top_adu, bottom_adu;
    uint64_t seed;
};

/* Gains and pedestals of all pixels, the same in all frames. */
struct gain_stages {
    float *gain[GAIN_STAGES];      // ADU/keV; owned
    float *pedestal[GAIN_STAGES];  // ADU; owned
    double top_adu, bottom_adu;    // ADC beyond which a pixel leaves a level
};

/* Returns true if a pixel with this ADC leaves a level of this gain for the next level. */
static inline bool gain_stages_leaves(const struct gain_stages *g, double gain, double adc)
{
    return gain > 0.0 ? adc > g->top_adu : adc < g->bottom_adu;
}

/* Draws gains and pedestals for `count` pixels.  A gain keeps the sign of the mean gain, and a
 * pedestal fits the ADC.  gain_stages_free frees *g, also after an error.  STATUS_FAILED: memory
 * cannot be allocated. */
enum status gain_stages_make(struct gain_stages *g, const struct gain_request *r, int64_t count,
                             int threads, struct error *e);
void gain_stages_free(struct gain_stages *g);

/* Converts value[] of the `count` pixels in *c from photons of `energy_keV` to words.  deviate[] is
 * used if readout_adu > 0.  Adds to *cut the pixels whose charge no level can hold. */
void gain_stages_read(const struct gain_stages *g, double energy_keV, double readout_adu,
                      struct noise_chunk *c, int count, struct noise_cut *cut);

/* ---- memory cells ---------------------------------------------------------------------------
 *
 * Detectors that switch their gain and keep the pulses of a train in memory cells until the train
 * has passed, as the AGIPD does.  A pixel gives two numbers of 14 bits, analog and gain, in one
 * word:
 *
 *     word   = gain << 16 | analog,
 *     analog = pedestal + cell N1 + gain_s E + readout noise
 *     gain   = level_s + pixel N2 + cell N3 + noise N4
 *
 * with the gain level s as above.  N1 is a normal deviate of pixel, cell and level, N2 of the
 * pixel, N3 of pixel and cell, N4 of pixel and frame.  Only N2 is kept in memory.  The deviates of
 * cells are functions of the seed and are computed where they are needed.
 */

enum { MEMORY_CELLS_MAX = 352, MEMORY_CELLS_SHIFT = 16 };

struct memory_cells {
    const struct gain_stages *stages;
    const struct noise_kernels *kernels;
    uint64_t seed;
    double spread_adu;              // standard deviation of pedestals from cell to cell
    double level_adu[GAIN_STAGES];  // value of the gain for each level, ascending
    float *shift_adu;               // shift of the levels of each pixel: pixel N2; owned
};

/* The parameters of one frame. */
struct cell_frame {
    uint64_t seed, id;
    uint64_t cell;
    double energy_keV;  // energy of a photon
    double readout_adu;
};

/* Sets `kernels`, and shift_adu for `count` pixels, with `threads` threads.  The caller has set the
 * other members of *m.  memory_cells_free frees *m, also after an error.  STATUS_FAILED: memory
 * cannot be allocated. */
enum status memory_cells_make(struct memory_cells *m, int64_t count, int threads, struct error *e);
void memory_cells_free(struct memory_cells *m);

/* Converts photons to words, as gain_stages_read does. */
void memory_cells_read(const struct memory_cells *m, const struct cell_frame *f,
                       struct noise_chunk *c, int count, struct noise_cut *cut);

/* Compute what a correction needs of a memory cell, for `count` pixels and with `threads` threads:
 * the pedestals of a gain level, and the values of `gain` above which a pixel is in level `stage`
 * (1 or 2) or a later one. */
void memory_cells_pedestals(const struct memory_cells *m, int stage, uint64_t cell, float *to,
                            int64_t count, int threads);
void memory_cells_thresholds(const struct memory_cells *m, int stage, uint64_t cell, float *to,
                             int64_t count, int threads);

#endif
