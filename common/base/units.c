#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

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

/* --- amounts for people -------------------------------------------------- */

void readable_bytes(double bytes, char text[READABLE_SIZE])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    /* a number that would round to 1000 is printed as 1 of the next unit */
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    (void)snprintf(text, READABLE_SIZE, bytes < 999.5 ? "%.3g %s" : "%.0f %s", bytes, units[unit]);
}

void readable_time(double s, char text[READABLE_SIZE])
{
    const uint64_t all = s < 1e9 ? (uint64_t)(s + 0.5) : UINT64_C(1000000000);
    if (all < 3600)
        (void)snprintf(text, READABLE_SIZE, "%" PRIu64 ":%02" PRIu64, all / 60, all % 60);
    else
        (void)snprintf(text, READABLE_SIZE, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, all / 3600,
                       all / 60 % 60, all % 60);
}
