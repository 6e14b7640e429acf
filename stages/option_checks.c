#include "option_checks.h"

#include <string.h>

#include "base/opt.h"

enum status options_exclude(const struct option_pair *pairs, size_t count, struct error *e)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].first && pairs[i].second)
            return error_set(e, STATUS_USAGE, "--%s and --%s exclude each other",
                             pairs[i].first_name, pairs[i].second_name);
    return STATUS_OK;
}

enum status options_need(const struct option_pair *pairs, size_t count, struct error *e)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].first && !pairs[i].second)
            return error_set(e, STATUS_USAGE, "--%s needs --%s", pairs[i].first_name,
                             pairs[i].second_name);
    return STATUS_OK;
}

enum status parse_one_or_all(const char *text, int count, double min, double max, bool whole,
                             const char *what, double *values, struct error *e)
{
    char copy[256];
    if (strlen(text) >= sizeof copy)
        return error_set(e, STATUS_USAGE, "%s: the value is too long", what);
    memcpy(copy, text, strlen(text) + 1);
    char *rest = copy;
    int n = 0;
    for (; rest && n < count; n++) {
        const char *item = strsep(&rest, ",");
        int64_t integer = 0;
        const enum status s = whole ? parse_int(item, (int64_t)min, (int64_t)max, what, &integer, e)
                                    : parse_real(item, min, max, what, &values[n], e);
        if (s)
            return s;
        if (whole)
            values[n] = (double)integer;
    }
    if (rest || (n != 1 && n != count))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' must be one number, or %d with commas", what,
                         text, count);
    for (int i = n; i < count; i++)
        values[i] = values[0];
    return STATUS_OK;
}
