#include "io/output/truth.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/program.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/crystfel/geom.h"
#include "model/recipe.h"

#define XYZ(name, unit, meaning)                          \
    {COLUMNS_LATTICE, name "_x", unit, meaning " x"},     \
        {COLUMNS_LATTICE, name "_y", unit, meaning " y"}, \
    {                                                     \
        COLUMNS_LATTICE, name "_z", unit, meaning " z"    \
    }
#define ROW(row)                                                                               \
    {COLUMNS_LATTICE, "u" row "1", "-", "U: crystal to laboratory, row " row " column 1"},     \
        {COLUMNS_LATTICE, "u" row "2", "-", "U: crystal to laboratory, row " row " column 2"}, \
    {                                                                                          \
        COLUMNS_LATTICE, "u" row "3", "-", "U: crystal to laboratory, row " row " column 3"    \
    }
#define LABORATORY " in laboratory axes, spindle at 0:"
#define BEAM " in beam axes, mid-frame:"

const struct column column_list[] = {
    {COLUMNS_LATTICE, "frame", "-", "frame number"},
    {COLUMNS_LATTICE, "lattices", "-", "lattices in the frame; 0: a blank"},
    {COLUMNS_LATTICE, "fluence", "-", "fluence / fluence of the experiment"},
    {COLUMNS_LATTICE, "wavelength_A", "A", "mean wavelength of the frame"},
    {COLUMNS_LATTICE, "lattice", "-", "number of the lattice in the frame, from 0"},
    {COLUMNS_LATTICE, "crystal", "-", "number of its crystal, from 0"},
    {COLUMNS_LATTICE, "name", "-", "name of the crystal"},
    {COLUMNS_LATTICE, "share", "-", "weight: factor on the photons of one block"},
    ROW("1"),
    ROW("2"),
    ROW("3"),
    XYZ("as", "1/A", "a*" LABORATORY),
    XYZ("bs", "1/A", "b*" LABORATORY),
    XYZ("cs", "1/A", "c*" LABORATORY),
    XYZ("astar", "1/A", "a*" BEAM),
    XYZ("bstar", "1/A", "b*" BEAM),
    XYZ("cstar", "1/A", "c*" BEAM),
    {COLUMNS_LATTICE, "panel_deg", "deg", "fast axis of panel 0, from beam x towards y"},
    {COLUMNS_SHIFT, "shift_x_mm", "mm", "detector displacement along beam x"},
    {COLUMNS_SHIFT, "shift_y_mm", "mm", "detector displacement along beam y"},
    {COLUMNS_SHIFT, "coffset_mm", "mm", "detector displacement along the beam"},
    {COLUMNS_SAMPLE, "sample_x_um", "um", "place on the sample holder, along the beam's width"},
    {COLUMNS_SAMPLE, "sample_y_um", "um", "place on the sample holder, along the beam's height"},
    {COLUMNS_SIZE, "cells_a", "-", "unit cells of this lattice along a"},
    {COLUMNS_SIZE, "cells_b", "-", "unit cells of this lattice along b"},
    {COLUMNS_SIZE, "cells_c", "-", "unit cells of this lattice along c"},
    {COLUMNS_SPREAD, "mosaic_deg", "deg", "mosaic spread of this lattice: half-width or rms"},
    {COLUMNS_B_FACTOR, "b_factor_A2", "A^2",
     "B factor of this lattice beyond the structure factors"},
    {COLUMNS_MATTER, "water_um", "um", "water in the beam; -: as bragg-background says"},
    {COLUMNS_MATTER, "air_mm", "mm", "air that the beam crosses; -: as bragg-background says"},
    {COLUMNS_MATTER, "ice_um", "um", "ice in the beam; -: as bragg-background says"},
    {COLUMNS_MATTER, "ice_crystal_A", "A", "size of ice crystals; -: as bragg-background says"},
    {COLUMNS_MATTER, "matter_scale", "-", "factor on the photons of all matter"},
    {COLUMNS_HARMONIC, "third_harmonic", "-", "its photons / photons of the beam"},
    {COLUMNS_RUN, "run", "-", "number of the run, from 0"},
    {COLUMNS_RUN, "label", "-", "label of the run"},
    {COLUMNS_BEAM, "beam_x_urad", "urad", "beam direction, from beam z towards x"},
    {COLUMNS_BEAM, "beam_y_urad", "urad", "beam direction, from beam z towards y"},
    {COLUMNS_PULSE, "trainId", "-", "EuXFEL: number of the train"},
    {COLUMNS_PULSE, "pulseId", "-", "EuXFEL: slot of 4.5 MHz in the train"},
    {COLUMNS_PULSE, "seconds", "s", "LCLS: Unix time"},
    {COLUMNS_PULSE, "nanoseconds", "ns", "LCLS: time since that second"},
    {COLUMNS_PULSE, "fiducial", "-", "LCLS: count at 360 Hz"},
    {COLUMNS_PULSE, "pulse_id", "-", "SwissFEL: count at 100 Hz"},
    {COLUMNS_PULSE, "tag", "-", "SACLA: count at 60 Hz"},
    {COLUMNS_PULSE, "cellId", "-", "memory cell: place of the pulse in its train"},
    {COLUMNS_PULSE, "laser", "-", "pump laser; 1: on, 0: off"},
    {COLUMNS_MESSAGE, "sent_s", "s", "Unix time: message was taken or dropped"},
    {COLUMNS_MESSAGE, "rate_Hz", "Hz", "requested rate at that time; 0: none"},
    {COLUMNS_MESSAGE, "fate", "-", "taken, some, dropped or withheld"},
    {COLUMNS_MESSAGE, "fault", "-", "fault of the message, such as nan; -: none"},
    {COLUMNS_REFLECTION, "frame", "-", "frame number"},
    {COLUMNS_REFLECTION, "lattice", "-", "number of the lattice in the frame, from 0"},
    {COLUMNS_REFLECTION, "h", "-", "Miller index"},
    {COLUMNS_REFLECTION, "k", "-", "Miller index"},
    {COLUMNS_REFLECTION, "l", "-", "Miller index"},
    {COLUMNS_REFLECTION, "panel", "-", "panel with most of the photons, from 0"},
    {COLUMNS_REFLECTION, "fast", "px", "centroid in the panel; corner of pixel 0: 0"},
    {COLUMNS_REFLECTION, "slow", "px", "centroid in the panel; corner of pixel 0: 0"},
    {COLUMNS_REFLECTION, "photons", "photons", "expected in the frame, from this lattice"},
    {COLUMNS_REFLECTION, "peak", "photons", "expected in the brightest pixel"},
    {COLUMNS_REFLECTION, "pixels", "px", "brightest pixels that hold 99 % of the photons"},
    {COLUMNS_REFLECTION, "phi", "deg", "mean spindle angle of the photons; still: 0"},
    {COLUMNS_REFLECTION, "s", "1/A", "distance from the nearest Ewald sphere; inside: > 0"},
    {COLUMNS_REFLECTION, "F2", "electrons^2", "squared structure factor"},
    {COLUMNS_REFLECTION, "background", "photons", "of other origin, in these brightest pixels"},
    {COLUMNS_REFLECTION, "z", "-", "photons / noise of their sum; above 5: visible"},
    {COLUMNS_REFLECTION, "wavelength", "A", "that diffracts, within the band of the beam"},
    {COLUMNS_REFLECTION, "orders", "-", "reflections on its ray: multiples of the same indices"},
};

