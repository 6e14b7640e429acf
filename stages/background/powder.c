/*
 * --powder: the rings of calibrants, which have names, and of models of atoms.
 *
 * The rings are a table like those of amorphous matter whose F squared is that of a unit cell:
 *
 *     F^2(s) = sum over h k l  F_hkl^2 g(s - 1/d_hkl) / (4 pi s^2 V),   s = 2 sin(theta)/lambda
 *
 * V is the volume of the cell, and g a Gaussian with an area of 1.  Its full width at half maximum
 * comes from the size L and the rms strain e of the crystals (Williamson and Hall, Acta Metall. 1,
 * 22, 1953, with squares):
 *
 *     width^2 = (0.9/L)^2 + (2.3548 e s)^2
 *
 * Rings are smooth, as many crystals of random orientation make them.  The sum runs over all h, k,
 * l in P 1, so that multiplicities need no table.
 */
#include "powder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/vec.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/ring_list.h"
#include "io/structure_factors/sfcalc.h"
#include "physics/crystal/cell.h"

#define FWHM_PER_RMS 2.354820045030949

static const double ROWS_A_WIDTH = 12.0;  // rows in a full width
static const double SAME = 1e-7;          // relative difference of s within a ring

/* --- calibrants ------------------------------------------------------------------- */

/* Edge of the cell in A, space group and atoms (label, element, x, y, z, B in A^2, occupancy) of a
 * cubic calibrant.  LaB6 is NIST SRM 660c, CeO2 SRM 674b, Si SRM 640f; B = 8 pi^2 U. */
static const struct calibrant {
    const char *name, *group;
    double a_A;
    const char *atoms;
} calibrants[] = {
    {"lab6", "P m -3 m", 4.156826, "La1 La 0 0 0 0.355 1\nB1 B 0.1996 0.5 0.5 0.316 1\n"},
    {"ceo2", "F m -3 m", 5.41165, "Ce1 Ce 0 0 0 0.205 1\nO1 O 0.25 0.25 0.25 0.395 1\n"},
    {"si", "F d -3 m:2", 5.43102, "Si1 Si 0.125 0.125 0.125 0.466 1\n"},
};

/* Silver behenate: rings of layers 58.380 A apart (Huang et al., J. Appl. Cryst. 26, 180, 1993).
 * Only the places of its rings are known: the intensities fall by half from ring to ring. */
static const double AGBH_A = 58.380;
enum { AGBH_RINGS = 20 };

static const struct calibrant *find_calibrant(const char *name)
{
    for (size_t i = 0; i < sizeof calibrants / sizeof *calibrants; i++)
        if (strcmp(calibrants[i].name, name) == 0)
            return &calibrants[i];
    return NULL;
}

/* Writes a calibrant as a CIF file of a small molecule. */
static enum status write_calibrant(const struct calibrant *c, int file, struct error *e)
{
    const bool good =
        dprintf(file,
                "data_%s\n_symmetry_space_group_name_H-M '%s'\n_cell_length_a %.9g\n"
                "_cell_length_b %.9g\n_cell_length_c %.9g\n_cell_angle_alpha 90\n"
                "_cell_angle_beta 90\n_cell_angle_gamma 90\nloop_\n_atom_site_label\n"
                "_atom_site_type_symbol\n_atom_site_fract_x\n_atom_site_fract_y\n"
                "_atom_site_fract_z\n_atom_site_B_iso_or_equiv\n_atom_site_occupancy\n%s",
                c->name, c->group, c->a_A, c->a_A, c->a_A, c->atoms) > 0;
    return good ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot write a temporary file");
}

/* Computes the structure factors of a calibrant, by way of a temporary file. */
static enum status read_calibrant(const struct calibrant *c, enum probe probe, double dmin_A,
                                  struct hkl_table *t, double cell_A[3], double cell_rad[3],
                                  struct error *e)
{
    const char *folder = getenv("TMPDIR");
    char *path = mem_text("%s/bragg-%s-XXXXXX.cif", folder && *folder ? folder : "/tmp", c->name);
    const int file = mkstemps(path, (int)strlen(".cif"));
    enum status s = file < 0 ? error_errno(e, STATUS_FAILED, "%.400s: cannot make the file", path)
                             : write_calibrant(c, file, e);
    if (!s)
        s = sfcalc_read(path, probe, dmin_A, dmin_A, 0.0, t, cell_A, cell_rad, e);
    if (file >= 0) {
        (void)close(file);
        (void)unlink(path);
    }
    free(path);
    return s;
}

