#include "io/structure_factors/symmetry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ccp4/csymlib.h>

#include "io/hdf5/sandbox.h"

#define FILE_OF_CCP4 "/usr/share/ccp4/syminfo.lib"
enum {
    NAME_BYTES = 20,       // of the symbols there
    CCP4_SETTINGS = 1000,  // CCP4 counts the settings of a group by thousands
};

static const struct confined_limits LIMITS = {.cpu_s = 2.0, .wall_s = 5.0, .bytes = 64 << 20};

/* What the child looks up, and where. */
struct work {
    const char *name, *tables;
};

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* The tables name the file in the environment. */
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
    for (size_t o = 0; o < y.count; o++)
        for (int i = 0; i < 9; i++)
            y.operators[o][i] = (int)rint((double)group->symop[o].rot[i / 3][i % 3]);
    confined_send(to, &y, sizeof y);
    confined_leave(STATUS_OK);
}

/* The file of libccp4, or of CCP4's own installation. */
static const char *tables(char *path, size_t size)
{
    const char *folder = getenv("CLIBD");
    (void)snprintf(path, size, "%s/syminfo.lib", folder ? folder : "");
    return folder && access(path, R_OK) == 0 ? path : FILE_OF_CCP4;
}

static enum status unknown(const char *name, struct error *e)
{
    return error_set(e, STATUS_USAGE,
                     "'%.40s' is no space group, must be like 'P 21 21 21', P212121 or 19", name);
}

enum status symmetry_find(const char *name, struct symmetry *y, struct error *e)
{
    char path[4096];
    const struct work work = {name, tables(path, sizeof path)};
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

/* What operators are compared with. */
struct claim {
    const struct symmetry_operator *list;
    size_t count;
    int number;
    const char *name, *tables;
};

/* A group of the tables, as the child found it; number 0: not found. */
struct found {
    int number, rotations;  // of the International Tables; operators without those of centring
    bool alike;             // it has the rotations that are compared
    char name[NAME_BYTES + 1];
};

struct findings {
    struct found own, numbered, named;
};

/* Whether each rotation of the claim is one of the group. */
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

static void note(const CCP4SPG *group, const struct claim *c, struct found *f)
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
    note(ccp4_spgrp_reverse_lookup((int)c->count, operators), c, &f.own);
    if (c->number)
        note(ccp4spg_load_by_standard_num(c->number % CCP4_SETTINGS), c, &f.numbered);
    if (*c->name)
        note(ccp4spg_load_by_ccp4_spgname(c->name), c, &f.named);
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

/* Whether the operators can be those of a group that the file names: the number of the group is
 * theirs or, in a setting that the tables do not have, the number of rotations. */
static bool agrees(const struct findings *f, const struct found *said, size_t rotations)
{
    if (!said->number)
        return true;
    return f->own.number ? f->own.number == said->number : (size_t)said->rotations == rotations;
}

/* Rotations that differ from each other. */
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
    char where[4096];
    struct claim c = {list, count, number, name, tables(where, sizeof where)};
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
        return error_set(e, STATUS_INPUT,
                         "%s: its %zu symmetry operators are those of %s, but it gives the space "
                         "group number %d; correct the wrong one",
                         path, count, own, number);
    const bool rhombohedral = *f.named.name == 'R' || *f.named.name == 'H';
    if (!agrees(&f, &f.named, rotations) ||
        (f.named.number && f.own.number && !f.named.alike && !rhombohedral))
        return error_set(e, STATUS_INPUT,
                         "%s: its %zu symmetry operators are those of %s, but it gives the space "
                         "group '%s'; correct the wrong one",
                         path, count, own, name);
    return STATUS_OK;
}

/* --- cells --------------------------------------------------------------------------- */

/* The scalar products of the edges i and k. */
static double product(const double cell[3], const double cell_rad[3], int i, int k)
{
    return cell[i] * cell[k] * (i == k ? 1.0 : cos(cell_rad[3 - i - k]));
}

bool symmetry_fits(const struct symmetry *y, const double cell[3], const double cell_rad[3])
{
    bool fits = true;
    for (size_t o = 0; o < y->count; o++)
        for (int i = 0; i < 9; i++) {
            const int column = i / 3, row = i % 3, *R = y->operators[o];
            double turned = 0.0;  // the scalar product of the edges that these two become
            for (int k = 0; k < 9; k++)
                turned += R[3 * (k / 3) + column] * R[3 * (k % 3) + row] *
                          product(cell, cell_rad, k / 3, k % 3);
            fits = fits && fabs(turned - product(cell, cell_rad, column, row)) <=
                               0.01 * cell[column] * cell[row];
        }
    return fits;
}