const size_t column_list_length = sizeof column_list / sizeof *column_list;

/* Writes the names of a group, separated by tabs, and `before` before them. */
static void columns_write_names(FILE *out, enum column_group group, const char *before)
{
    for (size_t i = 0; i < column_list_length; i++) {
        if (column_list[i].group != group)
            continue;
        fprintf(out, "%s%s", before, column_list[i].name);
        before = "\t";
    }
}

const struct column *columns_find(const char *name, bool of_reflections)
{
    for (size_t i = 0; i < column_list_length; i++)
        if ((column_list[i].group == COLUMNS_REFLECTION) == of_reflections &&
            strcmp(column_list[i].name, name) == 0)
            return &column_list[i];
    return NULL;
}

/* --- lattices ------------------------------------------------------------- */

/* Writes the last columns and the end of the line: the pulse numbers of a frame or, if `r` is
 * NULL, their names. */
static void write_pulse(FILE *out, const struct experiment *x, const struct recipe *r)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const size_t n = pulse_numbers(&x->pulse_ids, r ? r->id : 0, list);
    for (size_t i = 0; i < n; i++) {
        if (r)
            fprintf(out, "\t%" PRIu64, list[i].value);
        else
            fprintf(out, "\t%s", list[i].name);
    }
    fputc('\n', out);
}

