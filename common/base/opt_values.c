/*
 * Values of options.  The first part converts the text of an option to a value in the program's
 * struct of options: numbers with units, lists of numbers, choices and texts.  Every error names
 * the option, what is wrong with the text, and what is allowed.  The second part finds the options
 * that were given, and checks which of them exclude or need each other.
 */
#include "base/opt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

/* The limits and the unit of an option whose value is a number. */
struct opt_number {
    const char *what;  // name of the option in errors, such as "--distance"
    double min, max;   // inclusive limits
    unsigned flags;    // OPT_OPEN_MIN, OPT_WHOLE
    const char *unit;  // its metavariable, such as MM; NULL: numbers without a unit
};

/* --- units: 120mm, 12.4keV, 0.1deg ---------------------------------------- */

enum kind { LENGTH, ANGLE, ENERGY, TIME, RATE, FLUX, FLUENCE, SHARE, PIXELS, VOLTAGE };

/* Units of options.  One unit is 10^ten * more times the first unit of its kind. */
static const struct unit {
    const char *name;
    enum kind kind;
    int ten;
    double more;
} units[] = {
    {"m", LENGTH, 0, 1},      {"cm", LENGTH, -2, 1},     {"mm", LENGTH, -3, 1},
    {"um", LENGTH, -6, 1},    {"nm", LENGTH, -9, 1},     {"A", LENGTH, -10, 1},
    {"rad", ANGLE, 0, 1},     {"mrad", ANGLE, -3, 1},    {"deg", ANGLE, 0, 1 / DEGREES_PER_RADIAN},
    {"eV", ENERGY, 0, 1},     {"keV", ENERGY, 3, 1},     {"s", TIME, 0, 1},
    {"ms", TIME, -3, 1},      {"us", TIME, -6, 1},       {"min", TIME, 0, 60},
    {"Hz", RATE, 0, 1},       {"kHz", RATE, 3, 1},       {"ph/s", FLUX, 0, 1},
    {"ph/m2", FLUENCE, 0, 1}, {"ph/mm2", FLUENCE, 6, 1}, {"ph/um2", FLUENCE, 12, 1},
    {"percent", SHARE, 0, 1}, {"%", SHARE, 0, 1},        {"px", PIXELS, 0, 1},
    {"pixels", PIXELS, 0, 1}, {"V", VOLTAGE, 0, 1},      {"kV", VOLTAGE, 3, 1},
};

enum { UNITS = sizeof units / sizeof *units };

static const struct unit *unit_of_metavar(const char *metavar)
{
    const size_t length = metavar ? strcspn(metavar, "|") : 0;
    for (size_t i = 0; i < UNITS && length; i++)
        if (strlen(units[i].name) == length && strncasecmp(units[i].name, metavar, length) == 0)
            return &units[i];
    return NULL;
}

/* Unit signs that users may paste, in UTF-8, and the letters that replace them: micro sign, mu,
 * angstrom sign, A with a ring, degree sign. */
static const struct {
    const char *sign, *letters;
} spellings[] = {
    {"\u00b5", "u"}, {"\u03bc", "u"}, {"\u212b", "A"}, {"\u00c5", "A"}, {"\u00b0", "deg"}};

/* Copies the name of a unit to text[size], and replaces a sign at its start, such as a micro
 * sign, by letters. */
static void spell(const char *typed, char *text, size_t size)
{
    const char *letters = "";
    size_t skip = 0;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings && !skip; i++)
        if (strncmp(typed, spellings[i].sign, strlen(spellings[i].sign)) == 0) {
            letters = spellings[i].letters;
            skip = strlen(spellings[i].sign);
        }
    (void)snprintf(text, size, "%s%s", letters, typed + skip);
}

/* Converts *value from the unit `typed` (such as um, also with a Greek mu) to the unit that
 * `metavar` begins with.  Between decimal units the factor is a power of ten, so that 100um are
 * 0.1 mm to the last bit.  Returns false if `typed` is not a unit of the same kind. */
