#include "io/structure_factors/symmetry.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ccp4/csymlib.h>

#include "base/alloc.h"
#include "base/program.h"
#include "base/units.h"
#include "io/hdf5/sandbox.h"
#include "io/structure_factors/gemmi.h"

/* --- operators, by name ----------------------------------------------------------------- */

#define FILE_OF_CCP4 "/usr/share/ccp4/syminfo.lib"
#define OWN_FILE "../share/braggpipe/syminfo.lib"  // relative to the folder of the program
enum {
    TABLES_SIZE = PATH_MAX + 64,
    NAME_BYTES = 20,       // length of a symbol in the tables
    CCP4_SETTINGS = 1000,  // CCP4 adds a multiple of 1000 to the number of a group for other
                           // settings
};

static const struct confined_limits LIMITS = {.cpu_s = 2.0, .wall_s = 5.0, .bytes = 64 << 20};

/* The input of the child process: the space group to look up, and the file with the tables. */
struct work {
    const char *name, *tables;
};

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* Looks up a space group in the tables and sends its operators.  Runs in the child process.
 * libccp4 gets the path of the tables from the environment. */
static void find_and_send(const void *what, int to)
{
    static struct symmetry y;
    const struct work *w = what;
    if (setenv("SYMINFO", w->tables, 1))
        confined_leave(STATUS_FAILED);
    const CCP4SPG *group = is_number(w->name) ? ccp4spg_load_by_standard_num(atoi(w->name))
                                              : ccp4spg_load_by_ccp4_spgname(w->name);
    if (group && group->nsymop > 0 && group->nsymop <= SYMMETRY_OPERATORS_MAX)
        y.count = (size_t)group->nsymop;
    for (size_t o = 0; o < y.count; o++) {
        for (int i = 0; i < 9; i++)
            y.operators[o][i] = (int)rint((double)group->symop[o].rot[i / 3][i % 3]);
        for (int i = 0; i < 3; i++)
            y.translations[o][i] = (double)group->symop[o].trn[i];
    }
    confined_send(to, &y, sizeof y);
    confined_leave(STATUS_OK);
}

/* Returns the path of the tables: the file of the CCP4 installation in CLIBD, or else the file
 * installed with this program, or else that of the package libccp4. */
static const char *find_tables(char path[TABLES_SIZE])
{
    char self[PATH_MAX];
    const char *folder = getenv("CLIBD");
    (void)snprintf(path, TABLES_SIZE, "%.*s/syminfo.lib", PATH_MAX, folder ? folder : "");
    if (folder && access(path, R_OK) == 0)
        return path;
    (void)snprintf(path, TABLES_SIZE, "%s" OWN_FILE, program_folder(self) ? self : "");
    return access(path, R_OK) == 0 ? path : FILE_OF_CCP4;
}

static enum status unknown(const char *name, struct error *e)
{
    return error_set(e, STATUS_USAGE,
                     "'%.40s' is not a space group; expected a symbol or number such as 'P 21 21 "
                     "21', P212121 or 19",
                     name);
}

enum status symmetry_find(const char *name, struct symmetry *y, struct error *e)
{
    char path[TABLES_SIZE];
    const struct work work = {name, find_tables(path)};
    struct confined child;
    *y = (struct symmetry){0};
    if (!*name || strlen(name) >= NAME_BYTES)
        return unknown(name, e);
    if (access(work.tables, R_OK))
        return error_errno(e, STATUS_FAILED, "%s: cannot read the space groups", work.tables);
    const enum status s = confined_start(&child, &LIMITS, find_and_send, &work, work.tables, e);
    if (s)
        return s;
    const bool good = confined_receive(&child, y, sizeof *y) == sizeof *y;
    const char *why = confined_close(&child, good);
    if (why)
        return error_set(e, STATUS_FAILED, "%s: %s", work.tables, why);
    return y->count && y->count <= SYMMETRY_OPERATORS_MAX ? STATUS_OK : unknown(name, e);
}

/* --- operators, by number and name ------------------------------------------------- */

/* Operators, and the space group whose operators they should be. */
struct claim {
    const struct symmetry_operator *list;
    size_t count;
    int number;
    const char *name, *tables;
};

/* A space group of the tables, as the child process found it. */
struct found_group {
    int number, rotations;  // number in the International Tables, 0: not found; operators without
                            // centring
    bool alike;             // the group has all rotations that are compared with it
    char name[NAME_BYTES + 1];
};

struct findings {
    struct found_group own, numbered, named;
};

/* Returns true if the group has the rotations of all operators in *c. */
static bool has_rotations(const CCP4SPG *group, const struct claim *c)
{
    for (size_t i = 0; i < c->count; i++) {
        bool has = false;
        for (int o = 0; o < group->nsymop && !has; o++) {
            has = true;
            for (int k = 0; k < 9 && has; k++)
                has = c->list[i].R[k] == (int)rint((double)group->symop[o].rot[k / 3][k % 3]);
        }
        if (!has)
            return false;
    }
    return true;
}

