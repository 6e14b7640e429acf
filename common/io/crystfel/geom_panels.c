/*
 * Panels and masks from the settings of a geometry file of CrystFEL, after its last line.
 */
#include "io/crystfel/geom_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

static const double PIXELS_MAX = 1 << 28;

static enum status refuse_panel(const struct geom_reader *r, const struct geom_entry *p,
                                const char *what)
{
    return error_set(r->e, STATUS_INPUT, "%s: panel %s %s", r->text.path, p->name, what);
}

static enum status check_panel(const struct geom_reader *r, const struct geom_entry *p)
{
    static const char *const names[] = {"has no min_fs", "has no max_fs", "has no min_ss",
                                        "has no max_ss"};
    for (int i = 0; i < 4; i++)
        if (!p->given[i])
            return refuse_panel(r, p, names[i]);
    for (int i = 0; i < 4; i += 2)
        if (p->span[i] > p->span[i + 1] || p->span[i + 1] - p->span[i] >= GEOM_EDGE_MAX)
            return refuse_panel(r, p, "is empty or has more than 65536 pixels along an edge");
    if (!p->has_x || !p->has_y)
        return refuse_panel(r, p, "has no corner_x or no corner_y");
    if (!p->has_res)
        return refuse_panel(r, p, "has no res");
    const double *f = p->axes[0], *s = p->axes[1];
    if (fabs(f[0] * s[0] + f[1] * s[1] + f[2] * s[2]) > 0.5 ||
        (f[0] == 0 && f[1] == 0 && f[2] == 0) || (s[0] == 0 && s[1] == 0 && s[2] == 0))
        return refuse_panel(r, p, "has no fs and ss, or they are not about at right angles");
    if (!p->has_clen && !r->defaults.has_clen && !(r->clen_m > 0))
        return refuse_panel(r, p, "has no clen that is a number with a unit: give the distance");
    return STATUS_OK;
}

/* Returns the panel with a name.  NULL: there is none. */
static const struct geom_entry *find_named(const struct geom_reader *r, const char *name)
{
    for (size_t i = 0; i < r->npanels; i++)
        if (strcmp(r->panels[i].name, name) == 0)
            return &r->panels[i];
    return NULL;
}

static enum status check_bad(const struct geom_reader *r, const struct geom_bad *b)
{
    const char *what = NULL;
    if (!b->has_pixels && !b->has_lab)
        what =
            "has no limits; expected min_fs, max_fs, min_ss, max_ss or min_x, max_x, min_y, max_y";
    else if (b->span[0] > b->span[1] || b->span[2] > b->span[3])
        what = "ends before it begins";
    else if (*b->panel && !find_named(r, b->panel))
        return error_set(r->e, STATUS_INPUT, "%s: bad region %s: the file has no panel %s",
                         r->text.path, b->name, b->panel);
    else if (b->has_pixels && b->given != 15)
        what = "needs min_fs, max_fs, min_ss and max_ss";  // CrystFEL uses 0 for missing limits
    return what ? error_set(r->e, STATUS_INPUT, "%s: bad region %s %s", r->text.path, b->name, what)
                : STATUS_OK;
}

/* Clears those of the n pixels of a row that are inside a bad region.  Both coordinates of a pixel
 * must be in the region.  They are `at` for the first pixel and grow by `step` from pixel to pixel.
 * A pixel on the border is inside if the region is in data coordinates, and outside if it is in the
 * laboratory frame. */
static void clear_region(const struct geom_bad *b, const double at[2], const double step[2],
                         int64_t n, uint8_t *row)
{
    const bool open = b->has_lab;
    double first = 0, last = (double)(n - 1);
    for (int k = 0; k < 2; k++) {
        const double low = b->span[2 * k], high = b->span[2 * k + 1];
        if (step[k] == 0 && (open ? at[k] <= low || at[k] >= high : at[k] < low || at[k] > high))
            return;
        if (step[k] == 0)
            continue;
        const double from = ((step[k] > 0 ? low : high) - at[k]) / step[k];
        const double to = ((step[k] > 0 ? high : low) - at[k]) / step[k];
        first = fmax(first, open ? floor(from) + 1 : ceil(from));
        last = fmin(last, open ? ceil(to) - 1 : floor(to));
    }
    if (first <= last)
        memset(row + (int64_t)first, 0, (size_t)(last - first) + 1);
}