static bool convert_unit(const char *typed, const char *metavar, double *value)
{
    const struct unit *to = unit_of_metavar(metavar), *from = NULL;
    char text[20];
    spell(typed, text, sizeof text);
    for (size_t i = 0; i < UNITS && !from; i++)
        if (strcmp(units[i].name, text) == 0)
            from = &units[i];
    if (!to || !from || from->kind != to->kind)
        return false;
    const int ten = from->ten - to->ten;
    *value = ten < 0 ? *value / pow(10, -ten) : *value * pow(10, ten);
    if (from->more != to->more)
        *value = *value * from->more / to->more;
    return true;
}

/* Writes the units that an option with this `metavar` accepts to text[size], as "mm, m, cm, um,
 * nm, A"; "": it accepts no units. */
static void list_units(const char *metavar, char *text, size_t size)
{
    const struct unit *to = unit_of_metavar(metavar);
    size_t used = (size_t)snprintf(text, size, "%s", to ? to->name : "");
    for (size_t i = 0; i < UNITS && to; i++)
        if (units[i].kind == to->kind && &units[i] != to && used < size)
            used += (size_t)snprintf(text + used, size - used, ", %s", units[i].name);
}

static enum status range_error(const char *text, const struct opt_number *r, struct error *e)
{
    const char *least = r->flags & OPT_OPEN_MIN ? "greater than" : "of at least";
    if (isinf(r->max))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is out of range; expected a value %s %.12g",
                         r->what, text, least, r->min);
    return error_set(e, STATUS_USAGE,
                     "%s: '%.60s' is out of range; expected a value %s %.12g and at most %.12g",
                     r->what, text, least, r->min, r->max);
}

static bool is_number_start(const char *text)
{
    return isdigit((unsigned char)*text) || *text == '-' || *text == '+' || *text == '.';
}

/* Returns true if `text` begins with a finite decimal number, and stores it in *value.  *end is
 * the text after the number and the blanks that follow. */
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

/* Sets the error for the text `unit` after a number, which is not a unit or is a unit of another
 * quantity. */
static enum status unit_error(const char *text, const char *unit, const struct opt_number *r,
                              struct error *e)
{
    char names[120];
    list_units(r->unit, names, sizeof names);
    const bool sign = *unit & 0x80;  // UTF-8
    if (!*names || !(isalpha((unsigned char)*unit) || sign))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is not a finite number", r->what, text);
    return error_set(e, STATUS_USAGE, "%s: '%.60s' has an unknown unit; expected one of %s",
                     r->what, text, names);
}

/* Reads one number, and converts it to the unit of the option if a unit follows the number. */
static enum status read_real(const char *text, const struct opt_number *r, double *value,
                             struct error *e)
{
    double x;
    const char *rest;
    if (!scan_decimal(text, &x, &rest))
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is not a finite number", r->what, text);
    if (*rest && !convert_unit(rest, r->unit, &x))
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
    return read_real(text, &rule, value, e);
}

enum status parse_int(const char *text, int64_t min, int64_t max, const char *what, int64_t *value,
                      struct error *e)
{
    const char *end = text;
    errno = 0;
    const intmax_t x = is_number_start(text) ? number_whole(text, &end) : 0;
    if (end == text || *end)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is not a whole number", what, text);
    /* if negative numbers are not allowed, a sign is probably a typing error, as in +8 or -0 */
    if (min >= 0 && (*text == '+' || (*text == '-' && x == 0)))
        return error_set(e, STATUS_USAGE,
                         "%s: '%.60s' has a sign; expected digits only, from %" PRId64
                         " to %" PRId64,
                         what, text, min, max);
    if (errno == ERANGE || x < min || x > max)
        return error_set(e, STATUS_USAGE,
                         "%s: '%.60s' is out of range; expected a value from %" PRId64
                         " to %" PRId64,
                         what, text, min, max);
    *value = x;
    return STATUS_OK;
}

/* Reads one whole number, which may also be written as 1e6. */
static enum status read_whole(const char *text, const struct opt_number *r, int64_t *value,
                              struct error *e)
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

/* Replaces each separator between the numbers of a list by a single comma.  Separators are
 * commas, blanks and, if `whole` is true, an x. */
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
        return read_real(text, r, value, e);
    int64_t whole;
    const enum status s = read_whole(text, r, &whole, e);
    *value = s ? *value : (double)whole;
    return s;
}

/* Reads numbers that are separated by commas or blanks.  Whole numbers may also be separated by
 * x (1024x2048).  Sets *count to the number of values in the text, and stores the first `most`
 * of them. */
