#include "physics/crystal/cell.h"

#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "physics/request.h"

double cell_volume(const double cell_A[3], const double cell_rad[3])
{
    const double alpha = cell_rad[0], beta = cell_rad[1], gamma = cell_rad[2];
    const double m = (alpha + beta + gamma) / 2.0;
    const double skew = fabs(sin(m) * sin(m - alpha) * sin(m - beta) * sin(m - gamma));
    return 2.0 * cell_A[0] * cell_A[1] * cell_A[2] * sqrt(skew);
}

void cell_metric(const double cell_A[3], const double cell_rad[3], double metric[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            metric[3 * i + j] = cell_A[i] * cell_A[j] * (i == j ? 1.0 : cos(cell_rad[3 - i - j]));
}

void metric_reciprocal(const double metric[9], double determinant, double reciprocal[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double *m = metric;
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            reciprocal[3 * i + j] =
                (m[3 * a + c] * m[3 * b + d] - m[3 * a + d] * m[3 * b + c]) / determinant;
        }
}

/* nanoBragg's clamps: beyond 1 on either side a cosine becomes +1, a sine its sign.
 * Cells that pass check_cell never come here but by rounding. */
static double clamp_cosine(double c)
{
    return c > 1.0 || c < -1.0 ? 1.0 : c;
}

static double clamp_sine(double s)
{
    return s > 1.0 ? 1.0 : s < -1.0 ? -1.0 : s;
}

/* Reciprocal vectors (rows a*, b*, c* in 1/A) in nanoBragg's setting: a* along x, b*
 * in the xy plane.  Its z component of c* is c* V/(a b c sin gamma*), which is right
 * only for some cells; with `faithful` false it is 1/c. */
static void cell_reciprocal(const double cell_A[3], const double cell_rad[3], bool faithful,
                            double reciprocal_A[9])
{
    const double a = cell_A[0], b = cell_A[1], c = cell_A[2];
    const double sin_a = sin(cell_rad[0]), sin_b = sin(cell_rad[1]), sin_g = sin(cell_rad[2]);
    const double cos_a = cos(cell_rad[0]), cos_b = cos(cell_rad[1]), cos_g = cos(cell_rad[2]);
    const double volume = cell_volume(cell_A, cell_rad);
    const double volume_star = 1.0 / volume;
    const double a_star = b * c * sin_a * volume_star;
    const double b_star = c * a * sin_b * volume_star;
    const double c_star = a * b * sin_g * volume_star;
    const double cos_a_star = clamp_cosine((cos_b * cos_g - cos_a) / (sin_b * sin_g));
    const double cos_b_star = clamp_cosine((cos_g * cos_a - cos_b) / (sin_g * sin_a));
    const double cos_g_star = clamp_cosine((cos_a * cos_b - cos_g) / (sin_a * sin_b));
    const double sin_g_star = clamp_sine(c * volume_star / a_star / b_star);
    vec_set(reciprocal_A, a_star, 0.0, 0.0);
    vec_set(reciprocal_A + 3, b_star * cos_g_star, b_star * sin_g_star, 0.0);
    vec_set(reciprocal_A + 6, c_star * cos_b_star,
            c_star * (cos_a_star - cos_b_star * cos_g_star) / sin_g_star,
            faithful ? c_star * volume / (a * b * c * sin_g_star) : 1.0 / c);
}

/* Computes the cross products of the rows of v: v1 x v2, v2 x v0, v0 x v1. */
static void cross_rows(const double v[9], double out[9])
{
    vec_cross(v + 3, v + 6, out);
    vec_cross(v + 6, v, out + 3);
    vec_cross(v, v + 3, out + 6);
}

void cell_direct(const struct crystal *c, bool faithful, double reciprocal_A[9], double direct_A[9])
{
    double cross[9];
    cross_rows(reciprocal_A, cross);
    double volume_star = vec_dot(reciprocal_A, cross);
    /* The cross products have the right directions, but their lengths come from the cell. */
    if (faithful && c->has_cell) {
        const double volume = cell_volume(c->cell_A, c->cell_rad);
        for (int i = 0; i < 3; i++) {
            const double wanted = c->cell_A[i] / volume;
            vec_scale(cross + 3 * i, wanted / vec_length(cross + 3 * i), cross + 3 * i);
        }
        volume_star = 1.0 / volume;
    }
    /* a = V (b* x c*), and back again: a* = V* (b x c) */
    const double volume = 1.0 / volume_star;
    for (int i = 0; i < 3; i++)
        vec_scale(cross + 3 * i, volume, direct_A + 3 * i);
    cross_rows(direct_A, cross);
    for (int i = 0; i < 3; i++)
        vec_scale(cross + 3 * i, volume_star, reciprocal_A + 3 * i);
}

enum status cell_check(const double cell_A[3], const double cell_rad[3], struct error *e)
{
    static const char *const edges[3] = {"cell edge a", "cell edge b", "cell edge c"};
    static const char *const angles[3] = {"cell angle alpha", "cell angle beta",
                                          "cell angle gamma"};
    const double degree = deg_to_rad(1.0);
    enum status s;
    for (int i = 0; i < 3; i++)
        if ((s = check_range(edges[i], cell_A[i], 1.0, "A", 0.01, 1e6, e)) ||
            (s = check_range(angles[i], cell_rad[i], degree, "deg", 0.1, 179.9, e)))
            return s;
    const double al = cell_rad[0], be = cell_rad[1], ga = cell_rad[2];
    /* Half the sum of the angles, and this minus each angle, must be in (0, pi). */
    const double half = (al + be + ga) / 2.0;
    const double margin = 1e-4;
    if (half > M_PI - margin || half - al < margin || half - be < margin || half - ga < margin)
        return error_set(e, STATUS_INPUT,
                         "cell angles %.9g %.9g %.9g deg are impossible; expected each below the "
                         "sum of the other two, and a sum below 360",
                         rad_to_deg(al), rad_to_deg(be), rad_to_deg(ga));
    return STATUS_OK;
}

/* Computes the reciprocal vectors from the columns of a MOSFLM matrix [3.2]. */
static enum status from_matrix(const double m[9], double wavelength_m, double reciprocal_A[9],
                               struct error *e)
{
    const double per_A = 1e-10 / wavelength_m;
    for (int axis = 0; axis < 3; axis++)
        vec_set(reciprocal_A + 3 * axis, m[axis] * per_A, m[3 + axis] * per_A, m[6 + axis] * per_A);
    for (int axis = 0; axis < 3; axis++) {
        const double length = vec_length(reciprocal_A + 3 * axis);
        if (!(length >= 1e-6 && length <= 100.0))
            return error_set(
                e, STATUS_INPUT,
                "column %d of the matrix is %.6g 1/A long; expected a value from 1e-06 to 100",
                axis + 1, length);
    }
    /* The volume of the cell relative to that of a box with the same edges. */
    const double volume = fabs(mat_determinant(reciprocal_A));
    const double box =
        vec_length(reciprocal_A) * vec_length(reciprocal_A + 3) * vec_length(reciprocal_A + 6);
    if (!(volume >= 1e-6 * box))
        return error_set(e, STATUS_INPUT,
                         "the matrix is singular: its columns a*, b*, c* are in one plane");
    return STATUS_OK;
}

/* Computes the edges and angles of a cell from its direct vectors. */
static void measure_cell(const double direct_A[9], double cell_A[3], double cell_rad[3])
{
    for (int i = 0; i < 3; i++)
        cell_A[i] = vec_length(direct_A + 3 * i);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const double cosine = vec_dot(direct_A + 3 * j, direct_A + 3 * k) / cell_A[j] / cell_A[k];
        cell_rad[i] = acos(fmax(-1.0, fmin(1.0, cosine)));
    }
}

