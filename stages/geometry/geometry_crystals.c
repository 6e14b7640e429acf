/*
 * The crystals of an experiment: options, and the files of structure factors and matrices.
 *
 * Each --crystal has KEY=VALUE words, whose keys are the options of a single crystal; the same
 * table parses them.  Options outside --crystal are the defaults of all crystals.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/log.h"
#include "base/units.h"
#include "geometry.h"
#include "io/beam/nanobragg_text.h"
#include "io/dials/expt.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "io/structure_factors/sfcalc.h"
#include "io/structure_factors/symmetry.h"
#include "physics/crystal/cell.h"
#include "physics/crystal/shape.h"
#include "physics/detector/detector.h"
#include "physics/detector/pixel.h"

enum { WORDS_MAX = 24 };

/* Returns the rows of the option table after --crystal, which are the options of a single
 * crystal. */
static const struct opt *crystal_keys(void)
{
    const struct opt *row = geometry_table;
    while (!row->name || strcmp(row->name, "crystal") != 0)
        row++;
    return row + 1;
}

/* Splits `text` at blanks into options "--KEY=VALUE", which are stored in `words` (`size` bytes)
 * and appended to argv. */
static enum status split_words(const char *text, char *words, size_t size, char **argv, int *argc,
                               struct error *e)
{
    static const char blanks[] = " \t\n";
    while (*(text += strspn(text, blanks))) {
        const size_t length = strcspn(text, blanks);
        if (!memchr(text, '=', length))
            return error_set(e, STATUS_USAGE, "got '%.*s'; expected KEY=VALUE",
                             (int)(length < 60 ? length : 60), text);
        if (*argc == WORDS_MAX || length + 3 > size)
            return error_set(e, STATUS_USAGE, "the value is too long; expected at most %d words",
                             WORDS_MAX - 1);
        memcpy(words, "--", 2);
        memcpy(words + 2, text, length);
        words[length + 2] = 0;
        argv[(*argc)++] = words;
        words += length + 3;
        size -= length + 3;
        text += length;
    }
    return *argc > 1 ? STATUS_OK
                     : error_set(e, STATUS_USAGE, "the value is empty; expected KEY=VALUE");
}

/* Removes the marks of those options among `names` (separated by |) that the crystal itself does
 * not give. */
static void unmark_inherited(struct geometry_options *own, const struct geometry_options *typed,
                             const char *names)
{
    for (size_t length; (length = strcspn(names, "|")); names += length + (names[length] == '|')) {
        const struct opt *o = opt_find(geometry_table, names, length);
        opt_mark(o, own, opt_is_given(o, typed));
    }
}

/* Merges the marks of the common options into `own`.  If a crystal gives an option that excludes a
 * common one, the common option is dropped. */
static void inherit_options(struct geometry_options *own, const struct geometry_options *common)
{
    const struct geometry_options typed = *own;
    const bool faithful = own->request.physics == PHYSICS_FAITHFUL;
    for (size_t i = 0; i < sizeof own->given.bits / sizeof *own->given.bits; i++)
        own->given.bits[i] |= common->given.bits[i];
    if (geometry_given(&typed, "cell|matrix"))
        unmark_inherited(own, &typed, "cell|matrix");
    if (geometry_given(&typed, "hkl|mtz|model|wilson"))
        unmark_inherited(own, &typed, "hkl|mtz|model|wilson|sites|light");
    if (geometry_given(&typed, "wilson"))
        unmark_inherited(own, &typed, "anomalous");
    if (!geometry_given(own, "wilson"))
        unmark_inherited(own, &typed, "wilson-seed|wilson-atoms");
    if (!geometry_given(own, "hkl|wilson"))
        unmark_inherited(own, &typed, "spacegroup");
    if (!geometry_given(own, "mtz"))
        unmark_inherited(own, &typed, "column");
    if (!geometry_given(own, "light"))
        unmark_inherited(own, &typed, "light-occupancy");
    if (!geometry_given(own, "sites|anomalous"))
        unmark_inherited(own, &typed, "fprime");
    if (faithful && geometry_given(&typed, "ncells|crystal-size"))
        unmark_inherited(own, &typed, "ncells|crystal-size");
}

