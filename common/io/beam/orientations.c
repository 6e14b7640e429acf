#include "io/beam/orientations.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/beam/matrix.h"
#include "io/text/textfile.h"

#define TOLERANCE 1e-6

/* G = R R^T - 1 */
static void deviation(const double R[9], double G[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            G[3 * i + j] = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] +
                           R[3 * i + 2] * R[3 * j + 2] - (i == j);
}

/* One step of Newton's iteration to the nearest rotation, R - G R / 2: it
 * squares the deviation. */
static void improve(double R[9])
{
    double G[9], out[9];
    deviation(R, G);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = R[3 * i + j] - 0.5 * (G[3 * i] * R[j] + G[3 * i + 1] * R[3 + j] +
                                                   G[3 * i + 2] * R[6 + j]);
    memcpy(R, out, sizeof out);
}

static enum status take_matrix(const struct text_file *t, const double v[9], double R[9],
                               struct error *e)
{
    double G[9], worst = 0.0;
    deviation(v, G);
    for (int i = 0; i < 9; i++)
        worst = fmax(worst, fabs(G[i]));
    if (!(worst <= TOLERANCE))
        return text_error(t, e,
                          "the matrix is no rotation: R R^T differs by %.3g from 1, at most %g",
                          worst, TOLERANCE);
    if (matrix_determinant(v) < 0.0)
        return text_error(t, e, "the matrix is no rotation: its determinant is -1, must be +1");
    memcpy(R, v, 9 * sizeof *R);
    improve(R);
    improve(R);
    return STATUS_OK;
}

static enum status take_quaternion(const struct text_file *t, const double q[4], double R[9],
                                   struct error *e)
{
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(fabs(length - 1.0) <= TOLERANCE))
        return text_error(t, e, "the quaternion has length %.9g, must be 1", length);
    const double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
    const double out[9] = {
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z),       2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),       1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),       2.0 * (y * z + w * x),       1.0 - 2.0 * (x * x + y * y),
    };
    memcpy(R, out, sizeof out);
    return STATUS_OK;
}

static enum status read_rotation(const struct text_file *t, int columns, double R[9],
                                 struct error *e)
{
    double v[9];
    if (t->nwords != 9 && t->nwords != 4)
        return text_error(t, e, "%d numbers, must be 9 (a matrix) or 4 (a quaternion w x y z)",
                          t->nwords);
    if (columns && t->nwords != columns)
        return text_error(t, e, "%d numbers where earlier lines have %d", t->nwords, columns);
    for (int i = 0; i < t->nwords; i++) {
        const enum status s = text_real(t, i, "rotation", -2.0, 2.0, &v[i], e);
        if (s)
            return s;
    }
    return t->nwords == 9 ? take_matrix(t, v, R, e) : take_quaternion(t, v, R, e);
}

static enum status read_list(struct text_file *t, double (**rotations)[9], size_t *n,
                             struct error *e)
{
    size_t room = 0;
    int columns = 0;
    enum status s = text_check_commas(t, '#', e);
    while (!s && !(s = text_line(t, TEXT_SPACE ",", '#', e)) && t->nwords) {
        double(*grown)[9] = mem_grow(*rotations, *n, 1, sizeof *grown, &room);
        if (!grown)
            return error_memory(e, "the orientations");
        *rotations = grown;
        if ((s = read_rotation(t, columns, (*rotations)[*n], e)))
            return s;
        columns = t->nwords;
        ++*n;
    }
    if (s == STATUS_OK && *n == 0)
        s = error_set(e, STATUS_INPUT, "%s: no orientations", t->path);
    return s;
}

enum status orientations_read(const char *path, double (**rotations)[9], size_t *n, struct error *e)
{
    *rotations = NULL;
    *n = 0;
    struct text_file t;
    enum status s = text_open(&t, path, FILETYPE_ORIENTATIONS, (size_t)1 << 28, e);
    if (s == STATUS_OK)
        s = read_list(&t, rotations, n, e);
    text_close(&t);
    if (s) {
        mem_free(*rotations);
        *rotations = NULL;
        *n = 0;
    }
    return s;
}
