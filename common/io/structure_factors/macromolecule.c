/* Models of macromolecules, PDB and mmCIF, as gemmi convert reads them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "io/structure_factors/gemmi.h"
#include "io/structure_factors/molecule.h"

/* --- non-crystallographic symmetry: MTRIXn of a PDB file, _struct_ncs_oper of mmCIF ------- */

/* `gemmi convert --expand-ncs` is not used, because gemmi 0.6 refuses to expand a model with axes
 * of its own (SCALEn). */

/* An operator of the non-crystallographic symmetry: x' = R x + t, in the coordinates of the file,
 * in A. */
struct ncs_operator {
    double R[9], t_A[3];
};

/* All operators of the non-crystallographic symmetry of a file.  The first is the identity. */
struct ncs {
    size_t count;
    struct ncs_operator *list;  // owned
};

/* Images of an atom that are closer than this distance count as one.  gemmi uses the same
 * distance. */
static const double NEAR_A = 0.2;

/* Largest allowed deviation of the scalar products of the rows of R from those of a rotation.
 * Files have three to six decimals. */
static const double ORTHONORMAL = 0.01;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static bool is_rotation(const double R[9])
{
    const double third[3] = {R[1] * R[5] - R[2] * R[4], R[2] * R[3] - R[0] * R[5],
                             R[0] * R[4] - R[1] * R[3]};
    bool good = dot(third, R + 6) > 0.0;
    for (int k = 0; k < 9; k++)
        good = good &&
               fabs(dot(R + 3 * (k / 3), R + 3 * (k % 3)) - (k % 4 == 0 ? 1.0 : 0.0)) < ORTHONORMAL;
    return good;
}

/* Stores the operators of a table in *ncs, after the identity.  The columns of the table are:
 * code, and for each of the three rows of R its elements and t in A.  Skips operators with the
 * code `given`: the file already contains their atoms. */
