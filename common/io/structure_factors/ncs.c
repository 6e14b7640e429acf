/*
 * Non-crystallographic symmetry: MTRIXn of a PDB file, _struct_ncs_oper of an mmCIF file.
 *
 * `gemmi convert --expand-ncs` is not used, because gemmi 0.6 refuses it where a model has axes of
 * its own (SCALEn).
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/structure_factors/molecule_reader.h"

/* A rotation and a shift in A, of atoms in the coordinates of the file. */
struct ncs_operator {
    double R[9], t_A[3];
};

/* All of them; the first is the identity. */
struct ncs {
    size_t count;
    struct ncs_operator *list;  // owned
};

/* Images of an atom that are as near as this are one, as for gemmi. */
static const double NEAR_A = 0.2;

/* How far rows of R may be from those of a rotation; files have three to six decimals. */
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

/* Rows: code, then three rows of R, each with its t. */
static enum status take_operators(const struct molecule_reader *r, const struct gemmi_table *t,
                                  struct ncs *ncs, struct error *e)
{
    ncs->list = mem_array(t->rows + 1, sizeof *ncs->list);
    if (!ncs->list)
        return error_memory(e, r->path);
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
    static const int index[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};  // of 11 22 33 12 13 23
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

/* Whether two places, of the cell's edges, are one by the symmetry of the crystal. */
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

/* Images of an atom; those at one place become the first of them, with their occupancies, but with
 * no more than 1.  The others get the occupancy -1. */
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

/* Adds the images of all atoms, those of an operator together. */
static enum status add_images(struct molecule_reader *r, const struct ncs *ncs, struct error *e)
{
    struct molecule *m = r->m;
    const size_t atoms = m->count;
    struct molecule_atom *image = mem_array(ncs->count * atoms, sizeof *image);
    double(*x)[3] = mem_array(ncs->count, sizeof *x);
    enum status s = image && x ? STATUS_OK : error_memory(e, r->path);
    for (size_t i = 0; i < atoms && !s; i++) {
        make_images(m, ncs, &m->atoms[i], image + i * ncs->count, x);
        m->atoms[i].occupancy = image[i * ncs->count].occupancy;
    }
    for (size_t o = 1; o < ncs->count && !s; o++)
        for (size_t i = 0; i < atoms && !s; i++)
            if (image[i * ncs->count + o].occupancy >= 0.0)
                s = molecule_add(r, &image[i * ncs->count + o], e);
    mem_free(x);
    mem_free(image);
    return s;
}

enum status ncs_expand(struct molecule_reader *r, const char *from, int keep, struct error *e)
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