/* Fills row s of the mask of a panel with n pixels along fast: bad regions and edges.  In the
 * laboratory frame, the position of a pixel is that of its corner, as in CrystFEL. */
static void mask_row(const struct geom_reader *r, const struct geom_entry *p, int64_t s, int64_t n,
                     uint8_t *row)
{
    const int64_t edge = p->edge, rows = p->span[3] - p->span[2] + 1;
    const bool inside = s >= edge && s < rows - edge && n > 2 * edge;
    memset(row, 0, (size_t)n);
    if (inside)
        memset(row + edge, 1, (size_t)(n - 2 * edge));
    for (size_t i = 0; i < r->nbad && inside; i++) {
        const struct geom_bad *b = &r->bad[i];
        const double data[2] = {(double)p->span[0], (double)(s + p->span[2])};
        double lab[2];
        for (int k = 0; k < 2; k++)
            lab[k] = p->corner_px[k] + (double)s * p->axes[1][k];
        if (!*b->panel || strcmp(b->panel, p->name) == 0) {
            if (b->has_pixels)
                clear_region(b, data, (const double[]){1, 0}, n, row);
            if (b->has_lab)
                clear_region(b, lab, p->axes[0], n, row);
        }
    }
}

static enum status make_mask(const struct geom_reader *r, const struct geom_entry *p,
                             struct geom_panel *out)
{
    bool any = p->edge > 0;
    for (size_t i = 0; i < r->nbad && !any; i++)
        any = !*r->bad[i].panel || strcmp(r->bad[i].panel, p->name) == 0;
    if (!any)
        return STATUS_OK;
    out->mask = mem_try_array((size_t)out->fast_pixels, (size_t)out->slow_pixels);
    if (!out->mask)
        return error_memory(r->e, "the mask of a panel");
    for (int64_t s = 0; s < out->slow_pixels; s++)
        mask_row(r, p, s, out->fast_pixels, out->mask + s * out->fast_pixels);
    return STATUS_OK;
}

static enum status make_panel(const struct geom_reader *r, const struct geom_entry *p,
                              struct geom_panel *out, double *pixels)
{
    const enum status s = check_panel(r, p);
    if (s)
        return s;
    memcpy(out->name, p->name, sizeof out->name);
    out->first[0] = p->span[0];
    out->first[1] = p->span[2];
    out->fast_pixels = p->span[1] - p->span[0] + 1;
    out->slow_pixels = p->span[3] - p->span[2] + 1;
    *pixels += (double)out->fast_pixels * (double)out->slow_pixels;
    if (*pixels > PIXELS_MAX)
        return error_set(r->e, STATUS_INPUT, "%s: the panels have more than %.0f pixels",
                         r->text.path, PIXELS_MAX);
    out->pixel_m = 1.0 / p->res_1_m;
    memcpy(out->fast, p->axes[0], sizeof out->fast);
    memcpy(out->slow, p->axes[1], sizeof out->slow);
    for (int i = 0; i < 2; i++)
        out->corner_m[i] = p->corner_px[i] * out->pixel_m + r->shift_m[i];
    out->corner_m[2] = p->coffset_m + (r->clen_m > 0 ? r->clen_m
                                       : p->has_clen ? p->clen_m
                                                     : r->defaults.clen_m);
    return make_mask(r, p, out);
}

/* --- comparison of panels ------------------------------------------------------------- */

/* Returns true if two panels share pixels of the same array. */
static bool shares_data(const struct geom_entry *a, const struct geom_entry *b)
{
    return a->data == b->data && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           a->span[0] <= b->span[1] && b->span[0] <= a->span[1] && a->span[2] <= b->span[3] &&
           b->span[2] <= a->span[3];
}

