/*
 * Anomalous scattering factors f' and f'': what absorption edges add to the scattering factor of
 * an atom, f0 + f' + i f'', in electrons.
 *
 * A table ships with braggpipe: bare atoms by Cromer and Liberman, with the correction of Kissel
 * and Pratt, from sodium to uranium and from 3 to 30 keV, within 0.01 electrons or 0.5 % of what
 * gemmi computes.  Bare atoms have no white line: near an edge a measured curve is better.
 *
 * The atoms that scatter so come from a list, or out of a model.
 */
#ifndef BRAGG_IO_ANOMALOUS_H
#define BRAGG_IO_ANOMALOUS_H

#include <stddef.h>

#include "base/error.h"
#include "model/atoms.h"

enum { ELEMENT_SYMBOL_SIZE = 3, ELEMENTS_MAX = 92 };

/* Atomic number of a symbol, in upper or lower case ("Se", "SE"); 0: there is no such element. */
int element_number(const char *symbol);

/* Symbol of an atomic number from 1 to ELEMENTS_MAX. */
void element_symbol(int number, char symbol[ELEMENT_SYMBOL_SIZE]);

/* Measured values: rows in order of elements, then of energies. */
struct fprime_row {
    int element;  // atomic number
    double energy_eV;
    double f[2];  // f', f'', electrons
};

struct fprime_curves {
    size_t count;
    struct fprime_row *rows;  // owned
};

/* Reads lines `element energy_eV f' f''`, where # starts a comment.  STATUS_INPUT with FILE:LINE
 * for others, and for an energy that stands there twice.  fprime_free frees, after an error too. */
enum status fprime_read(const char *path, struct fprime_curves *c, struct error *e);
void fprime_free(struct fprime_curves *c);

/* How many rows there are for an element; range_eV: the lowest and the highest energy of them. */
size_t fprime_range(const struct fprime_curves *c, int element, double range_eV[2]);

/* f' and f'' of an element into f[2], on straight lines between rows: measured ones (which may be
 * NULL) within the energies that they cover, or of a single row within 1 % of its energy, else the
 * table's.  STATUS_USAGE where neither has any, and for a single row of another energy. */
enum status fprime_at(const struct fprime_curves *measured, int element, double energy_eV,
                      double f[2], struct error *e);

/* Reads lines `element x y z [occupancy [B]]`, with x, y, z of the cell's edges and B in A^2, where
 * # starts a comment; 1 and 0 where nothing is said.  STATUS_INPUT with FILE:LINE for others.
 * atoms_free frees, after an error too; f' and f'' are left 0. */
enum status sites_read(const char *path, struct atoms *atoms, struct error *e);

/* Atoms of a model, as io/structure_factors/molecule.h reads it, that are of the element `least` or
 * a heavier one. STATUS_INPUT for a model without such atoms; other errors are those of
 * molecule_read. */
enum status sites_of_model(const char *path, int least, struct atoms *atoms, struct error *e);

#endif
