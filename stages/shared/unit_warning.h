/* Warnings about values that are possible but probably in the wrong unit.  A warning names the
 * value, its unit and the value that was probably meant. */
#ifndef BRAGG_STAGES_UNIT_WARNING_H
#define BRAGG_STAGES_UNIT_WARNING_H

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
