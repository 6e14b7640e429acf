/*
 * Pairs the panels of an analysis with the true ones, and measures how far its detector model
 * is off.
 */
#include "score/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

void panel_point(const struct geom_panel *p, double fast, double slow, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = p->corner_m[i] + p->pixel_m * (fast * p->fast[i] + slow * p->slow[i]);
}

static double apart(const struct geom_panel *a, const struct geom_panel *b)
{
    double x[3], y[3], off[3];
    panel_point(a, 0.5 * (double)a->fast_pixels, 0.5 * (double)a->slow_pixels, x);
    panel_point(b, 0.5 * (double)b->fast_pixels, 0.5 * (double)b->slow_pixels, y);
    vec_set(off, x[0] - y[0], x[1] - y[1], x[2] - y[2]);
    return vec_length(off);
}

static bool same_size(const struct geom_panel *a, const struct geom_panel *b)
{
    return a->fast_pixels == b->fast_pixels && a->slow_pixels == b->slow_pixels;
}

static int32_t nearest(const struct geom_panel *truth, size_t ntruth, const struct geom_panel *m)
{
    int32_t best = -1;
    double least = INFINITY;
    for (size_t i = 0; i < ntruth; i++) {
        const double away = apart(&truth[i], m);
        if (same_size(&truth[i], m) && away < least) {
            least = away;
            best = (int32_t)i;
        }
    }
    return best;
}

/* --- other axes across the beam -------------------------------------------------- */

static const double FAR_PX = 20.0;
static const double OTHER_AXES_RAD = 0.1;
enum { TURNS_MAX = 16 };

static void turn_about_beam(double v[3], double rad)
{
    const double x = v[0], y = v[1];
    v[0] = cos(rad) * x - sin(rad) * y;
    v[1] = sin(rad) * x + cos(rad) * y;
}

static struct geom_panel turned_panel(struct geom_panel p, double rad)
{
    turn_about_beam(p.corner_m, rad);
    turn_about_beam(p.fast, rad);
    turn_about_beam(p.slow, rad);
    return p;
}

/* Returns the distance of two panels: the sum over two of their corners, in px. */
static double corners_apart(const struct geom_panel *a, const struct geom_panel *b)
{
    double sum = 0.0;
    for (int end = 0; end < 2; end++) {
        double x[3], y[3], off[3];
        panel_point(a, end ? (double)a->fast_pixels : 0.0, 0.0, x);
        panel_point(b, end ? (double)b->fast_pixels : 0.0, 0.0, y);
        vec_set(off, x[0] - y[0], x[1] - y[1], x[2] - y[2]);
        sum += vec_length(off) / a->pixel_m;
    }
    return sum;
}

/* Returns the mean distance of the panels of the model from the nearest true panel, in px, after a
 * rotation of the model about the beam by `rad`. */
static double model_off(const struct detectors *d, size_t ntruth, double rad)
{
    double sum = 0.0;
    for (size_t i = 0; i < d->nmodel; i++) {
        const struct geom_panel m = turned_panel(d->model[i], rad);
        double least = INFINITY;
        for (size_t k = 0; k < ntruth; k++)
            if (same_size(&m, &d->truth[k]))
                least = fmin(least, corners_apart(&m, &d->truth[k]));
        sum += least;
    }
    return 0.5 * sum / (double)d->nmodel;
}

/* Returns the rotation about the beam that makes the first panel of the model parallel to a true
 * panel and brings all panels nearest to the truth.  Returns 0 if the model is not far off, or if
 * no rotation improves it enough. */
static double find_turn(const struct detectors *d, size_t ntruth)
{
    const struct geom_panel *m = d->model;
    const double as_it_is = model_off(d, ntruth, 0.0);
    double least = as_it_is, best = 0.0;
    int tried = 0;
    for (size_t k = 0; k < ntruth && as_it_is > FAR_PX && tried < TURNS_MAX; k++) {
        const double *to = d->truth[k].fast;
        const double rad = atan2(to[1], to[0]) - atan2(m->fast[1], m->fast[0]);
        if (!same_size(m, &d->truth[k]) || (tried && fabs(rad - best) < 1e-3))
            continue;
        const double off = model_off(d, ntruth, rad);
        tried++;
        if (off < least) {
            least = off;
            best = rad;
        }
    }
    best = remainder(best, 2.0 * M_PI);
    return least < 0.25 * as_it_is && fabs(best) > OTHER_AXES_RAD ? best : 0.0;
}

static void turn_model(struct detectors *d, double rad)
{
    d->turned = mem_copy(d->model, d->nmodel, sizeof *d->turned);
    for (size_t i = 0; i < d->nmodel; i++)
        d->turned[i] = turned_panel(d->turned[i], rad);
    d->model = d->turned;
    d->turn_rad = rad;
}

void detectors_turn(const struct detectors *d, struct answer *a)
{
    for (size_t i = 0; i < a->nlattices && d->turn_rad != 0.0; i++)
        for (int column = 0; column < 3; column++) {
            double *m = a->lattices[i].a_matrix;
            double v[3] = {m[column], m[3 + column], m[6 + column]};
            turn_about_beam(v, d->turn_rad);
            for (int k = 0; k < 3; k++)
                m[3 * k + column] = v[k];
        }
}

