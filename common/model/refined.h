/*
 * What a fit to a frame found, on its way to who puts the fits of many frames together.
 */
#ifndef BRAGG_MODEL_REFINED_H
#define BRAGG_MODEL_REFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFINED_WHY_SIZE = 120, REFINED_COUNT_MAX = 1000 };

struct refined {
    bool present;      // false: nobody fitted the frame, all else is 0
    uint32_t verdict;  // of bragg-refine, 0: good
    char why[REFINED_WHY_SIZE];
    size_t lattices, pixels, far, steps;
    double photons, chi2;
    bool settled;
    size_t count, local;  // parameters, those of the frame alone first
    double *numbers;      // owned: [refined_numbers(count)], see there
};

/* How many numbers tell of so many parameters: of each its start, value, error bar, step, and the
 * gradient of ln likelihood by steps; of each pair its Fisher information.
 * SIZE_MAX for more than REFINED_COUNT_MAX. */
size_t refined_numbers(size_t count);

/* Frees the numbers and clears *r. */
void refined_free(struct refined *r);

#endif
