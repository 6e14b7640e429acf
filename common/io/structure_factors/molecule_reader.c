/* What readers of PDB and mmCIF models share: cell, atoms, their weights, and the space group. */
#include "io/structure_factors/molecule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* Largest distance of an atom from the origin, in cells, and shortest edge of a cell in A. */
static const double FARTHEST = 100.0, EDGE_MIN_A = 2.0;

enum status molecule_refuse(const struct molecule_reader *r, struct error *e, const char *why)
{
    return error_set(e, STATUS_INPUT, "%s: %s", r->path, why);
}

/* --- tags and the cell ------------------------------------------------------------- */

/* Computes M, which converts coordinates in A to fractional coordinates, for the standard axes: a
 * along x, b in the plane of x and y.  Returns false if the angles do not make a cell. */
static bool set_fraction(struct molecule *m)
{
    double cosine[3], *M = m->fraction;
    for (int i = 0; i < 3; i++)
        cosine[i] = cos(m->cell_rad[i]);
    const double sine = sin(m->cell_rad[2]);
    const double c_y = (cosine[0] - cosine[1] * cosine[2]) / sine;
    const double c_z_sqr = 1.0 - cosine[1] * cosine[1] - c_y * c_y;
    memset(M, 0, sizeof m->fraction);
    if (!(c_z_sqr > 1e-6))
        return false;
    for (int i = 0; i < 3; i++) {  // fractional coordinates of a vector of 1 A along each axis
        const double z = (i == 2) / (m->cell_A[2] * sqrt(c_z_sqr));
        const double y = ((i == 1) - z * m->cell_A[2] * c_y) / (m->cell_A[1] * sine);
        M[8 + i] = z;
        M[4 + i] = y;
        M[i] =
            ((i == 0) - y * m->cell_A[1] * cosine[2] - z * m->cell_A[2] * cosine[1]) / m->cell_A[0];
    }
    return true;
}

/* Stores the cell from the first row of the table: edges in A, then angles in degrees. */
enum status molecule_take_cell(struct molecule_reader *r, const struct gemmi_table *t,
                               struct error *e)
{
    double value[6] = {0.0};
    bool good = t->rows > 0;
    if (t->rows > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: the file has %zu structures (got %zu cells); expected one", r->path,
                         t->rows, t->rows);
    for (size_t i = 0; i < 6 && good; i++) {
        value[i] = gemmi_table_number(t, 0, i);
        good = value[i] > 0.0 && isfinite(value[i]) && (i < 3 || value[i] < 180.0);
    }
    for (int i = 0; i < 3; i++) {
        r->m->cell_A[i] = value[i];
        r->m->cell_rad[i] = deg_to_rad(value[3 + i]);
        good = good && value[i] >= EDGE_MIN_A;
    }
    if (good && set_fraction(r->m))
        return STATUS_OK;
    return error_set(
        e, STATUS_INPUT,
        "%s: no unit cell of a crystal (got %g %g %g A, %g %g %g deg); expected it in CRYST1 of a "
        "PDB file, or in _cell of a CIF file. Structures from NMR or electron microscopy have none",
        r->path, value[0], value[1], value[2], value[3], value[4], value[5]);
}

enum status molecule_read_tags(const struct molecule_reader *r, const char *const *tags,
                               const char *from, int keep, struct gemmi_table *t, struct error *e)
{
    return gemmi_table_read(from, keep, tags, r->path, t, e);
}

/* Copies the value of the first tag that has one to text[].  Empty: no tag has a value. */
enum status molecule_find_tag(const struct molecule_reader *r, const char *const *names,
                              const char *from, int keep, char *text, size_t size, struct error *e)
{
    enum status s = STATUS_OK;
    *text = '\0';
    for (size_t i = 0; names[i] && !*text && !s; i++) {
        const char *const tags[] = {names[i], NULL};
        struct gemmi_table t;
        s = molecule_read_tags(r, tags, from, keep, &t, e);
        if (!s && t.rows)
            (void)snprintf(text, size, "%s", gemmi_table_text(&t, 0, 0));
        gemmi_table_free(&t);
    }
    return s;
}

/* --- atoms ------------------------------------------------------------------------- */

void molecule_add(struct molecule_reader *r, const struct molecule_atom *atom)
{
    struct molecule *m = r->m;
    m->atoms = mem_grow(m->atoms, m->count, 1, sizeof *m->atoms, &m->room);
    m->atoms[m->count++] = *atom;
}

