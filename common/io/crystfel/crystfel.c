#include "io/crystfel/crystfel.h"

#include <math.h>
#include <stdbool.h>

static bool same(double a, double b)
{
    return fabs(a - b) < 1e-4 * fabs(b);
}

/* Lattice type, and the unique axis for those that have one, else 0. */
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
        return error_set(e, STATUS_INPUT, "the unit cell of the crystal is not known");
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
