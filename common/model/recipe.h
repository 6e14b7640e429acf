/*
 * The recipe: the parameters of one frame.  A frame is a pure function of experiment and recipe.  A
 * recipe owns its arrays.
 */
#ifndef BRAGG_MODEL_RECIPE_H
#define BRAGG_MODEL_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"

/* One crystal lattice in the beam.  It is rotated through `nphi` steps, and has `ndomains` mosaic
 * domains.  All sines and cosines are evaluated already. */
struct lattice {
    uint32_t crystal;    // index into experiment.crystals
    double weight;       // factor on the intensity of one block: weight of the lattice times
                         // blocks in the beam; lattices add incoherently
    double rotation[9];  // row-major U, crystal to laboratory at phi 0; for headers
    bool is_aside;       // the crystal is not in the middle of the beam: aside_m[] is its middle
    double aside_m[3];   // in the laboratory frame at phi 0, from the middle of the beam
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A with the misset, phi 0 (GAUSS, TOPHAT)
    size_t nphi;
    double *phi_rad;  // owned, nphi: middle of each slice; faithful mode: start of each slice, and
                      // a phi of exactly 0.0 means no rotation
    double *cells_m;  // owned, nphi x 9: rows a, b, c in m, rotated by phi
    bool has_cells;   // the crystal of this lattice has its own size:
    double cells[3];  // unit cells along a, b, c, at most those of its crystal
    bool has_spread;  // the crystal of this lattice has its own mosaic spread:
    double spread_rad;   // rms of the rotations about each axis if its crystal has an ensemble, at
                         // least that of its crystal; else the half-width of `domains`
    bool has_b_factor;   // the crystal of this lattice has its own disorder:
    double b_factor_A2;  // overall B factor, at least 0, in addition to that in the structure
                         // factors: intensities are multiplied by exp(-B/(2 d^2))
    size_t ndomains;
    bool mosaic;      // false: the only domain is the identity and is not applied
    double *domains;  // owned, ndomains x 9: row-major rotation applied after phi
};

/* The matter in the beam of one frame.  What the recipe does not say is as the options of
 * bragg-background say. */
struct matter {
    double water_m, air_m, ice_m;  // thicknesses
    double ice_crystal_A;          // size of the ice crystals
    double scale;                  // factor on the photons of all matter
    bool has_water, has_air, has_ice, has_ice_crystal, has_scale;
};

struct recipe {
    uint64_t id;               // frame number
    uint64_t seed;             // of all random numbers of this frame, with id and purpose
    double phi_rad;            // start of the rotation (for headers)
    double osc_rad;            // width of the rotation; 0: a still
    bool has_shift;            // all panels are displaced in this frame, from their place in
    double shift_m[3];         // the experiment by this vector in the laboratory frame
    bool has_sample;           // the beam meets the sample holder at sample_m[]: across the beam,
    double sample_m[2];        // along its width and its height
    bool has_matter;           // the frame has its own
    struct matter matter;      // amounts of matter
    size_t nlattices;          // 0: a blank frame, the beam met no crystal
    struct lattice *lattices;  // owned
    size_t nsources;           // 0: the sources of the beam are used
    struct source *sources;    // owned; replaces beam.sources for this frame.  The mean weight
                               // is the fluence relative to that of the beam
};

/* Frees the arrays and clears *r. */
void recipe_free(struct recipe *r);

/* Makes a deep copy in *to, whose old content is overwritten and not freed. */
void recipe_copy(struct recipe *to, const struct recipe *from);

/* Returns the part of the rotation of a frame during which the crystal is exposed, from its start
 * (bragg-orient --exposed): 1, unless the steps of the first lattice end earlier.  Also 1 in
 * faithful mode, for a still and for a blank frame. */
double recipe_exposed(const struct recipe *r);

/* Stores edges in A and angles in deg of a lattice in cell[].  They are those of its crystal, which
 * must exist, unless the reciprocal vectors of the lattice differ from that cell by more than 1e-8.
 * In faithful mode, or if the cell of the crystal is not known, they are always those of the
 * crystal. */
void lattice_cell(const struct experiment *x, const struct lattice *l, double cell[6]);

