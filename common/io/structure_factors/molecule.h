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
#include "io/structure_factors/gemmi.h"
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

/* --- inside: what molecule.c, molecule_reader.c and macromolecule.c share ---------------- */

/* The state of reading a file. */
struct molecule_reader {
    const char *path;           // borrowed
    struct molecule *m;         // borrowed: the model that is being read
    bool cif;                   // mmCIF or CIF, not PDB
    size_t models;              // number of models in an ensemble
    size_t no_B, no_occupancy;  // numbers of atoms without B or occupancy
    double occupied;            // the sum over models of the mean occupancy
};

/* Sets an error that says why the content of the file makes no sense.  Returns STATUS_INPUT. */
enum status molecule_refuse(const struct molecule_reader *r, struct error *e, const char *why);

/* Sets an error that says what is wrong with an atom, which is in the given row (from 0) of a
 * table.  Returns STATUS_INPUT. */
enum status molecule_refuse_atom(const struct molecule_reader *r, size_t row, const char *label,
                                 const char *why, struct error *e);

/* Reads the values of tags, a list that ends with NULL, from the file `from`.  `keep` is the open
 * file if gemmi has converted the model to `from`; otherwise -1.  gemmi_table_free frees *t, also
 * after an error. */
enum status molecule_read_tags(const struct molecule_reader *r, const char *const *tags,
                               const char *from, int keep, struct gemmi_table *t, struct error *e);

/* Reads the first of the tags that has a value into text[]; empty if none has. */
enum status molecule_find_tag(const struct molecule_reader *r, const char *const *names,
                              const char *from, int keep, char *text, size_t size, struct error *e);

/* Stores the cell from the only row of a table: edges in A, then angles in degrees. */
enum status molecule_take_cell(struct molecule_reader *r, const struct gemmi_table *t,
                               struct error *e);

/* Stores occupancy and B (A^2) of an atom from two columns.  A missing occupancy becomes 1, a
 * missing B becomes 0.  Counts missing values in *r. */
enum status molecule_take_weights(struct molecule_reader *r, const struct gemmi_table *t,
                                  size_t row, size_t occupancy, size_t B, struct molecule_atom *a,
                                  struct error *e);

/* Stores the three coordinates of an atom from three columns, of which `column` is the first. */
enum status molecule_take_position(const struct molecule_reader *r, const struct gemmi_table *t,
                                   size_t row, size_t column, struct molecule_atom *a,
                                   struct error *e);

/* Adds a copy of an atom to the model. */
void molecule_add(struct molecule_reader *r, const struct molecule_atom *atom);

/* Returns the squared length, in A^2, of a vector d in fractional coordinates. */
double molecule_square_A2(const struct molecule *m, const double d[3]);

/* Finds the space group of a CIF file of a small molecule.  The operators of the file are used, and
 * the name must not contradict them.  A name without operators must be unambiguous. */
enum status space_group_find(struct molecule_reader *r, struct error *e);

/* Compares the space group number (International Tables) in the file `from`, if it has one, with
 * that of the operators. */
enum status space_group_check_number(const struct molecule_reader *r, const char *from,
                                     struct error *e);

/* --- macromolecule.c ------------------------------------------------------------- */

/* Reads the cell, space group and atoms of a macromolecule from a PDB or mmCIF file. */
enum status macromolecule_read(struct molecule_reader *r, struct error *e);

#endif
