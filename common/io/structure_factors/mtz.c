#include "io/structure_factors/mtz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/structure_factors/hkl.h"

enum { HANDS = 2 };          // h and -h
enum { LABELS_SIZE = 256 };  // of two, with the names of their data sets

/* --- reflections ----------------------------------------------------------- */

/* Adds a value of h, or with sign -1 of -h, if it is there. */
static void put(struct reflection *list, size_t *n, const struct mtz_row *row, int sign, double F)
{
    if (isnan(F))
        return;
    list[*n] = (struct reflection){.row = row->number, .F = F};
    for (int i = 0; i < 3; i++)
        list[*n].hkl[i] = sign * row->hkl[i];
    ++*n;
}

/* Drops F(-) of rows whose F(+) is there and where symmetry makes both one; returns how many say
 * otherwise. */
static size_t join_centric(struct reflection *list, size_t *n, const int (*rotations)[9],
                           size_t nrotations)
{
    size_t kept = 0, split = 0;
    for (size_t i = 0; i < *n; i++) {
        const struct reflection *before = kept ? &list[kept - 1] : NULL;
        const bool joins = before && before->row == list[i].row &&
                           hkl_is_centric(list[i].hkl, rotations, nrotations);
        split += joins && fabs(before->F - list[i].F) > 1e-3 * fmax(before->F, list[i].F);
        if (!joins)
            list[kept++] = list[i];
    }
    *n = kept;
    return split;
}

/* The value of each row or, unless mates are alike, F(+) and F(-) of it, expanded by symmetry. */
static enum status expand(const struct mtz_rows *rows, const double (*F)[HANDS],
                          enum hkl_mates mates, const char *path, double default_F,
                          struct hkl_table *t, size_t *split, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    struct reflection *list = mem_array(rows->count, HANDS * sizeof *list);
    int(*rotations)[9] = mem_array(rows->noperators, sizeof *rotations);
    size_t n = 0;
    enum status s = list && rotations ? STATUS_OK : error_memory(e, path);
    for (size_t o = 0; o < rows->noperators && !s; o++)
        memcpy(rotations[o], rows->operators[o].R, sizeof rotations[o]);
    for (size_t i = 0; i < rows->count && !s; i++) {
        const double first = F ? F[i][0] : rows->list[i].value[0];
        put(list, &n, &rows->list[i], 1, rows->intensities ? first : fabs(first));
        if (F)
            put(list, &n, &rows->list[i], -1, rows->intensities ? F[i][1] : fabs(F[i][1]));
    }
    if (!s && n == 0)
        s = error_set(e, STATUS_INPUT, "%s: the column of %s is empty", path,
                      rows->intensities ? "intensities" : "amplitudes");
    if (!s && F)
        *split = join_centric(list, &n, (const int(*)[9])rotations, rows->noperators);
    if (!s)
        s = hkl_expand(list, n, (const int(*)[9])rotations, rows->noperators, mates, default_F, t,
                       path, e);
    mem_free(rotations);
    mem_free(list);
    return s;
}

enum status mtz_expand(const struct mtz_rows *rows, const char *path, double default_F,
                       struct hkl_table *t, struct error *e)
{
    return expand(rows, NULL, HKL_MATES_ALIKE, path, default_F, t, NULL, e);
}

enum status mtz_expand_hands(const struct mtz_rows *rows, const double (*F)[2], const char *path,
                             double default_F, struct hkl_table *t, size_t *split, struct error *e)
{
    return expand(rows, F, HKL_MATES_OWN, path, default_F, t, split, e);
}

/* --- reading ------------------------------------------------------------------ */

static void take_cell(const struct mtz_rows *rows, double cell_A[3], double cell_rad[3])
{
    memcpy(cell_A, rows->cell_A, sizeof rows->cell_A);
    memcpy(cell_rad, rows->cell_rad, sizeof rows->cell_rad);
}

/* Two labels with a comma between them, kept in first[]; nothing where none are given. */
static enum status split_label(const char *path, const char *label, const char *what,
                               char first[LABELS_SIZE], struct mtz_labels *to, struct error *e)
{
    if (!label)
        return STATUS_OK;
    (void)snprintf(first, LABELS_SIZE, "%s", label);
    char *comma = strchr(first, ',');
    if (!comma)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' is one column, %s", path, label, what);
    *comma++ = 0;
    to->F = first;
    to->second = comma;
    return STATUS_OK;
}