static enum status take_operators(const struct molecule_reader *r, const struct gemmi_table *t,
                                  struct ncs *ncs, struct error *e)
{
    ncs->list = mem_array(t->rows + 1, sizeof *ncs->list);
    ncs->list[0] = (struct ncs_operator){.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    ncs->count = 1;
    for (size_t row = 0; row < t->rows; row++) {
        struct ncs_operator *o = &ncs->list[ncs->count];
        bool good = true;
        if (strcmp(gemmi_table_text(t, row, 0), "given") == 0)
            continue;
        for (size_t i = 0; i < 3; i++) {
            for (size_t k = 0; k < 3; k++)
                o->R[3 * i + k] = gemmi_table_number(t, row, 1 + 4 * i + k);
            o->t_A[i] = gemmi_table_number(t, row, 4 + 4 * i);
            good = good && isfinite(o->t_A[i]);
        }
        if (!good || !is_rotation(o->R))
            return error_set(e, STATUS_INPUT,
                             "%s: operator %zu of the non-crystallographic symmetry is not a "
                             "rotation; expected one in MTRIXn of a PDB file, or in "
                             "_struct_ncs_oper of an mmCIF file",
                             r->path, row + 1);
        ncs->count++;
    }
    return STATUS_OK;
}

static void move(const struct ncs_operator *o, struct molecule_atom *a)
{
    double at[3], U[9], RU[9];
    static const int index[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};  // places of the matrix in U_A2[]
    for (int i = 0; i < 3; i++)
        at[i] = dot(o->R + 3 * i, a->at) + o->t_A[i];
    memcpy(a->at, at, sizeof at);
    for (int k = 0; k < 9; k++)
        U[k] = a->U_A2[index[k]];
    for (int k = 0; k < 9; k++)
        RU[k] = dot(o->R + 3 * (k / 3), U + 3 * (k % 3));  // U is symmetric
    for (int k = 0; k < 9; k++)
        a->U_A2[index[k]] = dot(RU + 3 * (k / 3), o->R + 3 * (k % 3));
}

/* Returns true if the symmetry of the crystal makes two positions equal, within NEAR_A.  x and y
 * are fractional coordinates. */
static bool is_one_place(const struct molecule *m, const double x[3], const double y[3])
{
    for (size_t o = 0; o < m->operators.count; o++) {
        const struct symmetry_operator *op = &m->operators.list[o];
        double d[3];
        for (int i = 0; i < 3; i++) {
            d[i] = op->t[i] - x[i];
            for (int k = 0; k < 3; k++)
                d[i] += op->R[3 * i + k] * y[k];
            d[i] -= rint(d[i]);
        }
        if (molecule_square_A2(m, d) < NEAR_A * NEAR_A)
            return true;
    }
    return false;
}

/* Computes the images of an atom under all operators, and their fractional coordinates x.  If
 * several images are at one position, the first gets the sum of their occupancies, but at most 1
 * or the occupancy of the atom if that is larger.  The others get the occupancy -1. */
static void make_images(const struct molecule *m, const struct ncs *ncs,
                        const struct molecule_atom *a, struct molecule_atom *image, double (*x)[3])
{
    const double full = fmax(1.0, a->occupancy);
    for (size_t i = 0; i < ncs->count; i++) {
        image[i] = *a;
        if (i)
            move(&ncs->list[i], &image[i]);
        molecule_position(m, &image[i], x[i]);
        for (size_t k = 0; k < i && image[i].occupancy >= 0.0; k++)
            if (image[k].occupancy >= 0.0 && is_one_place(m, x[k], x[i])) {
                image[k].occupancy = fmin(full, image[k].occupancy + a->occupancy);
                image[i].occupancy = -1.0;
            }
    }
}

/* Adds the images of all atoms to the model, in the order of the operators.  Images with the
 * occupancy -1 are not added. */
static enum status add_images(struct molecule_reader *r, const struct ncs *ncs, struct error *e)
{
    struct molecule *m = r->m;
    const size_t atoms = m->count;
    struct molecule_atom *image = mem_try_array(ncs->count * atoms, sizeof *image);
    double(*x)[3] = mem_array(ncs->count, sizeof *x);
    const enum status s = image ? STATUS_OK : error_memory(e, r->path);
    for (size_t i = 0; i < atoms && !s; i++) {
        make_images(m, ncs, &m->atoms[i], image + i * ncs->count, x);
        m->atoms[i].occupancy = image[i * ncs->count].occupancy;
    }
    for (size_t o = 1; o < ncs->count && !s; o++)
        for (size_t i = 0; i < atoms; i++)
            if (image[i * ncs->count + o].occupancy >= 0.0)
                molecule_add(r, &image[i * ncs->count + o]);
    mem_free(x);
    mem_free(image);
    return s;
}

/* Adds the images of the atoms under the non-crystallographic symmetry of the file `from` (see
 * molecule_read_tags).  Images of an atom at one place count as one, whose occupancy is at most 1.
 */
static enum status ncs_expand(struct molecule_reader *r, const char *from, int keep,
                              struct error *e)
{
    static const char *const tags[] = {
        "_struct_ncs_oper.code",         "_struct_ncs_oper.matrix[1][1]",
        "_struct_ncs_oper.matrix[1][2]", "_struct_ncs_oper.matrix[1][3]",
        "_struct_ncs_oper.vector[1]",    "_struct_ncs_oper.matrix[2][1]",
        "_struct_ncs_oper.matrix[2][2]", "_struct_ncs_oper.matrix[2][3]",
        "_struct_ncs_oper.vector[2]",    "_struct_ncs_oper.matrix[3][1]",
        "_struct_ncs_oper.matrix[3][2]", "_struct_ncs_oper.matrix[3][3]",
        "_struct_ncs_oper.vector[3]",    NULL};
    struct gemmi_table t;
    struct ncs ncs = {0};
    enum status s = molecule_read_tags(r, tags, from, keep, &t, e);
    s = s ? s : take_operators(r, &t, &ncs, e);
    gemmi_table_free(&t);
    if (!s && ncs.count > 1 && r->m->count)
        s = add_images(r, &ncs, e);
    mem_free(ncs.list);
    return s;
}

/* Largest allowed relative difference between the edges of the reciprocal cell from SCALEn and
 * those from the cell. */
static const double ALIKE = 0.01;

/* --- what gemmi would guess ---------------------------------------------------------- */

static double number_at(const char *line, int first, int last)
{
    char text[32] = "", *end;
    const int length = (int)strlen(line);
    for (int i = first; i <= last && i <= length; i++)
        text[i - first] = line[i - 1];
    const size_t blank = strspn(text, " \t\r\n");
    if (!text[blank])
        return (double)NAN;
    const double value = strtod(text + blank, &end);
    return end != text + blank && !end[strspn(end, " \t\r\n")] ? value : (double)INFINITY;
}

/* Checks an atom of a PDB file for errors that gemmi would read as 0.  STATUS_INPUT: a
 * coordinate, occupancy or B factor is not a number, or a coordinate is missing.  Counts missing
 * occupancies and B factors. */
static enum status check_line(struct molecule_reader *r, const char *line, long number,
                              struct error *e)
{
    static const struct {
        const char *what;
        int first, last;
        bool needed;
    } columns[] = {{"x", 31, 38, true},
                   {"y", 39, 46, true},
                   {"z", 47, 54, true},
                   {"occupancy", 55, 60, false},
                   {"B factor", 61, 66, false}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const double value = number_at(line, columns[i].first, columns[i].last);
        const int room = columns[i].last - columns[i].first + 1;
        if (isinf(value) || (columns[i].needed && isnan(value)))
            return error_set(e, STATUS_INPUT,
                             "%s:%ld: %s is not a number (got '%.*s'); expected one in the columns "
                             "%d to %d",
                             r->path, number, columns[i].what, room,
                             (int)strlen(line) >= columns[i].first ? line + columns[i].first - 1
                                                                   : "",
                             columns[i].first, columns[i].last);
        r->no_occupancy += i == 3 && isnan(value);
        r->no_B += i == 4 && isnan(value);
    }
    return STATUS_OK;
}

/* The operators in REMARK 290 of a PDB file, which the depositors used to generate symmetry
 * mates. */
struct remark {
    size_t count;                               // number of rows
    double row[3 * SYMMETRY_OPERATORS_MAX][4];  // three rows for each operator, in A
};

static void take_remark(struct remark *m, const char *line)
{
    const size_t n = sizeof m->row / sizeof *m->row;
    int row, operator;
    double *v = m->row[m->count < n ? m->count : 0];
    if (m->count < n && sscanf(line, "REMARK 290   SMTRY%1d %d %lf %lf %lf %lf", &row, &operator, v,
                               v + 1, v + 2, v + 3) == 6)
        m->count++;
}

/* Checks the atoms of a PDB file, line by line, and reads its REMARK 290 into *remark. */
static enum status check_lines(struct molecule_reader *r, struct remark *remark, struct error *e)
{
    char line[256];
    enum status s = STATUS_OK;
    gzFile z = gzopen(r->path, "rbe");
    if (!z)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    for (long number = 1; !s && gzgets(z, line, sizeof line); number++) {
        if (strncmp(line, "ATOM  ", 6) == 0 || strncmp(line, "HETATM", 6) == 0)
            s = check_line(r, line, number, e);
        if (strncmp(line, "REMARK 290", 10) == 0)
            take_remark(remark, line);
    }
    (void)gzclose(z);
    return s;
}

/* Checks that the operators in REMARK 290 are those of the space group.  REMARK 290 has R_A = O R
 * M of each operator R, for coordinates in A, where M converts to fractional coordinates and O is
 * the inverse of M. */
static enum status check_remark(const struct molecule_reader *r, const struct remark *remark,
                                struct error *e)
{
    const struct molecule *m = r->m;
    const struct operators *o = &m->operators;
    if (!remark->count || r->m->own_axes)
        return STATUS_OK;
    bool good = remark->count == 3 * o->count;
    for (size_t i = 0; i < remark->count / 3 && good; i++) {
        bool known = false;
        double MR[9] = {0};  // M R_A = R M
        for (int k = 0; k < 27; k++)
            MR[3 * (k / 9) + k % 3] += m->fraction[4 * (k / 9) + k / 3 % 3] *
                                       remark->row[3 * i + (size_t)(k / 3 % 3)][k % 3];
        for (size_t j = 0; j < o->count && !known; j++) {
            known = true;
            for (int k = 0; k < 9 && known; k++) {
                double RM = 0.0;
                for (int n = 0; n < 3; n++)
                    RM += o->list[j].R[3 * (k / 3) + n] * m->fraction[4 * n + k % 3];
                known = fabs(RM - MR[k]) < 0.02 * m->fraction[5 * (k / 3)];
            }
        }
        good = known;
    }
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "%s: REMARK 290 lists %zu symmetry operators that are not those of "
                            "'%s' in CRYST1; correct or remove the wrong one",
                            r->path, remark->count / 3, o->name);
}