static void note_group(const CCP4SPG *group, const struct claim *c, struct found_group *f)
{
    if (!group || group->nsymop < 1)
        return;
    f->number = group->spg_num;
    f->rotations = group->nsymop_prim;
    f->alike = has_rotations(group, c);
    (void)snprintf(f->name, sizeof f->name, "%.*s", NAME_BYTES, group->symbol_xHM);
}

static void compare_and_send(const void *what, int to)
{
    static struct findings f;
    static ccp4_symop operators[SYMMETRY_OPERATORS_MAX];
    const struct claim *c = what;
    if (setenv("SYMINFO", c->tables, 1))
        confined_leave(STATUS_FAILED);
    for (size_t o = 0; o < c->count; o++)
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++)
                operators[o].rot[i][k] = (float)c->list[o].R[3 * i + k];
            operators[o].trn[i] = (float)(c->list[o].t[i] - floor(c->list[o].t[i]));
        }
    note_group(ccp4_spgrp_reverse_lookup((int)c->count, operators), c, &f.own);
    if (c->number)
        note_group(ccp4spg_load_by_standard_num(c->number % CCP4_SETTINGS), c, &f.numbered);
    if (*c->name)
        note_group(ccp4spg_load_by_ccp4_spgname(c->name), c, &f.named);
    confined_send(to, &f, sizeof f);
    confined_leave(STATUS_OK);
}

static enum status find_claim(const struct claim *c, struct findings *f, struct error *e)
{
    struct confined child;
    *f = (struct findings){0};
    const enum status s = confined_start(&child, &LIMITS, compare_and_send, c, c->tables, e);
    if (s)
        return s;
    const bool good = confined_receive(&child, f, sizeof *f) == sizeof *f;
    const char *why = confined_close(&child, good);
    return why ? error_set(e, STATUS_FAILED, "%s: %s", c->tables, why) : STATUS_OK;
}

/* Returns true if the operators can be those of the group `said`, which the file names.  The
 * number of the group must be that of the operators.  If the operators are a setting that the
 * tables do not have, the number of rotations must agree.  A group that is not in the tables is
 * accepted. */
static bool agrees(const struct findings *f, const struct found_group *said, size_t rotations)
{
    if (!said->number)
        return true;
    return f->own.number ? f->own.number == said->number : (size_t)said->rotations == rotations;
}

/* Returns the number of different rotations among the operators. */
static size_t count_rotations(const struct claim *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = memcmp(c->list[i].R, c->list[k].R, sizeof c->list[i].R) != 0;
        n += first ? 1 : 0;
    }
    return n;
}

enum status symmetry_compare(const struct symmetry_operator *list, size_t count, int number,
                             const char *name, const char *path, struct error *e)
{
    char where[TABLES_SIZE];
    struct claim c = {list, count, number, name, find_tables(where)};
    struct findings f;
    if (strlen(name) > NAME_BYTES)
        c.name = "";
    if (access(c.tables, R_OK))
        return STATUS_OK;  // nothing to compare with
    const enum status s = find_claim(&c, &f, e);
    if (s)
        return s;
    const size_t rotations = count_rotations(&c);
    const char *own = *f.own.name ? f.own.name : "another group";
    if (!agrees(&f, &f.numbered, rotations))
        return error_set(
            e, STATUS_INPUT,
            "%s: the %zu symmetry operators are those of %s, but the file gives the space "
            "group number %d; correct the wrong one",
            path, count, own, number);
    const bool rhombohedral = *f.named.name == 'R' || *f.named.name == 'H';
    if (!agrees(&f, &f.named, rotations) ||
        (f.named.number && f.own.number && !f.named.alike && !rhombohedral))
        return error_set(
            e, STATUS_INPUT,
            "%s: the %zu symmetry operators are those of %s, but the file gives the space "
            "group '%s'; correct the wrong one",
            path, count, own, name);
    return STATUS_OK;
}

/* --- cells --------------------------------------------------------------------------- */

/* Returns the scalar product of the edges i and k of a cell. */
static double edge_product(const double cell[3], const double cell_rad[3], int i, int k)
{
    return cell[i] * cell[k] * (i == k ? 1.0 : cos(cell_rad[3 - i - k]));
}

bool symmetry_fits(const struct symmetry *y, const double cell[3], const double cell_rad[3])
{
    bool fits = true;
    for (size_t o = 0; o < y->count; o++)
        for (int i = 0; i < 9; i++) {
            const int column = i / 3, row = i % 3, *R = y->operators[o];
            double turned = 0.0;  // scalar product of the images of the two edges
            for (int k = 0; k < 9; k++)
                turned += R[3 * (k / 3) + column] * R[3 * (k % 3) + row] *
                          edge_product(cell, cell_rad, k / 3, k % 3);
            fits = fits && fabs(turned - edge_product(cell, cell_rad, column, row)) <=
                               0.01 * cell[column] * cell[row];
        }
    return fits;
}