static enum status read_numbers(const char *text, int most, const struct opt_number *r,
                                double *values, int *count, struct error *e)
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

enum status parse_list(const char *text, int most, double min, double max, const char *unit,
                       const char *what, double *values, int *count, struct error *e)
{
    const struct opt_number rule = {what, min, max, 0, unit};
    const enum status s = read_numbers(text, most, &rule, values, count, e);
    if (s == STATUS_OK && *count > most)
        return error_set(e, STATUS_USAGE, "%s: %d numbers; expected at most %d", what, *count,
                         most);
    return s;
}

/* Reads exactly `count` numbers, or one number that sets all of them. */
static enum status read_one_or_all(const char *text, int count, const struct opt_number *r,
                                   double *values, struct error *e)
{
    int n = 0;
    const enum status s = read_numbers(text, count, r, values, &n, e);
    if (s)
        return s;
    if (n != 1 && n != count)
        return error_set(
            e, STATUS_USAGE,
            "%s: '%.60s' has the wrong number of values; expected 1 or %d, separated by commas",
            r->what, text, count);
    for (int i = n; i < count; i++)
        values[i] = values[0];
    return STATUS_OK;
}

enum { EDGES = 3 };  // of a unit cell

static enum status store_reals(const char *text, const struct opt *o,
                               const struct opt_number *number, double *values, struct error *e)
{
    int n = 0;
    if (o->flags & OPT_ONE_FOR_ALL)
        return read_one_or_all(text, o->count, number, values, e);
    const enum status s = read_numbers(text, o->count, number, values, &n, e);
    const bool angles = o->flags & OPT_RIGHT_ANGLES;
    if (angles && n == EDGES)
        for (; n < o->count; n++)
            values[n] = 90.0;
    if (s == STATUS_OK && n != o->count)
        return error_set(
            e, STATUS_USAGE,
            "%s: '%.60s' has the wrong number of values; expected %s%d, separated by commas",
            number->what, text, angles ? "3 or " : "", o->count);
    return s;
}

static enum status store_ints(const char *text, const struct opt *o, struct opt_number *number,
                              int64_t *values, struct error *e)
{
    double reals[OPT_REALS_MAX];
    number->flags |= OPT_WHOLE;
    const enum status s = store_reals(text, o, number, reals, e);
    for (int i = 0; i < o->count && !s; i++)
        values[i] = (int64_t)reals[i];
    return s;
}

static void make_si(enum si si, double *values, int count)
{
    for (int i = 0; i < count && si; i++)
        values[i] = to_si(si, values[i]);
}

static enum status parse_choice(const struct opt *o, const char *what, const char *text, int *index,
                                struct error *e)
{
    const size_t length = strlen(text);
    int i = 0;
    for (const char *c = o->choices; c; c = strchr(c, '|'), c = c ? c + 1 : NULL, i++) {
        if (length && strncmp(c, text, length) == 0 && (c[length] == '|' || !c[length])) {
            *index = i;
            return STATUS_OK;
        }
    }
    return error_set(e, STATUS_USAGE, "%s: '%.60s' is unknown; expected one of %s", what, text,
                     o->choices);
}

/* Appends the form of the option to the error about an invalid number, as "(--NAME=METAVAR)",
 * because the metavariable shows the unit. */
static enum status add_usage(const struct opt *o, struct error *e)
{
    char text[sizeof e->text];
    memcpy(text, e->text, sizeof text);
    return error_set(e, STATUS_USAGE, "%s (--%s=%s)", text, o->name, o->metavar);
}

