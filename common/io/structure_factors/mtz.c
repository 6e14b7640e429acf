#include "io/structure_factors/mtz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ccp4/cmtzlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "io/hdf5/sandbox.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/symmetry.h"

/* Limits of the child process: CPU time, elapsed time, and address space in addition to that for
 * the file and its rows. */
#define CPU_S 0.3
#define CPU_S_PER_BYTE (1.0 / (8 << 20))
#define WALL_S 5.0
enum { SPACE_BYTES = 64 << 20 };

#define MAGIC 0x7a746d2d67676172u

/* The message that the child process sends before the rows. */
struct reply {
    uint64_t magic, nrows, noperators;
    uint64_t bad_row;  // number of the first bad row, from 1; no rows follow then. 0: all are good
    struct symmetry_operator operators[SYMMETRY_OPERATORS_MAX];
};

/* --- the child process, which reads the file with libccp4 ---------------- */

/* The file that the child process reads. */
struct work {
    const char *path;
    const struct mtz_layout *layout;
};

static bool is_whole(double x, int limit)
{
    return fabs(x) <= limit && x == rint(x);
}

/* Returns the number in a column of a row.  NaN: the value is missing, or there is no such column
 * (-1).  A file may mark missing values with any number, also with infinity; an infinite value
 * therefore counts as a value that is not possible. */
static double take_number(const float *row, const int *missing, int64_t column)
{
    if (column < 0)
        return (double)NAN;
    const float at = row[column];
    return missing[column] && !isinf(at) ? (double)NAN : (double)at;
}

/* Converts a row of the file to *out.  Values may be missing.  Returns false if an index or a
 * value is out of range. */
static bool take_row(const struct mtz_layout *m, const float *row, const int *missing,
                     struct mtz_row *out)
{
    for (int i = 0; i < 3; i++) {
        if (!is_whole((double)row[i], HKL_INDEX_MAX))
            return false;
        out->hkl[i] = (int)row[i];
    }
    double *value = out->value;
    value[0] = take_number(row, missing, m->F_column);
    value[1] = take_number(row, missing, m->second >= 0 ? m->second : m->mates[0]);
    value[2] = take_number(row, missing, m->mates[1]);
    if (m->F_column < 0)
        value[0] = isnan(value[1])   ? value[2]
                   : isnan(value[2]) ? value[1]
                                     : (value[1] + value[2]) / 2.0;
    if (m->difference) {
        const double half = isnan(value[1]) ? 0.0 : value[1] / 2.0;
        value[1] = value[0] - half;
        value[0] = value[0] + half;
    }
    bool good = true;
    for (int i = 0; i < 3; i++)
        good = good && !(fabs(value[i]) > m->F_max);
    value[0] *= m->squared ? value[0] : 1.0;
    return good;
}

/* Converts a symmetry operator x' = R x + t.  Ends the child process if the elements of R are not
 * -1, 0 or 1. */
static void take_operator(float sym[4][4], struct symmetry_operator *to)
{
    enum { PARTS = 24 };  // translations are multiples of 1/24 of a cell edge
    for (int i = 0; i < 9; i++) {
        const double x = (double)sym[i / 3][i % 3];
        if (!is_whole(x, 1))
            confined_leave(STATUS_INPUT);
        to->R[i] = (int)x;
    }
    for (int i = 0; i < 3; i++)
        to->t[i] = rint((double)sym[i][3] * PARTS) / PARTS;
}

/* Reads the file with libccp4 and sends the operators and all rows that have at least one value.
 * Runs in the child process. */
