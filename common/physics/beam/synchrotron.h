/*
 * The spectrum of bending magnets and wigglers, and of filters behind them [2.12]: what a wide band
 * looks like.  All functions give the same bits on all machines.
 */
#ifndef BRAGG_PHYSICS_SYNCHROTRON_H
#define BRAGG_PHYSICS_SYNCHROTRON_H

#include <stdbool.h>

#include "base/error.h"

enum { FILTERS_MAX = 4, FILTER_MATERIALS = 4 };

/* A sheet in the beam. */
struct filter {
    int material;  // index of filter_materials
    double thickness_m;
};

extern const char *const filter_materials[FILTER_MATERIALS];

/* Energies between which the attenuation of all materials is known, in eV. */
#define FILTER_LEAST_EV 2000.0
#define FILTER_MOST_EV 200000.0

/* Returns the fraction of photons of `energy_eV` that pass `count` filters. */
double filter_transmission(const struct filter *filters, int count, double energy_eV);

/* Reads filters from a text such as "Al:1mm,Be:0.5mm" into filters[FILTERS_MAX].  STATUS_USAGE: an
 * unknown material, or a thickness out of range. */
enum status filter_parse(const char *text, struct filter *filters, int *count, struct error *e);

/* Returns a number proportional to the photons per energy that a bending magnet or a wiggler emits,
 * at `y` critical energies (> 0): on the axis, or summed over the vertical angle.  The numbers are
 * H2(y)/y and G1(y)/y of the X-ray Data Booklet, section 2.1. */
double synchrotron_photons(double y, bool vertical_sum);

#endif
