/* Models of atoms for gemmi sfcalc: every number with the nine digits that gemmi itself writes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "io/structure_factors/molecule.h"

static const int axis_of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

/* The inverse of the upper triangle of M, x = M at: at = O x, in A. */
static void orthogonal(const double cell_A[3], const double cell_rad[3], double O[9])
{
    double cosine[3];
    for (int i = 0; i < 3; i++)
        cosine[i] = cos(cell_rad[i]);
    const double sine = sin(cell_rad[2]);
    const double c_y = (cosine[0] - cosine[1] * cosine[2]) / sine;
    const double c_z = sqrt(1.0 - cosine[1] * cosine[1] - c_y * c_y);
    const double rows[9] = {cell_A[0],
                            cell_A[1] * cosine[2],
                            cell_A[2] * cosine[1],
                            0.0,
                            cell_A[1] * sine,
                            cell_A[2] * c_y,
                            0.0,
                            0.0,
                            cell_A[2] * c_z};
    memcpy(O, rows, sizeof rows);
}

static void multiply(const double A[9], const double B[9], double to[9])
{
    for (int k = 0; k < 9; k++)
        to[k] = A[3 * (k / 3)] * B[k % 3] + A[3 * (k / 3) + 1] * B[3 + k % 3] +
                A[3 * (k / 3) + 2] * B[6 + k % 3];
}

/* U becomes A U A^T. */
static void turn_tensor(const double A[9], double U[6])
{
    double whole[9], turned[9], back[9], transposed[9];
    for (int i = 0; i < 6; i++)
        whole[3 * axis_of[i][0] + axis_of[i][1]] = whole[3 * axis_of[i][1] + axis_of[i][0]] = U[i];
    for (int k = 0; k < 9; k++)
        transposed[k] = A[3 * (k % 3) + k / 3];
    multiply(A, whole, turned);
    multiply(turned, transposed, back);
    for (int i = 0; i < 6; i++)
        U[i] = back[3 * axis_of[i][0] + axis_of[i][1]];
}

/* The image of an atom, of A along the axes of the cell or, of a small molecule, of its edges. */
static void move(const struct molecule *m, const struct symmetry_operator *op,
                 struct molecule_atom *a)
{
    double x[3], moved[3], O[9], R[9], A[9], M[9];
    molecule_position(m, a, x);
    for (int i = 0; i < 3; i++) {
        moved[i] = op->t[i];
        for (int k = 0; k < 3; k++)
            moved[i] += op->R[3 * i + k] * x[k];
    }
    for (int k = 0; k < 9; k++) {
        R[k] = op->R[k];
        M[k] = m->fraction[4 * (k / 3) + k % 3];
    }
    if (m->small) {  // U of a unit along a*, b*, c*: beta = a*_i a*_j U turns as coordinates do
        double star[3];
        for (int i = 0; i < 3; i++)
            star[i] = sqrt(M[3 * i] * M[3 * i] + M[3 * i + 1] * M[3 * i + 1] +
                           M[3 * i + 2] * M[3 * i + 2]);
        for (int k = 0; k < 9; k++)
            A[k] = R[k] * star[k % 3] / star[k / 3];
        memcpy(a->at, moved, sizeof moved);
    } else {
        double RM[9];
        orthogonal(m->cell_A, m->cell_rad, O);
        multiply(R, M, RM);
        multiply(O, RM, A);
        for (int i = 0; i < 3; i++)
            a->at[i] = O[3 * i] * moved[0] + O[3 * i + 1] * moved[1] + O[3 * i + 2] * moved[2];
    }
    turn_tensor(A, a->U_A2);
}

