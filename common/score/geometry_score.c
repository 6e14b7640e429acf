/* Compares a returned geometry with the true one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/dials/expt.h"
#include "io/nxmx/nxmx_geometry.h"
#include "score/score.h"
#include "score/truth.h"

/* Points along each edge of a panel. */
enum { EDGE_POINTS = 7, POINTS = EDGE_POINTS * EDGE_POINTS };

/* Motions of all panels that an analysis cannot separate from others: a rotation about the beam
 * from one of the crystals; the distance, at small angles, from a larger unit cell; rotations about
 * x and y through the sample from another direction of the beam. */
enum { MODE_TURN, MODE_DISTANCE, MODE_TILT_X, MODE_TILT_Y, MODES };

/* Metrics without the first motions. */
static const struct {
    const char *name;
    int modes;
} levels[] = {{"rms", 0}, {"rms_no_turn", 1}, {"rms_no_distance", 2}, {"rms_no_tilt", MODES}};

struct point {
    int32_t panel;           // true panel
    double error_px[2];      // along fast and slow
    double slope[MODES][2];  // derivatives of the error by the motions
};

struct comparison {
    struct point *points;  // owned
    size_t n;
};

/* --- files ------------------------------------------------------------------------------ */

struct detector {
    struct truth_part part;
    struct geom geom;
    struct expt expt;
    struct nxmx_geometry nxmx;
    struct geom_panel *panels;  // borrowed from one of these
    size_t npanels;
};

/* Turns the panels of an experiment list into the coordinate system of its own beam: z along it, x
 * as near as possible to the x axis of DIALS. */
static void turn_to_beam(struct expt *x)
{
    double frame[9], *u = frame, *v = frame + 3, *beam = frame + 6;
    const double dials_x[3] = {0.0, 0.0, 1.0};  // in the laboratory frame of mosflm
    vec_unit(x->direction, beam);
    const double along = vec_dot(dials_x, beam);
    for (int i = 0; i < 3; i++)
        u[i] = dials_x[i] - along * beam[i];
    vec_unit(u, u);
    vec_cross(beam, u, v);
    for (size_t i = 0; i < x->npanels; i++) {
        double *const vectors[] = {x->panels[i].fast, x->panels[i].slow, x->panels[i].corner_m};
        for (int k = 0; k < 3; k++) {
            double out[3];
            mat_apply(frame, vectors[k], out);
            vec_copy(vectors[k], out);
        }
    }
}

static enum status read_detector(struct detector *d, const char *path, bool truth, struct error *e)
{
    enum status s;
    if (truth && (truth_recording_is(path) || nxmx_is_hdf5(path))) {
        s = truth_part_detector(&d->part, path, e);
        d->panels = d->part.detector.panels;
        d->npanels = d->part.detector.npanels;
    } else if (nxmx_is_hdf5(path)) {
        s = nxmx_geometry_read(path, &d->nxmx, e);
        d->panels = d->nxmx.panels;
        d->npanels = d->nxmx.npanels;
    } else if (expt_is_named(path)) {
        s = expt_read(path, &d->expt, e);
        d->panels = d->expt.panels;
        d->npanels = d->expt.npanels;
        if (!s)
            turn_to_beam(&d->expt);
    } else {
        s = geom_read(path, 0.0, &d->geom, e);
        d->panels = d->geom.panels;
        d->npanels = d->geom.npanels;
    }
    return s;
}

static void free_detector(struct detector *d)
{
    truth_part_close(&d->part);
    nxmx_geometry_free(&d->nxmx);
    expt_free(&d->expt);
    geom_free(&d->geom);
}

/* --- errors of points ------------------------------------------------------------------- */

/* Sets out[] to the direction d[] after a small motion `mode` by `step`. */
static void move_direction(int mode, double step, const double d[3], double out[3])
{
    static const double axes[MODES][3] = {
        [MODE_TURN] = {0, 0, 1}, [MODE_TILT_X] = {1, 0, 0}, [MODE_TILT_Y] = {0, 1, 0}};
    double by[3] = {d[0], d[1], 0.0};
    if (mode != MODE_DISTANCE)
        vec_cross(axes[mode], d, by);
    for (int i = 0; i < 3; i++)
        out[i] = d[i] + step * by[i];
}