/* Two values of each row, from `first` on; NULL when memory is out. */
static double (*pairs_of(const struct mtz_rows *rows, int first))[HANDS]
{
    double(*F)[HANDS] = mem_array(rows->count, sizeof *F);
    for (size_t i = 0; F && i < rows->count; i++)
        memcpy(F[i], rows->list[i].value + first, sizeof F[i]);
    return F;
}

enum status mtz_read(const char *path, const char *label, double default_F, struct hkl_table *t,
                     double cell_A[3], double cell_rad[3], struct error *e)
{
    const struct mtz_labels labels = {.F = label};
    struct mtz_rows rows;
    *t = (struct hkl_table){.default_F = default_F};
    enum status s = mtz_rows_read(path, &labels, &rows, e);
    take_cell(&rows, cell_A, cell_rad);
    if (!s)
        s = mtz_expand(&rows, path, default_F, t, e);
    mtz_rows_free(&rows);
    return s;
}

/* I(+) and I(-), where there are any. */
static enum status expand_mates(const struct mtz_rows *rows, const char *path, struct hkl_table *t,
                                struct error *e)
{
    bool some = false;
    size_t split;
    for (size_t i = 0; i < rows->count && !some; i++)
        some = !isnan(rows->list[i].value[1]) || !isnan(rows->list[i].value[2]);
    if (!some)
        return STATUS_OK;
    double(*I)[HANDS] = pairs_of(rows, 1);
    const enum status s =
        I ? expand(rows, (const double(*)[HANDS])I, HKL_MATES_APART, path, NAN, t, &split, e)
          : error_memory(e, path);
    mem_free(I);
    return s;
}

enum status mtz_read_intensities(const char *path, struct hkl_table *mean, struct hkl_table *mates,
                                 double cell_A[3], double cell_rad[3], struct error *e)
{
    const struct mtz_labels labels = {.wanted = MTZ_INTENSITIES};
    struct mtz_rows rows;
    *mean = *mates = (struct hkl_table){.default_F = NAN};
    enum status s = mtz_rows_read(path, &labels, &rows, e);
    take_cell(&rows, cell_A, cell_rad);
    s = s ? s : mtz_expand(&rows, path, NAN, mean, e);
    s = s ? s : expand_mates(&rows, path, mates, e);
    mtz_rows_free(&rows);
    return s;
}

enum status mtz_read_hands(const char *path, const char *label, double default_F,
                           struct hkl_table *t, double cell_A[3], double cell_rad[3], size_t *split,
                           struct error *e)
{
    char first[LABELS_SIZE];
    struct mtz_labels labels = {.wanted = MTZ_HANDS};
    struct mtz_rows rows = {0};
    double(*F)[2] = NULL;
    *t = (struct hkl_table){.default_F = default_F};
    *split = 0;
    enum status s =
        split_label(path, label, "hands need two labels, as 'F(+),F(-)'", first, &labels, e);
    if (!s)
        s = mtz_rows_read(path, &labels, &rows, e);
    take_cell(&rows, cell_A, cell_rad);
    if (!s && !(F = pairs_of(&rows, 0)))
        s = error_memory(e, path);
    if (!s)
        s = mtz_expand_hands(&rows, (const double(*)[2])F, path, default_F, t, split, e);
    mem_free(F);
    mtz_rows_free(&rows);
    return s;
}

enum status mtz_read_phases(const char *path, const char *label, struct mtz_rows *rows,
                            struct error *e)
{
    char first[LABELS_SIZE];
    struct mtz_labels labels = {.wanted = MTZ_PHASES};
    *rows = (struct mtz_rows){0};
    enum status s =
        split_label(path, label, "amplitudes need phases, as 'FC,PHIC'", first, &labels, e);
    if (!s)
        s = mtz_rows_read(path, &labels, rows, e);
    for (size_t i = 0; i < rows->count && !s; i++)
        if (isnan(rows->list[i].value[0]) != isnan(rows->list[i].value[1]))
            s = error_set(e, STATUS_INPUT, "%s:%d: has F or a phase alone", path,
                          rows->list[i].number);
    return s;
}