/* Returns aside_m[], in which it stores where the middle of the crystal is at phi step t, from the
 * middle of the beam.  Returns NULL if it is there. */
const double *lattice_aside(const struct experiment *x, const struct lattice *l, size_t t,
                            double aside_m[3]);

/* Returns the crystal of a lattice, which must exist.  It is that of the experiment, or *own, a
 * shallow copy with the values that only this lattice has.  Tables belong to the experiment. */
const struct crystal *lattice_crystal(const struct experiment *x, const struct lattice *l,
                                      struct crystal *own);

/* Returns the unit cells along a, b, c of the crystal of a lattice, which must exist. */
const double *lattice_cells(const struct experiment *x, const struct lattice *l);

/* Returns half of the B factor of a lattice in m^2, 0 without one.  The intensity at the scattering
 * vector q, in 1/m, is multiplied by exp(-damping q^2). */
double lattice_damping_m2(const struct lattice *l);

/* Returns an array of the crystals of all lattices of a recipe, shallow copies in the order of the
 * lattices.  The caller frees the array.  All crystals must exist. */
struct crystal *recipe_crystals(const struct experiment *x, const struct recipe *r);

/* Frees the arrays and clears *l. */
void lattice_free(struct lattice *l);

/* Allocates the arrays of *l for nphi steps and ndomains domains, all zero.  recipe_free frees the
 * arrays.  Returns false if memory runs out. */
bool lattice_reserve(struct lattice *l, size_t nphi, size_t ndomains);

/* --- position of the detector in a frame --------------------------------- */

/* An experiment that follows the recipes of its frames.  It is a shallow copy with its own panels,
 * which are at the position of the detector in a frame.  Shared arrays must outlive it. */
struct moved {
    const struct experiment *of;  // the experiment, for frames without a shift
    struct experiment x;          // experiment of the current frame; do not call experiment_free
    double by_m[3];
};

/* Begins as a copy of *of.  The caller calls moved_close. */
void moved_open(struct moved *m, const struct experiment *of);
void moved_close(struct moved *m);

/* Returns &m->x, the experiment with the detector at its position in the frame of *r.  It is valid
 * until the next call.  Equal shifts give equal bytes, whatever the previous calls were. */
const struct experiment *moved_to(struct moved *m, const struct recipe *r);

/* Displaces a panel of *x, with all members that depend on its position. */
void panel_shift(const struct experiment *x, struct panel *p, const double by_m[3]);

/* The beam of a frame as files and clients describe it: wavelengths, polarization as Stokes
 * parameters, and measured spectra. */

/* The beam of one frame. */
struct incident {
    size_t sources;                        // number of sources; 0: the experiment has none
    double shortest_m, mean_m, longest_m;  // wavelengths; the mean is weighted
    double share;                          // fluence relative to that of the beam of the
                                           // experiment
    double fluence_ph_m2;                  // photons per m^2
};

/* Returns the beam of a frame.  If its recipe has sources, they give the wavelengths, and `share`
 * is their mean weight.  Otherwise the beam is that of the experiment: its wavelength is the mean,
 * and `share` is 1. */
struct incident incident_beam(const struct experiment *x, const struct recipe *r);

/* Computes the Stokes parameters I, Q, U, V of a beam of intensity 1.  `horizontal` and `vertical`
 * are unit vectors perpendicular to the beam.  Q is 1 if the E field is along `horizontal`, and U
 * is 1 if it is halfway between both.  The length of (Q, U) is Kahn's factor.  V is 0: no beam is
 * polarized circularly. */
void beam_stokes(const struct beam *b, const double horizontal[3], const double vertical[3],
                 double stokes[4]);

/* Returns the fraction of photons whose E field is along `horizontal`: (1 + Q)/2, or 0.5 for an
 * unpolarized beam.  Only the component of `horizontal` perpendicular to the beam counts.  Without
 * such a component the result is 0.5. */
double beam_fraction_along(const struct beam *b, const double horizontal[3]);

/* Measured spectra: the points of each shot, in the order of rising energy. */
struct listed_spectra {
    size_t shots, points;
    double *energy_eV;  // owned, shots x points
    double *photons;    // owned, shots x points, not negative; the sum over a shot is 1
};

#endif
