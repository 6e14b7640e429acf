/* Powder rings of calibrants and of models of atoms, as a table of F. */
#ifndef BRAGG_STAGES_POWDER_H
#define BRAGG_STAGES_POWDER_H

#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"

/* All reflections with the same d. */
struct powder_ring {
    double s_1_A;  // 1/d
    double F2;     // sum of F squared over the reflections, electrons^2
    double F4;     // sum of the fourth power of F; F2^2/F4 is the number of equal reflections;
                   // 0: not known
};

struct powder {
    struct powder_ring *rings;  // owned, in ascending order of s
    size_t nrings;
    double cell_A3;    // volume of the unit cell
    double crystal_A;  // size of the crystals
    double strain;     // rms
    double least_1_A;  // smallest width of a ring, 1/A
    enum probe probe;  // particles of the beam
    double unit;       // electrons of one unit of F of these particles
};

/* Sets the rings and the cell of *p to those of a calibrant (lab6, ceo2, si, agbh), of a model of
 * atoms or of a list of rings, up to s = most_1_A; powder_free frees *p.  digest[] gets a hash of
 * the rings of a model, and stays as it was for a calibrant.  Errors are those of sfcalc_read.
 * STATUS_INPUT: there is no ring. */
enum status powder_read(const char *name, double most_1_A, struct powder *p, char digest[17],
                        struct error *e);

/* Returns a table of rings: sin(theta)/lambda in 1/m of all rows, then F of all rows in electrons
 * per cell, which is 0 away from rings.  *nrows is the number of rows.  The caller frees the table
 * with mem_free. */
double *powder_table(const struct powder *p, size_t *nrows);

/* Returns the rms width of a ring in 1/A that size and strain of the crystals make. */
double powder_rms(const struct powder *p, double s_1_A);

/* The same, but at least as wide as a pixel: the width of the rings of powder_table. */
double powder_drawn_rms(const struct powder *p, double s_1_A);

/* Distance from the middle of a ring to its end in powder_table, in rms widths. */
#define POWDER_REACH 6.0

void powder_free(struct powder *p);

#endif
