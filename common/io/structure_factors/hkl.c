#include "io/structure_factors/hkl.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "io/structure_factors/symmetry.h"
#include "io/text/textfile.h"

/* --- the box ------------------------------------------------------------- */

enum status hkl_reserve(struct hkl_table *t, const int min[3], const int max[3], double default_F,
                        const char *path, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    int64_t cells = 1, count[3];
    for (int i = 0; i < 3; i++) {
        if (min[i] < -HKL_INDEX_MAX || max[i] > HKL_INDEX_MAX)
            return error_set(e, STATUS_INPUT,
                             "%s: index %d is out of range; expected a value within +-%d", path,
                             min[i] < -HKL_INDEX_MAX ? min[i] : max[i], HKL_INDEX_MAX);
        count[i] = (int64_t)max[i] - min[i] + 1;
        cells *= count[i];
    }
    if (cells > HKL_CELLS_MAX)
        return error_set(
            e, STATUS_INPUT, "%s: indices span %lld x %lld x %lld; expected at most %d cells", path,
            (long long)count[0], (long long)count[1], (long long)count[2], HKL_CELLS_MAX);
    t->F = mem_try_array((size_t)cells, sizeof *t->F);
    if (!t->F)
        return error_memory(e, "structure factors");
    for (int64_t i = 0; default_F != 0.0 && i < cells; i++)
        t->F[i] = default_F;
    for (int i = 0; i < 3; i++) {
        t->min[i] = min[i];
        t->count[i] = (int)count[i];
    }
    return STATUS_OK;
}

void hkl_free(struct hkl_table *t)
{
    mem_free(t->F);
    *t = (struct hkl_table){.default_F = t->default_F};
}

double *hkl_find(const struct hkl_table *t, const int hkl[3])
{
    int64_t at = 0;
    for (int i = 0; i < 3; i++) {
        const int64_t offset = (int64_t)hkl[i] - t->min[i];
        if (offset < 0 || offset >= t->count[i])
            return NULL;
        at = at * t->count[i] + offset;
    }
    return &t->F[at];
}

/* --- symmetry ------------------------------------------------------------ */

static void turn_indices(const int hkl[3], const int R[9], int sign, int out[3])
{
    for (int j = 0; j < 3; j++)
        out[j] = sign * (hkl[0] * R[j] + hkl[1] * R[3 + j] + hkl[2] * R[6 + j]);
}

static void widen(int min[3], int max[3], const int hkl[3])
{
    for (int i = 0; i < 3; i++) {
        if (hkl[i] < min[i])
            min[i] = hkl[i];
        if (hkl[i] > max[i])
            max[i] = hkl[i];
    }
}

/* Returns true if R can be the rotation part of a symmetry operator.  Its entries must be -1, 0
 * or 1, which prevents overflow of indices.  Its determinant must be -1 or 1, so that it maps
 * different reflections to different indices. */
static bool is_operator(const int R[9])
{
    for (int i = 0; i < 9; i++)
        if (R[i] < -1 || R[i] > 1)
            return false;
    const int determinant = R[0] * (R[4] * R[8] - R[5] * R[7]) -
                            R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]);
    return determinant == 1 || determinant == -1;
}

static enum status check_expansion(const struct reflection *reflections, size_t n,
                                   const int (*operators)[9], size_t nops, const char *path,
                                   struct error *e)
{
    for (size_t o = 0; o < nops; o++)
        if (!is_operator(operators[o]))
            return error_set(
                e, STATUS_INPUT,
                "%s: symmetry operator %zu is not a rotation; expected a matrix of -1, 0 "
                "and 1 with determinant 1 or -1",
                path, o + 1);
    for (size_t r = 0; r < n; r++)
        for (int i = 0; i < 3; i++)
            if (reflections[r].hkl[i] < -HKL_INDEX_MAX || reflections[r].hkl[i] > HKL_INDEX_MAX)
                return error_set(e, STATUS_INPUT,
                                 "%s: index %d is out of range; expected a value within +-%d", path,
                                 reflections[r].hkl[i], HKL_INDEX_MAX);
    return STATUS_OK;
}

/* Checks that the table holds the F of each reflection, to one part in a thousand.  STATUS_INPUT:
 * a later line with the same or an equivalent reflection has overwritten F with another value.  R
 * is the first operator of the expansion. */