static void read_and_send(const void *what, int to)
{
    const struct work *w = what;
    const struct mtz_layout *m = w->layout;
    MTZ *mtz = MtzGet(w->path, 0);
    if (!mtz || mtz->nref_filein != m->nref || mtz->ncol_read != m->ncol ||
        mtz->mtzsymm.nsym != m->nsym)
        confined_leave(STATUS_INPUT);
    struct mtz_row *rows = mem_try_array((size_t)m->nref, sizeof *rows);
    float *row = mem_try_array((size_t)m->ncol, sizeof *row), resolution;
    int *missing = mem_try_array((size_t)m->ncol, sizeof *missing);
    struct reply reply = {.magic = MAGIC, .noperators = (uint64_t)m->nsym};
    if (!rows || !row || !missing)
        confined_leave(STATUS_FAILED);
    for (int64_t o = 0; o < m->nsym; o++)
        take_operator(mtz->mtzsymm.sym[o], &reply.operators[o]);
    MtzRewdInput(mtz);
    for (int64_t r = 0; r < m->nref; r++) {
        if (ccp4_lrrefl(mtz, &resolution, row, missing, (int)r + 1))
            confined_leave(STATUS_INPUT);
        struct mtz_row *out = &rows[reply.nrows];
        out->number = (int)r + 1;
        if (!take_row(m, row, missing, out)) {
            reply.bad_row = (uint64_t)r + 1;
            confined_send(to, &reply, sizeof reply);
            confined_leave(STATUS_INPUT);
        }
        reply.nrows += !isnan(out->value[0]) || !isnan(out->value[1]) || !isnan(out->value[2]);
    }
    confined_send(to, &reply, sizeof reply);
    confined_send(to, rows, (size_t)reply.nrows * sizeof *rows);
    confined_leave(STATUS_OK);
}

/* --- the parent process -------------------------------------------------- */

/* Receives the reply and the rows from the child process.  Returns false if they are incomplete
 * or not valid. */
