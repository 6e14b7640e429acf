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

/* A file while it is read. */
struct molecule_reader {
    const char *path;           // borrowed
    struct molecule *m;         // borrowed: what is being filled
    bool cif;                   // mmCIF or CIF, not PDB
    size_t models;              // of an ensemble
    size_t no_B, no_occupancy;  // atoms without a value
    double occupied;            // the sum over models of the mean occupancy
};

/* An error that says why the file makes no sense. */
enum status molecule_refuse(const struct molecule_reader *r, struct error *e, const char *why);

/* The same for an atom, in the row (from 0) of a table. */
enum status molecule_refuse_atom(const struct molecule_reader *r, size_t row, const char *label,
                                 const char *why, struct error *e);

/* Reads tags (ended by NULL) of the file `from`, which may be `keep`, a file that was converted
 * (-1: it is not).  gemmi_table_free frees *t, after an error too. */
enum status molecule_read_tags(const struct molecule_reader *r, const char *const *tags,
                               const char *from, int keep, struct gemmi_table *t, struct error *e);

/* Reads the first of the tags that has a value into text[]; empty if none has. */
enum status molecule_find_tag(const struct molecule_reader *r, const char *const *names,
                              const char *from, int keep, char *text, size_t size, struct error *e);

/* Takes edges (A) and angles (degrees) of the one row of a table. */
enum status molecule_take_cell(struct molecule_reader *r, const struct gemmi_table *t,
                               struct error *e);

/* Takes occupancy and B (A^2) of two columns, which may be missing: they are counted. */
enum status molecule_take_weights(struct molecule_reader *r, const struct gemmi_table *t,
                                  size_t row, size_t occupancy, size_t B, struct molecule_atom *a,
                                  struct error *e);

/* Takes three coordinates from a column on. */
enum status molecule_take_position(const struct molecule_reader *r, const struct gemmi_table *t,
                                   size_t row, size_t column, struct molecule_atom *a,
                                   struct error *e);

/* Adds a copy of an atom.  STATUS_FAILED without memory. */
enum status molecule_add(struct molecule_reader *r, const struct molecule_atom *atom,
                         struct error *e);

/* Returns the squared length, in A^2, of a vector d in fractional coordinates. */
double molecule_square_A2(const struct molecule *m, const double d[3]);

/* Finds the space group of a CIF file of a small molecule.  The operators of the file are used, and
 * the name must not contradict them.  A name without operators must be unambiguous. */
enum status space_group_find(struct molecule_reader *r, struct error *e);

/* Compares the number of the International Tables, where the file `from` gives one, with that of
 * the operators. */
enum status space_group_check_number(const struct molecule_reader *r, const char *from,
                                     struct error *e);

/* --- macromolecule.c ------------------------------------------------------------- */

/* Reads all of a PDB or mmCIF file. */
enum status macromolecule_read(struct molecule_reader *r, struct error *e);

#endif
