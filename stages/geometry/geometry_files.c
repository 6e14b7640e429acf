/* Input files of bragg-geometry: mask, sources, orientation matrix, structure factors. */
#include "geometry_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "geometry_phases.h"
#include "io/beam/nanobragg_text.h"
#include "io/dials/expt.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "io/structure_factors/sfcalc.h"
#include "io/structure_factors/symmetry.h"
#include "physics/crystal/cell.h"
#include "physics/detector/detector.h"
#include "physics/detector/pixel.h"

/* Finest d spacing to which structure factors of a model are computed without --dmin. */
#define MODEL_FINEST_A 1.0
/* Coarsest d spacing: the grid of the solvent mask is as fine, and the mask is poor on a coarser
 * grid. */
#define MODEL_COARSEST_A 2.0

enum status geometry_read_mask(const struct geometry_options *o, struct request *r, struct smv *smv,
                               struct error *e)
{
    enum status s = smv_read(o->mask, true, smv, e);
    if (s || (s = smv_mask(smv, &r->detector.mask, e)))
        return s;
    if (!geometry_given(o, "detpixels|detsize")) {
        r->detector.pixels[0] = smv->fast_pixels;
        r->detector.pixels[1] = smv->slow_pixels;
    }
    return STATUS_OK;
}

enum status geometry_read_sources(const struct geometry_options *o, struct request *r,
                                  struct error *e)
{
    struct frame_axes axes;
    enum status s = detector_axes(r, &axes, e);
    if (!s)
        s = sources_read(o->source_file, r->physics, axes.beam, r->beam.wavelength_m,
                         &r->beam.listed, &r->beam.nlisted, e);
    bool equal = true;
    for (size_t i = 1; !s && i < r->beam.nlisted; i++)
        equal = equal && r->beam.listed[i].weight == r->beam.listed[0].weight;
    if (!equal && r->beam.weights != WEIGHTS_APPLY)
        log_line(LOG_WARNING,
                 "%s: the weights differ but are not used, so all sources have the same intensity. "
                 "Give --weights=apply",
                 o->source_file);
    return s;
}

/* STATUS_INPUT if the cell that a MOSFLM file prints is not that of its matrix.  The usual causes
 * are another wavelength and a matrix in 1/A. */
static enum status compare_printed(const char *path, const double matrix[9], double wavelength_m,
                                   const double printed[6], struct error *e)
{
    static const double alike = 0.01;  // relative to an edge, and in radians
    double cell_A[3], cell_rad[3];
    if (printed[0] == 0.0)
        return STATUS_OK;
    const enum status s = cell_of_matrix(matrix, wavelength_m, cell_A, cell_rad, e);
    bool same = !s;
    for (int i = 0; i < 3; i++)
        same = same && fabs(cell_A[i] - printed[i]) <= alike * printed[i] &&
               fabs(cell_rad[i] - deg_to_rad(printed[3 + i])) <= alike;
    return s || same ? s
                     : error_set(e, STATUS_INPUT,
                                 "%s: the file prints the cell %g %g %g A, %g %g %g deg, but at "
                                 "the wavelength %.6g A its matrix has the cell %.5g %.5g %.5g A, "
                                 "%.4g %.4g %.4g deg; correct --wavelength or the file",
                                 path, printed[0], printed[1], printed[2], printed[3], printed[4],
                                 printed[5], m_to_angstrom(wavelength_m), cell_A[0], cell_A[1],
                                 cell_A[2], rad_to_deg(cell_rad[0]), rad_to_deg(cell_rad[1]),
                                 rad_to_deg(cell_rad[2]));
}

/* Reads a matrix of MOSFLM, or converts the crystal of an experiment list to that form (1/A times
 * the wavelength). */
static enum status read_matrix(const char *path, const struct experiment *x, double matrix[9],
                               struct error *e)
{
    double reciprocal_A[9], printed[6];
    enum status s;
    if (!expt_is_named(path)) {
        s = matrix_read(path, x->physics, matrix, printed, e);
        return s ? s : compare_printed(path, matrix, x->beam.wavelength_m, printed, e);
    }
    s = expt_read_crystal(path, reciprocal_A, e);
    for (int i = 0; i < 9 && !s; i++)
        matrix[i] = reciprocal_A[3 * (i % 3) + i / 3] * m_to_angstrom(x->beam.wavelength_m);
    return s;
}