static enum status check_once(const struct reflection *reflections, size_t n, const int R[9],
                              const struct hkl_table *t, const char *path, struct error *e)
{
    for (size_t r = 0; r < n; r++) {
        const struct reflection *one = &reflections[r];
        int at[3];
        turn_indices(one->hkl, R, 1, at);
        const double F = *hkl_find(t, at);
        if (fabs(F - one->F) > 1e-3 * fmax(fabs(F), fabs(one->F)))
            return error_set(e, STATUS_INPUT,
                             "%s:%d: F of %d %d %d is %g in this line and %g in a later one; "
                             "expected one value for each reflection",
                             path, one->row, one->hkl[0], one->hkl[1], one->hkl[2], one->F, F);
    }
    return STATUS_OK;
}

/* Applies all operators, times the signs from `first` down to `last`, to all reflections.  Stores
 * F of each reflection at the resulting indices.  If `t` is NULL, extends the box min..max to
 * include these indices instead. */
static void place_reflections(const struct reflection *reflections, size_t n,
                              const int (*operators)[9], size_t nops, int first, int last,
                              struct hkl_table *t, int min[3], int max[3])
{
    for (size_t r = 0; r < n; r++)
        for (size_t o = 0; o < nops; o++)
            for (int sign = first; sign >= last; sign -= 2) {
                int out[3];
                turn_indices(reflections[r].hkl, operators[o], sign, out);
                if (t)
                    *hkl_find(t, out) = reflections[r].F;
                else
                    widen(min, max, out);
            }
}

enum status hkl_expand(const struct reflection *reflections, size_t n, const int (*operators)[9],
                       size_t nops, enum hkl_mates mates, double default_F, struct hkl_table *t,
                       const char *path, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    if (n == 0 || nops == 0)
        return STATUS_OK;
    enum status s = check_expansion(reflections, n, operators, nops, path, e);
    if (s)
        return s;
    int min[3] = {INT_MAX, INT_MAX, INT_MAX}, max[3] = {INT_MIN, INT_MIN, INT_MIN};
    for (int fill = 0; fill < 2; fill++) {
        if (fill && (s = hkl_reserve(t, min, max, default_F, path, e)))
            return s;
        /* reflections of the list overwrite values that come from their mates, because they are
         * stored after them */
        if (mates == HKL_MATES_OWN)
            place_reflections(reflections, n, operators, nops, -1, -1, fill ? t : NULL, min, max);
        place_reflections(reflections, n, operators, nops, 1, mates == HKL_MATES_ALIKE ? -1 : 1,
                          fill ? t : NULL, min, max);
    }
    s = check_once(reflections, n, operators[0], t, path, e);
    if (s)
        hkl_free(t);
    return s;
}

bool hkl_is_centric(const int hkl[3], const int (*operators)[9], size_t nops)
{
    for (size_t o = 0; o < nops; o++) {
        int to[3];
        turn_indices(hkl, operators[o], -1, to);
        if (to[0] == hkl[0] && to[1] == hkl[1] && to[2] == hkl[2])
            return true;
    }
    return false;
}

bool hkl_is_unique_part(const struct hkl_table *t)
{
    enum { FEW = 50 };
    size_t listed = 0, mates = 0;
    const double *F = t->F;
    for (int h = 0; h < t->count[0]; h++)
        for (int k = 0; k < t->count[1]; k++)
            for (int l = 0; l < t->count[2]; l++, F++) {
                if (*F == t->default_F)
                    continue;
                const double *mate =
                    hkl_find(t, (int[]){-(h + t->min[0]), -(k + t->min[1]), -(l + t->min[2])});
                listed++;
                mates += mate && *mate != t->default_F;
            }
    return listed >= FEW && mates * 20 < listed;
}

/* --- text, nanoBragg's rules --------------------------------------------- */

/* Finds the range of indices min..max of all reflections, up to the first token that is not a
 * number.  This is the first of two passes through the text.  *any: there is at least one
 * reflection. */
static enum status scan_box(const struct text_file *t, int min[3], int max[3], bool *any,
                            struct error *e)
{
    const char *at = t->bytes;
    double value[4] = {0.0, 0.0, 0.0, 0.0};
    for (*any = false;; *any = true) {
        for (int i = 0; i < 4; i++)
            if (!text_scan_real(&at, &value[i]))
                return STATUS_OK;
        if (!isfinite(value[3]))
            return error_set(e, STATUS_INPUT, "%s: F is not finite", t->path);
        for (int i = 0; i < 3; i++)
            if (!(fabs(value[i]) <= HKL_INDEX_MAX))
                return error_set(e, STATUS_INPUT,
                                 "%s: index %g is out of range; expected a value within +-%d",
                                 t->path, value[i], HKL_INDEX_MAX);
        widen(min, max, (int[]){(int)value[0], (int)value[1], (int)value[2]});
    }
}