enum status opt_store(const struct opt *o, void *options, const char *text, struct error *e)
{
    char what[80];
    (void)snprintf(what, sizeof what, "--%s", o->name);
    struct opt_number number = {what, o->min, o->max, o->flags, o->unit ? o->unit : o->metavar};
    char *value = (char *)options + o->offset;
    enum status s = STATUS_OK;
    switch (o->type) {
    case OPT_FLAG:
        *(bool *)(void *)value = true;
        break;
    case OPT_INT:
        s = read_whole(text, &number, (int64_t *)(void *)value, e);
        break;
    case OPT_REAL:
        s = read_real(text, &number, (double *)(void *)value, e);
        if (!s)
            make_si(o->si, (double *)(void *)value, 1);
        break;
    case OPT_REALS:
        s = store_reals(text, o, &number, (double *)(void *)value, e);
        if (!s)
            make_si(o->si, (double *)(void *)value, o->count);
        break;
    case OPT_INTS:
        s = store_ints(text, o, &number, (int64_t *)(void *)value, e);
        break;
    case OPT_TEXT:
        if (!*text)
            return error_set(e, STATUS_USAGE, "%s: the value is empty; expected a text", what);
        *(const char **)(void *)value = o->flags & OPT_INPUT ? input_path(text) : text;
        if (!*(const char **)(void *)value)
            return error_memory(e, what);
        break;
    case OPT_CHOICE:
        s = parse_choice(o, what, text, (int *)(void *)value, e);
        break;
    case OPT_TEXTS: {
        struct opt_texts *texts = (struct opt_texts *)(void *)value;
        if (!*text)
            return error_set(e, STATUS_USAGE, "%s: the value is empty; expected a text", what);
        if (texts->count == OPT_TEXTS_MAX)
            return error_set(e, STATUS_USAGE, "%s is given too often; expected at most %d times",
                             what, OPT_TEXTS_MAX);
        texts->text[texts->count++] = text;
        break;
    }
    case OPT_GROUP:
    case OPT_MARKS:
        break;
    }
    if (s &&
        (o->type == OPT_INT || o->type == OPT_REAL || o->type == OPT_REALS || o->type == OPT_INTS))
        return add_usage(o, e);
    return s;
}

static enum status store_usual(const struct opt *o, void *options, struct error *e)
{
    void *value = (char *)options + o->offset;
    if (!o->usual || *o->usual)
        return o->usual ? opt_store(o, options, o->usual, e) : STATUS_OK;
    const int count = o->count ? o->count : 1;
    if (o->type == OPT_CHOICE)
        *(int *)value = -1;
    for (int i = 0; i < count && (o->type == OPT_INT || o->type == OPT_INTS); i++)
        ((int64_t *)value)[i] = -1;
    for (int i = 0; i < count && (o->type == OPT_REAL || o->type == OPT_REALS); i++)
        ((double *)value)[i] = (double)NAN;
    return STATUS_OK;
}

enum status opt_defaults(const struct opt *table, void *options, struct error *e)
{
    enum status s = STATUS_OK;
    for (const struct opt *o = table; !s && o && (o->name || o->doc); o++)
        s = store_usual(o, options, e);
    return s;
}

/* --- which options were given, and what they exclude and need ------------- */