static const double SAME = 1e-3;  // tolerance of translations, as a fraction of a cell edge

/* --- operators: one ------------------------------------------------------------------ */

/* Parses a number such as 1/2 or 0.5 at *at, and moves *at past it.  Returns false if there is
 * none. */
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

/* Parses one of the three parts of an operator, such as `-x+1/2`, without blanks, into a row of R
 * and t.  Returns false if the text is not such a part. */
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

/* Returns the translation t modulo 1.  Translations that are closer to a whole number than SAME /
 * 2 become 0. */
static double wrapped(double t)
{
    t -= floor(t + SAME / 2.0);
    return fabs(t) < SAME / 2.0 ? 0.0 : t;
}

bool operators_add(struct operators *o, const char *text)
{
    enum { PARTS = 24 };  // translations are multiples of 1/24 of a cell edge
    char bare[128], *rest = bare;
    size_t n = 0;
    if (o->count == SYMMETRY_OPERATORS_MAX)
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
        const double nearest = rint(to->t[i] * PARTS) / PARTS;  // 0.3333 becomes 1/3
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

static bool has_operator(const struct operators *o, const struct symmetry_operator *one)
{
    for (size_t i = 0; i < o->count; i++)
        if (is_same(&o->list[i], one))
            return true;
    return false;
}

/* Returns the product of two operators: first b is applied, then a. */
static struct symmetry_operator multiply_operators(const struct symmetry_operator *a,
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
    if (!has_operator(o, &identity))
        return false;
    for (size_t i = 0; i < o->count; i++)
        for (size_t k = 0; k < o->count; k++) {
            const struct symmetry_operator p = multiply_operators(&o->list[i], &o->list[k]);
            if ((i < k && is_same(&o->list[i], &o->list[k])) || !has_operator(o, &p))
                return false;
        }
    return true;
}

bool operators_are_same(const struct operators *a, const struct operators *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = has_operator(b, &a->list[i]);
    return same;
}

bool operators_fit(const struct operators *o, const double cell[3], const double cell_rad[3])
{
    struct symmetry y = {.count = o->count};
    for (size_t i = 0; i < o->count; i++)
        memcpy(y.operators[i], o->list[i].R, sizeof y.operators[i]);
    return symmetry_fits(&y, cell, cell_rad);
}

static int rotation_determinant(const int R[9])
{
    return R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
           R[2] * (R[3] * R[7] - R[4] * R[6]);
}

/* Counts the different rotations of the operators; an improper operator counts as its proper
 * part.  A rotation by a third of a turn has the trace 0, one by a sixth has the trace 2.  A
 * trigonal group has exactly two rotations by a third of a turn, and none by a sixth.  A cubic
 * group has more than two by a third. */
bool operators_are_trigonal(const struct operators *o)
{
    struct operators turns = {0};
    size_t thirds = 0;
    for (size_t i = 0; i < o->count; i++) {
        struct symmetry_operator turn = {0};
        const int sign = rotation_determinant(o->list[i].R);
        for (int k = 0; k < 9; k++)
            turn.R[k] = sign * o->list[i].R[k];
        if (has_operator(&turns, &turn))
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

/* Gets the name, number and operators of a space group from the output of `gemmi sg`.
 * STATUS_INPUT: gemmi does not know the symbol; the caller may ignore this error. */
static enum status ask_gemmi(const char *what, char *symbol, struct operators *o, struct error *e)
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
            o->count = SYMMETRY_OPERATORS_MAX;  // too many, or not understood
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

/* Converts the endings that the ICSD uses for origins and axes to those of gemmi, such as " S" to
 * ":1". */
static void translate_name(const char *symbol, char to[OPERATORS_NAME_SIZE])
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
    translate_name(symbol, name);
    *ambiguous = false;
    if (!*name || *name == '-')
        return error_set(e, STATUS_INPUT,
                         "%s: '%s' is not a space group; expected a symbol such as 'P 21 21 21'",
                         what, symbol);
    const bool settled = strchr(name, ':') != NULL;
    enum status s = ask_gemmi(what, name, o, e);
    if (s)
        return s;
    const char *setting = strchr(o->name, ':');
    if (!settled && setting && setting[1] == 'H' && !operators_fit(o, cell, cell_rad)) {
        struct operators hexagonal = *o;
        (void)snprintf(name, sizeof name, "%.*s:R", (int)(setting - o->name), o->name);
        if ((s = ask_gemmi(what, name, o, e)))
            return s;
        if (!operators_fit(o, cell, cell_rad))
            *o = hexagonal;
    }
    *ambiguous = !settled && setting && isdigit((unsigned char)setting[1]);
    return operators_fit(o, cell, cell_rad) ? STATUS_OK : refuse_cell(what, o, cell, cell_rad, e);
}