/* Uses the axes of SCALEn instead of the standard axes, if the file has them.  STATUS_INPUT:
 * SCALEn contradicts the edges and angles of the cell. */
static enum status take_axes(struct molecule_reader *r, const struct gemmi_table *t,
                             struct error *e)
{
    struct molecule *m = r->m;
    double M[12], G[9] = {0}, own[9] = {0};
    if (!t->rows)
        return STATUS_OK;
    for (size_t i = 0; i < 12; i++)
        if (!isfinite(M[i] = gemmi_table_number(t, 0, i)))
            return molecule_refuse(
                r, e, "SCALEn or _atom_sites.fract_transf_matrix has a value that is not a number");
    for (int k = 0; k < 27; k++) {  // scalar products of a*, b*, c*
        const int i = k / 9, j = k / 3 % 3, n = k % 3;
        G[3 * i + j] += M[4 * i + n] * M[4 * j + n];
        own[3 * i + j] += m->fraction[4 * i + n] * m->fraction[4 * j + n];
    }
    for (int k = 0; k < 9; k++)
        if (fabs(G[k] - own[k]) > ALIKE * sqrt(own[4 * (k / 3)] * own[4 * (k % 3)]))
            return molecule_refuse(
                r, e,
                "SCALEn or _atom_sites.fract_transf_matrix contradicts the unit cell; "
                "remove it or correct the cell");
    memcpy(m->fraction, M, sizeof M);
    m->own_axes = true;
    return STATUS_OK;
}

