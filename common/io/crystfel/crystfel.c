/* Writes unit cells for CrystFEL, and reads its reflection lists. */
#include "io/crystfel/geom.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/symmetry.h"
#include "io/text/textfile.h"

/* --- unit cells ------------------------------------------------------------------- */

static bool same(double a, double b)
{
    return fabs(a - b) < 1e-4 * fabs(b);
}

/* Returns CrystFEL's name of the lattice type of a cell with these lengths and angles.  *unique
 * gets the letter of the unique axis; 0: the type has none. */
static const char *lattice_type(const double a[3], const double deg[3], char *unique)
{
    const int right = same(deg[0], 90) + same(deg[1], 90) + same(deg[2], 90);
    *unique = 0;
    if (right == 3 && same(a[0], a[1]) && same(a[1], a[2]))
        return "cubic";
    for (int i = 0; i < 3; i++) {
        const bool equal = same(a[(i + 1) % 3], a[(i + 2) % 3]);
        *unique = (char)('a' + i);
        if (right == 3 && equal)
            return "tetragonal";
        if (right == 2 && equal && same(deg[i], 120))
            return "hexagonal";
        if (right == 2 && !same(deg[i], 90))
            return "monoclinic";
    }
    *unique = 0;
    if (right == 3)
        return "orthorhombic";
    if (same(a[0], a[1]) && same(a[1], a[2]) && same(deg[0], deg[1]) && same(deg[1], deg[2]))
        return "rhombohedral";
    return "triclinic";
}

enum status crystfel_write_cell(FILE *out, const struct crystal *c, struct error *e)
{
    if (!c->has_cell)
        return error_set(e, STATUS_INPUT,
                         "the crystal has no unit cell; give bragg-geometry --cell");
    double cell[6];
    const double *deg = cell + 3;
    crystal_cell(c, cell);
    char unique;
    const char *type = lattice_type(cell, deg, &unique);
    fprintf(out, "CrystFEL unit cell file version 1.0\n\nlattice_type = %s\n", type);
    fprintf(out, "centering = %s\n", *type == 'r' ? "R" : "P");
    if (unique)
        fprintf(out, "unique_axis = %c\n", unique);
    fprintf(out, "\na = %.6g A\nb = %.6g A\nc = %.6g A\n", cell[0], cell[1], cell[2]);
    fprintf(out, "al = %.6g deg\nbe = %.6g deg\nga = %.6g deg\n", deg[0], deg[1], deg[2]);
    return STATUS_OK;
}

/* --- reflection lists ----------------------------------------------------------------- */

enum { BYTES_MAX = 512 << 20 };

static const double INTENSITY_MAX = 1e30;

/* CrystFEL's names of the point groups, and for each a space group with the same rotations.
 * `inverted`: the point group also has an inversion. */
static const struct {
    const char *name, *group;
    bool inverted;
} groups[] = {
    {"1", "P 1", false},         {"-1", "P 1", true},          {"2", "P 1 1 2", false},
    {"2/m", "P 1 1 2", true},    {"2_uac", "P 1 1 2", false},  {"2/m_uac", "P 1 1 2", true},
    {"2_uab", "P 1 2 1", false}, {"2/m_uab", "P 1 2 1", true}, {"222", "P 2 2 2", false},
    {"mmm", "P 2 2 2", true},    {"4", "P 4", false},          {"4/m", "P 4", true},
    {"422", "P 4 2 2", false},   {"4/mmm", "P 4 2 2", true},   {"3_H", "P 3", false},
    {"-3_H", "P 3", true},       {"321_H", "P 3 2 1", false},  {"-3m1_H", "P 3 2 1", true},
    {"312_H", "P 3 1 2", false}, {"-31m_H", "P 3 1 2", true},  {"6", "P 6", false},
    {"6/m", "P 6", true},        {"622", "P 6 2 2", false},    {"6/mmm", "P 6 2 2", true},
    {"23", "P 2 3", false},      {"m-3", "P 2 3", true},       {"432", "P 4 3 2", false},
    {"m-3m", "P 4 3 2", true},
};

enum { GROUPS = sizeof groups / sizeof *groups };

