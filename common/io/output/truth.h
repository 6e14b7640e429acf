/*
 * The ground truth of frames as text: lattices as a table, reflections as a table, reflections as a
 * stream of CrystFEL.  Tables have a first line of names; items are separated by tabs.
 *
 * The table of lattices has one line for each lattice of a frame, and one line for a frame without
 * any:
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
#ifndef BRAGG_IO_OUTPUT_TRUTH_H
#define BRAGG_IO_OUTPUT_TRUTH_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* --- lattices ------------------------------------------------------------- */

/* The first line.  `more`: names of further columns, each after a tab, "" for none. */
void truth_write_title(FILE *out, const struct experiment *x, const char *more);

/* The lines of one frame; `frame`: rows x, y, z of that of the beam in the lab;
 * `more`: items of the further columns.  Write errors stay in the stream. */
void truth_write(FILE *out, const struct experiment *x, const struct recipe *r,
                 const double frame[9], const char *more);

/* Where the mean beam of a frame goes, in rad from z to x and from z to y of that frame. */
void truth_direction(const struct experiment *x, const struct recipe *r, const double frame[9],
                     double xy_rad[2]);

/* --- reflections as a table ----------------------------------------------- */

/* STATUS_INPUT for a frame that has no reflections; `path` names the file in the message. */
enum status reflections_check(const struct frame *f, const char *path, struct error *e);

/* The line of names: columns, separated by tabs, are frame, lattice, h, k, l, panel, fast, slow
 * (px), photons, peak, pixels, phi (deg), s (1/A), F2, background. */
void reflections_write_names(FILE *out);

/* A line for each reflection of a frame. */
void reflections_write_rows(FILE *out, const struct frame *f);

/* --- reflections as a stream of CrystFEL ---------------------------------- */

/* The beginning of a stream (format 2.3), complete with geometry.  `lab`: rows x, y, z of
 * CrystFEL's lab in ours.  STATUS_INPUT for a detector that CrystFEL has no geometry for, with the
 * name of the file, `path`. */
enum status reflections_write_preamble(FILE *out, const struct experiment *x, const double lab[9],
                                       const char *path, struct error *e);

/* The chunk of a frame, with a crystal for each lattice.  Its number is header/int/frame_id; peaks
 * are all rows, with their photons; I is photons, with their root for sigma, background that of a
 * pixel. */
void reflections_write_chunk(FILE *out, const struct experiment *x, const struct frame *f,
                             const double lab[9]);

#endif