/* Adds the atoms in the output of gemmi to the model.  The columns of the table are: type, x, y,
 * z, occupancy, B, model and id. */
static enum status take_atoms(struct molecule_reader *r, const struct gemmi_table *t,
                              struct error *e)
{
    enum { X = 1, OCCUPANCY = 4, B = 5, MODEL = 6 };
    const char *model = "";
    double sum = 0.0;
    size_t n = 0;
    enum status s = STATUS_OK;
    for (size_t row = 0; row < t->rows && !s; row++) {
        struct molecule_atom a = {0};
        (void)snprintf(a.symbol, sizeof a.symbol, "%s", gemmi_table_text(t, row, 0));
        if (row == 0 || strcmp(model, gemmi_table_text(t, row, MODEL)) != 0) {
            model = gemmi_table_text(t, row, MODEL);
            r->occupied += n ? sum / (double)n : 0.0;
            r->models++;
            sum = 0.0;
            n = 0;
        }
        if (!(s = molecule_take_position(r, t, row, X, &a, e)) &&
            !(s = molecule_take_weights(r, t, row, OCCUPANCY, B, &a, e)))
            molecule_add(r, &a);
        sum += a.occupancy;
        n++;
    }
    r->occupied += n ? sum / (double)n : 0.0;
    return s;
}