enum status cell_of_matrix(const double matrix[9], double wavelength_m, double cell_A[3],
                           double cell_rad[3], struct error *e)
{
    const struct crystal none = {0};
    double reciprocal_A[9], direct_A[9];
    const enum status s = from_matrix(matrix, wavelength_m, reciprocal_A, e);
    if (s)
        return s;
    cell_direct(&none, false, reciprocal_A, direct_A);
    measure_cell(direct_A, cell_A, cell_rad);
    return STATUS_OK;
}

/* Sets the number of cells along each axis, from the sizes if they are given [3.4]. */
static enum status count_cells(const struct crystal_request *r, double beam_size_m,
                               const double direct_A[9], struct crystal *c, struct error *e)
{
    for (int i = 0; i < 3; i++) {
        enum status s = check_range("crystal size", r->size_m[i], 1e-3, "mm", 0.0, 1e3, e);
        if (s)
            return s;
        double size_m = r->blocks ? 0.0 : r->size_m[i];
        /* The beam clips two cell axes, as if they were y and z of the laboratory frame [2.1]. */
        if (i > 0 && beam_size_m >= 0.0 && size_m > beam_size_m)
            size_m = beam_size_m;
        const double edge_m = vec_length(direct_A + 3 * i) * 1e-10;
        c->cells[i] = size_m > 0.0 ? ceil(size_m / edge_m) : r->cells[i];
        if (c->cells[i] < 1.0)
            c->cells[i] = 1.0;
        if (size_m > 0.0 && c->cells[i] > LIMIT_CELLS)
            return error_set(
                e, STATUS_INPUT,
                "a crystal of %g mm has %.0f cells along an axis; expected at most %.0f",
                size_m * 1e3, c->cells[i], LIMIT_CELLS);
        if ((s = check_range("number of cells along an axis", c->cells[i], 1.0, "", 1.0,
                             LIMIT_CELLS, e)))
            return s;
    }
    return STATUS_OK;
}

