/*
 * Converts between the units that users type and SI units, and prints amounts for users.
 *
 * Units are converted only where values enter or leave a program, with these functions.  Each
 * conversion is the division or product that nanoBragg uses, because a reciprocal would change
 * the last bit (physics: section 1.1 of the reference notes).
 */
#ifndef BRAGG_BASE_UNITS_H
#define BRAGG_BASE_UNITS_H

#include <math.h>

/* Physical constants, with the digits that nanoBragg has [1.1]. */

#define ELECTRON_RADIUS_SQR_M2 7.94079248018965e-30  // classical electron radius, squared
#define AVOGADRO_1_MOL 6.02214179e23

/* nanoBragg's default fluence in photons/m^2: 1/r_e^2, so that pixels come out in
 * electrons^2 sr. */
#define FLUENCE_UNIT_PH_M2 125932015286227086360700780544.0

#define DEGREES_PER_RADIAN (180.0 * M_1_PI)

static inline double mm_to_m(double mm)
{
    return mm / 1000.0;
}
static inline double m_to_mm(double m)
{
    return m * 1000.0;
}
static inline double um_to_m(double um)
{
    return um * 1e-6;
}
static inline double deg_to_rad(double deg)
{
    return deg / DEGREES_PER_RADIAN;
}
static inline double rad_to_deg(double rad)
{
    return rad * DEGREES_PER_RADIAN;
}
static inline double mrad_to_rad(double mrad)
{
    return mrad / 1000.0;
}
static inline double percent_to_fraction(double percent)
{
    return percent / 100.0;
}
static inline double angstrom_to_m(double A)
{
    return A / 1.0e10;
}
static inline double m_to_angstrom(double m)
{
    return m * 1e10;
}
static inline double ev_to_m(double eV)
{
    return (12398.42 / eV) / 1.0e10;
}
static inline double m_to_ev(double m)
{
    return 12398.42 / m_to_angstrom(m);
}

/* Planck's constant times the speed of light, and the energy of an electron at rest, for the
 * wavelength of an electron that a voltage V has accelerated: h/sqrt(2 m e V (1 + e V/(2 m c^2))).
 */
#define ELECTRON_HC_EV_A 12398.41984332
#define ELECTRON_REST_EV 510998.95069

static inline double volt_to_m(double V)
{
    return ELECTRON_HC_EV_A / sqrt(V * (V + 2.0 * ELECTRON_REST_EV)) / 1.0e10;
}
static inline double m_to_volt(double m)
{
    const double momentum_eV = ELECTRON_HC_EV_A / m_to_angstrom(m);  // times c
    return momentum_eV * momentum_eV /
           (sqrt(momentum_eV * momentum_eV + ELECTRON_REST_EV * ELECTRON_REST_EV) +
            ELECTRON_REST_EV);
}

/* Conversions of a typed value into SI units.  MICRO and TENTH_NM are the same units as UM and
 * ANGSTROM, but the result differs in the last bit, as in nanoBragg. */
enum si {
    SI_SAME,
    SI_MM,
    SI_UM,
    SI_MICRO,
    SI_ANGSTROM,
    SI_TENTH_NM,
    SI_DEG,
    SI_MRAD,
    SI_PERCENT,
    SI_EV,      // eV of a photon to a wavelength in m
    SI_VOLT,    // accelerating voltage of an electron to a wavelength in m
    SI_PER_UM,  // a depth in um to its reciprocal in 1/m
};

double to_si(enum si unit, double typed);

/* Converts a value from SI units to the typed unit.  The error is a few units of the last place. */
double from_si(enum si unit, double value);

/* --- amounts for people -------------------------------------------------- */

enum { READABLE_SIZE = 24 };  // bytes of such a text, with the terminator

/* Writes a number of bytes to `text` with three digits, in units of powers of 1000: "512 bytes",
 * "42.3 MB". */
void readable_bytes(double bytes, char text[READABLE_SIZE]);

/* Writes a time to `text`, rounded to seconds: "0:15", "2:03:00". */
void readable_time(double s, char text[READABLE_SIZE]);

/* --- warnings about values that are possible but probably in the wrong unit -------------- */

/* Usual values of an option, and the units that users confuse with its own. */
struct usual {
    const char *option, *unit;  // name without dashes, and unit
    double min, max;            // smallest and largest usual value
    const char *larger;         // unit that was probably meant if the value is too small
    double more;                // size of the unit `larger`, in `unit`
    const char *smaller;        // unit that was probably meant if the value is too large
    double less;                // size of the unit `smaller`, in `unit`
};

/* Warns if the value is outside of the usual range. */
void warn_unusual(const struct usual *usual, double value);

/* Warns if `count` angles, which the user gave in degrees, are round angles when they are taken as
 * radians: multiples of 5 degrees to four digits, or of 45 degrees to three.  Zeros are ignored. */
void warn_radians(const char *option, const double *rad, int count);

/* Gives the same warning for a small angle, such as oscillation or mosaic spread, if the angle
 * taken as radians is a multiple of 0.1 degrees. */
void warn_small_radians(const char *option, double rad);

#endif