static enum status find_group(const struct text_file *in, const char *name, struct symmetry *y,
                              bool *inverted, struct error *e)
{
    for (size_t i = 0; i < GROUPS; i++)
        if (strcmp(groups[i].name, name) == 0) {
            *inverted = groups[i].inverted;
            return symmetry_find(groups[i].group, y, e);
        }
    return text_error(
        in, e, "unknown point group '%.40s'; expected a name of CrystFEL such as 222 or 4/mmm",
        name);
}

/* Reads the head of a list, up to the line with the names of the columns.  Sets *y and *inverted
 * from the point group.  STATUS_INPUT: the file is not a reflection list, or has no point group. */
static enum status read_head(struct text_file *in, struct symmetry *y, bool *inverted,
                             struct error *e)
{
    enum status s = text_line(in, TEXT_SPACE, 0, e);
    if (!s &&
        (in->nwords < 2 || strcmp(in->word[0], "CrystFEL") || strcmp(in->word[1], "reflection")))
        s = text_error(in, e,
                       "not a reflection list of CrystFEL; expected 'CrystFEL reflection list "
                       "version' in the first line");
    bool found = false;
    while (!s && !(s = text_line(in, TEXT_SPACE, 0, e)) && in->nwords) {
        if (in->nwords > 1 && strcmp(in->word[0], "Symmetry:") == 0) {
            s = find_group(in, in->word[1], y, inverted, e);
            found = true;
        }
        if (strcmp(in->word[0], "h") == 0)
            return s || found ? s
                              : text_error(in, e,
                                           "no line 'Symmetry:' precedes the reflections; expected "
                                           "one with the point group");
    }
    return s ? s
             : error_set(e, STATUS_INPUT,
                         "%s: no list of reflections found; expected a file of process_hkl or "
                         "partialator",
                         in->path);
}

/* Reads lines "h k l I phase sigma nmeas" up to the line "End of reflections".  *list gets the
 * reflections, which the caller frees with mem_free.  STATUS_INPUT: a line is wrong, or the last
 * line is missing. */
static enum status read_rows(struct text_file *in, struct reflection **list, size_t *n,
                             struct error *e)
{
    size_t room = 0;
    enum status s;
    while (!(s = text_line(in, TEXT_SPACE, 0, e)) && in->nwords) {
        int64_t hkl[3] = {0};
        double intensity = 0.0;
        if (strcmp(in->word[0], "End") == 0)
            return STATUS_OK;
        if (in->nwords < 4)
            return text_error(in, e, "not a reflection; expected h k l I phase sigma nmeas");
        for (int i = 0; i < 3 && !s; i++)
            s = text_int(in, i, "an index", -HKL_INDEX_MAX, HKL_INDEX_MAX, &hkl[i], e);
        s = s ? s : text_real(in, 3, "I", -INTENSITY_MAX, INTENSITY_MAX, &intensity, e);
        if (s)
            return s;
        *list = mem_grow(*list, *n, 1, sizeof **list, &room);
        (*list)[*n] =
            (struct reflection){{(int)hkl[0], (int)hkl[1], (int)hkl[2]}, (int)in->line, intensity};
        (*n)++;
    }
    return s ? s
             : error_set(e, STATUS_INPUT, "%s: truncated: the line 'End of reflections' is missing",
                         in->path);
}

enum status crystfel_hkl_read(const char *path, struct hkl_table *t, struct error *e)
{
    static struct symmetry y;
    struct text_file in;
    struct reflection *list = NULL;
    size_t n = 0;
    bool inverted = false;
    *t = (struct hkl_table){.default_F = NAN};
    enum status s = text_open(&in, path, FILETYPE_CRYSTFEL, BYTES_MAX, e);
    s = s ? s : read_head(&in, &y, &inverted, e);
    s = s ? s : read_rows(&in, &list, &n, e);
    if (!s && !n)
        s = error_set(
            e, STATUS_INPUT,
            "%s: the list has no reflections; expected lines of h k l I phase sigma nmeas", path);
    if (!s)
        s = hkl_expand(list, n, (const int(*)[9])y.operators, y.count,
                       inverted ? HKL_MATES_ALIKE : HKL_MATES_APART, NAN, t, path, e);
    mem_free(list);
    text_close(&in);
    return s;
}
