#include "io/structure_factors/operators.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/structure_factors/gemmi.h"
#include "io/structure_factors/symmetry.h"

static const double SAME = 1e-3;  // of an edge

/* --- one operator ------------------------------------------------------------------ */

/* A number such as 1/2 or 0.5 at *at, which moves behind it. */
static bool take_shift(const char **at, double *shift)
{
    char *end;
    *shift = strtod(*at, &end);
    if (end == *at)
        return false;
    if (*end == '/') {
        const char *below = end + 1;
        const double divisor = strtod(below, &end);
        if (end == below || divisor <= 0.0)
            return false;
        *shift /= divisor;
    }
    *at = end;
    return isfinite(*shift);
}

/* One of three parts of a triplet, without blanks. */
static bool take_part(const char *at, int R[3], double *t)
{
    memset(R, 0, 3 * sizeof *R);
    *t = 0.0;
    while (*at) {
        const int sign = *at == '-' ? -1 : 1;
        double shift;
        at += *at == '-' || *at == '+';
        const int axis = tolower((unsigned char)*at) - 'x';
        if (axis >= 0 && axis < 3) {
            R[axis] += sign;
            at++;
        } else if (isdigit((unsigned char)*at) || *at == '.') {
            if (!take_shift(&at, &shift))
                return false;
            *t += sign * shift;
        } else
            return false;
    }
    return R[0] || R[1] || R[2];
}

/* Within 0 and 1. */
static double wrapped(double t)
{
    t -= floor(t + SAME / 2.0);
    return fabs(t) < SAME / 2.0 ? 0.0 : t;
}

bool operators_add(struct operators *o, const char *text)
{
    enum { PARTS = 24 };  // of a cell's edge, in which translations are counted
    char bare[128], *rest = bare;
    size_t n = 0;
    if (o->count == OPERATORS_MAX)
        return false;
    for (const char *at = text; *at && n + 1 < sizeof bare; at++)
        if (!isspace((unsigned char)*at) && *at != '\'' && *at != '"')
            bare[n++] = *at;
    bare[n] = '\0';
    struct symmetry_operator *to = &o->list[o->count];
    for (int i = 0; i < 3; i++) {
        const char *part = strsep(&rest, ",");
        if (!part || !take_part(part, to->R + 3 * i, &to->t[i]))
            return false;
        const double nearest = rint(to->t[i] * PARTS) / PARTS;  // 0.3333 is a third
        to->t[i] = wrapped(fabs(nearest - to->t[i]) < SAME ? nearest : to->t[i]);
    }
    o->count += !rest;
    return !rest;
}

/* --- groups --------------------------------------------------------------------------- */

static bool is_same(const struct symmetry_operator *a, const struct symmetry_operator *b)
{
    bool same = memcmp(a->R, b->R, sizeof a->R) == 0;
    for (int i = 0; i < 3 && same; i++) {
        const double apart = a->t[i] - b->t[i];
        same = fabs(apart - rint(apart)) < SAME;
    }
    return same;
}

static bool has(const struct operators *o, const struct symmetry_operator *one)
{
    for (size_t i = 0; i < o->count; i++)
        if (is_same(&o->list[i], one))
            return true;
    return false;
}

/* First b, then a. */
static struct symmetry_operator product(const struct symmetry_operator *a,
                                        const struct symmetry_operator *b)
{
    struct symmetry_operator p = {0};
    for (int i = 0; i < 3; i++) {
        p.t[i] = a->t[i];
        for (int k = 0; k < 3; k++) {
            p.t[i] += a->R[3 * i + k] * b->t[k];
            for (int m = 0; m < 3; m++)
                p.R[3 * i + m] += a->R[3 * i + k] * b->R[3 * k + m];
        }
    }
    return p;
}

bool operators_are_group(const struct operators *o)
{
    const struct symmetry_operator identity = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    if (!has(o, &identity))
        return false;
    for (size_t i = 0; i < o->count; i++)
        for (size_t k = 0; k < o->count; k++) {
            const struct symmetry_operator p = product(&o->list[i], &o->list[k]);
            if ((i < k && is_same(&o->list[i], &o->list[k])) || !has(o, &p))
                return false;
        }
    return true;
}

bool operators_are_same(const struct operators *a, const struct operators *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = has(b, &a->list[i]);
    return same;
}

bool operators_fit(const struct operators *o, const double cell[3], const double cell_rad[3])
{
    struct symmetry y = {.count = o->count};
    for (size_t i = 0; i < o->count; i++)
        memcpy(y.operators[i], o->list[i].R, sizeof y.operators[i]);
    return symmetry_fits(&y, cell, cell_rad);
}

static int determinant(const int R[9])
{
    return R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
           R[2] * (R[3] * R[7] - R[4] * R[6]);
}

/* Turns of a third are there, and neither those of a sixth nor, as in cubic crystals, of half a
 * turn that commute with none of them: a cubic group has more than two turns of a third. */