/* Stores the anisotropic U of the atoms.  The columns of the table `t` are: id and six elements
 * of U.  Its rows have the order of the atoms, but atoms without U have no row. */
static void take_tensors(struct molecule_reader *r, const struct gemmi_table *atoms,
                         const struct gemmi_table *t)
{
    enum { ID = 7 };
    size_t at = 0;
    for (size_t row = 0; row < t->rows; row++) {
        while (at < r->m->count &&
               strcmp(gemmi_table_text(atoms, at, ID), gemmi_table_text(t, row, 0)) != 0)
            at++;
        if (at == r->m->count)
            return;
        r->m->atoms[at].anisotropic = true;
        for (size_t i = 0; i < 6; i++)
            r->m->atoms[at].U_A2[i] = gemmi_table_number(t, row, 1 + i);
    }
}

/* Reads the mmCIF file that gemmi convert wrote to `from`. */
static enum status read_converted(struct molecule_reader *r, const char *from, int keep,
                                  struct error *e)
{
    static const char *const cell[] = {"_cell.length_a",
                                       "_cell.length_b",
                                       "_cell.length_c",
                                       "_cell.angle_alpha",
                                       "_cell.angle_beta",
                                       "_cell.angle_gamma",
                                       NULL};
    static const char *const names[] = {"_symmetry.space_group_name_H-M", NULL};
    static const char *const axes[] = {"_atom_sites.fract_transf_matrix[1][1]",
                                       "_atom_sites.fract_transf_matrix[1][2]",
                                       "_atom_sites.fract_transf_matrix[1][3]",
                                       "_atom_sites.fract_transf_vector[1]",
                                       "_atom_sites.fract_transf_matrix[2][1]",
                                       "_atom_sites.fract_transf_matrix[2][2]",
                                       "_atom_sites.fract_transf_matrix[2][3]",
                                       "_atom_sites.fract_transf_vector[2]",
                                       "_atom_sites.fract_transf_matrix[3][1]",
                                       "_atom_sites.fract_transf_matrix[3][2]",
                                       "_atom_sites.fract_transf_matrix[3][3]",
                                       "_atom_sites.fract_transf_vector[3]",
                                       NULL};
    static const char *const atoms[] = {"_atom_site.type_symbol",
                                        "_atom_site.Cartn_x",
                                        "_atom_site.Cartn_y",
                                        "_atom_site.Cartn_z",
                                        "_atom_site.occupancy",
                                        "_atom_site.B_iso_or_equiv",
                                        "_atom_site.pdbx_PDB_model_num",
                                        "_atom_site.id",
                                        NULL};
    static const char *const tensors[] = {
        "_atom_site_anisotrop.id",      "_atom_site_anisotrop.U[1][1]",
        "_atom_site_anisotrop.U[2][2]", "_atom_site_anisotrop.U[3][3]",
        "_atom_site_anisotrop.U[1][2]", "_atom_site_anisotrop.U[1][3]",
        "_atom_site_anisotrop.U[2][3]", NULL};
    struct gemmi_table t, u = {0};
    char symbol[128];
    bool ignored;
    enum status s = molecule_read_tags(r, cell, from, keep, &t, e);
    s = s ? s : molecule_take_cell(r, &t, e);
    gemmi_table_free(&t);
    s = s ? s : molecule_find_tag(r, names, from, keep, symbol, sizeof symbol, e);
    if (!s && !*symbol)
        s = molecule_refuse(
            r, e,
            "no space group; expected it in CRYST1 of a PDB file, or in _symmetry of an "
            "mmCIF file");
    s = s ? s
          : operators_find(r->path, symbol, r->m->cell_A, r->m->cell_rad, &r->m->operators,
                           &ignored, e);
    if (s)
        return s;
    s = molecule_read_tags(r, axes, from, keep, &t, e);
    s = s ? s : take_axes(r, &t, e);
    gemmi_table_free(&t);
    if (s)
        return s;
    s = molecule_read_tags(r, atoms, from, keep, &t, e);
    s = s ? s : take_atoms(r, &t, e);
    s = s ? s : molecule_read_tags(r, tensors, from, keep, &u, e);
    if (!s)
        take_tensors(r, &t, &u);
    gemmi_table_free(&u);
    gemmi_table_free(&t);
    return s ? s : ncs_expand(r, from, keep, e);
}

