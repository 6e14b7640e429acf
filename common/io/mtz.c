#include "io/mtz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ccp4/cmtzlib.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/confined.h"
#include "io/hkl.h"

/* Limits of the child: time, and address space beyond what it has and must have. */
#define CPU_S 0.3
#define CPU_S_PER_BYTE (1.0 / (8 << 20))
#define WALL_S 5.0
enum { SPACE_BYTES = 64 << 20 };

enum { HANDS = 2 };  // h and -h

#define MAGIC 0x7a746d2d67676172u

/* What the child sends before the reflections. */
struct reply {
    uint64_t magic, nreflections, noperators;
    uint64_t bad_row;  // from 1, with nothing behind the reply; 0: all are good
    int32_t operators[MTZ_OPERATORS_MAX][9];
};

/* --- the child ----------------------------------------------------------- */

/* What it reads. */
struct work {
    const char *path;
    const struct mtz_layout *layout;
};

static bool is_whole(double x, int limit)
{
    return fabs(x) <= limit && x == rint(x);
}

/* A number of a row; NaN where it is missing.  The value that stands for a missing one may be any;
 * infinite ones count as such, too. */
static double number(const float *row, const int *missing, int64_t column)
{
    const float at = row[column];
    return missing[column] && !isinf(at) ? (double)NAN : (double)at;
}

/* F of h and, where the file tells hands apart, of -h. */
static void take_hands(const struct mtz_layout *m, const float *row, const int *missing,
                       double F[2])
{
    F[0] = number(row, missing, m->F_column);
    F[1] = m->mate < 0 ? (double)NAN : number(row, missing, m->mate);
    if (m->difference) {
        const double half = isnan(F[1]) ? 0.0 : F[1] / 2.0;
        F[1] = F[0] - half;
        F[0] = F[0] + half;
    }
}

/* A row of the file, whose F may be missing, with sign -1 for -h; false when it makes no sense. */
static bool take_row(const float *row, int sign, double F, struct reflection *out)
{
    for (int i = 0; i < 3; i++) {
        if (!is_whole((double)row[i], HKL_INDEX_MAX))
            return false;
        out->hkl[i] = sign * (int)row[i];
    }
    out->F = fabs(F);
    return !(out->F > HKL_F_MAX);
}

/* Of a rotation part; ends the child when it can be none. */
static int operator_item(double x)
{
    if (!is_whole(x, 1))
        confined_leave(STATUS_INPUT);
    return (int)x;
}

/* Reads with libccp4 and sends all reflections whose F is there. */
static void read_and_send(const void *what, int to)
{
    const struct work *w = what;
    const struct mtz_layout *m = w->layout;
    MTZ *mtz = MtzGet(w->path, 0);
    if (!mtz || mtz->nref_filein != m->nref || mtz->ncol_read != m->ncol ||
        mtz->mtzsymm.nsym != m->nsym)
        confined_leave(STATUS_INPUT);
    struct reflection *list = mem_array((size_t)m->nref, HANDS * sizeof *list);
    float *row = mem_array((size_t)m->ncol, sizeof *row), resolution;
    int *missing = mem_array((size_t)m->ncol, sizeof *missing);
    struct reply reply = {.magic = MAGIC, .noperators = (uint64_t)m->nsym};
    if (!list || !row || !missing)
        confined_leave(STATUS_FAILED);
    for (int64_t o = 0; o < m->nsym; o++)
        for (int i = 0; i < 9; i++)
            reply.operators[o][i] = operator_item((double)mtz->mtzsymm.sym[o][i / 3][i % 3]);
    MtzRewdInput(mtz);
    for (int64_t r = 0; r < m->nref; r++) {
        if (ccp4_lrrefl(mtz, &resolution, row, missing, (int)r + 1))
            confined_leave(STATUS_INPUT);
        double F[HANDS];
        take_hands(m, row, missing, F);
        for (int hand = 0; hand < HANDS; hand++) {
            struct reflection *out = &list[reply.nreflections];
            out->row = (int)r + 1;
            if (!take_row(row, hand ? -1 : 1, F[hand], out)) {
                reply.bad_row = (uint64_t)r + 1;
                confined_send(to, &reply, sizeof reply);
                confined_leave(STATUS_INPUT);
            }
            if (!isnan(F[hand]))
                reply.nreflections++;
        }
    }
    confined_send(to, &reply, sizeof reply);
    confined_send(to, list, (size_t)reply.nreflections * sizeof *list);
    confined_leave(STATUS_OK);
}

/* --- the parent ---------------------------------------------------------- */

