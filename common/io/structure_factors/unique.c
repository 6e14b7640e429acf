/*
 * The asymmetric unit of a list of reflections: one reflection for each set of equivalent ones,
 * and those that are missing.
 */
#include "io/structure_factors/mtz.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "io/structure_factors/hkl.h"

/* --- spacings ---------------------------------------------------------------------- */

/* Computes the scalar products of a*, b* and c*, in 1/A^2. */
static void reciprocal_metric(const struct mtz_rows *rows, double G[9])
{
    const double *cell = rows->cell_A;
    double direct[9];
    for (int k = 0; k < 9; k++) {
        const int i = k / 3, j = k % 3;
        direct[k] = cell[i] * cell[j] * (i == j ? 1.0 : cos(rows->cell_rad[3 - i - j]));
    }
    double determinant = 0.0;
    for (int k = 0; k < 9; k++) {
        const int i = k / 3, j = k % 3, a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3,
                  d = (j + 2) % 3;
        G[3 * j + i] =
            direct[3 * a + c] * direct[3 * b + d] - direct[3 * a + d] * direct[3 * b + c];
        determinant += i == 0 ? direct[j] * G[3 * j] : 0.0;
    }
    for (int k = 0; k < 9; k++)
        G[k] /= determinant;
}

static double inverse_square(const double G[9], const int hkl[3])
{
    double sum = 0.0;
    for (int k = 0; k < 9; k++)
        sum += G[k] * hkl[k / 3] * hkl[k % 3];
    return sum;
}

void unique_limit(struct mtz_rows *rows, double dmin_A)
{
    double G[9];
    size_t kept = 0;
    reciprocal_metric(rows, G);
    for (size_t i = 0; i < rows->count; i++)
        if (inverse_square(G, rows->list[i].hkl) * dmin_A * dmin_A <= 1.0)
            rows->list[kept++] = rows->list[i];
    rows->count = kept;
}

/* --- symmetry ------------------------------------------------------------------------ */

static void turn_indices(const int hkl[3], const int R[9], int to[3])
{
    for (int j = 0; j < 3; j++)
        to[j] = hkl[0] * R[j] + hkl[1] * R[3 + j] + hkl[2] * R[6 + j];
}

double unique_spacing_A(const struct mtz_rows *rows, const int hkl[3])
{
    double G[9];
    reciprocal_metric(rows, G);
    return 1.0 / sqrt(inverse_square(G, hkl));
}

bool unique_is_absent(const int hkl[3], const struct symmetry_operator *list, size_t count)
{
    for (size_t o = 0; o < count; o++) {
        int to[3];
        turn_indices(hkl, list[o].R, to);
        const double shift = hkl[0] * list[o].t[0] + hkl[1] * list[o].t[1] + hkl[2] * list[o].t[2];
        if (memcmp(to, hkl, sizeof to) == 0 && fabs(shift - rint(shift)) > 1e-2)
            return true;
    }
    return false;
}

static int order(const int a[3], const int b[3])
{
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Finds, among all equivalents of a reflection and their Friedel mates, the last one in ascending
 * order of h, then k, then l. */
static void last_mate(const int hkl[3], const struct symmetry_operator *list, size_t count,
                      int last[3])
{
    memcpy(last, hkl, 3 * sizeof *last);
    for (size_t i = 0; i < count; i++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            int to[3];
            turn_indices(hkl, list[i].R, to);
            for (int k = 0; k < 3; k++)
                to[k] *= sign;
            if (order(to, last) > 0)
                memcpy(last, to, sizeof to);
        }
}

void unique_reduce(struct mtz_rows *rows, const struct operators *o)
{
    struct symmetry_operator *own = mem_copy(o->list, o->count, sizeof *own);
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct mtz_row row = rows->list[i];
        int last[3];
        last_mate(row.hkl, o->list, o->count, last);
        if (order(row.hkl, last) != 0) {  // the chosen equivalent may be -h, whose phase has the
                                          // opposite sign
            for (int k = 0; k < 3; k++)
                row.hkl[k] = -row.hkl[k];
            row.value[1] = -row.value[1];
        }
        if (order(row.hkl, last) == 0 && !unique_is_absent(row.hkl, o->list, o->count))
            rows->list[kept++] = row;
    }
    mem_free(rows->operators);
    rows->count = kept;
    rows->operators = own;
    rows->noperators = o->count;
}

/* Sets max[] to the largest indices of reflections to the spacing dmin_A.  Returns the number of
 * indices within +-max[]. */
static double find_largest(const struct mtz_rows *rows, double dmin_A, int max[3])
{
    double cells = 1.0;
    for (int i = 0; i < 3; i++) {  // |h| <= a / d
        max[i] = (int)fmin(rows->cell_A[i] / dmin_A, INT_MAX / 4);
        cells *= 2.0 * max[i] + 1.0;
    }
    return cells;
}

