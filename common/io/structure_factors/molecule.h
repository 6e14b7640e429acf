/*
 * Models of atoms, as PDB, mmCIF and the CIF files of small molecules hold them.
 *
 * The program gemmi reads them: `gemmi convert`, `gemmi grep` and `gemmi sg`.  What gemmi would
 * guess, or pass over, is an error here: a space group that is missing, unknown, or contradicts the
 * cell or the operators of the file; coordinates that are not numbers, or far from the cell;
 * several structures in a file.
 */
#ifndef BRAGG_IO_MOLECULE_H
#define BRAGG_IO_MOLECULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/structure_factors/symmetry.h"

enum { MOLECULE_SYMBOL_SIZE = 8 };

struct molecule_atom {
    char symbol[MOLECULE_SYMBOL_SIZE];  // of the element, as gemmi writes it ("SE")
    double at[3];                       // macromolecule: A, orthogonal; small: of the cell's edges
    double occupancy;                   // of each image under the operators
    double B_A2;
    bool anisotropic;
    double U_A2[6];  // 11 22 33 12 13 23, along x y z, or a* b* c* of a small molecule
};

/* All models of an ensemble are one list. */
struct molecule {
    bool small;
    double cell_A[3], cell_rad[3];
    double fraction[12];  // rows of M, v: x = M at + v are of the cell's edges
    bool own_axes;        // M is not that of a along x and b in the plane of x and y
    struct operators operators;
    size_t count, room;
    struct molecule_atom *atoms;  // owned
};

/* STATUS_INPUT for a file that makes no sense, STATUS_FAILED when it cannot be opened or gemmi
 * cannot be run, STATUS_INTERRUPTED.  molecule_free frees, after an error too.  Missing B factors
 * and occupancies, and a model of hydrogen alone, are warned of. */
enum status molecule_read(const char *path, struct molecule *m, struct error *e);
void molecule_free(struct molecule *m);

/* Of a small molecule or not: x, of the cell's edges. */
void molecule_position(const struct molecule *m, const struct molecule_atom *a, double x[3]);

#endif