/* Returns true if the line from the sample through `point_m` meets a panel. */
static bool meets(const struct geom_panel *p, const double point_m[3])
{
    double normal[3], to[3], fast[3], slow[3];
    vec_cross(p->fast, p->slow, normal);
    const double ahead = vec_dot(normal, point_m), away = vec_dot(normal, p->corner_m);
    if (ahead == 0 || !(away / ahead > 0))
        return false;
    for (int k = 0; k < 3; k++)
        to[k] = point_m[k] * away / ahead - p->corner_m[k];
    /* fs and ss need not be exactly at right angles. */
    vec_cross(p->slow, normal, fast);
    vec_cross(normal, p->fast, slow);
    const double f = vec_dot(to, fast) / vec_dot(p->fast, fast) / p->pixel_m;
    const double s = vec_dot(to, slow) / vec_dot(p->slow, slow) / p->pixel_m;
    return f > 0 && f < (double)p->fast_pixels && s > 0 && s < (double)p->slow_pixels;
}

/* Returns true if panel a and the middle of panel b are on one line from the sample.  Only 3 x 3
 * points in the middle half of b are tested, because panels of a refined geometry may overlap by
 * about a pixel at their edges. */
static bool hides(const struct geom_panel *a, const struct geom_panel *b)
{
    for (int i = 0; i < 9; i++) {
        const double f = 0.25 * (1 + i % 3) * (double)b->fast_pixels * b->pixel_m;
        const double s = 0.25 * (1 + i / 3) * (double)b->slow_pixels * b->pixel_m;
        double point_m[3];
        for (int k = 0; k < 3; k++)
            point_m[k] = b->corner_m[k] + f * b->fast[k] + s * b->slow[k];
        if (meets(a, point_m))
            return true;
    }
    return false;
}

static enum status compare_panels(struct geom_reader *r)
{
    struct geom *g = r->geom;
    for (size_t i = 1; i < r->npanels; i++)
        for (size_t k = 0; k < i; k++) {
            const struct geom_entry *a = &r->panels[k], *b = &r->panels[i];
            if (shares_data(a, b))
                return error_set(r->e, STATUS_INPUT,
                                 "%s: panels %s and %s use the same pixels of the data: their "
                                 "ranges min_fs to max_ss overlap",
                                 r->text.path, a->name, b->name);
            if (!*g->hidden &&
                (hides(&g->panels[k], &g->panels[i]) || hides(&g->panels[i], &g->panels[k])))
                (void)snprintf(g->hidden, sizeof g->hidden, "%s and %s", a->name, b->name);
        }
    return STATUS_OK;
}

/* Sets the gain, of which only one is used for all panels: that of panel 0 or, if panel 0 has
 * none, the default at the end of the file.  Also notes whether the gains of the panels differ. */
static void take_gain(struct geom_reader *r)
{
    const struct geom_entry *first = r->panels;
    struct geom *g = r->geom;
    const bool said = first->adu_per_photon > 0 || first->adu_per_eV > 0;
    g->adu_per_photon = said ? first->adu_per_photon : r->defaults.adu_per_photon;
    g->adu_per_eV = said ? first->adu_per_eV : r->defaults.adu_per_eV;
    for (size_t i = 1; i < r->npanels; i++)
        if (r->panels[i].adu_per_photon != first->adu_per_photon ||
            r->panels[i].adu_per_eV != first->adu_per_eV)
            g->gains_differ = true;
}

enum status geom_make_panels(struct geom_reader *r)
{
    struct geom *g = r->geom;
    if (!r->npanels)
        return error_set(r->e, STATUS_INPUT,
                         "%s: no panel found; expected lines such as p0/min_fs = 0", r->text.path);
    g->panels = mem_array(r->npanels, sizeof *g->panels);
    g->npanels = r->npanels;
    enum status s = STATUS_OK;
    double pixels = 0;
    for (size_t i = 0; i < r->nbad && !s; i++)
        s = check_bad(r, &r->bad[i]);
    for (size_t i = 0; i < r->npanels && !s; i++) {
        s = make_panel(r, &r->panels[i], &g->panels[i], &pixels);
        g->max_adu = fmin(g->max_adu, r->panels[i].max_adu);
    }
    if (!s && *r->late)
        s = error_set(r->e, STATUS_INPUT,
                      "%s: '%s' follows all panels and has no effect there. Move that line before "
                      "the first panel",
                      r->text.path, r->late);
    take_gain(r);
    return s ? s : compare_panels(r);
}
