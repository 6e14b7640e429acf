/*
 * Computes anomalous scattering factors f' and f'', which absorption edges add to the scattering
 * factor of an atom: f0 + f' + i f'', in electrons.
 *
 * A table ships with braggpipe: bare atoms by Cromer and Liberman, with the correction of Kissel
 * and Pratt, from sodium to uranium and from 3 to 30 keV, within 0.01 electrons or 0.5 % of what
 * gemmi computes.  Bare atoms have no white line: near an edge a measured curve is better.
 *
 * The atoms that scatter anomalously come from a list or from a model.
 */
#ifndef BRAGG_IO_ANOMALOUS_H
#define BRAGG_IO_ANOMALOUS_H

#include <stddef.h>

#include "base/error.h"
#include "model/atoms.h"

enum { ELEMENT_SYMBOL_SIZE = 3, ELEMENTS_MAX = 92 };

/* Returns the atomic number of a symbol, in upper or lower case ("Se", "SE"); 0: no such
 * element. */
int element_number(const char *symbol);

/* Writes the symbol of the element with this atomic number, from 1 to ELEMENTS_MAX. */
void element_symbol(int number, char symbol[ELEMENT_SYMBOL_SIZE]);

/* A measured f' and f'' of an element at an energy.  Rows are sorted by element, then by energy. */
struct fprime_row {
    int element;  // atomic number
    double energy_eV;
    double f[2];  // f', f'', electrons
};

struct fprime_curves {
    size_t count;
    struct fprime_row *rows;  // owned
};

/* Reads lines `element energy_eV f' f''`.  `#` starts a comment.  fprime_free frees *c, also after
 * an error.  STATUS_INPUT, with FILE:LINE: any other line, or an energy that is listed twice. */
enum status fprime_read(const char *path, struct fprime_curves *c, struct error *e);
void fprime_free(struct fprime_curves *c);

/* Returns the number of rows of an element.  range_eV gets their lowest and highest energy. */
size_t fprime_range(const struct fprime_curves *c, int element, double range_eV[2]);

/* Interpolates f' and f'' of an element linearly into f[2].  Uses the measured rows within the
 * energies that they cover; a single row is used within 1 % of its energy.  Otherwise uses the
 * table of braggpipe.  `measured` may be NULL.  STATUS_USAGE: neither covers the energy, or the
 * only measured row is at another energy. */
enum status fprime_at(const struct fprime_curves *measured, int element, double energy_eV,
                      double f[2], struct error *e);

/* Reads lines `element x y z [occupancy [B]]`, with fractional x, y, z and B in A^2.  `#` starts a
 * comment.  The default occupancy is 1, the default B is 0.  f' and f'' are set to 0.  atoms_free
 * frees *atoms, also after an error.  STATUS_INPUT, with FILE:LINE: any other line. */
enum status sites_read(const char *path, struct atoms *atoms, struct error *e);

/* Gets the atoms of a model (see io/structure_factors/molecule.h) that are of the element `least`
 * or a heavier one.  STATUS_INPUT: the model has no such atoms.  Other errors are those of
 * molecule_read. */
enum status sites_of_model(const char *path, int least, struct atoms *atoms, struct error *e);

#endif
