#include "score/detectors.h"

#include <math.h>

#include "base/alloc.h"
#include "base/vec.h"

static void point_of(const struct geom_panel *p, double fast, double slow, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = p->corner_m[i] + p->pixel_m * (fast * p->fast[i] + slow * p->slow[i]);
}

static double apart(const struct geom_panel *a, const struct geom_panel *b)
{
    double x[3], y[3], off[3];
    point_of(a, 0.5 * (double)a->fast_pixels, 0.5 * (double)a->slow_pixels, x);
    point_of(b, 0.5 * (double)b->fast_pixels, 0.5 * (double)b->slow_pixels, y);
    vec_set(off, x[0] - y[0], x[1] - y[1], x[2] - y[2]);
    return vec_length(off);
}

static int32_t nearest(const struct geom_panel *truth, size_t ntruth, const struct geom_panel *m)
{
    int32_t best = -1;
    double least = INFINITY;
    for (size_t i = 0; i < ntruth; i++) {
        const double away = apart(&truth[i], m);
        if (truth[i].fast_pixels == m->fast_pixels && truth[i].slow_pixels == m->slow_pixels &&
            away < least) {
            least = away;
            best = (int32_t)i;
        }
    }
    return best;
}

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
    if (!d->truth_of || !d->model_of)
        return error_memory(e, "panels");
    for (size_t i = 0; i < ntruth; i++)
        d->model_of[i] = -1;
    for (size_t i = 0; i < nmodel; i++) {
        const int32_t panel = model == truth ? (int32_t)i : nearest(truth, ntruth, &model[i]);
        if (panel < 0 || d->model_of[panel] >= 0)
            return error_set(
                e, STATUS_INPUT,
                "%s: panel %s of %lld x %lld pixels is not on the detector of the key, "
                "which has %zu panels, the first of %lld x %lld",
                path, model[i].name, (long long)model[i].fast_pixels,
                (long long)model[i].slow_pixels, ntruth, (long long)truth->fast_pixels,
                (long long)truth->slow_pixels);
        d->truth_of[i] = panel;
        d->model_of[panel] = (int32_t)i;
    }
    return STATUS_OK;
}

/* Solves corner + pixel (f fast + s slow) = t direction by Cramer's rule. */
bool detectors_project(const struct detectors *d, int32_t panel, double fast, double slow,
                       double out[2])
{
    if (d->model_of[panel] < 0)
        return false;
    const struct geom_panel *m = &d->model[d->model_of[panel]];
    double direction[3], normal[3], c[3];
    point_of(&d->truth[panel], fast, slow, direction);
    vec_cross(m->fast, m->slow, normal);
    const double t = vec_dot(normal, m->corner_m) / vec_dot(normal, direction);
    if (!(t > 0.0 && isfinite(t)))
        return false;
    for (int i = 0; i < 3; i++)
        c[i] = (t * direction[i] - m->corner_m[i]) / m->pixel_m;
    const double ff = vec_dot(m->fast, m->fast), ss = vec_dot(m->slow, m->slow),
                 fs = vec_dot(m->fast, m->slow), cf = vec_dot(c, m->fast), cs = vec_dot(c, m->slow);
    out[0] = (cf * ss - cs * fs) / (ff * ss - fs * fs);
    out[1] = (cs * ff - cf * fs) / (ff * ss - fs * fs);
    return true;
}

void detectors_free(struct detectors *d)
{
    mem_free(d->truth_of);
    mem_free(d->model_of);
    *d = (struct detectors){0};
}