static enum status parse_crystal(const struct geometry_options *common, const char *text,
                                 struct crystal_options *c, struct error *e)
{
    static const struct opt_program program = {
        .name = "bragg-geometry", .summary = "", .partial = true};
    char first[] = "--crystal", *argv[WORDS_MAX + 1] = {first};
    const char *operands[1];
    int argc = 1, noperands;
    struct error cause = {0};
    struct geometry_options *own = &c->options;
    *own = *common;
    own->given = (struct opt_marks){0};
    enum status s = split_words(text, c->words, sizeof c->words, argv, &argc, &cause);
    if (!s)
        s = opt_parse(&program, crystal_keys(), own, NULL, NULL, argc, argv, operands, &noperands,
                      &cause);
    inherit_options(own, common);
    return s ? error_set(e, s, "--crystal='%.60s': %s", text, cause.text) : STATUS_OK;
}

enum status geometry_crystals(const struct geometry_options *o, struct crystal_options **list,
                              size_t *count, struct error *e)
{
    *count = o->crystals.count ? o->crystals.count : 1;
    *list = mem_array(*count, sizeof **list);
    (*list)[0].options = *o;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->crystals.count && !s; i++)
        s = parse_crystal(o, o->crystals.text[i], &(*list)[i], e);
    return s;
}

/* --- one crystal ----------------------------------------------------------- */

static enum status check_crystal(const struct geometry_options *o, struct error *e)
{
    const bool faithful = o->request.physics == PHYSICS_FAITHFUL;
    enum status s = o->hkl ? filetype_check_file(o->hkl, FILETYPE_HKL, e) : STATUS_OK;
    s = s ? s
          : opt_check(geometry_table, crystal_keys(), o,
                      e);  // after the kind of the file: a file of the wrong kind needs no hint
                           // about a cell
    if (s)
        return s;
    if (faithful && geometry_given(o, "ncells"))
        s = opt_exclude(geometry_table, o, "ncells", "crystal-size", e);
    if (s)
        return s;
    if (geometry_given(o, "spacegroup") && !geometry_given(o, "hkl|wilson"))
        return error_set(e, STATUS_USAGE,
                         "--spacegroup needs --hkl=FILE, or --wilson=20 for random structure "
                         "factors. --mtz and --model contain their space group");
    if (geometry_given(o, "light") && !geometry_given(o, "light-occupancy"))
        return error_set(e, STATUS_USAGE,
                         "--light needs --light-occupancy=X, the fraction of excited molecules");
    if (geometry_given(o, "cell|matrix") && !geometry_given(o, "hkl|mtz|model|wilson|default-F"))
        return error_set(e, STATUS_USAGE,
                         "--%s needs structure factors. Add --model, --mtz, --hkl or --default-F%s",
                         geometry_given(o, "cell") ? "cell" : "matrix",
                         o->request.probe == PROBE_XRAY ? ", or --wilson=20 for random ones" : "");
    return STATUS_OK;
}

/* Sets the name of the crystal. STATUS_USAGE: the name is too long, or has characters that are
 * not allowed, because names appear in headers and lists whose items are separated by blanks. */
static enum status set_name(const struct geometry_options *o, struct crystal_request *c,
                            struct error *e)
{
    const char *name = o->name ? o->name : "";
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._+-", name[i]))
            return error_set(
                e, STATUS_USAGE,
                "--name: '%.60s' has other characters; expected letters, digits and . _ + -", name);
    if (length >= sizeof c->name)
        return error_set(e, STATUS_USAGE,
                         "--name: '%.60s' is too long; expected at most %zu characters", name,
                         sizeof c->name - 1);
    memcpy(c->name, name, length + 1);
    return STATUS_OK;
}

/* Sets the number of cells of a block and the size of the crystal. Without --ncells, a crystal
 * with a size is one block. */
