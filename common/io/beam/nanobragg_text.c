#include "io/beam/nanobragg_text.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "io/text/textfile.h"

/* --- the matrix of MOSFLM -------------------------------------------------------------- */

/* Returns the magnitude of the determinant divided by the product of the lengths of the columns.
 * This is the volume of the cell relative to that of a box with the same edges.  The result is
 * not finite if a column is zero. */
static double relative_volume(const double m[9])
{
    double length = 1.0;
    for (int i = 0; i < 3; i++)
        length *= sqrt(m[i] * m[i] + m[3 + i] * m[3 + i] + m[6 + i] * m[6 + i]);
    return fabs(mat_determinant(m)) / length;
}

/* Positions of the numbers in a file of MOSFLM: the matrix, missets, U, the cell, and missets
 * again. */
enum { MISSETS = 9, U = 12, CELL = 21, AGAIN = 27, ALL = 30 };

static enum status scan_matrix(struct text_file *t, const char **at, double matrix[9],
                               struct error *e)
{
    for (int i = 0; i < 9; i++) {
        const bool number = text_scan_real(at, &matrix[i]);
        t->line = text_line_of(t, *at);
        if (!number)
            return text_error(t, e, "number %d of the matrix is missing; expected nine numbers",
                              i + 1);
        if (!isfinite(matrix[i]))
            return text_error(t, e, "number %d of the matrix is not finite", i + 1);
    }
    if (!(relative_volume(matrix) > 1e-6))
        return text_error(t, e,
                          "the matrix is singular: its rows are in one plane; expected three "
                          "vectors that span space");
    return STATUS_OK;
}

/* Sets the error that the word at `at`, after the matrix, is not a number. */
static enum status refuse_word(struct text_file *t, const char *at, struct error *e)
{
    enum { SHOWN = 40 };
    const size_t length = strcspn(at, TEXT_SPACE "\n");
    t->line = text_line_of(t, at + 1);
    return text_error(t, e,
                      "text that is not a number follows the matrix (got '%.*s'); expected nine "
                      "numbers alone, with points as in 0.01, or the whole file of MOSFLM",
                      (int)(length < SHOWN ? length : SHOWN), at);
}

/* Checks the numbers after the matrix, and gets the cell from them. */
static enum status scan_rest(struct text_file *t, const char *at, double cell[6], struct error *e)
{
    double value[ALL] = {0.0};
    long line[ALL] = {0};
    int n = MISSETS;
    for (;; n++) {
        double number;
        at += strspn(at, TEXT_SPACE "\n");
        if (!*at)
            break;
        const char *word = at;
        if (!text_scan_real(&at, &number) || !isfinite(number))
            return refuse_word(t, word, e);
        t->line = text_line_of(t, at);
        if (n == ALL)
            return text_error(t, e, "more than 30 numbers; expected nine, or a file of MOSFLM");
        value[n] = number;
        line[n] = t->line;
    }
    if (n != MISSETS && n != U && n != CELL && n != AGAIN && n != ALL)
        return text_error(t, e,
                          "%d numbers; expected nine, or the 30 of a file of MOSFLM (matrix, "
                          "missets, U, cell, missets)",
                          n);
    for (int i = MISSETS; i < n; i++)
        if ((i < U || i >= AGAIN) && value[i] != 0.0) {
            t->line = line[i];
            return text_error(t, e,
                              "the misset angle %g deg is not applied; expected 0. bragg-orient "
                              "--misset turns the crystal",
                              value[i]);
        }
    memcpy(cell, value + CELL, 6 * sizeof *cell);
    return STATUS_OK;
}

static enum status scan_numbers(struct text_file *t, enum physics physics, double matrix[9],
                                double cell[6], struct error *e)
{
    const char *at = t->bytes;
    const enum status s = scan_matrix(t, &at, matrix, e);
    if (s || physics == PHYSICS_FAITHFUL)
        return s;
    if (mat_determinant(matrix) < 0.0)
        return text_error(t, e,
                          "the matrix is left-handed (got the determinant %.3g); expected a*, b*, "
                          "c* of a right-handed crystal, with a positive one",
                          mat_determinant(matrix));
    return scan_rest(t, at, cell, e);
}

enum status matrix_read(const char *path, enum physics physics, double matrix[9], double cell[6],
                        struct error *e)
{
    struct text_file t;
    memset(cell, 0, 6 * sizeof *cell);
    enum status s = text_open(&t, path, FILETYPE_MATRIX, TEXT_BYTES_MAX, e);
    if (s == STATUS_OK)
        s = scan_numbers(&t, physics, matrix, cell, e);
    text_close(&t);
    return s;
}

/* --- sources --------------------------------------------------------------------------- */

#define SEPARATORS TEXT_SPACE ",;:!"

