#include "io/symmetry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ccp4/csymlib.h>

#include "io/confined.h"

#define FILE_OF_CCP4 "/usr/share/ccp4/syminfo.lib"
enum { NAME_BYTES = 20 };  // of the symbols there

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
    static const struct confined_limits limits = {.cpu_s = 2.0, .wall_s = 5.0, .bytes = 64 << 20};
    char path[4096];
    const struct work work = {name, tables(path, sizeof path)};
    struct confined child;
    *y = (struct symmetry){0};
    if (!*name || strlen(name) >= NAME_BYTES)
        return unknown(name, e);
    if (access(work.tables, R_OK))
        return error_errno(e, STATUS_FAILED, "%s: cannot read the space groups", work.tables);
    const enum status s = confined_start(&child, &limits, find_and_send, &work, work.tables, e);
    if (s)
        return s;
    const bool good = confined_receive(&child, y, sizeof *y) == sizeof *y;
    const char *why = confined_close(&child, good);
    if (why)
        return error_set(e, STATUS_FAILED, "%s: %s", work.tables, why);
    return y->count && y->count <= SYMMETRY_OPERATORS_MAX ? STATUS_OK : unknown(name, e);
}

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