/* Relative tolerance of the pixel size.  Programs do not refine the pixel size, so that a larger
 * difference means another detector. */
static const double PIXELS_ALIKE = 0.01;

/* --- panels ------------------------------------------------------------------------ */

enum status detectors_match(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                            const struct geom_panel *model, size_t nmodel, const char *path,
                            struct error *e)
{
    if (!model) {
        model = truth;
        nmodel = ntruth;
    }
    *d = (struct detectors){.truth = truth,
                            .model = model,
                            .nmodel = nmodel,
                            .truth_of = mem_array(nmodel, sizeof *d->truth_of),
                            .model_of = mem_array(ntruth, sizeof *d->model_of)};
    const double rad = model == truth ? 0.0 : find_turn(d, ntruth);
    if (rad != 0.0)
        turn_model(d, rad);
    model = d->model;
    for (size_t i = 0; i < ntruth; i++)
        d->model_of[i] = -1;
    for (size_t i = 0; i < nmodel; i++) {
        const int32_t panel = model == truth ? (int32_t)i : nearest(truth, ntruth, &model[i]);
        char name[GEOM_NAME_SIZE + 24];
        if (*model[i].name)
            (void)snprintf(name, sizeof name, "%s", model[i].name);
        else
            (void)snprintf(name, sizeof name, "%zu", i);
        if (panel < 0 || d->model_of[panel] >= 0)
            return error_set(e, STATUS_INPUT,
                             "%s: panel %s of %lld x %lld pixels is not on the detector of the "
                             "ground truth, which has %zu panels, the first of %lld x %lld pixels",
                             path, name, (long long)model[i].fast_pixels,
                             (long long)model[i].slow_pixels, ntruth, (long long)truth->fast_pixels,
                             (long long)truth->slow_pixels);
        if (!(fabs(model[i].pixel_m / truth[panel].pixel_m - 1.0) < PIXELS_ALIKE))
            return error_set(
                e, STATUS_INPUT,
                "%s: the pixels of panel %s are %g mm wide; those of the ground truth are %g mm",
                path, name, m_to_mm(model[i].pixel_m), m_to_mm(truth[panel].pixel_m));
        d->truth_of[i] = panel;
        d->model_of[panel] = (int32_t)i;
    }
    return STATUS_OK;
}

void detectors_assume(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                      double panel0, const struct geom_panel *model, size_t nmodel)
{
    const size_t n = model && nmodel > ntruth ? nmodel : ntruth;
    *d = (struct detectors){.model = model ? model : truth,
                            .nmodel = n,
                            .truth_of = mem_array(n, sizeof *d->truth_of),
                            .model_of = mem_array(n, sizeof *d->model_of)};
    for (size_t i = 0; i < n; i++)
        d->truth_of[i] = d->model_of[i] = (int32_t)i;
    d->truth = d->model;
    if (!model || isnan(panel0))
        return;
    const double rad = remainder(panel0 - atan2(model->fast[1], model->fast[0]), 2.0 * M_PI);
    d->turn_rad = fabs(rad) > OTHER_AXES_RAD ? rad : 0.0;
}

/* Solves corner + pixel (f fast + s slow) = t direction by Cramer's rule. */
bool panel_project(const struct geom_panel *m, const double corner[3], const double direction[3],
                   double out[2])
{
    double normal[3], c[3];
    vec_cross(m->fast, m->slow, normal);
    const double t = vec_dot(normal, corner) / vec_dot(normal, direction);
    if (!(t > 0.0 && isfinite(t)))
        return false;
    for (int i = 0; i < 3; i++)
        c[i] = (t * direction[i] - corner[i]) / m->pixel_m;
    const double ff = vec_dot(m->fast, m->fast), ss = vec_dot(m->slow, m->slow),
                 fs = vec_dot(m->fast, m->slow), cf = vec_dot(c, m->fast), cs = vec_dot(c, m->slow);
    out[0] = (cf * ss - cs * fs) / (ff * ss - fs * fs);
    out[1] = (cs * ff - cf * fs) / (ff * ss - fs * fs);
    return true;
}

bool detectors_project(const struct detectors *d, const double true_m[3], const double model_m[3],
                       int32_t panel, double fast, double slow, double out[2])
{
    if (d->model_of[panel] < 0)
        return false;
    const struct geom_panel *m = &d->model[d->model_of[panel]];
    double direction[3], corner[3];
    vec_copy(corner, model_m);
    turn_about_beam(corner, d->turn_rad);
    panel_point(&d->truth[panel], fast, slow, direction);
    for (int i = 0; i < 3; i++)
        direction[i] += true_m[i];
    for (int i = 0; i < 3; i++)
        corner[i] += m->corner_m[i];
    return panel_project(m, corner, direction, out);
}

