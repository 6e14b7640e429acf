#include "io/sites.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/fprime.h"
#include "io/textfile.h"
#include "io/tool.h"

static const double X_MAX = 1000.0, OCCUPANCY_MAX = 1000.0, B_MAX_A2 = 10000.0;

static enum status add(struct atoms *atoms, const struct atom *atom, const char *path,
                       struct error *e)
{
    struct atom *list = mem_grow(atoms->list, atoms->count, 1, sizeof *list, &atoms->room);
    if (!list)
        return error_memory(e, path);
    atoms->list = list;
    list[atoms->count++] = *atom;
    return STATUS_OK;
}

/* --- a list -------------------------------------------------------------------------- */

static enum status read_line(const struct text_file *t, struct atom *atom, struct error *e)
{
    enum status s = STATUS_OK;
    *atom = (struct atom){.occupancy = 1.0};
    if (t->nwords < 4 || t->nwords > 6)
        return text_error(
            t, e, "%d columns, must be four to six: element, x, y, z, occupancy and B", t->nwords);
    if (!(atom->element = element_number(t->word[0])))
        return text_error(t, e, "'%.20s' is no element, must be as Se", t->word[0]);
    for (int i = 0; i < 3 && !s; i++)
        s = text_real(t, 1 + i, "x, y and z of the cell's edges", -X_MAX, X_MAX, &atom->x[i], e);
    if (!s && t->nwords > 4)
        s = text_real(t, 4, "occupancy", 0.0, OCCUPANCY_MAX, &atom->occupancy, e);
    if (!s && t->nwords > 5)
        s = text_real(t, 5, "B in A^2", 0.0, B_MAX_A2, &atom->B_A2, e);
    return s;
}

enum status sites_read(const char *path, struct atoms *atoms, struct error *e)
{
    struct text_file t;
    *atoms = (struct atoms){0};
    enum status s = text_open(&t, path, FILETYPE_SITES, TEXT_BYTES_MAX, e);
    while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords) {
        struct atom atom;
        if (!(s = read_line(&t, &atom, e)))
            s = add(atoms, &atom, path, e);
    }
    text_close(&t);
    return s || atoms->count ? s
                             : error_set(e, STATUS_INPUT, "%s: no line of element, x, y, z", path);
}

/* --- a model ------------------------------------------------------------------------- */

/* A number in the columns first..last, from 1, of a line. */
static bool number_at(const char *line, int first, int last, double *value)
{
    char text[16] = "", *end;
    const size_t length = strlen(line);
    if (length < (size_t)last)
        return false;
    memcpy(text, line + first - 1, (size_t)(last - first + 1));
    *value = strtod(text, &end);
    return end != text && isfinite(*value);
}

/* CRYST1: scale[] of a along x and b in the plane of x and y. */
static bool read_cell(const char *line, double scale[12])
{
    double edge_A[3], angle_deg[3], cosine[3];
    for (int i = 0; i < 3; i++) {
        if (!number_at(line, 7 + 9 * i, 15 + 9 * i, &edge_A[i]) ||
            !number_at(line, 34 + 7 * i, 40 + 7 * i, &angle_deg[i]))
            return false;
        cosine[i] = cos(deg_to_rad(angle_deg[i]));
    }
    const double sine = sqrt(1.0 - cosine[2] * cosine[2]);
    const double c_y = (cosine[0] - cosine[1] * cosine[2]) / sine;
    const double c_z = sqrt(1.0 - cosine[1] * cosine[1] - c_y * c_y);
    for (int i = 0; i < 3; i++) {  // of 1 A along each axis
        const double z = (i == 2) / (edge_A[2] * c_z);
        const double y = ((i == 1) - z * edge_A[2] * c_y) / (edge_A[1] * sine);
        scale[8 + i] = z;
        scale[4 + i] = y;
        scale[i] = ((i == 0) - y * edge_A[1] * cosine[2] - z * edge_A[2] * cosine[1]) / edge_A[0];
    }
    return true;
}