/* Fills *p for the point (fast, slow) of a true panel.  Returns false if the panel of the model
 * faces away. */
static bool find_error(const struct geom_panel *truth, const struct geom_panel *model, double fast,
                       double slow, struct point *p)
{
    static const double STEP = 1e-6;
    double d[3], at[2], moved[3], there[2];
    panel_point(truth, fast, slow, d);
    vec_unit(d, d);
    if (!panel_project(model, model->corner_m, d, at))
        return false;
    p->error_px[0] = at[0] - fast;
    p->error_px[1] = at[1] - slow;
    for (int mode = 0; mode < MODES; mode++) {
        move_direction(mode, STEP, d, moved);
        if (!panel_project(model, model->corner_m, moved, there))
            return false;
        for (int k = 0; k < 2; k++)
            p->slope[mode][k] = (there[k] - at[k]) / STEP;
    }
    return true;
}

static enum status compare(const struct detectors *d, size_t ntruth, const char *path,
                           struct comparison *c, struct error *e)
{
    c->points = mem_array(ntruth, POINTS * sizeof *c->points);
    for (size_t i = 0; i < ntruth; i++)
        for (int k = 0; k < POINTS && d->model_of[i] >= 0; k++) {
            const struct geom_panel *t = &d->truth[i];
            const double fast =
                0.5 + (double)(k % EDGE_POINTS) / (EDGE_POINTS - 1) * ((double)t->fast_pixels - 1);
            const double slow =
                0.5 + (double)(k / EDGE_POINTS) / (EDGE_POINTS - 1) * ((double)t->slow_pixels - 1);
            struct point *p = &c->points[c->n++];
            p->panel = (int32_t)i;
            if (!find_error(t, &d->model[d->model_of[i]], fast, slow, p))
                return error_set(e, STATUS_INPUT,
                                 "%s: the panel at true panel %zu faces away from the sample", path,
                                 i);
        }
    return STATUS_OK;
}

/* --- motions that no analysis sees ----------------------------------------------------------- */

/* Solves m x = b for the first n unknowns by elimination, and stores x in b.  m is symmetric and
 * positive.  Returns false if the points do not determine an unknown. */
static bool solve(int n, double m[MODES][MODES], double b[MODES])
{
    double first[MODES];
    for (int i = 0; i < n; i++)
        first[i] = m[i][i];
    for (int i = 0; i < n; i++) {
        if (!(m[i][i] > 1e-10 * first[i]))
            return false;
        for (int row = i + 1; row < n; row++) {
            const double factor = m[row][i] / m[i][i];
            for (int k = i; k < n; k++)
                m[row][k] -= factor * m[i][k];
            b[row] -= factor * b[i];
        }
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            b[i] -= m[i][k] * b[k];
        b[i] /= m[i][i];
    }
    return true;
}

/* Finds the amplitudes of the first n motions that explain most of the errors. */
static bool fit(const struct comparison *c, int n, double amplitude[MODES])
{
    double m[MODES][MODES] = {{0}};
    memset(amplitude, 0, MODES * sizeof *amplitude);
    for (const struct point *p = c->points; p < c->points + c->n; p++)
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++)
                m[i][k] += p->slope[i][0] * p->slope[k][0] + p->slope[i][1] * p->slope[k][1];
            amplitude[i] += p->slope[i][0] * p->error_px[0] + p->slope[i][1] * p->error_px[1];
        }
    return solve(n, m, amplitude);
}

/* Sets left[] to the error of a point without the first n motions. */
static void leave(const struct point *p, int n, const double amplitude[MODES], double left[2])
{
    for (int k = 0; k < 2; k++) {
        left[k] = p->error_px[k];
        for (int i = 0; i < n; i++)
            left[k] -= amplitude[i] * p->slope[i][k];
    }
}

