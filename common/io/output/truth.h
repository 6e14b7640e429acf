/*
 * Writes the ground truth of frames as text: a table of lattices, a table of reflections, and a
 * stream of CrystFEL with reflections.  The first line of a table has the names of the columns.
 * Items are separated by tabs.
 *
 * The table of lattices has one line for each lattice of a frame, and one line for a frame without
 * any.  column_list has the columns of both tables with their units and meanings.
 *
 * The columns of the caller and the numbers of the pulse follow, each under its name, if there are
 * any.
 *
 * A blank has `-` in the columns from `lattice` to `cstar_z`.  An unnamed crystal has the name `-`.
 */
#ifndef BRAGG_IO_OUTPUT_TRUTH_H
#define BRAGG_IO_OUTPUT_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* --- lattices ------------------------------------------------------------- */

/* Writes the first line.  `more`: names of the columns of the caller, each after a tab; "":
 * none. */
void truth_write_title(FILE *out, const struct experiment *x, const char *more);

/* Writes the lines of one frame.  `frame`: rows x, y, z of the beam's coordinate system, in the
 * laboratory frame.  `more`: items of the caller's columns.  The caller checks `out` for write
 * errors. */
void truth_write(FILE *out, const struct experiment *x, const struct recipe *r,
                 const double frame[9], const char *more);

/* Computes the direction of the mean beam of a frame: its angles in rad from z to x and from z to y
 * of the coordinate system `frame`. */
void truth_direction(const struct experiment *x, const struct recipe *r, const double frame[9],
                     double xy_rad[2]);

/* --- reflections as a table ----------------------------------------------- */

/* Checks that a frame has reflections.  STATUS_INPUT: it has none.  `path` is the name of the
 * file in the error. */
enum status reflections_check(const struct frame *f, const char *path, struct error *e);

/* Writes the line of names: those of COLUMNS_REFLECTION. */
void reflections_write_names(FILE *out);

/* Writes a line for each reflection of a frame. */
void reflections_write_rows(FILE *out, const struct frame *f);

/* --- reflections as a stream of CrystFEL ---------------------------------- */

/* Writes the beginning of a stream (format 2.3), including the geometry.  `lab`: rows x, y, z of
 * CrystFEL's laboratory frame, in ours.  `path` is the name of the file in errors.  STATUS_INPUT:
 * CrystFEL's geometry files cannot describe the detector. */
enum status reflections_write_preamble(FILE *out, const struct experiment *x, const double lab[9],
                                       const char *path, struct error *e);

/* Writes the chunk of a frame, with a crystal for each lattice.  The number of the frame is
 * header/int/frame_id.  Reflections whose z is above `least_z` (0: all) are peaks, with their
 * photons as intensity.  I is the number of photons, sigma its square root, and background is that
 * of one pixel. */
void reflections_write_chunk(FILE *out, const struct experiment *x, const struct frame *f,
                             const double lab[9], double least_z);

/*
 * The columns of tables of the ground truth: their names, units and meanings.  There is one list
 * for the programs that write such tables, for `braggpipe columns`, and for bragg-formats(5).
 *
 * The tables have no line of units: programs that read tables (csv.DictReader of Python,
 * read_table of pandas, read.delim of R, `awk 'NR > 1'`) expect the names of the columns in the
 * first line.
 */

/* Columns that are written together. */
enum column_group {
    COLUMNS_LATTICE,     // always in a table of lattices
    COLUMNS_SHIFT,       // the detector moves
    COLUMNS_SAMPLE,      // the beam meets a sample holder at different places
    COLUMNS_SIZE,        // lattices have numbers of cells of their own
    COLUMNS_SPREAD,      // lattices have mosaic spreads of their own
    COLUMNS_B_FACTOR,    // lattices have B factors of their own
    COLUMNS_MATTER,      // frames have amounts of matter of their own
    COLUMNS_HARMONIC,    // the beam has a third harmonic
    COLUMNS_RUN,         // bragg-orient has --runs
    COLUMNS_BEAM,        // bragg-orient has --beam-jitter
    COLUMNS_PULSE,       // pulses are numbered, or there is a pump laser
    COLUMNS_MESSAGE,     // tables of bragg-serve --sent
    COLUMNS_REFLECTION,  // a table of reflections, which has no other columns
};

struct column {
    enum column_group group;
    const char *name;
    const char *unit;  // in ASCII, such as "1/A"; "-" for names and numbers without a unit
    const char *meaning;
};

extern const struct column column_list[];
extern const size_t column_list_length;

/* Finds a column by its name, in tables of reflections (`of_reflections`) or in tables of lattices.
 * NULL: these tables have no such column. */
const struct column *columns_find(const char *name, bool of_reflections);

#endif