/* Returns the volume of the crystal relative to that of a block of c->cells [3.10]. A block must
 * fit into the crystal. */
static enum status count_blocks(const double direct_A[9], struct crystal *c, struct error *e)
{
    c->has_blocks = true;
    c->blocks = 1.0;
    for (int i = 0; i < 3; i++) {
        const double cells = c->size_m[i] / (vec_length(direct_A + 3 * i) * 1e-10);
        c->blocks *= cells / c->cells[i];
        if (c->cells[i] > ceil(cells))
            return error_set(e, STATUS_INPUT,
                             "a crystal of %g mm along %c is too small for blocks of %g cells; "
                             "expected at most %g",
                             c->size_m[i] * 1e3, "abc"[i], c -> cells[i], ceil(cells));
    }
    c->blocks = fmax(1.0, c->blocks);
    return STATUS_OK;
}

/* Sets root[] to the square root of a symmetric positive definite matrix, by the iteration of
 * Denman and Beavers (Appl. Math. Comput. 2, 63, 1976). */
static void take_root(const double matrix[9], double root[9])
{
    enum { STEPS = 40 };
    const double scale = (matrix[0] + matrix[4] + matrix[8]) / 3.0;
    double other[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int k = 0; k < 9; k++)
        root[k] = matrix[k] / scale;
    for (int step = 0; step < STEPS; step++) {
        double of_root[9], of_other[9];
        mat_invert(root, of_root);
        mat_invert(other, of_other);
        for (int k = 0; k < 9; k++) {
            root[k] = 0.5 * (root[k] + of_other[k]);
            other[k] = 0.5 * (other[k] + of_root[k]);
        }
    }
    for (int k = 0; k < 9; k++)
        root[k] *= sqrt(scale);
}

/* Replaces the cells of a block by a matrix of as many cells whose spots are round in reciprocal
 * space, as gauss_star of simtbx (cctbx, pull request 985) makes them:
 *
 *     F_latt = Na Nb Nc exp(-1.75 fudge L^2 |dq|^2),   L^3 = Na Nb Nc V
 *
 * dq is the offset from the lattice point in 1/A, V the volume of the cell.  The matrix is
 * L (G*)^(1/2) with the reciprocal metric G*.  GAUSS has 1/0.63 instead of 1.75. */
static void cells_of_star(struct crystal *c)
{
    const double *star = c->reciprocal_A;
    const double cells = c->cells[0] * c->cells[1] * c->cells[2];
    double metric[9], root[9];
    for (int k = 0; k < 9; k++)
        metric[k] = vec_dot(star + 3 * (k / 3), star + 3 * (k % 3));
    const double length_A = cbrt(cells / sqrt(mat_determinant(metric)));
    take_root(metric, root);
    for (int k = 0; k < 3; k++)
        c->cells[k] = length_A * root[4 * k];
    c->cells_across[0] = length_A * 0.5 * (root[1] + root[3]);
    c->cells_across[1] = length_A * 0.5 * (root[5] + root[7]);
    c->cells_across[2] = length_A * 0.5 * (root[2] + root[6]);
    c->fudge *= 1.75 * 0.63;
}

/* With two cells along an axis a spot extends over half the distance to its neighbours. */
static bool any_small(const double cells[3])
{
    return cells[0] <= 2.0 || cells[1] <= 2.0 || cells[2] <= 2.0;
}