bool operators_are_trigonal(const struct operators *o)
{
    struct operators turns = {0};
    size_t thirds = 0;
    for (size_t i = 0; i < o->count; i++) {
        struct symmetry_operator turn = {0};
        const int sign = determinant(o->list[i].R);
        for (int k = 0; k < 9; k++)
            turn.R[k] = sign * o->list[i].R[k];
        if (has(&turns, &turn))
            continue;
        turns.list[turns.count++] = turn;
        const int trace = turn.R[0] + turn.R[4] + turn.R[8];
        if (trace == 2)
            return false;
        thirds += trace == 0;
    }
    return thirds == 2;
}

/* --- by name -------------------------------------------------------------------------- */

/* What `gemmi sg` prints about a group; a name that it does not know need not be a failure. */
static enum status ask(const char *what, char *symbol, struct operators *o, struct error *e)
{
    static const char title[] = "Extended H-M: ", number[] = "Number: ";
    char command[] = "gemmi", sg[] = "sg", *argv[] = {command, sg, symbol, NULL}, *bytes = NULL;
    struct error cause = {0};
    *o = (struct operators){0};
    enum status s = gemmi_read(argv, -1, what, &bytes, &cause);
    if (s && s != STATUS_INPUT)
        return error_set(e, s, "%s", cause.text);
    char *rest = bytes;
    bool listed = false;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, title, sizeof title - 1) == 0)
            (void)snprintf(o->name, sizeof o->name, "%s", line + sizeof title - 1);
        if (strncmp(line, number, sizeof number - 1) == 0)
            o->number = atoi(line + sizeof number - 1);
        if (listed && strncmp(line, "    ", 4) != 0)
            break;
        if (listed && !operators_add(o, line))
            o->count = OPERATORS_MAX;  // too many, or not understood
        listed = listed || strstr(line, " symmetry operations:");
    }
    mem_free(bytes);
    if (o->count && operators_are_group(o))
        return STATUS_OK;
    o->count = 0;
    return error_set(e, STATUS_INPUT,
                     "%s: gemmi does not know the space group '%s'; expected a Hermann-Mauguin "
                     "symbol such as 'P 21 21 21'",
                     what, symbol);
}

/* Endings of the ICSD for origins and axes become those of gemmi. */
static void translate(const char *symbol, char to[OPERATORS_NAME_SIZE])
{
    static const struct {
        const char *end, *ours;
    } list[] = {{" S", ":1"},  {" Z", ":2"},  {" H", ":H"},  {" R", ":R"},
                {" :H", ":H"}, {" :R", ":R"}, {" :1", ":1"}, {" :2", ":2"}};
    (void)snprintf(to, OPERATORS_NAME_SIZE, "%.*s", OPERATORS_NAME_SIZE - 4, symbol);
    for (size_t n = strlen(to), i = 0; i < sizeof list / sizeof *list; i++) {
        const size_t length = strlen(list[i].end);
        if (n > length + 2 && strcmp(to + n - length, list[i].end) == 0) {
            (void)strcpy(to + n - length, list[i].ours);
            return;
        }
    }
}

static enum status refuse_cell(const char *what, const struct operators *o, const double cell[3],
                               const double cell_rad[3], struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "%s: space group '%s' does not fit the cell %g %g %g A, %g %g %g deg; other "
                     "settings have names such as 'P 1 1 2' and 'R 3 :R'",
                     what, o->name, cell[0], cell[1], cell[2], rad_to_deg(cell_rad[0]),
                     rad_to_deg(cell_rad[1]), rad_to_deg(cell_rad[2]));
}

enum status operators_find(const char *what, const char *symbol, const double cell[3],
                           const double cell_rad[3], struct operators *o, bool *ambiguous,
                           struct error *e)
{
    char name[OPERATORS_NAME_SIZE];
    translate(symbol, name);
    *ambiguous = false;
    if (!*name || *name == '-')
        return error_set(e, STATUS_INPUT, "%s: '%s' is not a space group", what, symbol);
    const bool settled = strchr(name, ':') != NULL;
    enum status s = ask(what, name, o, e);
    if (s)
        return s;
    const char *setting = strchr(o->name, ':');
    if (!settled && setting && setting[1] == 'H' && !operators_fit(o, cell, cell_rad)) {
        struct operators hexagonal = *o;
        (void)snprintf(name, sizeof name, "%.*s:R", (int)(setting - o->name), o->name);
        if ((s = ask(what, name, o, e)))
            return s;
        if (!operators_fit(o, cell, cell_rad))
            *o = hexagonal;
    }
    *ambiguous = !settled && setting && isdigit((unsigned char)setting[1]);
    return operators_fit(o, cell, cell_rad) ? STATUS_OK : refuse_cell(what, o, cell, cell_rad, e);
}
