/* Values that can be, but that were hardly meant: a warning with the unit and the likely slip. */
#ifndef BRAGG_STAGES_DOUBT_H
#define BRAGG_STAGES_DOUBT_H

/* Between which values an option is what it seems, and the units that are typed for its own:
 * the larger one where the value is too small, the smaller one where it is too large.
 * `more` and `less` are these units in that of the option. */
struct usual {
    const char *option, *unit;
    double min, max;
    const char *larger;
    double more;
    const char *smaller;
    double less;
};

/* Warns of a value that lies outside of what is usual. */
void doubt_unit(const struct usual *usual, double value);

/* Warns of `count` angles, typed in degrees, whose numbers are, to the digits people type, round
 * angles in radians: multiples of 5 degrees; zeros tell nothing. */
void doubt_angles(const char *option, const double *rad, int count);

/* The same for a small angle, as of oscillation and mosaic spread: multiples of 0.1 degrees. */
void doubt_small_angle(const char *option, double rad);

#endif