static bool take_reply(const struct confined *c, const struct mtz_layout *m, struct reply *reply,
                       struct mtz_row **rows)
{
    char more;
    if (confined_receive(c, reply, sizeof *reply) != sizeof *reply || reply->magic != MAGIC ||
        reply->bad_row || reply->nrows > (uint64_t)m->nref ||
        reply->noperators != (uint64_t)m->nsym)
        return false;
    const size_t n = (size_t)reply->nrows;
    *rows = mem_try_array(n, sizeof **rows);
    if (!*rows || confined_receive(c, *rows, n * sizeof **rows) != n * sizeof **rows ||
        confined_receive(c, &more, 1) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        for (int v = 0; v < 3; v++)
            if (isinf((*rows)[i].value[v]))
                return false;
    return true;
}

/* Reads the file in a child process.  The caller frees *rows with mem_free. */
static enum status read_in_child(const char *path, const struct mtz_layout *m, struct reply *reply,
                                 struct mtz_row **rows, struct error *e)
{
    const double more_s = (double)m->size * CPU_S_PER_BYTE;
    const struct confined_limits limits = {CPU_S + more_s, WALL_S + more_s,
                                           SPACE_BYTES + (size_t)m->size +
                                               (size_t)m->nref * sizeof(struct mtz_row)};
    const struct work work = {path, m};
    struct confined child;
    const enum status s = confined_start(&child, &limits, read_and_send, &work, path, e);
    if (s)
        return s;
    const char *why = confined_close(&child, take_reply(&child, m, reply, rows));
    const uint64_t row = reply->bad_row;
    if (row)
        return error_set(e, STATUS_INPUT,
                         "%s:%" PRIu64
                         ": malformed reflection; expected whole indices within +-%d, and %s of "
                         "at most %g%s",
                         path, row, HKL_INDEX_MAX, m->F_max > HKL_F_MAX ? "intensities" : "F",
                         m->F_max, m->F_max > HKL_F_MAX ? "" : " electrons");
    return why ? error_set(e, STATUS_INPUT, "%s: corrupt MTZ (%s)", path, why) : STATUS_OK;
}

/* Checks that the operators of the file are a group, that the group is the one that the file
 * names, and that it fits the cell.  STATUS_INPUT: they contradict each other, so one of them is
 * wrong. */
static enum status check_symmetry(const char *path, const struct mtz_layout *m,
                                  const struct mtz_rows *rows, struct error *e)
{
    struct operators *o = mem_array(1, sizeof *o);
    *o = (struct operators){.count = rows->noperators};
    memcpy(o->list, rows->operators, rows->noperators * sizeof *o->list);
    const bool group = operators_are_group(o),
               fits = operators_fit(o, rows->cell_A, rows->cell_rad);
    mem_free(o);
    if (!group)
        return error_set(e, STATUS_INPUT,
                         "%s: the %zu symmetry operators are not a group; expected all operators "
                         "of the space group, each once",
                         path, rows->noperators);
    if (!fits)
        return error_set(e, STATUS_INPUT,
                         "%s: the %zu symmetry operators do not fit the cell %g %g %g A, %g %g %g "
                         "deg; correct the space group or the cell",
                         path, rows->noperators, rows->cell_A[0], rows->cell_A[1], rows->cell_A[2],
                         rad_to_deg(rows->cell_rad[0]), rad_to_deg(rows->cell_rad[1]),
                         rad_to_deg(rows->cell_rad[2]));
    return symmetry_compare(rows->operators, rows->noperators, m->group, m->group_name, path, e);
}

/* Warns if the operators forbid reflections whose F is larger than noise.  `values` is the number
 * of amplitudes in a row. */
static void doubt_absences(const char *path, const struct mtz_rows *rows, size_t values)
{
    static const double noise = 0.25;  // as a fraction of the root mean square of F
    double sum = 0.0, largest = 0.0;
    size_t count = 0, absent = 0;
    const struct mtz_row *worst = NULL;
    for (size_t i = 0; i < rows->count * values; i++) {
        const double F = rows->list[i / values].value[i % values];
        sum += isnan(F) ? 0.0 : F * F;
        count += isnan(F) ? 0 : 1;
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct mtz_row *r = &rows->list[i];
        const double F = fmax(fabs(r->value[0]), values > 1 ? fabs(r->value[1]) : 0.0);
        if (!(F > noise * sqrt(sum / (double)count)) ||
            !unique_is_absent(r->hkl, rows->operators, rows->noperators))
            continue;
        absent++;
        worst = F > largest ? r : worst;
        largest = fmax(largest, F);
    }
    if (worst)
        log_line(LOG_WARNING,
                 "%s: the space group forbids %zu of the reflections with a large F, the largest "
                 "%g of %d %d %d: these F are used. Is the space group right?",
                 path, absent, largest, worst->hkl[0], worst->hkl[1], worst->hkl[2]);
}

/* Reads the rows of a file.  Errors are those of mtz_read.  The child process may compute for 0.3
 * s, plus 1 s for each 8 MiB of the file.  mtz_rows_free frees *rows, also after an error. */
static enum status read_rows(const char *path, const struct mtz_labels *labels,
                             struct mtz_rows *rows, struct error *e)
{
    struct mtz_layout m;
    *rows = (struct mtz_rows){.intensities = labels->wanted == MTZ_INTENSITIES};
    enum status s = mtz_check(path, labels, &m, e);
    if (s)
        return s;
    for (int i = 0; i < 3; i++) {
        rows->cell_A[i] = m.cell[i];
        rows->cell_rad[i] = deg_to_rad(m.cell[i + 3]);
    }
    struct reply *reply = mem_array(1, sizeof *reply);
    s = read_in_child(path, &m, reply, &rows->list, e);
    if (!s) {
        rows->count = (size_t)reply->nrows;
        rows->noperators = (size_t)reply->noperators;
        rows->operators = mem_copy(reply->operators, rows->noperators, sizeof *rows->operators);
        s = check_symmetry(path, &m, rows, e);
    }
    mem_free(reply);
    if (!s && labels->wanted != MTZ_INTENSITIES)
        doubt_absences(path, rows, labels->wanted == MTZ_HANDS ? 2 : 1);
    return s;
}

void mtz_rows_free(struct mtz_rows *rows)
{
    mem_free(rows->list);
    mem_free(rows->operators);
    *rows = (struct mtz_rows){0};
}

enum { HANDS = 2 };          // h and -h
enum { LABELS_SIZE = 256 };  // two labels, with the names of their data sets

/* --- reflections ----------------------------------------------------------- */

/* Adds F as the value of the reflection h (sign 1) or -h (sign -1) to the list.  Does nothing if
 * F is NaN. */
static void put_value(struct reflection *list, size_t *n, const struct mtz_row *row, int sign,
                      double F)
{
    if (isnan(F))
        return;
    list[*n] = (struct reflection){.row = row->number, .F = F};
    for (int i = 0; i < 3; i++)
        list[*n].hkl[i] = sign * row->hkl[i];
    ++*n;
}

/* Removes F(-) of the rows in which symmetry makes h and -h equivalent, and which have F(+).
 * Returns the number of such rows whose F(-) differs from F(+). */
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

/* Expands the first value of each row by symmetry.  If `F` is not NULL, expands F(+) and F(-) of
 * each row, F[i], instead, and sets *split as mtz_read_hands does. */
static enum status expand_rows(const struct mtz_rows *rows, const double (*F)[HANDS],
                               enum hkl_mates mates, const char *path, double default_F,
                               struct hkl_table *t, size_t *split, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    struct reflection *list = mem_try_array(rows->count, HANDS * sizeof *list);
    int(*rotations)[9] = mem_array(rows->noperators, sizeof *rotations);
    size_t n = 0;
    enum status s = list ? STATUS_OK : error_memory(e, path);
    for (size_t o = 0; o < rows->noperators && !s; o++)
        memcpy(rotations[o], rows->operators[o].R, sizeof rotations[o]);
    for (size_t i = 0; i < rows->count && !s; i++) {
        const double first = F ? F[i][0] : rows->list[i].value[0];
        put_value(list, &n, &rows->list[i], 1, rows->intensities ? first : fabs(first));
        if (F)
            put_value(list, &n, &rows->list[i], -1, rows->intensities ? F[i][1] : fabs(F[i][1]));
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
    return expand_rows(rows, NULL, HKL_MATES_ALIKE, path, default_F, t, NULL, e);
}

enum status mtz_expand_hands(const struct mtz_rows *rows, const double (*F)[2], const char *path,
                             double default_F, struct hkl_table *t, size_t *split, struct error *e)
{
    return expand_rows(rows, F, HKL_MATES_OWN, path, default_F, t, split, e);
}

/* --- reading ------------------------------------------------------------------ */

static void take_cell(const struct mtz_rows *rows, double cell_A[3], double cell_rad[3])
{
    memcpy(cell_A, rows->cell_A, sizeof rows->cell_A);
    memcpy(cell_rad, rows->cell_rad, sizeof rows->cell_rad);
}

/* Splits `label` at the comma into the two labels of *to, which point into first[].  Does nothing
 * if `label` is NULL.  STATUS_USAGE: there is no comma; `what` ends the message. */
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

/* Returns two values of each row, from number `first` on.  The caller frees them.  NULL: out of
 * memory. */
static double (*pairs_of(const struct mtz_rows *rows, int first))[HANDS]
{
    double(*F)[HANDS] = mem_try_array(rows->count, sizeof *F);
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
    enum status s = read_rows(path, &labels, &rows, e);
    take_cell(&rows, cell_A, cell_rad);
    if (!s)
        s = mtz_expand(&rows, path, default_F, t, e);
    mtz_rows_free(&rows);
    return s;
}

/* Expands I(+) and I(-) of the rows into *t.  *t stays empty if no row has them. */
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
        I ? expand_rows(rows, (const double(*)[HANDS])I, HKL_MATES_APART, path, NAN, t, &split, e)
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
    enum status s = read_rows(path, &labels, &rows, e);
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
    enum status s = split_label(path, label, "Friedel mates need two labels, such as 'F(+),F(-)'",
                                first, &labels, e);
    if (!s)
        s = read_rows(path, &labels, &rows, e);
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
    enum status s = split_label(
        path, label, "amplitudes need phases, with labels such as 'FC,PHIC'", first, &labels, e);
    if (!s)
        s = read_rows(path, &labels, rows, e);
    for (size_t i = 0; i < rows->count && !s; i++)
        if (isnan(rows->list[i].value[0]) != isnan(rows->list[i].value[1]))
            s = error_set(e, STATUS_INPUT,
                          "%s:%d: has only one of F and phase; expected both or none", path,
                          rows->list[i].number);
    return s;
}
