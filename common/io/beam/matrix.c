#include "io/beam/matrix.h"

#include <math.h>
#include <string.h>

#include "io/text/textfile.h"

double matrix_determinant(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* Determinant over the product of the columns' lengths: the volume of the cell
 * against that of a box with the same edges.  Not finite for a zero column. */
static double relative_volume(const double m[9])
{
    double length = 1.0;
    for (int i = 0; i < 3; i++)
        length *= sqrt(m[i] * m[i] + m[3 + i] * m[3 + i] + m[6 + i] * m[6 + i]);
    return fabs(matrix_determinant(m)) / length;
}

/* Numbers of a file of MOSFLM: the matrix, missets, U, the cell, missets again. */
enum { MISSETS = 9, U = 12, CELL = 21, AGAIN = 27, ALL = 30 };

static enum status scan_matrix(struct text_file *t, const char **at, double matrix[9],
                               struct error *e)
{
    for (int i = 0; i < 9; i++) {
        const bool number = text_scan_real(at, &matrix[i]);
        t->line = text_line_of(t, *at);
        if (!number)
            return text_error(t, e, "number %d of the matrix is missing, must be nine numbers",
                              i + 1);
        if (!isfinite(matrix[i]))
            return text_error(t, e, "number %d of the matrix is not finite", i + 1);
    }
    if (!(relative_volume(matrix) > 1e-6))
        return text_error(t, e, "the matrix is singular");
    return STATUS_OK;
}

/* The word at `at`, which is no number. */
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

/* What follows the matrix. */
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

static enum status scan(struct text_file *t, enum physics physics, double matrix[9], double cell[6],
                        struct error *e)
{
    const char *at = t->bytes;
    const enum status s = scan_matrix(t, &at, matrix, e);
    if (s || physics == PHYSICS_FAITHFUL)
        return s;
    if (matrix_determinant(matrix) < 0.0)
        return text_error(t, e,
                          "the matrix is left-handed (got the determinant %.3g); expected a*, b*, "
                          "c* of a right-handed crystal, with a positive one",
                          matrix_determinant(matrix));
    return scan_rest(t, at, cell, e);
}

enum status matrix_read(const char *path, enum physics physics, double matrix[9], double cell[6],
                        struct error *e)
{
    struct text_file t;
    memset(cell, 0, 6 * sizeof *cell);
    enum status s = text_open(&t, path, FILETYPE_MATRIX, TEXT_BYTES_MAX, e);
    if (s == STATUS_OK)
        s = scan(&t, physics, matrix, cell, e);
    text_close(&t);
    return s;
}