static enum status read_unique(const struct geometry_options *o, double wavelength_m,
                               struct crystal_request *c, struct error *e)
{
    struct symmetry y;
    struct error cause = {0};
    enum status s = symmetry_find(o->spacegroup, &y, &cause);
    if (s)
        return error_set(e, s, "--spacegroup: %s", cause.text);
    if (c->has_matrix && (s = cell_of_matrix(c->matrix, wavelength_m, c->cell_A, c->cell_rad, e)))
        return s;
    if (!symmetry_fits(&y, c->cell_A, c->cell_rad))
        return error_set(
            e, STATUS_USAGE,
            "--spacegroup=%s does not fit --%s. Name another setting as in 'P 1 1 2' or 'R 3 :H'",
            o->spacegroup, c->has_matrix ? "matrix" : "cell");
    return hkl_read(o->hkl, PHYSICS_PHYSICAL, &y, o->anomalous ? HKL_MATES_OWN : HKL_MATES_ALIKE,
                    o->crystal.table.default_F, &c->table, e);
}

/* Reads a list without symmetry.  A list of the unique part would miss most spots, so a warning is
 * printed. */
static enum status read_hkl(const struct geometry_options *o, enum physics physics,
                            struct hkl_table *table, struct error *e)
{
    const enum status s =
        hkl_read(o->hkl, physics, NULL, HKL_MATES_APART, o->crystal.table.default_F, table, e);
    if (!s && hkl_is_unique_part(table))
        log_line(LOG_WARNING,
                 "%s: the reflections have no mates -h -k -l, as in a list of the unique part. "
                 "Give --spacegroup to expand the list",
                 o->hkl);
    return s;
}

/* The d spacing, in A, of scattering to the pixel. */
static double resolution_A(const struct experiment *x, const struct panel *p, int64_t fast_px,
                           int64_t slow_px)
{
    double position[3], diffracted[3], q[3];
    pixel_position(p, x->physics, x->beam.direction, fast_px, slow_px, 0, 0, 0, 1, position);
    vec_unit(position, diffracted);
    for (int k = 0; k < 3; k++)
        q[k] = (diffracted[k] - x->beam.direction[k]) / x->beam.wavelength_m;
    return m_to_angstrom(1.0 / vec_length(q));
}

void geometry_resolution(const struct experiment *x, double *edge_A, double *corner_A)
{
    *edge_A = *corner_A = INFINITY;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int i = 0; i < 9; i++) {
            const int64_t fast = (p->fast_pixels - 1) * (i % 3) / 2,
                          slow = (p->slow_pixels - 1) * (i / 3) / 2;
            const double d_A = resolution_A(x, p, fast, slow);
            if (i % 2)
                *edge_A = fmin(*edge_A, d_A);
            else if (i != 4)
                *corner_A = fmin(*corner_A, d_A);
        }
}

/* --dmin, or 1 % beyond the farthest corner at the shortest wavelength, in steps of 0.01 A. */
static double model_dmin_A(const struct geometry_options *o, const struct experiment *x)
{
    if (o->request.dmin_m > 0.0)
        return fmin(MODEL_COARSEST_A, m_to_angstrom(o->request.dmin_m));
    double shortest_m = x->beam.wavelength_m;
    for (size_t i = 0; i < x->beam.nsources; i++)
        shortest_m = fmin(shortest_m, x->beam.sources[i].wavelength_m);
    double edge_A, corner_A;
    geometry_resolution(x, &edge_A, &corner_A);
    const double seen_A = corner_A * shortest_m / x->beam.wavelength_m;
    if (seen_A < MODEL_FINEST_A)
        log_line(LOG_WARNING,
                 "%s: structure factors end at %g A, but the detector records %.2g A. Give --dmin "
                 "to compute more",
                 o->model, MODEL_FINEST_A, seen_A);
    return fmin(MODEL_COARSEST_A, fmax(MODEL_FINEST_A, floor(seen_A * 99.0) / 100.0));
}

/* Reads the structure factors of --model; they are complete as far as the detector needs. */
static enum status read_model(const struct geometry_options *o, const struct experiment *x,
                              struct hkl_table *table, double cell_A[3], double cell_rad[3],
                              struct error *e)
{
    const double grid_A = model_dmin_A(o, x);
    return sfcalc_read(o->model, grid_A, fmax(grid_A, m_to_angstrom(o->request.dmin_m)),
                       o->crystal.table.default_F, table, cell_A, cell_rad, e);
}

