/* Warnings about values in the wrong unit. */
#include "unit_warning.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"
#include "base/units.h"

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