static const struct column {
    const char *name;
    double min, max;  // limits in physical mode
} columns[5] = {
    {"X", -1e6, 1e6},
    {"Y", -1e6, 1e6},
    {"Z", -1e6, 1e6},
    {"weight", 0, 1e30},
    {"wavelength in m", 1e-15, 1e-6},
};

static enum status read_column(const struct text_file *t, int i, enum physics physics,
                               double *value, struct error *e)
{
    if (physics == PHYSICS_PHYSICAL)
        return text_real(t, i, columns[i].name, columns[i].min, columns[i].max, value, e);
    const char *at = t->word[i];
    *value = 0.0;
    (void)text_scan_real(&at, value);
    return STATUS_OK;
}

static enum status read_source(const struct text_file *t, enum physics physics,
                               const double beam[3], double wavelength_m, struct source *source,
                               struct error *e)
{
    double value[5] = {-10.0 * beam[0], -10.0 * beam[1], -10.0 * beam[2], 1.0, wavelength_m};
    for (int i = 0; i < 5 && i < t->nwords; i++) {
        const enum status s = read_column(t, i, physics, &value[i], e);
        if (s)
            return s;
    }
    if (physics == PHYSICS_PHYSICAL) {
        if (value[0] == 0.0 && value[1] == 0.0 && value[2] == 0.0)
            return text_error(
                t, e, "the source is at the sample (got 0 0 0); expected a position upstream");
        if (vec_dot(value, beam) >= 0.0)
            return text_error(t, e,
                              "the source at %g %g %g is not upstream of the sample; expected a "
                              "position against the beam, as %g %g %g",
                              value[0], value[1], value[2], 0.0 - 10.0 * beam[0],
                              0.0 - 10.0 * beam[1], 0.0 - 10.0 * beam[2]);
    }
    *source = (struct source){
        .direction = {value[0], value[1], value[2]}, .wavelength_m = value[4], .weight = value[3]};
    return STATUS_OK;
}

/* Checks that a line has a complete position, and as many columns as the first line.  *first is
 * the number of columns of the first line; 0: this is the first line. */
static enum status check_columns(const struct text_file *t, int *first, struct error *e)
{
    if (t->nwords < 3 || t->nwords > 5)
        return text_error(
            t, e, "%d columns; expected X Y Z, X Y Z weight or X Y Z weight wavelength", t->nwords);
    *first = *first ? *first : t->nwords;
    return t->nwords == *first ? STATUS_OK
                               : text_error(t, e, "%d columns; expected %d as in the first source",
                                            t->nwords, *first);
}

/* Reads all lines of a list of sources.  *list grows as needed. */
static enum status read_source_list(struct text_file *t, enum physics physics, const double beam[3],
                                    double wavelength_m, struct source **list, size_t *n,
                                    struct error *e)
{
    size_t room = 0;
    enum status s;
    const char comment = physics == PHYSICS_PHYSICAL ? '#' : 0;
    if (comment && (s = text_check_commas(t, comment, e)))
        return s;
    int in_first = 0;
    while (!(s = text_line(t, SEPARATORS, comment, e)) && t->nwords) {
        if (physics == PHYSICS_PHYSICAL && (s = check_columns(t, &in_first, e)))
            return s;
        if (*n == SOURCES_MAX)
            return text_error(t, e, "too many sources; expected at most %d", SOURCES_MAX);
        *list = mem_grow(*list, *n, 1, sizeof **list, &room);
        if ((s = read_source(t, physics, beam, wavelength_m, &(*list)[*n], e)))
            return s;
        ++*n;
    }
    if (s == STATUS_OK && *n == 0)
        s = error_set(e, STATUS_INPUT,
                      "%s: no sources found; expected lines of X Y Z, X Y Z weight or X Y Z weight "
                      "wavelength",
                      t->path);
    bool dark = physics == PHYSICS_PHYSICAL;
    for (size_t i = 0; i < *n; i++)
        dark = dark && (*list)[i].weight == 0.0;
    if (s == STATUS_OK && dark)
        s = error_set(e, STATUS_INPUT, "%s: all weights are 0; expected at least one above 0",
                      t->path);
    return s;
}

enum status sources_read(const char *path, enum physics physics, const double beam[3],
                         double wavelength_m, struct source **list, size_t *n, struct error *e)
{
    *list = NULL;
    *n = 0;
    struct text_file t;
    enum status s = text_open(&t, path, FILETYPE_SOURCES, (size_t)1 << 28, e);
    if (s == STATUS_OK)
        s = read_source_list(&t, physics, beam, wavelength_m, list, n, e);
    text_close(&t);
    if (s) {
        mem_free(*list);
        *list = NULL;
        *n = 0;
    }
    return s;
}
