/*
 * The counters of pixels: a counter loses photons that follow another one too closely.  The tables
 * of the count rate correction say how many.
 */
#include <math.h>
#include <stdlib.h>

#include "eiger.h"

/* Returns the measured rate, both in counts per second.  The formulas are those of bragg-noise
 * --counter. */
static double measured_hz(bool retriggers, double true_hz)
{
    const double lost = 1e-9 * COUNTER_DEAD_NS * true_hz;
    return retriggers ? true_hz / (1 + lost) : true_hz * exp(-lost);
}

float *counter_rates(bool retriggers)
{
    float *rows = calloc(2 * COUNTER_RATES, sizeof *rows);
    for (int i = 0; rows && i < COUNTER_RATES; i++) {
        const double true_hz = COUNTER_MOST_HZ * i / (COUNTER_RATES - 1);
        rows[2 * i] = (float)true_hz;
        rows[2 * i + 1] = (float)measured_hz(retriggers, true_hz);
    }
    return rows;
}

uint32_t *counter_counts(bool retriggers, double count_s, uint64_t cutoff, size_t *count)
{
    *count = (size_t)(cutoff < UINT16_MAX ? cutoff : UINT16_MAX) + 1;
    uint32_t *items = calloc(*count, sizeof *items);
    double true_n = 0;
    for (size_t n = 0; items && n < *count; n++) {
        /* The measured counts grow with the true ones, so that the search never goes back. */
        while (true_n < (double)cutoff &&
               count_s * measured_hz(retriggers, true_n / count_s) < (double)n - 0.5)
            true_n++;
        items[n] = (uint32_t)true_n;
    }
    return items;
}