/* A row of SCALEn: x[n] = scale[4n..] of orthogonal coordinates in A, and 1. */
static bool read_scale(const char *line, double scale[12])
{
    const int n = line[5] - '1';
    bool good = n >= 0 && n < 3;
    for (int i = 0; i < 4 && good; i++)
        good =
            number_at(line, i < 3 ? 11 + 10 * i : 46, i < 3 ? 20 + 10 * i : 55, &scale[4 * n + i]);
    return good;
}

static bool read_atom(const char *line, const double scale[12], struct atom *atom)
{
    double at_A[3];
    char symbol[ELEMENT_SYMBOL_SIZE] = "";
    if (strlen(line) < 78)
        return false;
    memcpy(symbol, line + (line[76] == ' ' ? 77 : 76), line[76] == ' ' ? 1 : 2);
    bool good = number_at(line, 55, 60, &atom->occupancy) && number_at(line, 61, 66, &atom->B_A2);
    for (int i = 0; i < 3 && good; i++)
        good = number_at(line, 31 + 8 * i, 38 + 8 * i, &at_A[i]);
    for (int i = 0; i < 3 && good; i++) {
        const double *row = scale + 4 * i;
        atom->x[i] = row[0] * at_A[0] + row[1] * at_A[1] + row[2] * at_A[2] + row[3];
    }
    atom->element = element_number(symbol);
    return good;
}

/* Lines of a PDB file, as gemmi writes them: CRYST1, and SCALE where it says something else, stand
 * before the atoms. */
static enum status read_pdb(FILE *in, int least, struct atoms *atoms, const char *path,
                            struct error *e)
{
    char line[128];
    double scale[12] = {0};
    enum status s = STATUS_OK;
    while (!s && fgets(line, sizeof line, in)) {
        struct atom atom;
        bool good = true;
        if (strncmp(line, "MODEL        2", 14) == 0)
            break;  // structure factors are of the first
        if (strncmp(line, "CRYST1", 6) == 0)
            good = read_cell(line, scale);
        else if (strncmp(line, "SCALE", 5) == 0)
            good = read_scale(line, scale);
        else if (strncmp(line, "ATOM  ", 6) == 0 || strncmp(line, "HETATM", 6) == 0) {
            good = read_atom(line, scale, &atom);
            if (good && atom.element >= least)
                s = add(atoms, &atom, path, e);
        }
        if (!good)
            s = error_set(e, STATUS_INPUT, "%s: what gemmi convert wrote cannot be read: %.60s",
                          path, line);
    }
    if (!s && ferror(in))
        s = error_errno(e, STATUS_FAILED, "%s: cannot read what gemmi convert wrote", path);
    return s;
}

static enum status convert(const char *path, int file, char *name, struct error *e)
{
    char model[TOOL_PATH_SIZE], said[200], to[] = "--to=pdb", no[] = "--anisou=no";
    char *argv[] = {"gemmi", "convert", to, no, model, name, NULL};
    struct error cause = {0};
    tool_path(path, model);
    const enum status s = tool_run(argv, file, said, sizeof said, &cause);
    if (s == STATUS_INPUT)
        return error_set(e, s, "%s: gemmi convert: %s", path, *said ? said : cause.text);
    return s ? error_set(e, s, "%s: %s", path, cause.text) : STATUS_OK;
}

enum status sites_of_model(const char *path, int least, struct atoms *atoms, struct error *e)
{
    char name[TOOL_NAME_SIZE], symbol[ELEMENT_SYMBOL_SIZE];
    int file;
    *atoms = (struct atoms){0};
    enum status s = tool_file(path, &file, name, e);
    if (s)
        return s;
    s = convert(path, file, name, e);
    FILE *in = s ? NULL : fopen(name, "re");
    if (!s && !in)
        s = error_errno(e, STATUS_FAILED, "%s: cannot read what gemmi convert wrote", path);
    if (in) {
        s = read_pdb(in, least, atoms, path, e);
        (void)fclose(in);
    }
    (void)close(file);
    element_symbol(least, symbol);
    return s || atoms->count
               ? s
               : error_set(e, STATUS_INPUT,
                           "%s: no atom scatters anomalously: none is %s or heavier", path, symbol);
}
