#include "io/structure_factors/hkl.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
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
            return error_set(e, STATUS_INPUT, "%s: index %d is out of range, must be within +-%d",
                             path, min[i] < -HKL_INDEX_MAX ? min[i] : max[i], HKL_INDEX_MAX);
        count[i] = (int64_t)max[i] - min[i] + 1;
        cells *= count[i];
    }
    if (cells > HKL_CELLS_MAX)
        return error_set(
            e, STATUS_INPUT, "%s: indices span %lld x %lld x %lld, at most %d cells are allowed",
            path, (long long)count[0], (long long)count[1], (long long)count[2], HKL_CELLS_MAX);
    t->F = mem_array((size_t)cells, sizeof *t->F);
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

static void turn(const int hkl[3], const int R[9], int sign, int out[3])
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

/* A rotation part: entries of -1, 0 and 1, so that nothing can overflow, and a
 * determinant of -1 or 1, so that no two reflections meet. */
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
            return error_set(e, STATUS_INPUT, "%s: symmetry operator %zu is impossible", path,
                             o + 1);
    for (size_t r = 0; r < n; r++)
        for (int i = 0; i < 3; i++)
            if (reflections[r].hkl[i] < -HKL_INDEX_MAX || reflections[r].hkl[i] > HKL_INDEX_MAX)
                return error_set(e, STATUS_INPUT,
                                 "%s: index %d is out of range, must be within +-%d", path,
                                 reflections[r].hkl[i], HKL_INDEX_MAX);
    return STATUS_OK;
}

/* Each of `reflections` is in the table with its own F, to a thousandth, unless another took its
 * place. */
static enum status check_once(const struct reflection *reflections, size_t n, const int R[9],
                              const struct hkl_table *t, const char *path, struct error *e)
{
    for (size_t r = 0; r < n; r++) {
        const struct reflection *one = &reflections[r];
        int at[3];
        turn(one->hkl, R, 1, at);
        const double F = *hkl_find(t, at);
        if (fabs(F - one->F) > 1e-3 * fmax(fabs(F), fabs(one->F)))
            return error_set(e, STATUS_INPUT,
                             "%s:%d: F of %d %d %d is %g here and %g further down, each reflection "
                             "must have one",
                             path, one->row, one->hkl[0], one->hkl[1], one->hkl[2], one->F, F);
    }
    return STATUS_OK;
}

/* Goes where all reflections belong, with the signs from `first` down to `last`: fills the table,
 * or, where that is NULL, widens the box. */
static void place(const struct reflection *reflections, size_t n, const int (*operators)[9],
                  size_t nops, int first, int last, struct hkl_table *t, int min[3], int max[3])
{
    for (size_t r = 0; r < n; r++)
        for (size_t o = 0; o < nops; o++)
            for (int sign = first; sign >= last; sign -= 2) {
                int out[3];
                turn(reflections[r].hkl, operators[o], sign, out);
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
        /* what is there itself comes over what mates say */
        if (mates == HKL_MATES_OWN)
            place(reflections, n, operators, nops, -1, -1, fill ? t : NULL, min, max);
        place(reflections, n, operators, nops, 1, mates == HKL_MATES_ALIKE ? -1 : 1,
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
        turn(hkl, operators[o], -1, to);
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

/* First reading: the box; false when there is no reflection at all. */
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
                                 "%s: index %g is out of range, must be within +-%d", t->path,
                                 value[i], HKL_INDEX_MAX);
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
        return text_error(file, e, "%d columns, must be h k l F, or h k l F sigma%s", file->nwords,
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
                          "a line of zeros, as SHELX ends its lists of intensities: must be "
                          "amplitudes, F (the square root of an intensity)");
    return s;
}

/* Reads lines of `h k l F`, strictly as below, up to the end of the text.  *list
 * gets *n > 0 reflections, to be freed with free(), also after an error. */
static enum status hkl_read_list(struct text_file *text, struct reflection **list, size_t *n,
                                 struct error *e)
{
    size_t room = 0;
    enum status s;
    *list = NULL;
    *n = 0;
    while (!(s = text_line(text, TEXT_SPACE, '#', e)) && text->nwords) {
        struct reflection *grown = mem_grow(*list, *n, 1, sizeof *grown, &room);
        if (!grown)
            return error_memory(e, "the reflections");
        *list = grown;
        if ((s = read_reflection(text, &(*list)[*n], e)))
            return s;
        ++*n;
    }
    if (s == STATUS_OK && *n == 0)
        s = error_set(e, STATUS_INPUT, "%s: no reflections, must be lines of h k l F", text->path);
    return s;
}

/* Without symmetry when `y` is NULL. */
static enum status read_strict(struct text_file *file, const struct symmetry *y,
                               enum hkl_mates mates, double default_F, struct hkl_table *t,
                               struct error *e)
{
    static const struct symmetry none = {1, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    const struct symmetry *use = y ? y : &none;
    struct reflection *list;
    size_t n;
    enum status s = hkl_read_list(file, &list, &n, e);
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