bool detectors_places(const struct detectors *d, const double true_m[3], const double model_m[3],
                      int32_t panel, double fast, double slow, double truth[3], double model[3])
{
    if (d->model_of[panel] < 0)
        return false;
    double shift[3];
    vec_copy(shift, model_m);
    turn_about_beam(shift, d->turn_rad);
    panel_point(&d->truth[panel], fast, slow, truth);
    panel_point(&d->model[d->model_of[panel]], fast, slow, model);
    for (int i = 0; i < 3; i++) {
        truth[i] += true_m[i];
        model[i] += shift[i];
    }
    return true;
}

void detectors_free(struct detectors *d)
{
    mem_free(d->truth_of);
    mem_free(d->model_of);
    mem_free(d->turned);
    *d = (struct detectors){0};
}

/* Sets the coefficients of the six terms of
 *
 *   v = u + shift + scale u + turn (-u_y, u_x) + (tilt . u) u
 *
 * for the tangents u of the truth and v of the model: one row for x and one for y.  The tilts are
 * those of a plane that is rotated about the sample, to first order. */
static void terms_of(const double u[2], double x[ALIGNMENT_TERMS], double y[ALIGNMENT_TERMS])
{
    const double to_x[] = {1.0, 0.0, u[0], -u[1], u[0] * u[0], u[1] * u[0]},
                 to_y[] = {0.0, 1.0, u[1], u[0], u[0] * u[1], u[1] * u[1]};
    memcpy(x, to_x, sizeof to_x);
    memcpy(y, to_y, sizeof to_y);
}

void alignment_add(struct alignment *a, const double truth_m[3], const double model_m[3],
                   double pixel_m)
{
    double x[ALIGNMENT_TERMS], y[ALIGNMENT_TERMS];
    if (!(truth_m[2] > 0.0 && model_m[2] > 0.0))
        return;
    const double u[2] = {truth_m[0] / truth_m[2], truth_m[1] / truth_m[2]},
                 off[2] = {model_m[0] / model_m[2] - u[0], model_m[1] / model_m[2] - u[1]};
    terms_of(u, x, y);
    for (int i = 0; i < ALIGNMENT_TERMS; i++) {
        for (int k = 0; k < ALIGNMENT_TERMS; k++)
            a->products[i][k] += x[i] * x[k] + y[i] * y[k];
        a->measured[i] += x[i] * off[0] + y[i] * off[1];
    }
    a->n++;
    a->distance_m += truth_m[2];
    a->radius2 += u[0] * u[0] + u[1] * u[1];
    a->pixel_m = pixel_m;
}

/* Solves m x = b by Cholesky decomposition, and stores x in b.  Returns false if the places do not
 * determine one of the terms. */
static bool solve(double m[ALIGNMENT_TERMS][ALIGNMENT_TERMS], double b[ALIGNMENT_TERMS])
{
    static const double LEAST = 1e-9;
    double scale[ALIGNMENT_TERMS];
    for (int i = 0; i < ALIGNMENT_TERMS; i++) {
        scale[i] = 1.0 / sqrt(m[i][i]);
        if (!isfinite(scale[i]))
            return false;
    }
    for (int i = 0; i < ALIGNMENT_TERMS; i++) {
        for (int k = 0; k <= i; k++) {
            double sum = m[i][k] * scale[i] * scale[k];
            for (int j = 0; j < k; j++)
                sum -= m[i][j] * m[k][j];
            if (i == k && !(sum > LEAST))
                return false;
            m[i][k] = i == k ? sqrt(sum) : sum / m[k][k];
        }
        b[i] *= scale[i];
        for (int j = 0; j < i; j++)
            b[i] -= m[i][j] * b[j];
        b[i] /= m[i][i];
    }
    for (int i = ALIGNMENT_TERMS; i-- > 0;) {
        for (int j = i + 1; j < ALIGNMENT_TERMS; j++)
            b[i] -= m[j][i] * b[j];
        b[i] /= m[i][i];
    }
    for (int i = 0; i < ALIGNMENT_TERMS; i++)
        b[i] *= scale[i];
    return true;
}

struct alignment_off alignment_solve(const struct alignment *a)
{
    struct alignment_off off = {NAN, NAN, NAN, {NAN, NAN}, NAN};
    double m[ALIGNMENT_TERMS][ALIGNMENT_TERMS], x[ALIGNMENT_TERMS];
    if (!a->n)
        return off;
    memcpy(m, a->products, sizeof m);
    memcpy(x, a->measured, sizeof x);
    off.distance_m = a->distance_m / (double)a->n;
    off.radius_px = sqrt(a->radius2 / (double)a->n) * off.distance_m / a->pixel_m;
    if (!solve(m, x))
        return off;
    off.camera_length = 1.0 / hypot(1.0 + x[2], x[3]) - 1.0;
    off.turn_deg = rad_to_deg(atan2(x[3], 1.0 + x[2]));
    off.tilt_deg[0] = rad_to_deg(0.0 - x[5]);
    off.tilt_deg[1] = rad_to_deg(x[4]);
    return off;
}