const struct opt *opt_find(const struct opt *table, const char *name, size_t length)
{
    for (const struct opt *o = table; o && (o->name || o->doc); o++)
        if (o->name && strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

/* Returns false for the value of an option that is not given: 0, off, no text. */
static bool has_value(const struct opt *o, const void *options)
{
    const void *value = (const char *)options + o->offset;
    switch (o->type) {
    case OPT_FLAG:
        return *(const bool *)value;
    case OPT_INT:
        return *(const int64_t *)value != 0;
    case OPT_CHOICE:
        return *(const int *)value != 0;
    case OPT_REAL:
    case OPT_REALS:
        for (int i = 0; i < (o->type == OPT_REAL ? 1 : o->count); i++)
            if (((const double *)value)[i] != 0.0)
                return true;
        return false;
    case OPT_INTS:
        for (int i = 0; i < o->count; i++)
            if (((const int64_t *)value)[i])
                return true;
        return false;
    case OPT_TEXT:
        return *(const char *const *)value != NULL;
    case OPT_TEXTS:
        return ((const struct opt_texts *)value)->count > 0;
    case OPT_GROUP:
    case OPT_MARKS:
        break;
    }
    return false;
}

/* Returns true if the value of an option, which is a choice or a text, is the `length` bytes of
 * `text`. */
static bool is_value(const struct opt *o, const void *options, const char *text, size_t length)
{
    const void *value = (const char *)options + o->offset;
    const bool none = o->type == OPT_CHOICE && *(const int *)value < 0;
    const char *is = none ? NULL : o->type == OPT_CHOICE ? o->choices : *(const char *const *)value;
    for (int i = o->type == OPT_CHOICE ? *(const int *)value : 0; i > 0; i--)
        is = strchr(is, '|') + 1;
    return is && strncmp(is, text, length) == 0 && (is[length] == '|' || !is[length]);
}

const struct opt *opt_end(const struct opt *o)
{
    while (o->name || o->doc)
        o++;
    return o;
}

/* Returns the word of the marks that contains the bit of an option, and sets *bit to that bit.
 * NULL: the table has no marks.  Rows are counted from the end of the table, so that a part of a
 * table has the same marks. */
static uint64_t *marks_of(const struct opt *o, const void *options, uint64_t *bit)
{
    const struct opt *end = opt_end(o);
    const size_t row = (size_t)(end - o);
    struct opt_marks *m = (void *)((char *)(uintptr_t)options + end->offset);
    *bit = UINT64_C(1) << row % 64;
    return end->type == OPT_MARKS ? &m->bits[row / 64] : NULL;
}

bool opt_is_given(const struct opt *o, const void *options)
{
    uint64_t bit;
    const uint64_t *marks = marks_of(o, options, &bit);
    return marks ? *marks & bit : has_value(o, options);
}

void opt_mark(const struct opt *o, void *options, bool given)
{
    uint64_t bit, *marks = marks_of(o, options, &bit);
    if (marks)
        *marks = given ? *marks | bit : *marks & ~bit;
}

/* Returns true if one of the items of `word`, which are separated by |, is an option that was
 * given, or is NAME=VALUE and the option has this value.  If `needed` is true, the value of the
 * option must also not be 0 or empty.  Writes all items to names[size], separated by `joint`. */
static bool any_given(const struct opt *table, const void *options, const char *word, bool needed,
                      const char *joint, char *names, size_t size)
{
    bool any = false;
    size_t used = 0;
    for (size_t length; (length = strcspn(word, "| ")); word += length + (word[length] == '|')) {
        const size_t name = strcspn(word, "=| ");
        const struct opt *o = opt_find(table, word, name);
        any = any || (o && (name < length
                                ? is_value(o, options, word + name + 1, length - name - 1)
                                : opt_is_given(o, options) && (!needed || has_value(o, options))));
        used += (size_t)snprintf(names + used, used < size ? size - used : 0, "%s%.*s",
                                 used ? joint : "", (int)length, word);
    }
    return any;
}

bool opt_given(const struct opt *table, const void *options, const char *names)
{
    char all[1];
    return any_given(table, options, names, false, "", all, sizeof all);
}

/* Returns the word after the one at `at`, in a list separated by blanks; NULL: there is none. */
static const char *next_word(const char *at)
{
    at += strcspn(at, " ");
    at += strspn(at, " ");
    return *at ? at : NULL;
}

enum status opt_exclude(const struct opt *table, const void *options, const char *name,
                        const char *excludes, struct error *e)
{
    char names[120];
    for (const char *word = excludes; word; word = next_word(word))
        if (any_given(table, options, word, false, " and --", names, sizeof names))
            return error_set(e, STATUS_USAGE,
                             "--%s and --%s cannot be used together; remove one of them", name,
                             names);
    return STATUS_OK;
}

static enum status need(const struct opt *table, const void *options, const struct opt *o,
                        struct error *e)
{
    char names[120];
    for (const char *word = o->needs; word; word = next_word(word))
        if (!any_given(table, options, word, true, " or --", names, sizeof names))
            return error_set(e, STATUS_USAGE, "--%s %s --%s%s", o->name,
                             strchr(names, '=') ? "has an effect only with" : "needs", names,
                             any_given(table, options, word, false, " or --", names, sizeof names)
                                 ? " (the given value turns it off)"
                                 : "");
    return STATUS_OK;
}

enum status opt_check(const struct opt *table, const struct opt *rows, const void *options,
                      struct error *e)
{
    enum status s = STATUS_OK;
    for (int pass = 0; pass < 2; pass++)
        for (const struct opt *o = rows; o && (o->name || o->doc) && !s; o++) {
            if (o->flags & OPT_KEYS)
                break;
            if (opt_is_given(o, options))
                s = pass ? need(table, options, o, e)
                         : opt_exclude(table, options, o->name, o->excludes, e);
        }
    return s;
}