static enum status read_hands(const struct geometry_options *o, struct hkl_table *table,
                              double cell_A[3], double cell_rad[3], struct error *e)
{
    size_t split;
    const enum status s = mtz_read_hands(o->mtz, o->column, o->crystal.table.default_F, table,
                                         cell_A, cell_rad, &split, e);
    if (!s && split)
        log_line(LOG_WARNING, "%s: F(+) and F(-) differ for %zu centric reflections; F(+) is used",
                 o->mtz, split);
    return s;
}

/* Reads F from the source that the options name, and its cell. */
static enum status read_factors(const struct geometry_options *o, const struct experiment *x,
                                struct crystal_request *c, double cell_A[3], double cell_rad[3],
                                struct error *e)
{
    if (geometry_needs_phases(o))
        return geometry_read_phases(o, x, geometry_given(o, "model") ? model_dmin_A(o, x) : 0.0,
                                    &c->table, cell_A, cell_rad, e);
    if (geometry_given(o, "mtz") && (o->anomalous || (o->column && strchr(o->column, ','))))
        return read_hands(o, &c->table, cell_A, cell_rad, e);
    if (geometry_given(o, "mtz"))
        return mtz_read(o->mtz, o->column, o->crystal.table.default_F, &c->table, cell_A, cell_rad,
                        e);
    if (geometry_given(o, "model"))
        return read_model(o, x, &c->table, cell_A, cell_rad, e);
    const enum status s = lysozyme_table(cell_A, cell_rad, &c->table, e);
    c->table.default_F = o->crystal.table.default_F;
    if (!o->name)
        (void)snprintf(c->name, sizeof c->name, "lysozyme");
    return s;
}

/* Warns if the cell of the crystal is not that of its structure factors: this may be a mistake. */
static enum status compare_cells(const struct geometry_options *o, const struct experiment *x,
                                 const struct crystal_request *c, const double cell_A[3],
                                 const double cell_rad[3], struct error *e)
{
    static const double alike = 0.02;  // relative to an edge, and in radians
    double given_A[3], given_rad[3];
    enum status s = STATUS_OK;
    memcpy(given_A, c->cell_A, sizeof given_A);
    memcpy(given_rad, c->cell_rad, sizeof given_rad);
    if (geometry_given(o, "matrix"))
        s = cell_of_matrix(c->matrix, x->beam.wavelength_m, given_A, given_rad, e);
    bool same = true;
    for (int i = 0; i < 3; i++)
        same = same && fabs(given_A[i] - cell_A[i]) <= alike * cell_A[i] &&
               fabs(given_rad[i] - cell_rad[i]) <= alike;
    if (!s && !same)
        log_line(LOG_WARNING,
                 "--%s has the cell %.5g %.5g %.5g A, %.4g %.4g %.4g deg, but %s has %.5g %.5g "
                 "%.5g A, %.4g %.4g %.4g deg. The structure factors of that cell are used",
                 geometry_given(o, "matrix") ? "matrix" : "cell", given_A[0], given_A[1],
                 given_A[2], rad_to_deg(given_rad[0]), rad_to_deg(given_rad[1]),
                 rad_to_deg(given_rad[2]), geometry_given(o, "mtz") ? o->mtz : o->model, cell_A[0],
                 cell_A[1], cell_A[2], rad_to_deg(cell_rad[0]), rad_to_deg(cell_rad[1]),
                 rad_to_deg(cell_rad[2]));
    return s;
}

enum status geometry_read_crystal(const struct geometry_options *o, const struct experiment *x,
                                  struct crystal_request *c, struct error *e)
{
    const bool placed = geometry_given(o, "cell|matrix");
    double cell_A[3], cell_rad[3];
    enum status s = STATUS_OK;
    if (geometry_given(o, "matrix"))
        s = read_matrix(o->matrix, x, c->matrix, e);
    if (s || (!geometry_given(o, "hkl|mtz|model") && placed))
        return s;  // default_F everywhere
    if (geometry_given(o, "spacegroup"))
        return read_unique(o, x->beam.wavelength_m, c, e);
    if (geometry_given(o, "hkl"))
        return read_hkl(o, x->physics, &c->table, e);
    s = read_factors(o, x, c, cell_A, cell_rad, e);
    if (!s && placed)
        s = compare_cells(o, x, c, cell_A, cell_rad, e);
    if (!s && !placed) {
        c->has_cell = true;
        memcpy(c->cell_A, cell_A, sizeof cell_A);
        memcpy(c->cell_rad, cell_rad, sizeof cell_rad);
    }
    return s;
}
