/* The sensor of a detector: how much it absorbs, and into how many layers it is divided [1.10]. */
#ifndef BRAGG_PHYSICS_SENSOR_H
#define BRAGG_PHYSICS_SENSOR_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/request.h"

#define SENSOR_LAYERS_MAX 16  // layers of a sensor at most, if the request has no number

/* Inverse attenuation depth of silicon in 1/m for photons of energy_eV: the table of mass
 * attenuation coefficients of Hubbell and Seltzer (NIST SRD 126), straight lines between
 * logarithms, and 2.33 g/cm^3.  STATUS_INPUT, and *absorption_1_m as it was, for an energy that the
 * table does not have: below 1 keV and above 200 keV. */
enum status silicon_absorption(double energy_eV, double *absorption_1_m, struct error *e);

/* Sets *absorption_1_m for the sensor of a panel and photons of three times the energy of the beam.
 * Silicon is in the table.  For other materials the result is a 27th of the value at `energy_eV`,
 * as between absorption edges.  STATUS_INPUT: an energy outside the table or beyond an absorption
 * edge, or a material whose edges are not known. */
enum status sensor_harmonic(const struct panel *p, double energy_eV, double *absorption_1_m,
                            struct error *e);

/* Returns the derivative of the attenuation depth of these photons by that of the photons of the
 * beam: 27, or 0 if the one does not follow from the other. */
double sensor_harmonic_depths(const struct panel *p);

/* Where all wavelengths of a frame are so near to that of the beam, relative to it, a sensor
 * absorbs them alike: 1.8 % of it at most.  Otherwise they differ in steps of the second, that is
 * 0.08 %. */
#define SENSOR_WAVE_NEAR 0.006
#define SENSOR_WAVE_STEP 0.0005

/* Sets *ratio to the absorption coefficient of the sensor of *p at `wavelength_m` divided by that
 * at `beam_m`, to which absorption_1_m belongs.  For silicon it follows from the table, for others
 * from the third power of the wavelength.  It is exactly 1 where both wavelengths are alike to
 * 1e-9, and has the same bits on all machines.  STATUS_INPUT where the absorption is not known:
 * beyond the table, across an absorption edge of the material, or for a material whose edges are
 * not known. */
enum status sensor_ratio(const struct panel *p, double beam_m, double wavelength_m, double *ratio,
                         struct error *e);

/* Returns the panel whose sensor represents all sensors of *x; NULL: absorption does not depend
 * on the wavelength, that is, in faithful mode, if all photons are absorbed, or if the photons are
 * not X-rays. */
const struct panel *sensor_of(const struct experiment *x);

/* Sets ratios[n] of n sources (NULL: they are not stored) and *differ, whether one of them is not
 * 1.  Fails as sensor_ratio does, and for panels of different materials. */
enum status sensor_ratios(const struct experiment *x, const struct source *sources, size_t n,
                          double *ratios, bool *differ, struct error *e);

/* Sets *differ to true if the sensor absorbs wavelengths of a frame differently from that of the
 * beam.  Fails as sensor_ratios does. */
enum status sensor_waves_differ(const struct experiment *x, const struct recipe *r, bool *differ,
                                struct error *e);

/* Returns the signal of a photon of `wavelength_m`, in photons of the beam: its energy relative to
 * theirs if pixels add up energies, otherwise 1. */
static inline double sensor_signal(const struct beam *b, double wavelength_m)
{
    return b->adds_energy ? b->wavelength_m / wavelength_m : 1.0;
}

/* Sets the absorption of the sensor of *p, in physical mode. */
void sensor_absorb(struct panel *p, double absorption_1_m);

/* The charge of a photon where it is collected: rms width in m, along each axis, of a cloud that
 * drifted from where photons stop on average, z before the end of a sensor of thickness d under a
 * bias of V: sqrt(2 (kT/q) z d / V) with kT/q of 293 K.  0 for a panel without a sensor. */
double sensor_cloud_m(const struct panel *p, double bias_V);

/* Returns the tangent of the largest angle between the normal and a ray to a corner of a flat
 * panel. */
double sensor_slant(const struct panel *p);

/* Sets thickness, attenuation and layers of *p.  In physical mode N layers share the thickness, and
 * the photons of a layer stand at the mean depth at which they stop, not at its front.  If the
 * request has no number of layers, there is one until sensor_divide is called.  STATUS_INPUT for
 * values out of range. */
enum status sensor_setup(const struct detector_request *d, bool faithful, struct panel *p,
                         struct error *e);

/* Sets the number of layers of all panels of *x.  Does nothing in faithful mode, if the request has
 * a number of layers, or if the sensor is smeared.  The most slanted ray to a corner then moves by
 * at most one pixel from one layer to the next; there are at most SENSOR_LAYERS_MAX layers.  Call
 * it when panels are at their places, but not yet cut. */
void sensor_divide(const struct detector_request *d, struct experiment *x);

#endif
