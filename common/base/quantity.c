#include "base/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

enum kind { LENGTH, ANGLE, ENERGY, TIME, RATE, FLUX, FLUENCE, SHARE, PIXELS };

/* A unit is 10^ten `more` of the first of its kind. */
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
    {"pixels", PIXELS, 0, 1},
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

/* Signs as they are pasted from texts, in UTF-8: micro, mu, angstrom, A with a ring, degree. */
static const struct {
    const char *sign, *letters;
} spellings[] = {
    {"\u00b5", "u"}, {"\u03bc", "u"}, {"\u212b", "A"}, {"\u00c5", "A"}, {"\u00b0", "deg"}};

/* What is typed, in letters. */
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

bool quantity_convert(const char *typed, const char *metavar, double *value)
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

void quantity_names(const char *metavar, char *text, size_t size)
{
    const struct unit *to = unit_of_metavar(metavar);
    size_t used = (size_t)snprintf(text, size, "%s", to ? to->name : "");
    for (size_t i = 0; i < UNITS && to; i++)
        if (units[i].kind == to->kind && &units[i] != to && used < size)
            used += (size_t)snprintf(text + used, size - used, ", %s", units[i].name);
}
