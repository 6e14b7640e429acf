#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"

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
    case SI_VOLT:
        return volt_to_m(typed);
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
    if (unit == SI_VOLT)
        return m_to_volt(value);
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

/* --- warnings ---------------------------------------------------------------------------- */

void warn_unusual(const struct usual *u, double value)
{
    if (value >= u->min && value <= u->max)
        return;
    const bool small = value < u->min;
    log_line(LOG_WARNING, "--%s=%g %s is unusual. Did you mean %g %s (--%s=%g)?", u->option, value,
             u->unit, value, small ? u->larger : u->smaller, u->option,
             value * (small ? u->more : u->less));
}

/* Returns true if x (rad) is, within `error` rad, a multiple of `step` degrees other than 0. */
static bool is_multiple(double x, double step, double error)
{
    const double steps = round(rad_to_deg(x) / step);
    return steps != 0.0 && fabs(x - deg_to_rad(steps * step)) <= error;
}

static void warn_of_radians(const char *option, const double *rad, int count)
{
    char typed[64] = "", meant[64] = "";
    int m = 0, n = 0;
    for (int i = 0; i < count && m < 50 && n < 50; i++) {
        const char *comma = i ? "," : "";
        const double deg = rad_to_deg(rad[i]);
        n += snprintf(typed + n, sizeof typed - (size_t)n, "%s%g", comma, deg);
        m += snprintf(meant + m, sizeof meant - (size_t)m, "%s%.4g", comma, rad_to_deg(deg));
    }
    log_line(LOG_WARNING, "--%s=%s deg looks like radians. Did you mean --%s=%s?", option, typed,
             option, meant);
}

void warn_radians(const char *option, const double *rad, int count)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        const double deg = rad_to_deg(rad[i]);
        if (deg == 0.0)
            continue;
        /* multiples of 45 degrees may have three digits, such as 1.57 */
        if (fabs(deg) > 6.3 || (!is_multiple(deg, 45.0, 1e-3) && !is_multiple(deg, 5.0, 5e-5)))
            return;
        any = true;
    }
    if (any)
        warn_of_radians(option, rad, count);
}

void warn_small_radians(const char *option, double rad)
{
    const double deg = rad_to_deg(rad);
    if (fabs(deg) < 0.06 && is_multiple(deg, 0.1, 5e-6))
        warn_of_radians(option, &rad, 1);
}
