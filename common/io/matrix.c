#include "io/matrix.h"

#include <math.h>

#include "io/textfile.h"

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

static enum status scan_matrix(struct text_file *t, double matrix[9], struct error *e)
{
    const char *at = t->bytes;
    for (int i = 0; i < 9; i++) {
        const bool number = text_scan_real(&at, &matrix[i]);
        t->line = text_line_of(t, at);
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

enum status matrix_read(const char *path, double matrix[9], struct error *e)
{
    struct text_file t;
    enum status s = text_open(&t, path, FILETYPE_MATRIX, TEXT_BYTES_MAX, e);
    if (s == STATUS_OK)
        s = scan_matrix(&t, matrix, e);
    text_close(&t);
    return s;
}
