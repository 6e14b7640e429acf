/*
 * Quantities that vary from frame to frame, or from lattice to lattice: bragg-orient --vary and
 * --vary-file.  Each value is a pure function of (seed, frame, lattice, quantity), so that a new
 * quantity changes no other one.
 */
#ifndef BRAGG_PHYSICS_VARY_H
#define BRAGG_PHYSICS_VARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"

/* The quantities.  A number is part of the random numbers of its quantity, so that it must never
 * change.  New ones are added at the end. */
enum vary_name {
    VARY_SIZE,
    VARY_A,
    VARY_B,
    VARY_C,
    VARY_MOSAIC,      // half-width of mosaic domains
    VARY_MOSAIC_RMS,  // rms of the mosaic spread in closed form
    VARY_B_FACTOR,
    VARY_RESOLUTION,  // to which the crystal diffracts, which gives its B factor
    VARY_SHARE,       // factor on the weight of a lattice
    /* of whole frames: */
    VARY_LATTICES,        // number of lattices
    VARY_LATTICE_SPREAD,  // rms angle between the first lattice and the others
    VARY_DISTANCE,        // of the detector
    VARY_SHIFT_X,         // displacements of the detector across the beam
    VARY_SHIFT_Y,
    VARY_FLUENCE,  // factor on the fluence
    VARY_ENERGY,   // of the photons
    VARY_WATER,    // matter in the beam, see struct matter
    VARY_AIR,
    VARY_ICE,
    VARY_ICE_CRYSTAL,
    VARY_BACKGROUND,  // factor on the photons of all matter
    VARY_NAMES
};

/* How a quantity is drawn: uniform in the value or in its logarithm, one of a list, or normal in
 * the value or in its logarithm.  VARY_LISTED: a table has its value in each frame. */
enum vary_kind {
    VARY_NOT,
    VARY_UNIFORM,
    VARY_LOG_UNIFORM,
    VARY_CHOICE,
    VARY_NORMAL,
    VARY_LOG_NORMAL,
    VARY_LISTED
};

enum { VARY_CHOICES_MAX = 32 };  // values of a list

struct varied {
    enum vary_kind kind;
    int count;                        // of values[]
    double values[VARY_CHOICES_MAX];  // the limits, or the list, in SI units
    double middle, rms;    // VARY_NORMAL, in SI units; VARY_LOG_NORMAL: mean, and rms of the log
    bool gaps;             // VARY_LISTED: some frames have the value of the crystal
    const double *listed;  // borrowed: for each frame, in the unit of users; NaN: a gap
    size_t nlisted;
};

/* A quantity that can vary, its unit and its limits for users. */
struct vary_quantity {
    const char *name, *unit;   // unit NULL: it has none
    double unit_SI, min, max;  // unit_SI 0: the unit is a degree
};
extern const struct vary_quantity vary_quantities[VARY_NAMES];

/* Reads texts of --vary, NAME=KIND:VALUE,VALUE, into varied[VARY_NAMES], and keeps quantities that
 * have a table.  STATUS_USAGE: a text is malformed, or a value is out of range. */
enum status vary_open(struct varied *varied, const struct opt_texts *texts, struct error *e);

/* Gives a quantity the values of a table, one for each of `count` frames, in the unit of users.
 * values[] must stay valid.  NaN: the frame has the value without the table, but at least one frame
 * has a value.  STATUS_USAGE: an option gives the quantity, too. */
enum status vary_list(struct varied *varied, enum vary_name name, const double *values,
                      size_t count, struct error *e);

/* Returns the value of a quantity in SI units.  `lattice` is 0 for a quantity of the whole frame.
 * NaN: it does not vary, or a table does not say it. */
double vary_draw(const struct varied *varied, enum vary_name name, uint64_t seed, uint64_t frame,
                 uint32_t lattice);

/* Returns true if a quantity varies, and sets limits[] to its smallest and largest value. */
bool vary_limits(const struct varied *varied, enum vary_name name, double limits[2]);

#endif
