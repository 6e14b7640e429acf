#include "io/crystfel.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "base/units.h"

/* --- geometry ------------------------------------------------------------------ */

struct axes {
    double x[3], y[3], z[3];  // CrystFEL's, in our lab frame
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static struct axes axes_of(const struct experiment *x)
{
    struct axes a;
    const double *beam = x->beam.direction, *fast = x->panels[0].fast;
    const double along = dot(fast, beam), length = sqrt(1 - along * along);
    for (int i = 0; i < 3; i++) {
        a.z[i] = beam[i];
        a.x[i] = (fast[i] - along * beam[i]) / length;
    }
    for (int i = 0; i < 3; i++)
        a.y[i] = a.z[(i + 1) % 3] * a.x[(i + 2) % 3] - a.z[(i + 2) % 3] * a.x[(i + 1) % 3];
    return a;
}

static void write_axis(FILE *out, size_t panel, const char *name, const struct axes *a,
                       const double v[3])
{
    fprintf(out, "p%zu/%s = %+.9fx %+.9fy %+.9fz\n", panel, name, dot(v, a->x), dot(v, a->y),
            dot(v, a->z));
}

static void write_panel(FILE *out, size_t i, const struct experiment *x, const struct axes *a,
                        const char *key)
{
    const struct panel *p = &x->panels[i];
    const int64_t first = p->first_pixel / p->fast_pixels;
    fprintf(out, "\np%zu/data = %s\n", i, key);
    fprintf(out, "p%zu/min_fs = 0\np%zu/max_fs = %" PRId64 "\n", i, i, p->fast_pixels - 1);
    fprintf(out, "p%zu/min_ss = %" PRId64 "\np%zu/max_ss = %" PRId64 "\n", i, first, i,
            first + p->slow_pixels - 1);
    fprintf(out, "p%zu/corner_x = %.6f\np%zu/corner_y = %.6f\n", i,
            dot(p->origin_m, a->x) / p->pixel_m, i, dot(p->origin_m, a->y) / p->pixel_m);
    fprintf(out, "p%zu/coffset = %.9f\n", i, dot(p->origin_m, a->z) - x->panels[0].distance_m);
    write_axis(out, i, "fs", a, p->fast);
    write_axis(out, i, "ss", a, p->slow);
}

enum status crystfel_write_geometry(FILE *out, const struct experiment *x, const char *key,
                                    bool peaks, struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "CrystFEL has no curved detectors");
    if (!x->npanels || fabs(dot(x->panels[0].fast, x->beam.direction)) > 0.999)
        return error_set(e, STATUS_INPUT, "the fast axis lies along the beam");
    const struct axes a = axes_of(x);
    fprintf(out, "; frames of bragg-serve --protocol=crystfel, as MessagePack\n"
                 "photon_energy = beam_energy eV\nclen = detector_distance mm\n");
    fprintf(out, "adu_per_photon = %.9g\nres = %.9g\n", x->gain > 0 ? x->gain : 1.0,
            1 / x->panels[0].pixel_m);
    if (peaks)
        fprintf(out, "peak_list = peak_list\n");
    for (size_t i = 0; i < x->npanels; i++)
        write_panel(out, i, x, &a, key);
    return STATUS_OK;
}

/* --- unit cell ------------------------------------------------------------------- */

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
    const double deg[3] = {rad_to_deg(c->cell_rad[0]), rad_to_deg(c->cell_rad[1]),
                           rad_to_deg(c->cell_rad[2])};
    char unique;
    const char *type = lattice_type(c->cell_A, deg, &unique);
    fprintf(out, "CrystFEL unit cell file version 1.0\n\nlattice_type = %s\n", type);
    fprintf(out, "centering = %s\n", *type == 'r' ? "R" : "P");
    if (unique)
        fprintf(out, "unique_axis = %c\n", unique);
    fprintf(out, "\na = %.6g A\nb = %.6g A\nc = %.6g A\n", c->cell_A[0], c->cell_A[1],
            c->cell_A[2]);
    fprintf(out, "al = %.6g deg\nbe = %.6g deg\nga = %.6g deg\n", deg[0], deg[1], deg[2]);
    return STATUS_OK;
}
