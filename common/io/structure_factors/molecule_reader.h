/*
 * Shared functions of molecule.c and macromolecule.c, which read models of atoms (see molecule.h):
 * values, atoms and the space group of all kinds of files.  Functions return STATUS_INPUT, with the
 * path in front, if the content of the file makes no sense.
 */
#ifndef BRAGG_IO_MOLECULE_READER_H
#define BRAGG_IO_MOLECULE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/structure_factors/gemmi.h"
#include "io/structure_factors/molecule.h"

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

/* Adds a copy of an atom to the model.  STATUS_FAILED: out of memory. */
enum status molecule_add(struct molecule_reader *r, const struct molecule_atom *atom,
                         struct error *e);

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