/* Checks that the file has only one structure.  This check is needed because gemmi converts only
 * one block of a file that has several. */
static enum status check_blocks(const struct molecule_reader *r, struct error *e)
{
    static const char *const cell[] = {"_cell.length_a", NULL};
    struct gemmi_table t;
    enum status s = molecule_read_tags(r, cell, r->path, -1, &t, e);
    if (!s && t.rows > 1)
        s = error_set(e, STATUS_INPUT, "%s: the file has %zu structures; expected one", r->path,
                      t.rows);
    gemmi_table_free(&t);
    return s;
}

/* Checks the coordinates, occupancies and B factors of an mmCIF file, and counts missing
 * occupancies and B factors.  gemmi would replace them by 0 or 1. */
static enum status count_missing(struct molecule_reader *r, struct error *e)
{
    static const char *const tags[] = {"_atom_site.id",
                                       "_atom_site.Cartn_x",
                                       "_atom_site.Cartn_y",
                                       "_atom_site.Cartn_z",
                                       "_atom_site.occupancy",
                                       "_atom_site.B_iso_or_equiv",
                                       NULL};
    struct gemmi_table t;
    enum status s = molecule_read_tags(r, tags, r->path, -1, &t, e);
    for (size_t row = 0; row < t.rows && !s; row++) {
        for (size_t c = 1; c < 4 && !s; c++)
            if (!isfinite(gemmi_table_number(&t, row, c)))
                s = molecule_refuse_atom(r, row, gemmi_table_text(&t, row, 0),
                                         "a coordinate is not a number", e);
        for (size_t c = 4; c < 6 && !s; c++)
            if (isinf(gemmi_table_number(&t, row, c)))
                s = molecule_refuse_atom(r, row, gemmi_table_text(&t, row, 0),
                                         "the occupancy or B factor is not a number", e);
        r->no_occupancy += isnan(gemmi_table_number(&t, row, 4)) ? 1 : 0;
        r->no_B += isnan(gemmi_table_number(&t, row, 5)) ? 1 : 0;
    }
    gemmi_table_free(&t);
    return s;
}

static enum status convert(const struct molecule_reader *r, int file, char *name, struct error *e)
{
    char command[] = "gemmi", verb[] = "convert", to[] = "--to=mmcif";
    char from[32], model[TOOL_PATH_SIZE], *bytes;
    char *argv[] = {command, verb, from, to, model, name, NULL};
    (void)snprintf(from, sizeof from, "--from=%s", r->cif ? "mmcif" : "pdb");
    tool_path(r->path, model);
    const enum status s = gemmi_read(argv, file, r->path, &bytes, e);
    mem_free(bytes);
    return s;
}

enum status macromolecule_read(struct molecule_reader *r, struct error *e)
{
    char name[TOOL_NAME_SIZE];
    int file;
    struct remark *remark = mem_array(1, sizeof *remark);
    remark->count = 0;
    enum status s = r->cif ? check_blocks(r, e) : check_lines(r, remark, e);
    if (!s && r->cif)
        s = count_missing(r, e);
    s = s ? s : tool_file(r->path, &file, name, e);
    if (!s) {
        s = convert(r, file, name, e);
        s = s ? s : read_converted(r, name, file, e);
        (void)close(file);
    }
    if (!s)
        s = r->cif ? space_group_check_number(r, r->path, e) : check_remark(r, remark, e);
    mem_free(remark);
    return s;
}