static void scan_values(const struct text_file *file, struct hkl_table *t)
{
    const char *at = file->bytes;
    for (;;) {
        int hkl[3];
        double F;
        for (int i = 0; i < 3; i++)
            if (!text_scan_int(&at, &hkl[i]))
                return;
        if (!text_scan_real(&at, &F))
            return;
        double *cell = hkl_find(t, hkl);
        if (cell)
            *cell = F;
    }
}

static enum status read_faithful(const struct text_file *file, double default_F,
                                 struct hkl_table *t, struct error *e)
{
    int min[3] = {INT_MAX, INT_MAX, INT_MAX}, max[3] = {INT_MIN, INT_MIN, INT_MIN};
    bool any;
    enum status s = scan_box(file, min, max, &any, e);
    if (s || !any)
        return s;
    s = hkl_reserve(t, min, max, default_F, file->path, e);
    if (s == STATUS_OK)
        scan_values(file, t);
    return s;
}

/* --- text, strictly ------------------------------------------------------ */

static enum status read_reflection(const struct text_file *file, struct reflection *r,
                                   struct error *e)
{
    static const char *const names[3] = {"h", "k", "l"};
    if (file->nwords < 4 || file->nwords > 5)
        return text_error(file, e, "%d columns; expected h k l F, or h k l F sigma%s", file->nwords,
                          file->nwords == 6 ? " (SHELX's are of intensities)" : "");
    for (int i = 0; i < 3; i++) {
        int64_t value;
        const enum status s = text_int(file, i, names[i], -HKL_INDEX_MAX, HKL_INDEX_MAX, &value, e);
        if (s)
            return s;
        r->hkl[i] = (int)value;
    }
    r->row = (int)file->line;
    const enum status s = text_real(file, 3, "F in electrons", -HKL_F_MAX, HKL_F_MAX, &r->F, e);
    if (s == STATUS_OK && file->nwords == 5 && !r->hkl[0] && !r->hkl[1] && !r->hkl[2] &&
        r->F == 0.0)
        return text_error(file, e,
                          "a line of zeros, which ends lists of intensities of SHELX; expected "
                          "amplitudes, F (the square root of an intensity)");
    return s;
}

/* Reads lines of `h k l F` or `h k l F sigma` up to the end of the text.  Any other line is an
 * error.  *list gets *n > 0 reflections.  The caller frees *list with mem_free, also after an
 * error. */
static enum status read_list(struct text_file *text, struct reflection **list, size_t *n,
                             struct error *e)
{
    size_t room = 0;
    enum status s;
    *list = NULL;
    *n = 0;
    while (!(s = text_line(text, TEXT_SPACE, '#', e)) && text->nwords) {
        *list = mem_grow(*list, *n, 1, sizeof **list, &room);
        if ((s = read_reflection(text, &(*list)[*n], e)))
            return s;
        ++*n;
    }
    if (s == STATUS_OK && *n == 0)
        s = error_set(e, STATUS_INPUT, "%s: no reflections found; expected lines of h k l F",
                      text->path);
    return s;
}

/* Reads a table of reflections in physical mode, and expands it by the symmetry `y`.  NULL: no
 * symmetry, and `mates` is ignored. */