static void make_behenate(struct powder *p)
{
    double F2 = 1e6;
    p->cell_A3 = AGBH_A * AGBH_A * AGBH_A;
    p->nrings = AGBH_RINGS;
    p->rings = mem_array(p->nrings, sizeof *p->rings);
    for (size_t i = 0; i < p->nrings; i++, F2 /= 2)
        p->rings[i] = (struct powder_ring){(double)(i + 1) / AGBH_A, F2, F2 * F2 / 2};
}

/* --- rings ------------------------------------------------------------------------ */

static int compare_rings(const void *a, const void *b)
{
    const double x = ((const struct powder_ring *)a)->s_1_A,
                 y = ((const struct powder_ring *)b)->s_1_A;
    return (x > y) - (x < y);
}

static void add_to_ring(struct powder_ring *ring, const struct powder_ring *other)
{
    ring->F2 += other->F2;
    ring->F4 = ring->F4 > 0.0 && other->F4 > 0.0 ? ring->F4 + other->F4 : 0.0;
}

/* Adds up rings with the same d, which are neighbours. */
static void merge_rings(struct powder *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->nrings; i++)
        if (kept && p->rings[i].s_1_A <= p->rings[kept - 1].s_1_A * (1.0 + SAME))
            add_to_ring(&p->rings[kept - 1], &p->rings[i]);
        else
            p->rings[kept++] = p->rings[i];
    p->nrings = kept;
}

/* Sets the rings and the cell of *p to those of a list of structure factors, up to s = most_1_A. */
static void collect_rings(struct powder *p, const struct hkl_table *t, const double cell_A[3],
                          const double cell_rad[3], double most_1_A)
{
    double of_cell[9], metric[9];
    size_t room = 0;
    const double *F = t->F;
    cell_metric(cell_A, cell_rad, of_cell);
    metric_reciprocal(of_cell, mat_determinant(of_cell), metric);
    p->cell_A3 = cell_volume(cell_A, cell_rad);
    for (int h = 0; h < t->count[0]; h++)
        for (int k = 0; k < t->count[1]; k++)
            for (int l = 0; l < t->count[2]; l++, F++) {
                const double at[3] = {h + t->min[0], k + t->min[1], l + t->min[2]};
                double turned[3];
                mat_apply(metric, at, turned);
                const double s = sqrt(vec_dot(at, turned));
                if (!(*F != 0.0 && s > 0.0 && s <= most_1_A))
                    continue;
                p->rings = mem_grow(p->rings, p->nrings, 1, sizeof *p->rings, &room);
                const double F2 = *F * p->unit * (*F * p->unit);
                p->rings[p->nrings++] = (struct powder_ring){s, F2, F2 * F2};
            }
    if (p->nrings)
        qsort(p->rings, p->nrings, sizeof *p->rings, compare_rings);
    merge_rings(p);
}

/* Sets the rings and the cell of *p to those of a list, up to s = most_1_A. */
static enum status read_list(const char *path, double most_1_A, struct powder *p, struct error *e)
{
    struct ring_list list;
    const enum status s = ring_list_read(path, &list, e);
    const double unit2 = p->unit * p->unit;
    p->cell_A3 = list.cell_A3;
    p->rings = mem_array(list.count + 1, sizeof *p->rings);
    for (size_t i = 0; i < list.count && !s; i++) {
        const struct ring_line *line = &list.lines[i];
        const double F2 = line->F2 * unit2;
        if (1.0 / line->d_A <= most_1_A && F2 > 0.0)
            p->rings[p->nrings++] = (struct powder_ring){
                1.0 / line->d_A, F2, line->reflections > 0.0 ? F2 * F2 / line->reflections : 0.0};
    }
    if (p->nrings)
        qsort(p->rings, p->nrings, sizeof *p->rings, compare_rings);
    merge_rings(p);
    ring_list_free(&list);
    return s;
}

static uint64_t hash_rings(const struct powder *p)
{
    uint64_t hash = hash_bytes(HASH_START, &p->cell_A3, sizeof p->cell_A3);
    for (size_t i = 0; i < p->nrings; i++) {
        const double ring[2] = {p->rings[i].s_1_A, p->rings[i].F2};
        hash = hash_bytes(hash, ring, sizeof ring);
    }
    return hash_finish(hash);
}