static void set_extent(const struct geometry_options *o, struct crystal_request *c)
{
    const bool size = geometry_given(o, "crystal-size");
    c->blocks = !size || geometry_given(o, "ncells");
    for (int i = 0; i < 3; i++) {
        c->cells[i] = c->blocks ? c->cells[i] : 1;
        c->size_m[i] = size ? c->size_m[i] : 0;
    }
}

/* Checks the angles of a cell, in degrees. STATUS_USAGE: all three are at most pi degrees, so
 * they are probably radians. */
static enum status check_angles(const double angle[3], struct error *e)
{
    if (angle[0] > M_PI || angle[1] > M_PI || angle[2] > M_PI || !(angle[0] > 0.0))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--cell: angles of %g, %g and %g deg are too small; expected degrees, as in "
                     "90,90,90. Did you give radians?",
                     angle[0], angle[1], angle[2]);
}

/* Checks that numbers of cells are whole where the lattice factor needs it. */
static enum status check_whole(const struct geometry_options *o, const struct crystal_request *c,
                               struct error *e)
{
    for (int i = 0; i < 3 && !c->gauss; i++)
        if (o->crystal.cells[i] != floor(o->crystal.cells[i]))
            return error_set(e, STATUS_USAGE,
                             "--ncells: '%.9g' is not a whole number; expected whole numbers, or "
                             "--mosaic-model=gauss",
                             o->crystal.cells[i]);
    return STATUS_OK;
}

/* Sets the shape of the spots. */
static enum status set_shape(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e)
{
    c->is_star = o->shape == CRYSTAL_SHAPES_COUNT;
    c->shape = c->is_star ? SHAPE_GAUSS : (enum crystal_shape)o->shape;
    if (c->gauss && !shape_is_gaussian(c->shape))
        return error_set(e, STATUS_USAGE, "--mosaic-model=gauss needs --shape=gauss or star");
    if (c->is_star && !c->gauss)
        return error_set(e, STATUS_USAGE,
                         "--shape=star needs --mosaic-model=gauss, which computes it in closed "
                         "form");
    if (c->is_star && geometry_given(o, "ncells-across"))
        return error_set(e, STATUS_USAGE,
                         "--ncells-across contradicts --shape=star, whose spots are round");
    return STATUS_OK;
}

enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e)
{
    *c = o->crystal;
    enum status s;
    if ((s = check_crystal(o, e)) || (s = set_name(o, c, e)))
        return s;
    set_extent(o, c);
    c->has_cell = geometry_given(o, "cell");
    c->has_matrix = geometry_given(o, "matrix");
    for (int i = 0; i < 3; i++) {
        c->cell_A[i] = o->cell[i];
        c->cell_rad[i] = deg_to_rad(o->cell[3 + i]);
    }
    if (c->has_cell && (s = check_angles(o->cell + 3, e)))
        return s;
    if ((s = geometry_check_factors(o, e)) || (s = check_whole(o, c, e)))
        return s;
    return set_shape(o, c, e);
}

/* --- orientation matrix and structure factors ------------------------------- */

/* Smallest d spacing, in A, to which structure factors of a model are computed without --dmin. */
#define MODEL_FINEST_A 1.0
/* Largest d spacing, in A, that model_dmin_A returns. The d spacing sets the grid of the solvent
 * mask, and the mask is poor on a coarser grid. */
#define MODEL_COARSEST_A 2.0

/* Compares the cell that a MOSFLM file prints with the cell of the file's matrix. STATUS_INPUT:
 * the cells differ. The usual causes are another wavelength and a matrix in 1/A. */
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

static bool is_right_angled(const double cell[6])
{
    return cell[3] == 90.0 && cell[4] == 90.0 && cell[5] == 90.0;
}

