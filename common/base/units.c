#include "base/units.h"

double to_si(enum si unit, double typed)
{
    switch (unit) {
    case SI_MM:
        return mm_to_m(typed);
    case SI_UM:
        return um_to_m(typed);
    case SI_MICRO:
        return typed / 1e6;
    case SI_ANGSTROM:
        return angstrom_to_m(typed);
    case SI_TENTH_NM:
        return typed * 1e-10;
    case SI_DEG:
        return deg_to_rad(typed);
    case SI_MRAD:
        return mrad_to_rad(typed);
    case SI_PERCENT:
        return percent_to_fraction(typed);
    case SI_EV:
        return ev_to_m(typed);
    case SI_PER_UM:
        return 1.0 / um_to_m(typed);
    case SI_SAME:
        break;
    }
    return typed;
}

double from_si(enum si unit, double value)
{
    if (unit == SI_SAME)
        return value;
    const double one = to_si(unit, 1.0);
    return unit == SI_EV || unit == SI_PER_UM ? one / value : value / one;
}