/* Takes what the child sends; false unless it is whole and makes sense. */
static bool take_reply(const struct confined *c, const struct mtz_layout *m, struct reply *reply,
                       struct reflection **list)
{
    char more;
    if (confined_receive(c, reply, sizeof *reply) != sizeof *reply || reply->magic != MAGIC ||
        reply->bad_row || reply->nreflections > HANDS * (uint64_t)m->nref ||
        reply->noperators != (uint64_t)m->nsym)
        return false;
    const size_t n = (size_t)reply->nreflections;
    *list = mem_array(n, sizeof **list);
    if (!*list || confined_receive(c, *list, n * sizeof **list) != n * sizeof **list ||
        confined_receive(c, &more, 1) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isfinite((*list)[i].F))
            return false;
    return true;
}

/* Runs the child; *list is to be freed with mem_free. */
static enum status read_in_child(const char *path, const struct mtz_layout *m, struct reply *reply,
                                 struct reflection **list, struct error *e)
{
    const double more_s = (double)m->size * CPU_S_PER_BYTE;
    const struct confined_limits limits = {CPU_S + more_s, WALL_S + more_s,
                                           SPACE_BYTES + (size_t)m->size +
                                               (size_t)m->nref * HANDS * sizeof(struct reflection)};
    const struct work work = {path, m};
    struct confined child;
    const enum status s = confined_start(&child, &limits, read_and_send, &work, path, e);
    if (s)
        return s;
    const char *why = confined_close(&child, take_reply(&child, m, reply, list));
    const uint64_t row = reply->bad_row;
    if (row)
        return error_set(e, STATUS_INPUT,
                         "%s:%" PRIu64 ": indices must be whole numbers within +-%d, and F at most "
                         "%g electrons",
                         path, row, HKL_INDEX_MAX, HKL_F_MAX);
    return why ? error_set(e, STATUS_INPUT, "%s: damaged MTZ (%s)", path, why) : STATUS_OK;
}

/* Drops F(-) of rows whose F(+) is there and where symmetry makes both one; returns how many say
 * otherwise. */
static size_t join_centric(struct reflection *list, size_t *n, const struct reply *reply)
{
    size_t kept = 0, split = 0;
    for (size_t i = 0; i < *n; i++) {
        const struct reflection *before = kept ? &list[kept - 1] : NULL;
        const bool joins = before && before->row == list[i].row &&
                           hkl_is_centric(list[i].hkl, (const int(*)[9])reply->operators,
                                          (size_t)reply->noperators);
        split += joins && fabs(before->F - list[i].F) > 1e-3 * fmax(before->F, list[i].F);
        if (!joins)
            list[kept++] = list[i];
    }
    *n = kept;
    return split;
}

/* *split may be NULL where hands are not told apart. */
static enum status read_columns(const char *path, const struct mtz_labels *labels, double default_F,
                                struct hkl_table *t, double cell_A[3], double cell_rad[3],
                                size_t *split, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    struct mtz_layout m;
    enum status s = mtz_check(path, labels, &m, e);
    if (s)
        return s;
    struct reply *reply = mem_array(1, sizeof *reply);
    struct reflection *list = NULL;
    s = reply ? read_in_child(path, &m, reply, &list, e) : error_memory(e, path);
    size_t n = s ? 0 : (size_t)reply->nreflections;
    if (s == STATUS_OK && n == 0)
        s = error_set(e, STATUS_INPUT, "%s: the column of amplitudes is empty", path);
    if (s == STATUS_OK && labels->hands)
        *split = join_centric(list, &n, reply);
    if (s == STATUS_OK)
        s = hkl_expand(list, n, (const int(*)[9])reply->operators, (size_t)reply->noperators,
                       labels->hands ? HKL_MATES_OWN : HKL_MATES_ALIKE, default_F, t, path, e);
    for (int i = 0; i < 3; i++) {
        cell_A[i] = m.cell[i];
        cell_rad[i] = deg_to_rad(m.cell[i + 3]);
    }
    mem_free(list);
    mem_free(reply);
    return s;
}

enum status mtz_read(const char *path, const char *label, double default_F, struct hkl_table *t,
                     double cell_A[3], double cell_rad[3], struct error *e)
{
    const struct mtz_labels labels = {.F = label};
    return read_columns(path, &labels, default_F, t, cell_A, cell_rad, NULL, e);
}

enum status mtz_read_hands(const char *path, const char *label, double default_F,
                           struct hkl_table *t, double cell_A[3], double cell_rad[3], size_t *split,
                           struct error *e)
{
    char first[2 * MTZ_LABEL_MAX + 2] = "";
    char *comma = NULL;
    *split = 0;
    if (label) {
        (void)snprintf(first, sizeof first, "%s", label);
        comma = strchr(first, ',');
        if (!comma)
            return error_set(e, STATUS_USAGE,
                             "%s: '%.60s' is one column, hands need two labels, as 'F(+),F(-)'",
                             path, label);
        *comma++ = 0;
    }
    const struct mtz_labels labels = {.F = label ? first : NULL, .mate = comma, .hands = true};
    return read_columns(path, &labels, default_F, t, cell_A, cell_rad, split, e);
}
