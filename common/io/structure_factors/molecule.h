/*
 * Reads models of atoms from PDB, mmCIF and the CIF files of small molecules.
 *
 * The program gemmi reads the files: `gemmi convert`, `gemmi grep` and `gemmi sg`.  Where gemmi
 * would guess or skip, this module fails:
 *   - a space group that is missing, unknown, or contradicts the cell or the operators of the file;
 *   - an atom of a small molecule whose label fits two elements, if the file does not say which;
 *   - coordinates that are not numbers, or are far from the cell;
 *   - several structures in a file.
 */
#ifndef BRAGG_IO_MOLECULE_H
#define BRAGG_IO_MOLECULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/structure_factors/symmetry.h"

enum { MOLECULE_SYMBOL_SIZE = 8 };

struct molecule_atom {
    char symbol[MOLECULE_SYMBOL_SIZE];  // of the element, in any case ("SE", "Se")
    double at[3];                       // macromolecule: A, orthogonal; small: fractional
    double occupancy;                   // occupancy of each image of the atom under the operators
    double B_A2;
    bool anisotropic;
    double U_A2[6];  // 11 22 33 12 13 23, along x y z, or a* b* c* of a small molecule
};

/* A model of atoms.  All models of an ensemble are in one list. */
struct molecule {
    bool small;
    double cell_A[3], cell_rad[3];
    double fraction[12];  // rows of M, v: x = M at + v is fractional
    bool own_axes;        // M is for axes other than the standard ones: a along x, b in the plane
                          // of x and y
    struct operators operators;
    size_t count, room;
    struct molecule_atom *atoms;  // owned
};

/* Reads a model.  Warns about missing B factors and occupancies, and about a model that has only
 * hydrogen.  molecule_free frees *m, also after an error.  STATUS_INPUT: the content of the file
 * makes no sense.  STATUS_FAILED: the file cannot be opened, or gemmi cannot be run.
 * STATUS_INTERRUPTED: the user ended it. */
enum status molecule_read(const char *path, struct molecule *m, struct error *e);
void molecule_free(struct molecule *m);

/* Computes the fractional coordinates x of an atom, of a macromolecule or a small molecule. */
void molecule_position(const struct molecule *m, const struct molecule_atom *a, double x[3]);

#endif