static double rms_of(const struct comparison *c, int n, const double amplitude[MODES])
{
    double sum = 0.0, left[2];
    for (size_t i = 0; i < c->n; i++) {
        leave(&c->points[i], n, amplitude, left);
        sum += left[0] * left[0] + left[1] * left[1];
    }
    return sqrt(sum / (double)c->n);
}

/* --- metrics ---------------------------------------------------------------------------- */

static void add(struct figures *f, const char *group, const char *name, double value)
{
    char full[2 * FIGURE_NAME];
    (void)snprintf(full, sizeof full, "%s.%s", group, name);
    figures_add(f, full, value, "the panels do not determine it");
}

/* Adds the mean error along fast and slow and the rms error of each panel, without the rotation
 * about the beam. */
static void add_panels(const struct comparison *c, struct figures *f)
{
    enum { LISTED_MAX = 128 };
    double amplitude[MODES];
    const int n = fit(c, 1, amplitude) ? 1 : 0;
    for (size_t at = 0; at < c->n && at < (size_t)LISTED_MAX * POINTS; at += POINTS) {
        char group[FIGURE_NAME];
        double mean[2] = {0.0, 0.0}, square = 0.0, left[2];
        for (size_t i = at; i < at + POINTS; i++) {
            leave(&c->points[i], n, amplitude, left);
            mean[0] += left[0] / POINTS;
            mean[1] += left[1] / POINTS;
            square += (left[0] * left[0] + left[1] * left[1]) / POINTS;
        }
        (void)snprintf(group, sizeof group, "panel_px.by_panel.%d", (int)c->points[at].panel);
        add(f, group, "fast", mean[0]);
        add(f, group, "slow", mean[1]);
        add(f, group, "rms", sqrt(square));
    }
    if (c->n > (size_t)LISTED_MAX * POINTS)
        figures_note(f, "only the first %d panels are listed", LISTED_MAX);
}

static void add_metrics(const struct comparison *c, double turn_rad, struct figures *f)
{
    double amplitude[MODES];
    add_panels(c, f);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const bool known = fit(c, levels[i].modes, amplitude);
        add(f, "panels_px", levels[i].name, known ? rms_of(c, levels[i].modes, amplitude) : NAN);
    }
    const bool known = fit(c, MODES, amplitude);
    /* A model that is turned has each direction at a place that is turned the other way. */
    add(f, "panels", "turn_mrad", known ? -1e3 * amplitude[MODE_TURN] : NAN);
    add(f, "panels", "distance_relative", known ? amplitude[MODE_DISTANCE] : NAN);
    add(f, "panels", "tilt_x_mrad", known ? -1e3 * amplitude[MODE_TILT_X] : NAN);
    add(f, "panels", "tilt_y_mrad", known ? -1e3 * amplitude[MODE_TILT_Y] : NAN);
    add(f, "panels", "n", (double)(c->n / POINTS));
    if (turn_rad != 0.0)
        figures_note(f,
                     "the geometry is turned about the beam by %+.2f deg against the ground truth; "
                     "panels are compared after this rotation",
                     rad_to_deg(turn_rad));
}

enum status geometry_score(const char *truth, const char *path, struct figures *f, struct error *e)
{
    struct detector t = {.part.file.id = -1}, m = {.part.file.id = -1};
    struct detectors d = {0};
    struct comparison c = {0};
    enum status s = read_detector(&t, truth, true, e);
    s = s ? s : read_detector(&m, path, false, e);
    s = s ? s : detectors_match(&d, t.panels, t.npanels, m.panels, m.npanels, path, e);
    s = s ? s : compare(&d, t.npanels, path, &c, e);
    if (!s)
        add_metrics(&c, d.turn_rad, f);
    mem_free(c.points);
    detectors_free(&d);
    free_detector(&t);
    free_detector(&m);
    return s;
}