void molecule_position(const struct molecule *m, const struct molecule_atom *a, double x[3])
{
    for (int i = 0; i < 3; i++) {
        const double *row = m->fraction + 4 * i;
        x[i] = m->small ? a->at[i]
                        : row[0] * a->at[0] + row[1] * a->at[1] + row[2] * a->at[2] + row[3];
    }
}

enum status molecule_refuse_atom(const struct molecule_reader *r, size_t row, const char *label,
                                 const char *why, struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: atom %zu (%s): %s", r->path, row + 1, label, why);
}

/* Stores occupancy and B of an atom, with 1 and 0 for missing values, and counts the missing
 * values. */
enum status molecule_take_weights(struct molecule_reader *r, const struct gemmi_table *t,
                                  size_t row, size_t occupancy, size_t B, struct molecule_atom *a,
                                  struct error *e)
{
    const char *label = gemmi_table_text(t, row, 0);
    a->occupancy = gemmi_table_number(t, row, occupancy);
    a->B_A2 = gemmi_table_number(t, row, B);
    if (isinf(a->occupancy) || a->occupancy < 0.0 || a->occupancy > 100.0)
        return molecule_refuse_atom(r, row, label, "the occupancy is not a number from 0 to 100",
                                    e);
    if (isinf(a->B_A2) || fabs(a->B_A2) > 10000.0)
        return molecule_refuse_atom(r, row, label, "the B factor is not a number within 10000 A^2",
                                    e);
    r->no_occupancy += isnan(a->occupancy) ? 1 : 0;
    r->no_B += isnan(a->B_A2) && !a->anisotropic;
    a->occupancy = isnan(a->occupancy) ? 1.0 : a->occupancy;
    a->B_A2 = isnan(a->B_A2) ? 0.0 : a->B_A2;
    return STATUS_OK;
}

/* Stores the three coordinates of an atom, beginning with the given column.  STATUS_INPUT: they
 * are not numbers, or are more than FARTHEST cells from the origin. */
enum status molecule_take_position(const struct molecule_reader *r, const struct gemmi_table *t,
                                   size_t row, size_t column, struct molecule_atom *a,
                                   struct error *e)
{
    double x[3];
    for (size_t i = 0; i < 3; i++) {
        a->at[i] = gemmi_table_number(t, row, column + i);
        if (!isfinite(a->at[i]))
            return molecule_refuse_atom(r, row, gemmi_table_text(t, row, 0),
                                        "a coordinate is not a number", e);
    }
    molecule_position(r->m, a, x);
    for (int i = 0; i < 3; i++)
        if (fabs(x[i]) > FARTHEST)
            return molecule_refuse_atom(
                r, row, gemmi_table_text(t, row, 0),
                "the coordinates are more than 100 cells away from the origin", e);
    return STATUS_OK;
}

double molecule_square_A2(const struct molecule *m, const double d[3])
{
    double sqr = 0.0;
    for (int k = 0; k < 9; k++) {
        const int i = k / 3, j = k % 3;
        sqr += d[i] * d[j] * m->cell_A[i] * m->cell_A[j] *
               (i == j ? 1.0 : cos(m->cell_rad[3 - i - j]));
    }
    return sqr;
}

/* --- the space group: name, number and operators must agree ------------------------------ */

/* Compares the space group number in the file, if the file has one, with that of the operators.
 * STATUS_INPUT: the numbers differ. */
enum status space_group_check_number(const struct molecule_reader *r, const char *from,
                                     struct error *e)
{
    static const char *const names[] = {"_space_group_IT_number", "_symmetry_Int_Tables_number",
                                        "_space_group.IT_number", "_symmetry.Int_Tables_number",
                                        NULL};
    const struct operators *o = &r->m->operators;
    char text[32];
    const enum status s = molecule_find_tag(r, names, from, -1, text, sizeof text, e);
    const int number = atoi(text);
    if (s || !number || !o->number || number == o->number)
        return s;
    return error_set(e, STATUS_INPUT,
                     "%s: space group '%s' has the number %d, but the file gives the number %d; "
                     "remove the wrong one",
                     r->path, o->name, o->number, number);
}

/* Reads the symmetry operators that the file lists.  The count is 0 if there are none.
 * STATUS_INPUT: an operator is not valid, or the operators are not a group. */