enum status cell_setup(const struct crystal_request *r, enum physics physics, double wavelength_m,
                       double beam_size_m, struct crystal *c, struct error *e)
{
    const bool faithful = physics == PHYSICS_FAITHFUL;
    memset(c, 0, sizeof *c);
    memcpy(c->name, r->name, sizeof c->name);
    c->name[sizeof c->name - 1] = 0;
    c->shape = r->shape;
    c->fudge = r->fudge;
    c->table = r->table;
    c->has_cell = r->has_cell;
    c->has_ensemble = r->gauss;
    memcpy(c->mosaic_rms_rad, r->mosaic_rms_rad, sizeof c->mosaic_rms_rad);
    memcpy(c->strain_rms, r->strain_rms, sizeof c->strain_rms);
    memcpy(c->cells_across, r->cells_across, sizeof c->cells_across);
    c->divergence_rms_rad = r->divergence_rms_rad;
    c->has_diffuse = r->diffuse_sigma_A[0] > 0.0;
    memcpy(c->diffuse_sigma_A, r->diffuse_sigma_A, sizeof c->diffuse_sigma_A);
    memcpy(c->diffuse_gamma_A, r->diffuse_gamma_A, sizeof c->diffuse_gamma_A);
    memcpy(c->cell_A, r->cell_A, sizeof c->cell_A);
    memcpy(c->cell_rad, r->cell_rad, sizeof c->cell_rad);
    enum status s = check_range("fudge", r->fudge, 1.0, "", 0.0, 1e12, e);
    if (s || (s = check_range("default F", r->table.default_F, 1.0, "electrons", -1e9, 1e9, e)))
        return s;
    if (!r->has_cell && !r->has_matrix)
        return error_set(e, STATUS_INPUT, "the crystal has no cell. Give --cell or --matrix");
    if (r->has_cell && (s = cell_check(r->cell_A, r->cell_rad, e)))
        return s;
    if (r->has_matrix)
        s = from_matrix(r->matrix, wavelength_m, c->reciprocal_A, e);
    else
        cell_reciprocal(r->cell_A, r->cell_rad, faithful, c->reciprocal_A);
    if (s)
        return s;
    double reciprocal_A[9], direct_A[9];
    memcpy(reciprocal_A, c->reciprocal_A, sizeof reciprocal_A);
    cell_direct(c, faithful, reciprocal_A, direct_A);
    if (r->has_matrix && !faithful) {
        measure_cell(direct_A, c->cell_A, c->cell_rad);
        c->has_cell = true;
    }
    if ((s = count_cells(r, beam_size_m, direct_A, c, e)))
        return s;
    c->has_size = !faithful && r->size_m[0] > 0.0 && r->size_m[1] > 0.0 && r->size_m[2] > 0.0;
    if (c->has_size)
        memcpy(c->size_m, r->size_m, sizeof c->size_m);
    if (c->has_size && r->blocks && (s = count_blocks(direct_A, c, e)))
        return s;
    if (r->is_star)
        cells_of_star(c);
    /* nanoBragg checks the counts before it converts sizes to counts. */
    c->interpolate =
        r->interpolate == INTERPOLATE_ON ||
        (r->interpolate == INTERPOLATE_AUTO && any_small(faithful ? r->cells : c->cells));
    if (!c->table.count[0])
        c->interpolate = false;
    return STATUS_OK;
}

static const double IDENTITY[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

void mosaic_domains(struct ran1 *random, int64_t seed, double spread_rad, size_t count,
                    double *domains)
{
    long state = (long)seed;
    for (size_t k = 0; k < count; k++)
        ran1_rotation(random, (float)spread_rad, &state, domains + 9 * k);
    /* There is always one domain that is not rotated. */
    memcpy(domains, IDENTITY, sizeof IDENTITY);
}

void rotation_to_misset(const double rotation[9], double misset_rad[3])
{
    double x[3], y[3], z[3];
    vec_unit(rotation, x);
    vec_unit(rotation + 3, y);
    vec_unit(rotation + 6, z);
    /* nanoBragg normalises once more, which can change the last bit. */
    vec_unit(x, x);
    vec_unit(y, y);
    vec_unit(z, z);
    if (z[0] * z[0] < 1.0) {
        misset_rad[0] = atan2(z[1], z[2]);
        misset_rad[1] = atan2(-z[0], sqrt(z[1] * z[1] + z[2] * z[2]));
        misset_rad[2] = atan2(y[0], x[0]);
    } else {
        misset_rad[0] = 4.0 * atan2(1.0, 1.0);
        misset_rad[1] = 2.0 * atan2(1.0, 1.0);
        misset_rad[2] = atan2(x[1], -y[1]);
    }
}

void misset_to_rotation(const double misset_rad[3], double rotation[9])
{
    for (int column = 0; column < 3; column++) {
        double v[3] = {0, 0, 0};
        v[column] = 1.0;
        vec_rotate(v, misset_rad);
        for (int row = 0; row < 3; row++)
            rotation[3 * row + column] = v[row];
    }
}

void misset_random(struct ran1 *random, int64_t seed, double misset_rad[3])
{
    long state = (long)seed;
    double rotation[9];
    ran1_rotation(random, 90.0f, &state, rotation);
    rotation_to_misset(rotation, misset_rad);
}