/* Finds the operators of --spacegroup, which must fit the cell of *c. */
static enum status find_group(const struct geometry_options *o, const struct crystal_request *c,
                              struct symmetry *y, struct error *e)
{
    struct error cause = {0};
    const enum status s = symmetry_find(o->spacegroup, y, &cause);
    if (s)
        return error_set(e, s, "--spacegroup: %s", cause.text);
    if (!symmetry_fits(y, c->cell_A, c->cell_rad))
        return error_set(e, STATUS_USAGE,
                         "--spacegroup=%s does not fit --%s. %s another setting as in 'P 1 1 2' or "
                         "'R 3 :H'",
                         o->spacegroup, c->has_matrix ? "matrix" : "cell",
                         !c->has_matrix && is_right_angled(o->cell)
                             ? "Give angles as in --cell=A,B,C,90,90,120, or name"
                             : "Name");
    return STATUS_OK;
}

/* Reads --hkl, a list of reflections that is not expanded by symmetry. Warns if the list seems
 * to contain only the unique reflections, because most spots would be missing. */
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

/* Returns the d spacing, in A, that a pixel of a panel records. */
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

/* Returns the d spacing, in A, to which --wilson draws structure factors, and which sets the grid
 * on which a model is computed: --dmin, or else 1 % below the d spacing of the farthest corner at
 * the shortest wavelength, rounded down to a multiple of 0.01 A. The result is limited to
 * MODEL_COARSEST_A and, without --dmin, to MODEL_FINEST_A. Warns if the detector records smaller d
 * spacings. */
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
                 geometry_given(o, "wilson") ? "--wilson" : o->model, MODEL_FINEST_A, seen_A);
    return fmin(MODEL_COARSEST_A, fmax(MODEL_FINEST_A, floor(seen_A * 99.0) / 100.0));
}

/* Makes the table of structure factors that depend on --spacegroup: the list of --hkl, or those of
 * --wilson, to the d spacing of --dmin or else of model_dmin_A. */
static enum status read_symmetric(const struct geometry_options *o, const struct experiment *x,
                                  struct crystal_request *c, struct error *e)
{
    struct symmetry y = {.count = 1, .operators = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    enum status s = STATUS_OK;
    if (c->has_matrix)
        s = cell_of_matrix(c->matrix, x->beam.wavelength_m, c->cell_A, c->cell_rad, e);
    if (!s && geometry_given(o, "spacegroup"))
        s = find_group(o, c, &y, e);
    if (!s && geometry_given(o, "wilson"))
        return geometry_draw_wilson(
            o, &y, fmax(model_dmin_A(o, x), m_to_angstrom(o->request.dmin_m)), c, e);
    return s ? s
             : hkl_read(o->hkl, PHYSICS_PHYSICAL, &y,
                        o->anomalous ? HKL_MATES_OWN : HKL_MATES_ALIKE, o->crystal.table.default_F,
                        &c->table, e);
}

/* Computes the structure factors of --model, to the d spacing of --dmin or else of model_dmin_A. */
static enum status read_model(const struct geometry_options *o, const struct experiment *x,
                              struct hkl_table *table, double cell_A[3], double cell_rad[3],
                              struct error *e)
{
    const double grid_A = model_dmin_A(o, x);
    return sfcalc_read(o->model, x->probe, grid_A, fmax(grid_A, m_to_angstrom(o->request.dmin_m)),
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

/* Warns if the cell of the crystal differs from the cell of its structure factors, because this
 * may be a mistake. */
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

/* Reads the files of a crystal, with structure factors in the unit of the probe. */
static enum status read_crystal(const struct geometry_options *o, const struct experiment *x,
                                struct crystal_request *c, struct error *e)
{
    const bool placed = geometry_given(o, "cell|matrix");
    double cell_A[3], cell_rad[3];
    enum status s = STATUS_OK;
    if (geometry_given(o, "matrix"))
        s = read_matrix(o->matrix, x, c->matrix, e);
    if (s || (!geometry_given(o, "hkl|mtz|model|wilson") && placed))
        return s;  // without a file, all structure factors are default_F
    if (geometry_given(o, "spacegroup|wilson"))
        return read_symmetric(o, x, c, e);
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

enum status geometry_read_crystal(const struct geometry_options *o, const struct experiment *x,
                                  struct crystal_request *c, struct error *e)
{
    const enum status s = read_crystal(o, x, c, e);
    if (!s)
        geometry_scale_factors(x, &c->table);
    return s;
}