static enum status read_operators(const struct molecule_reader *r, struct operators *o,
                                  struct error *e)
{
    static const char *const names[] = {"_space_group_symop_operation_xyz",
                                        "_symmetry_equiv_pos_as_xyz",
                                        "_space_group_symop.operation_xyz", NULL};
    enum status s = STATUS_OK;
    o->count = 0;
    for (size_t i = 0; names[i] && !o->count && !s; i++) {
        const char *const tags[] = {names[i], NULL};
        struct gemmi_table t;
        s = molecule_read_tags(r, tags, r->path, -1, &t, e);
        for (size_t row = 0; row < t.rows && !s; row++)
            if (!operators_add(o, gemmi_table_text(&t, row, 0)))
                s = error_set(e, STATUS_INPUT,
                              "%s: symmetry operator %zu is not valid (got '%.40s'); expected a "
                              "form such as '-x,y+1/2,-z', and at most %d operators",
                              r->path, row + 1, gemmi_table_text(&t, row, 0),
                              SYMMETRY_OPERATORS_MAX);
        gemmi_table_free(&t);
    }
    if (!s && o->count && !operators_are_group(o))
        s = error_set(e, STATUS_INPUT,
                      "%s: the %zu symmetry operators are not a group; expected all operators of "
                      "the space group, each once",
                      r->path, o->count);
    return s;
}

/* Compares the operators that the file lists with those of its space group symbol.  If the symbol
 * is ambiguous, compares with both origins.  STATUS_INPUT: the operators differ. */
static enum status compare_operators(const struct molecule_reader *r, const char *symbol,
                                     const struct operators *listed, const struct operators *named,
                                     bool ambiguous, struct error *e)
{
    struct operators other;
    char second[OPERATORS_NAME_SIZE + 2];
    bool ignored;
    if (operators_are_same(listed, named))
        return STATUS_OK;
    (void)snprintf(second, sizeof second, "%s", named->name);
    char *origin = strchr(second, ':');
    if (ambiguous && origin) {
        (void)strcpy(origin, ":2");
        const enum status s =
            operators_find(r->path, second, r->m->cell_A, r->m->cell_rad, &other, &ignored, e);
        if (s || operators_are_same(listed, &other))
            return s;
    }
    return error_set(e, STATUS_INPUT,
                     "%s: the symmetry operators are not those of the space group '%s'; remove the "
                     "wrong ones",
                     r->path, symbol);
}

/* Finds the space group of a CIF file of a small molecule.  The operators of the file are used, and
 * the name must not contradict them.  A name without operators must be unambiguous. */
enum status space_group_find(struct molecule_reader *r, struct error *e)
{
    static const char *const symbols[] = {
        "_space_group_name_H-M_alt", "_symmetry_space_group_name_H-M", "_space_group.name_H-M_alt",
        "_symmetry.space_group_name_H-M", NULL};
    struct molecule *m = r->m;
    struct operators listed = {0};
    struct error cause = {0};
    char symbol[128];
    bool ambiguous = false;
    enum status s = molecule_find_tag(r, symbols, r->path, -1, symbol, sizeof symbol, e);
    if (s || (s = read_operators(r, &listed, e)))
        return s;
    if (!*symbol && !listed.count)
        return molecule_refuse(
            r, e,
            "no space group; expected _space_group_name_H-M_alt, or the operators in "
            "_space_group_symop_operation_xyz");
    s = *symbol ? operators_find(r->path, symbol, m->cell_A, m->cell_rad, &m->operators, &ambiguous,
                                 &cause)
                : STATUS_OK;
    if (s == STATUS_INPUT && listed.count && !m->operators.count)
        s = STATUS_OK;  // gemmi does not know the name, but the operators are sufficient
    if (s)
        return error_set(e, s, "%s", cause.text);
    if (listed.count && m->operators.count &&
        (s = compare_operators(r, symbol, &listed, &m->operators, ambiguous, e)))
        return s;
    if (!listed.count && ambiguous)
        return error_set(e, STATUS_INPUT,
                         "%s: space group '%s' has two origins; expected '%.*s:1' or '%.*s:2', or "
                         "the operators in _space_group_symop_operation_xyz",
                         r->path, symbol, (int)strcspn(m->operators.name, ":"), m->operators.name,
                         (int)strcspn(m->operators.name, ":"), m->operators.name);
    if (listed.count) {
        const int number = m->operators.number;
        m->operators = listed;
        m->operators.number = number;
        (void)snprintf(m->operators.name, sizeof m->operators.name, "%.60s",
                       *symbol ? symbol : "of the listed operators");
        if (!operators_fit(&listed, m->cell_A, m->cell_rad))
            return molecule_refuse(r, e, "the symmetry operators do not fit the cell");
    }
    return space_group_check_number(r, r->path, e);
}