/* Writes the shift of the detector, in mm, in the coordinate system of the beam, `frame`. */
static void write_shift(FILE *out, const struct recipe *r, const double frame[9])
{
    double by_m[3];
    mat_apply(frame, r->shift_m, by_m);
    for (int i = 0; i < 3; i++)
        fprintf(out, "\t%.9g", m_to_mm(by_m[i]));
}

void truth_write_title(FILE *out, const struct experiment *x, const char *more)
{
    columns_write_names(out, COLUMNS_LATTICE, "");
    if (x->detector_moves)
        columns_write_names(out, COLUMNS_SHIFT, "\t");
    if (x->sample_moves)
        columns_write_names(out, COLUMNS_SAMPLE, "\t");
    if (x->sizes_vary)
        columns_write_names(out, COLUMNS_SIZE, "\t");
    if (x->spreads_vary)
        columns_write_names(out, COLUMNS_SPREAD, "\t");
    if (x->b_factors_vary)
        columns_write_names(out, COLUMNS_B_FACTOR, "\t");
    if (x->matter_varies)
        columns_write_names(out, COLUMNS_MATTER, "\t");
    if (x->beam.harmonic_share > 0)
        columns_write_names(out, COLUMNS_HARMONIC, "\t");
    fputs(more, out);
    write_pulse(out, x, NULL);
}

static void write_reals(FILE *out, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "\t%.17g", values[i]);
}

/* Writes the columns of lattice i.  `frame`: rows x, y, z of the beam's coordinate system, in the
 * laboratory frame. */
static void write_lattice(FILE *out, const struct experiment *x, const struct recipe *r, size_t i,
                          const double frame[9])
{
    const struct lattice *l = &r->lattices[i];
    const char *name = l->crystal < x->ncrystals ? x->crystals[l->crystal].name : "";
    fprintf(out, "\t%zu\t%" PRIu32 "\t%s\t%.17g", i, l->crystal, *name ? name : "-", l->weight);
    write_reals(out, l->rotation, 9);
    write_reals(out, l->reciprocal_A, 9);
    for (int axis = 0; axis < 3; axis++) {
        double turned[3], beam[3];
        memcpy(turned, l->reciprocal_A + 3 * axis, sizeof turned);
        vec_rotate_axis(turned, x->spindle, r->phi_rad + 0.5 * r->osc_rad);
        mat_apply(frame, turned, beam);
        write_reals(out, beam, 3);
    }
}

void truth_direction(const struct experiment *x, const struct recipe *r, const double frame[9],
                     double xy_rad[2])
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    double sum[3] = {0}, to[3];
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            sum[k] -= sources[i].weight * sources[i].direction[k];
    mat_apply(frame, sum, to);
    for (int k = 0; k < 2; k++)
        xy_rad[k] = atan2(to[k], to[2]);
}

static void write_amount(FILE *out, bool has, double amount)
{
    if (has)
        fprintf(out, "\t%.9g", amount);
    else
        fputs("\t-", out);
}

static void write_matter(FILE *out, const struct matter *m)
{
    write_amount(out, m->has_water, 1e6 * m->water_m);
    write_amount(out, m->has_air, m_to_mm(m->air_m));
    write_amount(out, m->has_ice, 1e6 * m->ice_m);
    write_amount(out, m->has_ice_crystal, m->ice_crystal_A);
    write_amount(out, true, m->has_scale ? m->scale : 1.0);
}

void truth_write(FILE *out, const struct experiment *x, const struct recipe *r,
                 const double frame[9], const char *more)
{
    enum { BLANK_ITEMS = 4 + 9 + 9 + 9 };
    const struct incident beam = incident_beam(x, r);
    double fast[3];
    mat_apply(frame, x->panels->fast, fast);
    for (size_t i = 0; i == 0 || i < r->nlattices; i++) {
        fprintf(out, "%" PRIu64 "\t%zu\t%.17g\t%.17g", r->id, r->nlattices, beam.share,
                m_to_angstrom(beam.mean_m));
        if (r->nlattices)
            write_lattice(out, x, r, i, frame);
        for (int k = 0; k < BLANK_ITEMS && !r->nlattices; k++)
            fputs("\t-", out);
        fprintf(out, "\t%.9g", rad_to_deg(atan2(fast[1], fast[0])));
        if (x->detector_moves)
            write_shift(out, r, frame);
        if (x->sample_moves)
            fprintf(out, "\t%.9g\t%.9g", 1e6 * r->sample_m[0], 1e6 * r->sample_m[1]);
        if (x->sizes_vary && r->nlattices)
            write_reals(out, lattice_cells(x, &r->lattices[i]), 3);
        else if (x->sizes_vary)
            fputs("\t-\t-\t-", out);
        if (x->spreads_vary && r->nlattices)
            fprintf(out, "\t%.9g", rad_to_deg(r->lattices[i].spread_rad));
        else if (x->spreads_vary)
            fputs("\t-", out);
        if (x->b_factors_vary && r->nlattices)
            fprintf(out, "\t%.9g", r->lattices[i].b_factor_A2);
        else if (x->b_factors_vary)
            fputs("\t-", out);
        if (x->matter_varies)
            write_matter(out, &r->matter);
        if (x->beam.harmonic_share > 0)
            write_reals(out, &x->beam.harmonic_share, 1);
        fputs(more, out);
        write_pulse(out, x, r);
    }
}

