#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/text.h"
#include "io/crystfel/geom_reader.h"

enum status geom_bad_value(struct geom_reader *r, const char *key, const char *value,
                           const char *must)
{
    return text_error(&r->text, r->e, "%.40s = '%.60s', must be %s", key, value, must);
}

enum status geom_real(struct geom_reader *r, const char *key, const char *value, double min,
                      double max, double *out)
{
    if (parse_real(value, min, max, key, out, NULL) == STATUS_OK)
        return STATUS_OK;
    return text_error(&r->text, r->e, "%.40s = '%.60s', must be a number from %g to %g", key, value,
                      min, max);
}

enum status geom_whole(struct geom_reader *r, const char *key, const char *value, int64_t max,
                       int64_t *out)
{
    double number = 0;
    if (parse_real(value, 0, (double)max, key, &number, NULL) || number != floor(number))
        return text_error(&r->text, r->e,
                          "%.40s = '%.60s', must be a whole number from 0 to %" PRId64, key, value,
                          max);
    *out = (int64_t)number;
    return STATUS_OK;
}

static bool is_axis(char c)
{
    return c >= 'x' && c <= 'z';
}

enum status geom_vector(struct geom_reader *r, const char *key, const char *value, double out[3])
{
    static const char must[] = "like '+0.999x -0.044y', of length 1";
    double v[3] = {0, 0, 0};
    const char *at = value;
    while (*(at += strspn(at, " \t"))) {
        const double sign = *at == '-' ? -1.0 : 1.0;
        at += *at == '-' || *at == '+';
        at += strspn(at, " \t");
        char *end = NULL;
        const double factor = is_axis(*at) ? 1.0 : strtod(at, &end);
        if (end == at || !isfinite(factor))
            return geom_bad_value(r, key, value, must);
        at = end ? end + strspn(end, " \t") : at;
        if (!is_axis(*at))
            return geom_bad_value(r, key, value, must);
        v[*at++ - 'x'] += sign * factor;
    }
    const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(fabs(length - 1.0) < 0.01))
        return geom_bad_value(r, key, value, must);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] / length;
    return STATUS_OK;
}

double geom_quantity(const char *value, const char *const units[], const double sizes[],
                     bool *known)
{
    const char *end;
    const double number = number_real(value, &end);
    const char *unit = end + strspn(end, " \t");
    *known = false;
    if (memchr(value, 'x', (size_t)(end - value)) || memchr(value, 'X', (size_t)(end - value)))
        return 0;  // hexadecimal
    for (size_t i = 0; end != value && isfinite(number) && units[i]; i++)
        if (strcmp(unit, units[i]) == 0) {
            *known = true;
            return number * sizes[i];
        }
    return 0;
}
