/*
 * Units: of what is typed, converted at the edges only, here and nowhere else; and amounts for
 * people.  Each form of a conversion is the division or product that nanoBragg uses, because a
 * reciprocal would change the last bit (physics: section 1.1 of the reference notes).
 */
#ifndef BRAGG_BASE_UNITS_H
#define BRAGG_BASE_UNITS_H

#include <math.h>

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

/* What is typed, by what turns it into SI.  MICRO and TENTH_NM differ from UM and ANGSTROM by the
 * last bit, as in nanoBragg. */
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
    SI_EV,      // to a wavelength
    SI_PER_UM,  // a depth, to its reciprocal
};

double to_si(enum si unit, double typed);

/* Back, within some units of the last place. */
double from_si(enum si unit, double value);

/* --- amounts for people -------------------------------------------------- */

enum { READABLE_SIZE = 24 };  // of a text, with the terminator

/* "512 bytes", "42.3 MB": three digits, in powers of 1000. */
void readable_bytes(double bytes, char text[READABLE_SIZE]);

/* "0:15", "2:03:00", rounded to seconds. */
void readable_time(double s, char text[READABLE_SIZE]);

#endif
