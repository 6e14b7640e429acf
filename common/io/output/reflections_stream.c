#include "io/output/reflections_stream.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "base/vec.h"
#include "base/version.h"
#include "io/crystfel/crystfel.h"
#include "io/crystfel/geom.h"
#include "model/beam.h"

/* Rows a*, b*, c* in 1/m of rows a, b, c in m. */
static void reciprocal(const double cell[9], double rows[9])
{
    double bc[3];
    vec_cross(cell + 3, cell + 6, bc);
    const double volume = vec_dot(cell, bc);
    for (int i = 0; i < 3; i++) {
        vec_cross(cell + 3 * ((i + 1) % 3), cell + 3 * ((i + 2) % 3), rows + 3 * i);
        for (int j = 0; j < 3; j++)
            rows[3 * i + j] /= volume;
    }
}

/* The row of CrystFEL's array, in which panels follow one another, where a panel begins. */
static int64_t first_row(const struct experiment *x, int32_t panel)
{
    return x->panels[panel].first_pixel / x->panels[panel].fast_pixels;
}

/* 1/d of a row, in 1/nm. */
static double resolution(const struct lattice *l, const struct reflection_row *r)
{
    double rows[9], q[3] = {0};
    reciprocal(l->cells_m + 9 * (l->nphi / 2), rows);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            q[j] += r->hkl[i] * rows[3 * i + j];
    return sqrt(vec_dot(q, q)) * 1e-9;
}

static void write_peaks(FILE *out, const struct experiment *x, const struct frame *f)
{
    const struct reflection_table *t = &f->reflections;
    fprintf(out, "num_peaks = %zu\n", t->count);
    fputs("Peaks from peak search\n  fs/px   ss/px (1/d)/nm^-1   Intensity  Panel\n", out);
    for (size_t i = 0; i < t->count; i++) {
        const struct reflection_row *r = &t->rows[i];
        fprintf(out, "%7.2f %7.2f %10.2f %11.2f   p%" PRId32 "\n", r->fast,
                r->slow + (double)first_row(x, r->panel),
                resolution(&f->recipe.lattices[r->lattice], r), r->photons, r->panel);
    }
    fputs("End of peak list\n", out);
}

/* The lattice in the middle of the rotation. */
static void write_axes(FILE *out, const struct lattice *l, const double lab[9])
{
    const double *cell = l->cells_m + 9 * (l->nphi / 2), *a = cell, *b = a + 3, *c = b + 3;
    const double edge[3] = {sqrt(vec_dot(a, a)), sqrt(vec_dot(b, b)), sqrt(vec_dot(c, c))};
    double rows[9];
    reciprocal(cell, rows);
    fprintf(out, "Cell parameters %.5f %.5f %.5f nm, %.5f %.5f %.5f deg\n", edge[0] * 1e9,
            edge[1] * 1e9, edge[2] * 1e9, rad_to_deg(acos(vec_dot(b, c) / edge[1] / edge[2])),
            rad_to_deg(acos(vec_dot(a, c) / edge[0] / edge[2])),
            rad_to_deg(acos(vec_dot(a, b) / edge[0] / edge[1])));
    for (int i = 0; i < 3; i++)
        fprintf(out, "%cstar = %+.7f %+.7f %+.7f nm^-1\n", "abc"[i],
                vec_dot(rows + 3 * i, lab) * 1e-9, vec_dot(rows + 3 * i, lab + 3) * 1e-9,
                vec_dot(rows + 3 * i, lab + 6) * 1e-9);
}

static void write_crystal(FILE *out, const struct experiment *x, const struct frame *f,
                          size_t index, const double lab[9])
{
    const struct reflection_table *t = &f->reflections;
    size_t first = 0, end;
    while (first < t->count && (size_t)t->rows[first].lattice < index)
        first++;
    for (end = first; end < t->count && (size_t)t->rows[end].lattice == index;)
        end++;
    fputs("--- Begin crystal\n", out);
    write_axes(out, &f->recipe.lattices[index], lab);
    fprintf(out, "num_reflections = %zu\nnum_saturated_reflections = 0\n", end - first);
    fputs("Reflections measured after indexing\n"
          "   h    k    l          I   sigma(I)       peak background  fs/px  ss/px panel\n",
          out);
    for (size_t i = first; i < end; i++) {
        const struct reflection_row *r = &t->rows[i];
        fprintf(out, "%4" PRId32 " %4" PRId32 " %4" PRId32 " %10.2f %10.2f %10.2f %10.2f",
                r->hkl[0], r->hkl[1], r->hkl[2], r->photons, sqrt(r->photons), (double)r->peak,
                (double)r->background / r->pixels);
        fprintf(out, " %6.2f %6.2f p%" PRId32 "\n", r->fast,
                r->slow + (double)first_row(x, r->panel), r->panel);
    }
    fputs("End of reflections\n--- End crystal\n", out);
}

void reflections_write_chunk(FILE *out, const struct experiment *x, const struct frame *f,
                             const double lab[9])
{
    const struct incident beam = incident_beam(x, &f->recipe);
    const size_t lattices = f->recipe.nlattices;
    fprintf(out, "----- Begin chunk -----\nImage filename: braggpipe\nEvent: //%" PRIu64 "\n",
            f->recipe.id);
    fprintf(out, "Image serial number: %" PRIu64 "\nhit = %d\nindexed_by = %s\n", f->recipe.id + 1,
            f->reflections.count > 0, lattices ? "file" : "none");
    fprintf(out, "photon_energy_eV = %.6f\nheader/int/frame_id = %" PRIu64 "\n",
            m_to_ev(beam.mean_m), f->recipe.id);
    fprintf(out, "average_camera_length = %.6f m\n",
            x->panels[0].distance_m + vec_dot(f->recipe.shift_m, x->beam.direction));
    write_peaks(out, x, f);
    for (size_t i = 0; i < lattices; i++)
        write_crystal(out, x, f, i, lab);
    fputs("----- End chunk -----\n", out);
}

enum status reflections_write_preamble(FILE *out, const struct experiment *x, const double lab[9],
                                       const char *path, struct error *e)
{
    const struct geom_style style = {.data = "/entry/data/data"};
    struct error cause = {0};
    fprintf(out, "CrystFEL stream format 2.3\nGenerated by braggpipe " BRAGG_VERSION
                 "\nThe reflections as they were simulated\n----- Begin geometry file -----\n");
    enum status s = geom_write(out, x, &style, lab, &cause);
    fputs("----- End geometry file -----\n", out);
    if (!s && x->ncrystals == 1 && x->crystals->has_cell) {
        fputs("----- Begin unit cell -----\n", out);
        s = crystfel_write_cell(out, x->crystals, &cause);
        fputs("----- End unit cell -----\n", out);
    }
    return s ? error_set(e, s, "%s: %s", path, cause.text) : STATUS_OK;
}