static enum status read_strict(struct text_file *file, const struct symmetry *y,
                               enum hkl_mates mates, double default_F, struct hkl_table *t,
                               struct error *e)
{
    static const struct symmetry none = {.count = 1, .operators = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    const struct symmetry *use = y ? y : &none;
    struct reflection *list;
    size_t n;
    enum status s = read_list(file, &list, &n, e);
    if (s == STATUS_OK)
        s = hkl_expand(list, n, use->operators, use->count, y ? mates : HKL_MATES_APART, default_F,
                       t, file->path, e);
    mem_free(list);
    return s;
}

enum status hkl_read(const char *path, enum physics physics, const struct symmetry *y,
                     enum hkl_mates mates, double default_F, struct hkl_table *t, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    struct text_file file;
    enum status s = text_open(&file, path, FILETYPE_HKL, (size_t)1 << 30, e);
    if (s == STATUS_OK)
        s = physics == PHYSICS_FAITHFUL ? read_faithful(&file, default_F, t, e)
                                        : read_strict(&file, y, mates, default_F, t, e);
    text_close(&file);
    return s;
}

/* --- the dump of nanoBragg --------------------------------------------------- */

enum status hkl_write_dump(FILE *out, const struct hkl_table *t, const char *path, struct error *e)
{
    const size_t n[3] = {(size_t)t->count[0], (size_t)t->count[1], (size_t)t->count[2]};
    const size_t items = (n[1] + 1) * (n[2] + 1);
    double *plane = mem_array(items, sizeof *plane);
    bool good =
        fprintf(out, "%d %d %d %d %d %d\n\f", t->min[0], t->min[0] + t->count[0] - 1, t->min[1],
                t->min[1] + t->count[1] - 1, t->min[2], t->min[2] + t->count[2] - 1) > 0;
    for (size_t h = 0; good && h <= n[0]; h++) {
        for (size_t k = 0; k < n[1]; k++)
            for (size_t l = 0; l < n[2]; l++)
                plane[k * (n[2] + 1) + l] = h < n[0] ? t->F[(h * n[1] + k) * n[2] + l] : 0.0;
        good = fwrite(plane, sizeof *plane, items, out) == items;
    }
    mem_free(plane);
    return good ? STATUS_OK : error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

/* Reads the first line of a dump, which has the range of the indices.  Returns false if
 * hkl_write_dump cannot have written this line. */
static bool read_box(FILE *in, int min[3], int max[3])
{
    char line[128];
    if (!fgets(line, sizeof line, in) || !strchr(line, '\n') || fgetc(in) != '\f')
        return false;
    const char *at = line;
    for (int i = 0; i < 3; i++)
        if (!text_scan_int(&at, &min[i]) || !text_scan_int(&at, &max[i]) || min[i] > max[i])
            return false;
    return true;
}

/* Checks the length of the rest of the file.  It must be exactly that of the box of indices with
 * one additional plane of zeros per axis.  The position in the file does not change. */
static enum status check_length(FILE *in, const int min[3], const int max[3], const char *path,
                                struct error *e)
{
    const long start = ftell(in);
    if (start < 0 || fseek(in, 0, SEEK_END))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    const long length = ftell(in) - start;
    int64_t bytes = sizeof(double);
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(bytes, (int64_t)max[i] - min[i] + 2, &bytes))
            return error_set(
                e, STATUS_INPUT,
                "%s: the header has too large a range of indices; expected the range of the data",
                path);
    if (length != bytes)
        return error_set(e, STATUS_INPUT, "%s: %ld bytes of data; expected %lld", path, length,
                         (long long)bytes);
    if (fseek(in, start, SEEK_SET))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    return STATUS_OK;
}

static enum status read_planes(FILE *in, struct hkl_table *t, double *plane, const char *path,
                               struct error *e)
{
    const size_t n[3] = {(size_t)t->count[0], (size_t)t->count[1], (size_t)t->count[2]};
    const size_t items = (n[1] + 1) * (n[2] + 1);
    for (size_t h = 0; h < n[0]; h++) {
        if (fread(plane, sizeof *plane, items, in) != items)
            return error_set(e, STATUS_INPUT,
                             "%s: truncated; expected one float64 for each index in the box", path);
        for (size_t k = 0; k < n[1]; k++)
            for (size_t l = 0; l < n[2]; l++) {
                const double F = plane[k * (n[2] + 1) + l];
                if (!isfinite(F))
                    return error_set(e, STATUS_INPUT, "%s: F is not finite", path);
                t->F[(h * n[1] + k) * n[2] + l] = F;
            }
    }
    return STATUS_OK;
}

static enum status read_dump(FILE *in, const char *path, double default_F, struct hkl_table *t,
                             struct error *e)
{
    int min[3], max[3];
    if (!read_box(in, min, max))
        return error_set(e, STATUS_INPUT,
                         "%s: not a dump of structure factors; expected 'hmin hmax kmin kmax lmin "
                         "lmax' and bytes 0A 0C at its beginning",
                         path);
    enum status s = check_length(in, min, max, path, e);
    if (s == STATUS_OK)
        s = hkl_reserve(t, min, max, default_F, path, e);
    if (s)
        return s;
    double *plane =
        mem_try_array((size_t)(t->count[1] + 1) * (size_t)(t->count[2] + 1), sizeof *plane);
    s = plane ? read_planes(in, t, plane, path, e) : error_memory(e, "structure factors");
    mem_free(plane);
    return s;
}

enum status hkl_read_dump(const char *path, double default_F, struct hkl_table *t, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    const enum status s = read_dump(in, path, default_F, t, e);
    (void)fclose(in);
    if (s)
        hkl_free(t);
    return s;
}

/* --- F against the angle --------------------------------------------------- */

static double to_stol_1_m(double value, enum stol_unit unit)
{
    switch (unit) {
    case STOL_4STOL:
        return value * 1e10 / 4.0;
    case STOL_Q:
        return value * 1e10 / M_PI / 4.0;
    case STOL_STOL:
        break;
    }
    return value * 1e10;
}

/* Allocates enough rows for the table in the text.  A row takes at least four bytes: "1 2" and a
 * separator. */
static void reserve_stol(const struct text_file *t, struct stol_table *table)
{
    size_t rows = t->length / 4 + 1;
    table->stol_1_m = mem_array(rows, sizeof *table->stol_1_m);
    table->F = mem_array(rows, sizeof *table->F);
}

static void add_stol(struct stol_table *table, double column1, double F, enum stol_unit unit)
{
    table->stol_1_m[table->rows] = to_stol_1_m(column1, unit);
    table->F[table->rows++] = F;
}

static void read_stol_faithful(const struct text_file *t, enum stol_unit unit,
                               struct stol_table *table)
{
    const char *at = t->bytes;
    double column1, F;
    while (text_scan_real(&at, &column1) && text_scan_real(&at, &F))
        add_stol(table, column1, F, unit);
}

/* Checks the comments before the numbers.  They must not name a quantity or unit other than that
 * of `unit`.  Programs that integrate images write such comments.  "F(q)" is accepted, because it
 * names a function and not the quantity of the first column. */
static enum status check_stol_head(const struct text_file *t, enum stol_unit unit, struct error *e)
{
    static const char *const others[] = {"nm^-1",  "nm-1",      "1/nm",     "2th_deg",
                                         "2theta", "two-theta", "twotheta", "tth"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_find_in_head(t, '#', others[i]))
            return error_set(
                e, STATUS_INPUT,
                "%s: a comment at the beginning names '%s'; expected a first column in "
                "1/A, as --stol-axis says",
                t->path, others[i]);
    const char *q = text_find_in_head(t, '#', "q");
    if (q && unit != STOL_Q && q[1] != ')' && !text_find_in_head(t, '#', "stol") &&
        !text_find_in_head(t, '#', "sin"))
        return error_set(e, STATUS_INPUT,
                         "%s: a comment at the beginning names 'q', but the first column is read "
                         "as sin(theta)/lambda. Give --stol-axis=q if it is q",
                         t->path);
    return STATUS_OK;
}

static enum status read_stol_lines(struct text_file *t, enum stol_unit unit,
                                   struct stol_table *table, struct error *e)
{
    for (double before = -HUGE_VAL;;) {
        double column1 = 0.0, F = 0.0;
        enum status s = text_line(t, TEXT_SPACE, '#', e);
        if (s || t->nwords == 0)
            return s;
        if (t->nwords != 2)
            return text_error(t, e, "%d columns; expected two: angle and F", t->nwords);
        if ((s = text_real(t, 0, "angle", 0.0, 1e4, &column1, e)) ||
            (s = text_real(t, 1, "F in electrons", 0.0, 1e9, &F, e)))
            return s;
        if (column1 <= before)
            return text_error(t, e,
                              "angle %g is not above %g, the angle of the previous row; expected "
                              "angles that rise",
                              column1, before);
        before = column1;
        add_stol(table, column1, F, unit);
    }
}

enum status stol_read(const char *path, enum stol_unit unit, bool faithful,
                      struct stol_table *table, struct error *e)
{
    *table = (struct stol_table){0};
    struct text_file t;
    enum status status = text_open(&t, path, FILETYPE_STOL, TEXT_BYTES_MAX, e);
    if (!status)
        reserve_stol(&t, table);
    if (!status && faithful)
        read_stol_faithful(&t, unit, table);
    else if (!status && !(status = check_stol_head(&t, unit, e)))
        status = read_stol_lines(&t, unit, table, e);
    text_close(&t);
    if (!status && table->rows == 0)
        status = error_set(e, STATUS_INPUT,
                           "%s: no form factors found; expected lines of two numbers, angle and F",
                           path);
    return status;
}

void stol_free(struct stol_table *table)
{
    mem_free(table->stol_1_m);
    mem_free(table->F);
    *table = (struct stol_table){0};
}