/* --- reflections as a table ----------------------------------------------- */

static void write_row(FILE *out, uint64_t frame, const struct reflection_row *r)
{
    fprintf(out, "%" PRIu64 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32, frame,
            r->lattice, r->hkl[0], r->hkl[1], r->hkl[2], r->panel);
    fprintf(out, "\t%.6f\t%.6f\t%.9g\t%.7g\t%" PRId32, r->fast, r->slow, r->photons,
            (double)r->peak, r->pixels);
    fprintf(out, "\t%.9g\t%.9g\t%.7g\t%.7g\t%.6g", r->phi_deg, r->s_1_A, (double)r->F2,
            (double)r->background, (double)r->z);
    fprintf(out, "\t%.7g\t%" PRId32 "\n", (double)r->wavelength_A, r->orders);
}

enum status reflections_check(const struct frame *f, const char *path, struct error *e)
{
    return f->reflections.present
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: frame %" PRIu64
                           " has no reflections. Run bragg-intensity with --reflections",
                           path, f->recipe.id);
}

void reflections_write_names(FILE *out)
{
    columns_write_names(out, COLUMNS_REFLECTION, "");
    fputc('\n', out);
}

void reflections_write_rows(FILE *out, const struct frame *f)
{
    for (size_t i = 0; i < f->reflections.count; i++)
        write_row(out, f->recipe.id, &f->reflections.rows[i]);
}

/* --- reflections as a stream of CrystFEL ---------------------------------- */

/* Computes the rows a*, b*, c*, in 1/m, from the rows a, b, c of a cell, in m. */
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

/* Returns the first row of a panel in the array of CrystFEL, which contains the panels one after
 * the other. */
static int64_t first_row(const struct experiment *x, int32_t panel)
{
    return x->panels[panel].first_pixel / x->panels[panel].fast_pixels;
}

/* Returns 1/d of a reflection, in 1/nm. */
static double resolution(const struct lattice *l, const struct reflection_row *r)
{
    double rows[9], q[3] = {0};
    reciprocal(l->cells_m + 9 * (l->nphi / 2), rows);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            q[j] += r->hkl[i] * rows[3 * i + j];
    return sqrt(vec_dot(q, q)) * 1e-9;
}

/* Writes the reflections whose z is above `least_z` as peaks. */
static void write_peaks(FILE *out, const struct experiment *x, const struct frame *f,
                        double least_z)
{
    const struct reflection_table *t = &f->reflections;
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += !(least_z > 0.0) || (double)t->rows[i].z > least_z;
    fprintf(out, "num_peaks = %zu\n", count);
    fputs("Peaks from peak search\n  fs/px   ss/px (1/d)/nm^-1   Intensity  Panel\n", out);
    for (size_t i = 0; i < t->count; i++) {
        const struct reflection_row *r = &t->rows[i];
        if (least_z > 0.0 && (double)r->z <= least_z)
            continue;
        fprintf(out, "%7.2f %7.2f %10.2f %11.2f   p%" PRId32 "\n", r->fast,
                r->slow + (double)first_row(x, r->panel),
                resolution(&f->recipe.lattices[r->lattice], r), r->photons, r->panel);
    }
    fputs("End of peak list\n", out);
}

/* Writes the cell and the reciprocal axes of a lattice in the middle of the rotation.  `lab`:
 * rows x, y, z of CrystFEL's laboratory frame. */
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
                             const double lab[9], double least_z)
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
    write_peaks(out, x, f, least_z);
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