static void put_cell(FILE *out, const struct molecule *m, bool expand)
{
    static const char *const names[] = {"length_a",    "length_b",   "length_c",
                                        "angle_alpha", "angle_beta", "angle_gamma"};
    const char dot = m->small ? '_' : '.';
    (void)fprintf(out, "data_model\n");
    for (int i = 0; i < 6; i++)
        (void)fprintf(out, "_cell%c%s %.9g\n", dot, names[i],
                      i < 3 ? m->cell_A[i] : rad_to_deg(m->cell_rad[i - 3]));
    (void)fprintf(out, "_symmetry%cspace_group_name_H-M '%s'\n", dot,
                  expand ? "P 1" : m->operators.name);
}

static void put_head(FILE *out, bool small, bool tensors)
{
    static const char site[] = "loop_\n_atom_site_label\n_atom_site_type_symbol\n"
                               "_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n"
                               "_atom_site_occupancy\n_atom_site_U_iso_or_equiv\n";
    static const char atom[] =
        "loop_\n_atom_site.id\n_atom_site.type_symbol\n_atom_site.label_atom_id\n"
        "_atom_site.label_alt_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n"
        "_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
        "_atom_site.occupancy\n_atom_site.B_iso_or_equiv\n_atom_site.auth_seq_id\n"
        "_atom_site.auth_asym_id\n_atom_site.pdbx_PDB_model_num\n";
    if (!tensors) {
        (void)fputs(small ? site : atom, out);
        return;
    }
    (void)fprintf(out, "loop_\n%s\n", small ? "_atom_site_aniso_label" : "_atom_site_anisotrop.id");
    for (int i = 0; i < 6; i++)
        (void)fprintf(out, small ? "_atom_site_aniso_U_%d%d\n" : "_atom_site_anisotrop.U[%d][%d]\n",
                      axis_of[i][0] + 1, axis_of[i][1] + 1);
}

static void put_atom(FILE *out, bool small, bool tensor, size_t number,
                     const struct molecule_atom *a)
{
    if (tensor) {
        (void)fprintf(out, "%zu", number);
        for (int i = 0; i < 6; i++)
            (void)fprintf(out, " %.9g", a->U_A2[i]);
        (void)fputc('\n', out);
    } else if (small)
        (void)fprintf(out, "%zu %s %.12g %.12g %.12g %.12g %.12g\n", number, a->symbol, a->at[0],
                      a->at[1], a->at[2], a->occupancy, a->B_A2 / (8.0 * M_PI * M_PI));
    else
        (void)fprintf(out, "%zu %s %s . UNL A 1 %.9g %.9g %.9g %.9g %.9g 1 A 1\n", number,
                      a->symbol, a->symbol, a->at[0], a->at[1], a->at[2], a->occupancy, a->B_A2);
}

/* All atoms, or the tensors of those that have one. */
static void put_atoms(FILE *out, const struct molecule *m, bool expand, bool tensors)
{
    const size_t images = expand ? m->operators.count : 1;
    size_t number = 1;
    bool first = true;
    for (size_t o = 0; o < images; o++)
        for (size_t i = 0; i < m->count; i++, number++) {
            struct molecule_atom a = m->atoms[i];
            if (tensors && !a.anisotropic)
                continue;
            if (expand || (m->own_axes && !m->small))
                move(m, &m->operators.list[o], &a);
            if (first)
                put_head(out, m->small, tensors);
            first = false;
            put_atom(out, m->small, tensors, number, &a);
        }
}

enum status molecule_write(const struct molecule *m, bool expand, int file, const char *path,
                           struct error *e)
{
    const int own = dup(file);
    FILE *out = own < 0 ? NULL : fdopen(own, "w");
    if (!out) {
        if (own >= 0)
            (void)close(own);
        return error_errno(e, STATUS_FAILED, "%s: no memory for a file", path);
    }
    put_cell(out, m, expand);
    put_atoms(out, m, expand, false);
    put_atoms(out, m, expand, true);
    const bool good = !ferror(out);
    return fclose(out) == 0 && good
               ? STATUS_OK
               : error_errno(e, STATUS_FAILED, "%s: no memory for a file", path);
}
