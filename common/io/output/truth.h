/*
 * The truth about frames as a text file, for those who test indexing: items parted
 * by tabs, the first line names them.  One line for each lattice of a frame, and one
 * for a frame without any:
 *
 *     frame lattices      its number, and how many lattices it holds (0: a blank)
 *     fluence             relative to the beam's
 *     wavelength_A        mean of its sources
 *     lattice crystal     their numbers, from 0
 *     name                of the crystal
 *     share               factor on the intensity of the lattice
 *     u11 ... u33         rotation, row by row, from crystal to lab at phi 0
 *     as_x ... cs_z       a*, b*, c* in 1/A in the lab at phi 0
 *     astar_x ... cstar_z the same in the middle of the frame's rotation, in the frame of the beam:
 *                         z along it, x along the fast axis, as CrystFEL has them
 *     panel_deg           the fast axis of panel 0 there, from x to y
 *     shift_x_mm shift_y_mm coffset_mm   where the detector moves: how far, across and along the
 *                         beam there
 *     third_harmonic      where the beam has one: its photons, of those of fluence
 *
 * and then, where there are such: what the caller adds, and the numbers of the pulse, by their
 * names.
 *
 * A blank has `-` from `lattice` to `cstar_z`, an unnamed crystal has it as its name.
 */
#ifndef BRAGG_IO_TRUTH_H
#define BRAGG_IO_TRUTH_H

#include <stdio.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* The first line.  `more`: names of further columns, each behind a tab, "" for none. */
void truth_write_title(FILE *out, const struct experiment *x, const char *more);

/* The lines of one frame; `frame`: rows x, y, z of that of the beam in the lab;
 * `more`: items of the further columns.  Write errors stay in the stream. */
void truth_write(FILE *out, const struct experiment *x, const struct recipe *r,
                 const double frame[9], const char *more);

/* Where the mean beam of a frame goes, in rad from z to x and from z to y of that frame. */
void truth_direction(const struct experiment *x, const struct recipe *r, const double frame[9],
                     double xy_rad[2]);

#endif
