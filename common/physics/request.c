#include "physics/request.h"

#include <math.h>

#include "base/units.h"
#include "base/vec.h"

enum status check_range(const char *what, double value, double unit_size, const char *unit,
                        double min, double max, struct error *e)
{
    const double shown = value / unit_size + 0.0;  // no -0
    if (shown >= min && shown <= max)
        return STATUS_OK;
    const char *space = *unit ? " " : "";
    return error_set(e, STATUS_INPUT, "%s is %.9g%s%s; expected a value from %g to %.10g%s%s", what,
                     shown, space, unit, min, max, space, unit);
}

enum status check_direction(const char *what, const double v[3], struct error *e)
{
    const double length = vec_length(v);
    if (length >= 1e-6 && length <= 1e6)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s %g %g %g is not a direction; expected a finite vector that is not zero",
                     what, v[0], v[1], v[2]);
}

/* Sets count = ceil(quotient). Refuses a quotient that is not a sensible number of steps. */
static enum status count_from(double quotient, const char *what, struct steps *s, struct error *e)
{
    if (!(fabs(quotient) <= LIMIT_STEPS))
        return error_set(e, STATUS_INPUT, "%s: too many steps (got %.6g); expected at most %.0f",
                         what, quotient, LIMIT_STEPS);
    s->count = (int64_t)ceil(quotient);
    return STATUS_OK;
}

/* Rows of the table without a count. */
static enum status without_count(struct steps *s, enum steps_kind kind, const char *what,
                                 struct error *e)
{
    if (s->range < 0.0) {
        if (s->step <= 0.0) {
            *s = (struct steps){1, 0.0, 0.0};
            return STATUS_OK;
        }
        s->range = s->step;
        s->count = 2;
        return STATUS_OK;
    }
    if (s->step <= 0.0) {
        s->step = kind == STEPS_THICKNESS ? s->range / 2 : s->range;
        s->count = 2;
        return STATUS_OK;
    }
    return count_from(s->range / s->step, what, s, e);
}

/* Rows of the table with a count. */
static void with_count(struct steps *s, enum steps_kind kind)
{
    if (s->range < 0.0) {
        if (s->step <= 0.0) {
            s->range = kind == STEPS_THICKNESS ? 0.5e-6 : 1.0;
            s->step = s->range / (double)s->count;
        } else {
            s->range = s->step;
            s->count = 2;
        }
    } else if (s->step <= 0.0) {
        if (s->count < 2)
            s->count = 2;
        s->step = s->range / (double)(s->count - 1);
    }
}

/* Counts beyond LIMIT_STEPS and numbers that are not finite. */
static enum status check_request(const struct steps_request *r, const char *what, struct error *e)
{
    if ((double)r->count > LIMIT_STEPS)
        return error_set(e, STATUS_INPUT, "%s: too many steps (got %lld); expected at most %.0f",
                         what, (long long)r->count, LIMIT_STEPS);
    if (fabs(r->range) >= 1e6 || !(fabs(r->step) < 1e6))
        return error_set(e, STATUS_INPUT, "%s: range or step is not a number below 1e6", what);
    return STATUS_OK;
}

enum status steps_resolve(const struct steps_request *r, enum steps_kind kind, const char *what,
                          struct steps *s, struct error *e)
{
    enum status status = check_request(r, what, e);
    if (status)
        return status;
    *s = (struct steps){r->count, r->range, r->step};
    if (isnan(r->range))
        s->range = kind == STEPS_DIVERGENCE ? -1.0 : 0.0;
    if (s->count > 0)
        with_count(s, kind);
    else if ((status = without_count(s, kind, what, e)))
        return status;
    /* A range of 0 always has a single step. */
    if (s->range <= 0.0 || s->step <= 0.0 || s->count <= 0)
        *s = (struct steps){1, 0.0, 0.0};
    return STATUS_OK;
}

/* Rows of table 3.5 without phisteps. */
static enum status phi_without_count(const struct steps_request *r, struct steps *s,
                                     struct error *e)
{
    if (isnan(r->range) && r->step == 0.0) {
        *s = (struct steps){1, 0.0, 0.0};
    } else if (r->step == 0.0) {
        *s = (struct steps){2, r->range, r->range / 2};
    } else if (isnan(r->range)) {
        *s = (struct steps){2, r->step, r->step};
    } else {
        if (!(r->range / r->step > 0.0))
            return error_set(e, STATUS_INPUT,
                             "phi: a rotation of %g deg cannot be made of steps of %g deg",
                             rad_to_deg(r->range), rad_to_deg(r->step));
        *s = (struct steps){0, r->range, r->step};
        return count_from(r->range / r->step, "phi", s, e);
    }
    return STATUS_OK;
}

enum status steps_phi(const struct steps_request *r, struct steps *s, struct error *e)
{
    const enum status status = check_request(r, "phi", e);
    if (status)
        return status;
    if (r->count <= 0)
        return phi_without_count(r, s, e);
    /* Only phisteps is given: the range is one degree. */
    if (isnan(r->range) && r->step == 0.0) {
        s->count = r->count;
        s->range = deg_to_rad(1.0);
        s->step = s->range / (double)s->count;
    } else if (r->step == 0.0) {
        *s = (struct steps){r->count, r->range, r->range / (double)r->count};
    } else if (isnan(r->range)) {
        *s = (struct steps){2, r->step, r->step};
    } else {
        *s = (struct steps){r->count, r->range, r->step};
    }
    return STATUS_OK;
}
