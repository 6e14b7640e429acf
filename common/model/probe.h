/*
 * The particles of the beam: X-ray photons, electrons or neutrons.
 *
 * An X-ray photon is scattered with the cross section r_e^2 |F|^2 of a unit cell, with F in
 * electrons.  Structure factors of other particles are lengths.  They are stored as the number of
 * electrons with the same cross section, F/r_e, so that engines and tables compute with X-rays
 * only [2.13].  For electrons F is the factor for an electron at rest times gamma, the ratio of its
 * mass to that at rest.  Names and units of the program say "photon" for each particle.
 */
#ifndef BRAGG_MODEL_PROBE_H
#define BRAGG_MODEL_PROBE_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/units.h"

enum probe { PROBE_XRAY, PROBE_ELECTRON, PROBE_NEUTRON };

/* Returns the particles in the plural, for messages. */
static inline const char *probe_particles(enum probe probe)
{
    return probe == PROBE_ELECTRON ? "electrons" : probe == PROBE_NEUTRON ? "neutrons" : "X-rays";
}

/* Returns the name of the particle in NeXus, which is also the name in DIALS. */
static inline const char *probe_nexus(enum probe probe)
{
    return probe == PROBE_ELECTRON ? "electron" : probe == PROBE_NEUTRON ? "neutron" : "x-ray";
}

/* Finds the particle of this name, as probe_nexus writes it.  Returns false if there is none. */
static inline bool probe_named(const char *name, enum probe *probe)
{
    for (int i = PROBE_XRAY; i <= PROBE_NEUTRON; i++)
        if (strcmp(name, probe_nexus((enum probe)i)) == 0) {
            *probe = (enum probe)i;
            return true;
        }
    return false;
}

/* Returns gamma of electrons of this wavelength. */
static inline double electron_gamma(double wavelength_m)
{
    return 1.0 + m_to_volt(wavelength_m) / ELECTRON_REST_EV;
}

/* Returns the kinetic energy of a particle of this wavelength in eV.  That of a neutron is
 * h^2/(2 m lambda^2). */
static inline double probe_energy_eV(enum probe probe, double wavelength_m)
{
    static const double NEUTRON_EV_A2 = 0.0818042103;
    const double wavelength_A = m_to_angstrom(wavelength_m);
    return probe == PROBE_ELECTRON  ? m_to_volt(wavelength_m)
           : probe == PROBE_NEUTRON ? NEUTRON_EV_A2 / (wavelength_A * wavelength_A)
                                    : m_to_ev(wavelength_m);
}

/* Returns the number of electrons, in the sense of X-rays, of one unit of F: 1 A for electrons, at
 * rest, and 1 fm for neutrons. */
static inline double probe_unit_electrons(enum probe probe, double wavelength_m)
{
    const double radius_m = sqrt(ELECTRON_RADIUS_SQR_M2);
    return probe == PROBE_ELECTRON  ? electron_gamma(wavelength_m) * 1e-10 / radius_m
           : probe == PROBE_NEUTRON ? 1e-15 / radius_m
                                    : 1.0;
}

#endif
