#include "base/opt_value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/quantity.h"

static enum status range_error(const char *text, const struct opt_number *r, struct error *e)
{
    const char *least = r->flags & OPT_OPEN_MIN ? "greater than" : "at least";
    if (isinf(r->max))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is out of range, must be %s %.12g", r->what,
                         text, least, r->min);
    return error_set(e, STATUS_USAGE,
                     "%s: '%.60s' is out of range, must be %s %.12g and at most %.12g", r->what,
                     text, least, r->min, r->max);
}

static bool is_number_start(const char *text)
{
    return isdigit((unsigned char)*text) || *text == '-' || *text == '+' || *text == '.';
}

/* Whether `text` begins with a finite decimal number; *end is behind it and blanks. */
static bool scan_decimal(const char *text, double *value, const char **end)
{
    *end = text;
    if (!is_number_start(text))
        return false;
    *value = number_real(text, end);
    const bool hexadecimal =
        memchr(text, 'x', (size_t)(*end - text)) || memchr(text, 'X', (size_t)(*end - text));
    if (*end == text || !isfinite(*value) || hexadecimal)
        return false;
    *end += strspn(*end, " ");
    return true;
}

/* What is behind a number is no unit, or that of something else. */
static enum status unit_error(const char *text, const char *unit, const struct opt_number *r,
                              struct error *e)
{
    char names[120];
    quantity_names(r->unit, names, sizeof names);
    const bool sign = *unit & 0x80;  // UTF-8
    if (!*names || !(isalpha((unsigned char)*unit) || sign))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is no finite number", r->what, text);
    return error_set(e, STATUS_USAGE, "%s: '%.60s' has a wrong unit, must be %s", r->what, text,
                     names);
}

enum status opt_real(const char *text, const struct opt_number *r, double *value, struct error *e)
{
    double x;
    const char *rest;
    if (!scan_decimal(text, &x, &rest))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is no finite number", r->what, text);
    if (*rest && !quantity_convert(rest, r->unit, &x))
        return unit_error(text, rest, r, e);
    if (!(x >= r->min && x <= r->max) || (r->flags & OPT_OPEN_MIN && x == r->min))
        return range_error(text, r, e);
    *value = x;
    return STATUS_OK;
}

enum status parse_real(const char *text, double min, double max, const char *what, double *value,
                       struct error *e)
{
    const struct opt_number rule = {what, min, max, 0, NULL};
    return opt_real(text, &rule, value, e);
}

enum status parse_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *value,
                      struct error *e)
{
    const char *end = text;
    errno = 0;
    const intmax_t x = is_number_start(text) ? number_whole(text, &end) : 0;
    if (end == text || *end)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is no whole number", what, text);
    /* where nothing is below 0, a sign is a slip: +8 for a step up, -0 for what was left */
    if (min >= 0 && (*text == '+' || (*text == '-' && x == 0)))
        return error_set(e, STATUS_USAGE,
                         "%s: '%.60s' has a sign, must be digits alone, from %" PRId64
                         " to %" PRId64,
                         what, text, min, max);
    if (errno == ERANGE || x < min || x > max)
        return error_set(e, STATUS_USAGE,
                         "%s: '%.60s' is out of range, must be from %" PRId64 " to %" PRId64, what,
                         text, min, max);
    *value = x;
    return STATUS_OK;
}

enum status opt_whole(const char *text, const struct opt_number *r, int64_t *value, struct error *e)
{
    char digits[24];
    const char *rest;
    double x;
    if (strpbrk(text, "eE") && scan_decimal(text, &x, &rest) && !*rest && x == floor(x) &&
        fabs(x) <= 0x1p53) {
        (void)snprintf(digits, sizeof digits, "%.0f", x);
        text = digits;
    }
    return parse_int(text, (int64_t)r->min, r->max >= 0x1p63 ? INT64_MAX : (int64_t)r->max, r->what,
                     value, e);
}

/* What parts the numbers of a list becomes a single comma. */
static void part_by_commas(char *text, bool whole)
{
    char *to = text;
    for (const char *from = text; *from;) {
        const size_t blanks = strspn(from, " \t");
        if (blanks && (from == text || !from[blanks] || from[blanks] == ',' || to[-1] == ',')) {
            from += blanks;
            continue;
        }
        const bool cross = whole && (*from == 'x' || *from == 'X') && from > text &&
                           isdigit((unsigned char)from[-1]) && isdigit((unsigned char)from[1]);
        *to++ = blanks || cross ? ',' : *from;
        from += blanks ? blanks : 1;
    }
    *to = '\0';
}

static enum status one_number(const char *text, const struct opt_number *r, double *value,
                              struct error *e)
{
    if (!(r->flags & OPT_WHOLE))
        return opt_real(text, r, value, e);
    int64_t whole;
    const enum status s = opt_whole(text, r, &whole, e);
    *value = s ? *value : (double)whole;
    return s;
}

enum status opt_numbers(const char *text, int most, const struct opt_number *r, double *values,
                        int *count, struct error *e)
{
    char copy[4096];
    if (strlen(text) >= sizeof copy)
        return error_set(e, STATUS_USAGE, "%s: the value is too long", r->what);
    memcpy(copy, text, strlen(text) + 1);
    part_by_commas(copy, r->flags & OPT_WHOLE);
    char *rest = copy;
    *count = 0;
    for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ","), ++*count) {
        const enum status s = *count < most ? one_number(item, r, &values[*count], e) : STATUS_OK;
        if (s)
            return s;
    }
    return STATUS_OK;
}

enum status parse_list(const char *text, int most, double min, double max, const char *what,
                       double *values, int *count, struct error *e)
{
    const struct opt_number rule = {what, min, max, 0, NULL};
    const enum status s = opt_numbers(text, most, &rule, values, count, e);
    if (s == STATUS_OK && *count > most)
        return error_set(e, STATUS_USAGE, "%s: %d numbers, must be at most %d", what, *count, most);
    return s;
}

enum status opt_one_or_all(const char *text, int count, const struct opt_number *r, double *values,
                           struct error *e)
{
    int n = 0;
    const enum status s = opt_numbers(text, count, r, values, &n, e);
    if (s)
        return s;
    if (n != 1 && n != count)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' must be one number, or %d with commas",
                         r->what, text, count);
    for (int i = n; i < count; i++)
        values[i] = values[0];
    return STATUS_OK;
}
