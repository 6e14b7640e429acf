/*
 * Parameters that an image can be differentiated by, with their names.  Units are those of the
 * options that set the parameters: a derivative image is in photons per such unit.
 *
 *   rot_x rot_y rot_z    rotation of all lattices at phi 0 about axes of the laboratory frame, deg
 *   cell_a .. cell_gamma edges in A and angles in deg of the one crystal
 *   ncells_a ncells_b ncells_c, fudge
 *   mosaic               relative change of the spread, because recipes contain only rotations
 *   scale                relative change of the fluence
 *   share.L              weight of lattice number L in the recipe
 *   phi0 osc             deg; slices keep their middles at even parts of the width
 *   wavelength           A, of all sources by the same fraction
 *   dispersion           percent, spread of the wavelengths of sources about that of the beam
 *   divergence_h _v      mrad, spread of the directions of sources about the beam
 *   polarization         the factor K
 *   distance             mm: all panels along the beam
 *   beam_x beam_y        mm: the beam centre by the convention, all panels with the first
 *   panel.P.shift_f _s _o, panel.P.tilt_f _s _o   mm and deg along and about the axes of the panel;
 *                        tilts are about its middle; P counts from 0
 *   thickness absorption um: sensor and its attenuation depth, all panels
 *
 * Groups: rot, cell, ncells.  `cell` changes edges and angles together if the symmetry of the cell
 * makes them equal (cell_ab, cell_abc, cell_angles), and leaves out right and trigonal angles.
 */
#ifndef BRAGG_ENGINE_PARAMETER_H
#define BRAGG_ENGINE_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

enum parameter_kind {
    PARAMETER_ROTATION,  // axis
    PARAMETER_CELL,      // members[]
    PARAMETER_CELLS,     // axis
    PARAMETER_FUDGE,
    PARAMETER_MOSAIC,
    PARAMETER_SCALE,
    PARAMETER_SHARE,  // index: lattice
    PARAMETER_PHI0,
    PARAMETER_OSC,
    PARAMETER_WAVELENGTH,
    PARAMETER_DISPERSION,
    PARAMETER_DIVERGENCE,  // axis: 0 h, 1 v
    PARAMETER_POLARIZATION,
    PARAMETER_DISTANCE,
    PARAMETER_CENTRE,  // axis: 0 x, 1 y
    PARAMETER_SHIFT,   // axis, index: panel
    PARAMETER_TILT,    // axis, index: panel
    PARAMETER_THICKNESS,
    PARAMETER_ABSORPTION,
};

enum { PARAMETER_NAME_SIZE = 32, PARAMETERS_MAX = 64 };

struct parameter {
    char name[PARAMETER_NAME_SIZE];
    const char *unit;  // "deg", "A" ...; "" for a number or a relative change
    double unit_SI;    // of `unit`: m, rad, or 1
    enum parameter_kind kind;
    int axis;
    size_t index;
    double members[6];  // CELL: 1 for each of a, b, c, alpha, beta, gamma that changes
};

struct parameters {
    size_t count;
    struct parameter items[PARAMETERS_MAX];
};

/* Reads names of parameters and groups, separated by commas.  STATUS_USAGE: an unknown name, the
 * same name twice, or too many names.  STATUS_INPUT: the experiment has no derivative by a
 * parameter: faithful physics, TOPHAT, cells of several crystals, curved panels, no sensor ... */
enum status parameters_parse(const char *names, const struct experiment *x, struct parameters *set,
                             struct error *e);

/* ---- The direct vectors of a crystal as rows a, b, c: what cell they make, and how they turn.
 * ---- */

/* Sets rows[] to the direct vectors of a cell with edges (in any unit) and angles in rad, in the
 * coordinate system with c along z and b in the yz plane [3.1], and by[] to their derivatives by
 * the six numbers. */
void direct_rows(const double cell[6], double rows[9], double by[6][9]);

/* Splits direct vectors into a cell and the setting of the crystal: direct = rows of
 * direct_rows(cell) times `turn`. */
void direct_split(const double direct[9], double cell[6], double turn[9]);

/* Convert a rotation matrix (row-major) to a rotation vector in rad, and back. */
void rotation_vector(const double m[9], double out[3]);
void rotation_matrix(const double vector[3], double m[9]);

/*
 * Steps of parameters: a refinement changes a recipe, and its own copy of an experiment, by them.
 * Steps of positive parameters (ncells, fudge, mosaic, scale, share) are steps of the logarithm.
 */

/* Returns true if the parameter can be changed in steps. */
bool parameter_has_steps(const struct parameter *p);

/* Returns STATUS_USAGE if a parameter of the set cannot be changed in steps. */
enum status parameter_step_check(const struct parameters *set, struct error *e);

/* Returns true if the steps of the parameter are steps of its logarithm. */
bool parameter_step_is_log(const struct parameter *p);

/* Returns the current value of the parameter in its unit.  Rotations, mosaic and scale are
 * relative: the value is 0 for rotations, and 1 for mosaic and scale. */
double parameter_step_value(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r);

/* Returns the longest step for which derivatives are trusted: 3 mrad, 0.2 % of a length, 0.7 of a
 * logarithm; 2 pixels for distances and beam centres. */
double parameter_step_limit(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r);

/* Changes *x (panels, crystals) and *r by steps[set->count].  If the cell changes, the setting of
 * the crystal stays.  If wavelengths change, the recipe gets its own sources. */
void parameter_step_take(const struct parameters *set, const double *steps, struct experiment *x,
                         struct recipe *r);

/* Turns a lattice of frames of *x about axes of the laboratory frame, at phi 0. */
void lattice_turn(const struct experiment *x, struct lattice *l, const double turn[9]);

#endif
