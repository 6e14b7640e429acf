#include "physics/check.h"

#include "base/vec.h"

enum status check_range(const char *what, double value, double unit_size, const char *unit,
                        double min, double max, struct error *e)
{
    const double shown = value / unit_size + 0.0;  // no -0
    if (shown >= min && shown <= max)
        return STATUS_OK;
    const char *space = *unit ? " " : "";
    return error_set(e, STATUS_INPUT, "%s is %.9g%s%s, must be from %g to %.10g%s%s", what, shown,
                     space, unit, min, max, space, unit);
}

enum status check_direction(const char *what, const double v[3], struct error *e)
{
    const double length = vec_length(v);
    if (length >= 1e-6 && length <= 1e6)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s %g %g %g gives no direction, must be a finite vector that is not zero",
                     what, v[0], v[1], v[2]);
}