enum status unique_list(struct mtz_rows *rows, double dmin_A, const char *path, struct error *e)
{
    double G[9];
    size_t room = 0;
    int max[3], hkl[3];
    const double cells = find_largest(rows, dmin_A, max);
    if (cells > HKL_CELLS_MAX)
        return error_set(e, STATUS_INPUT,
                         "%s: too many reflections to %.4g A (got %g indices); expected at most "
                         "%d. Give a larger --dmin",
                         path, dmin_A, cells, HKL_CELLS_MAX);
    reciprocal_metric(rows, G);
    for (hkl[0] = 0; hkl[0] <= max[0]; hkl[0]++)
        for (hkl[1] = -max[1]; hkl[1] <= max[1]; hkl[1]++)
            for (hkl[2] = -max[2]; hkl[2] <= max[2]; hkl[2]++) {
                const double sqr = inverse_square(G, hkl);
                int last[3];
                if (sqr * dmin_A * dmin_A > 1.0 || sqr == 0.0)
                    continue;
                last_mate(hkl, rows->operators, rows->noperators, last);
                if (order(hkl, last) != 0 ||
                    unique_is_absent(hkl, rows->operators, rows->noperators))
                    continue;
                rows->list = mem_grow(rows->list, rows->count, 1, sizeof *rows->list, &room);
                rows->list[rows->count] = (struct mtz_row){.number = (int)rows->count + 1};
                memcpy(rows->list[rows->count++].hkl, hkl, sizeof hkl);
            }
    return STATUS_OK;
}

/* --- what is missing ------------------------------------------------------------------ */

/* A set of reflections, with a bit for each reflection within +-max[]. */
struct box {
    int max[3];
    uint64_t *bits;  // owned
};

static size_t box_index(const struct box *b, const int hkl[3])
{
    size_t at = 0;
    for (int i = 0; i < 3; i++)
        at = at * (size_t)(2 * b->max[i] + 1) + (size_t)(hkl[i] + b->max[i]);
    return at;
}

static bool is_inside(const struct box *b, const int hkl[3])
{
    bool inside = true;
    for (int i = 0; i < 3; i++)
        inside = inside && hkl[i] >= -b->max[i] && hkl[i] <= b->max[i];
    return inside;
}

static void mark_listed(struct box *b, const struct mtz_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        for (size_t o = 0; o < rows->noperators; o++) {
            int to[3];
            turn_indices(rows->list[i].hkl, rows->operators[o].R, to);
            for (int sign = 0; sign < 2; sign++) {
                if (is_inside(b, to))
                    b->bits[box_index(b, to) / 64] |= UINT64_C(1) << box_index(b, to) % 64;
                for (int k = 0; k < 3; k++)
                    to[k] = -to[k];
            }
        }
}

/* Counts, in one half of reciprocal space to the spacing dmin_A, the allowed reflections (*all),
 * and those of them that are missing in the box (*missing).  example[] gets the indices of the
 * first missing reflection. */
static void count_allowed(const struct box *b, const struct mtz_rows *rows, const double G[9],
                          double dmin_A, size_t *missing, size_t *all, int example[3])
{
    int hkl[3];
    for (hkl[0] = 0; hkl[0] <= b->max[0]; hkl[0]++)
        for (hkl[1] = -b->max[1]; hkl[1] <= b->max[1]; hkl[1]++)
            for (hkl[2] = -b->max[2]; hkl[2] <= b->max[2]; hkl[2]++) {
                const double sqr = inverse_square(G, hkl);
                if (sqr * dmin_A * dmin_A > 1.0 || (!hkl[0] && !hkl[1] && !hkl[2]))
                    continue;
                const bool there = b->bits[box_index(b, hkl) / 64] >> box_index(b, hkl) % 64 & 1;
                const bool lacks =
                    !there && !unique_is_absent(hkl, rows->operators, rows->noperators);
                *all += there || lacks;
                if (lacks && ++*missing == 1)
                    memcpy(example, hkl, sizeof hkl);
            }
}

enum status unique_check(const struct mtz_rows *rows, double dmin_A, const char *path,
                         struct error *e)
{
    struct box b;
    double G[9];
    size_t missing = 0, all = 0;
    int example[3] = {0};
    reciprocal_metric(rows, G);
    const double cells = find_largest(rows, dmin_A, b.max);
    if (cells > 1e10)
        return error_set(
            e, STATUS_INPUT,
            "%s: too many reflections (got %g); expected at most 1e10. Try a larger --dmin", path,
            cells);
    b.bits = mem_try_array((size_t)cells / 64 + 1, sizeof *b.bits);
    if (!b.bits)
        return error_memory(e, path);
    memset(b.bits, 0, ((size_t)cells / 64 + 1) * sizeof *b.bits);
    mark_listed(&b, rows);
    count_allowed(&b, rows, G, dmin_A * (1.0 + 1e-9), &missing, &all, example);
    mem_free(b.bits);
    return missing
               ? error_set(e, STATUS_INPUT,
                           "%s: gemmi sfcalc left out %zu of %zu reflections to %.4g A, such as "
                           "%d %d %d; expected all. Use another version of gemmi, or --mtz",
                           path, missing, all, dmin_A, example[0], example[1], example[2])
               : STATUS_OK;
}