enum status powder_read(const char *name, double most_1_A, struct powder *p, char digest[17],
                        struct error *e)
{
    static const double FINEST_A = 0.3, COARSEST_A = 1.5;
    const struct calibrant *c = find_calibrant(name);
    struct hkl_table t = {0};
    double cell_A[3], cell_rad[3];
    const double dmin_A = fmin(fmax(1.0 / most_1_A, FINEST_A), COARSEST_A);
    if (strcmp(name, "agbh") == 0) {
        make_behenate(p);
        return STATUS_OK;
    }
    const char *path = c ? name : input_path(name);
    if (!c && access(path, F_OK) != 0 && errno == ENOENT)
        return error_set(e, STATUS_INPUT,
                         "--powder=%.400s: neither a calibrant nor a file; expected lab6, ceo2, "
                         "si, agbh, a model of atoms or a list of rings",
                         name);
    const bool listed = !c && ring_list_is(path);
    enum status s = c ? read_calibrant(c, p->probe, dmin_A, &t, cell_A, cell_rad, e)
                    : listed
                        ? read_list(path, most_1_A, p, e)
                        : sfcalc_read(path, p->probe, dmin_A, dmin_A, 0.0, &t, cell_A, cell_rad, e);
    if (!s && !listed)
        collect_rings(p, &t, cell_A, cell_rad, most_1_A);
    hkl_free(&t);
    if (!s && !p->nrings)
        s = error_set(e, STATUS_INPUT,
                      "--powder=%.400s: the detector sees no ring: the largest d is below %.3g A",
                      name, 1.0 / most_1_A);
    if (!s && !c)  // the lineage depends on the content of the file, not on its name
        (void)snprintf(digest, 17, "%016" PRIx64, hash_rings(p));
    return s;
}

/* --- table ------------------------------------------------------------------------ */

double powder_rms(const struct powder *p, double s_1_A)
{
    return hypot(0.9 / p->crystal_A, FWHM_PER_RMS * p->strain * s_1_A) / FWHM_PER_RMS;
}

double powder_drawn_rms(const struct powder *p, double s_1_A)
{
    const double size = 0.9 / p->crystal_A, strain = FWHM_PER_RMS * p->strain * s_1_A;
    return fmax(hypot(size, strain), p->least_1_A) / FWHM_PER_RMS;
}

/* Sets range_1_A[] to the first and the last s of the table. */
static void table_range(const struct powder *p, double range_1_A[2])
{
    const double first = p->rings[0].s_1_A, last = p->rings[p->nrings - 1].s_1_A;
    range_1_A[0] = fmax(first - POWDER_REACH * powder_drawn_rms(p, first), 0.1 * first);
    range_1_A[1] = last + POWDER_REACH * powder_drawn_rms(p, last);
}

/* Returns the number of rows of the table from the first ring to the last. */
static size_t count_rows(const struct powder *p)
{
    double range_1_A[2];
    table_range(p, range_1_A);
    const double width = FWHM_PER_RMS * powder_drawn_rms(p, p->rings[0].s_1_A);
    return (size_t)ceil((range_1_A[1] - range_1_A[0]) / width * ROWS_A_WIDTH) + 1;
}

/* Adds a ring to F squared of the rows, whose s begins at first_1_A with steps of step_1_A. */
static void add_ring(const struct powder *p, const struct powder_ring *ring, double first_1_A,
                     double step_1_A, size_t rows, double *F2)
{
    const double rms = powder_drawn_rms(p, ring->s_1_A);
    const double from = (ring->s_1_A - POWDER_REACH * rms - first_1_A) / step_1_A,
                 to = (ring->s_1_A + POWDER_REACH * rms - first_1_A) / step_1_A;
    for (size_t i = from > 0.0 ? (size_t)from : 0; i < rows && (double)i <= to; i++) {
        const double s = first_1_A + step_1_A * (double)i, x = (s - ring->s_1_A) / rms;
        F2[i] += ring->F2 * exp(-0.5 * x * x) /
                 (sqrt(2.0 * M_PI) * rms * 4.0 * M_PI * s * s * p->cell_A3);
    }
}

double *powder_table(const struct powder *p, size_t *nrows)
{
    double range_1_A[2];
    const size_t rows = *nrows = count_rows(p);
    double *stol_1_m = mem_array(2 * rows, sizeof *stol_1_m), *F = stol_1_m + rows;
    table_range(p, range_1_A);
    const double step = (range_1_A[1] - range_1_A[0]) / (double)(rows - 1);
    for (size_t i = 0; i < rows; i++) {
        stol_1_m[i] = 0.5e10 * (range_1_A[0] + step * (double)i);
        F[i] = 0.0;
    }
    for (size_t i = 0; i < p->nrings; i++)
        add_ring(p, &p->rings[i], range_1_A[0], step, rows, F);
    for (size_t i = 0; i < rows; i++)
        F[i] = sqrt(F[i]);
    F[0] = F[rows - 1] = 0.0;  // also beyond the table
    return stol_1_m;
}

void powder_free(struct powder *p)
{
    mem_free(p->rings);
    p->rings = NULL;
    p->nrings = 0;
}
