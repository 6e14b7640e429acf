#include "preview_marks.h"

#include <math.h>
#include <stdio.h>

#include "base/vec.h"
#include "io/images/picture.h"
#include "model/beam.h"
#include "physics/detector/panels.h"
#include "physics/detector/predict.h"

enum { ARCS = 720, DASH = 3 };  // of a ring; arcs in a dash and in the gap behind it

/* The panel in its picture. */
struct canvas {
    struct picture *picture;
    const struct experiment *x;
    const struct panel *panel;
    double wavelength_m;  // mean of the frame
    int64_t letter;       // pixels to a dot of a letter
};

/* The pixel of the picture that a ray meets; false where there is none nearby. */
static bool place(const struct canvas *c, const double direction[3], int64_t *px, int64_t *py)
{
    const struct picture *p = c->picture;
    double fast, slow;
    if (!ray_to_pixel(c->panel, c->x->beam.direction, direction, &fast, &slow))
        return false;
    const double k = (double)p->zoom / (double)p->factor, x = floor(fast * k), y = floor(slow * k);
    if (!(fabs(x) < 1e5 && fabs(y) < 1e5))
        return false;
    *px = (int64_t)x;
    *py = (int64_t)y;
    return true;
}

static bool is_inside(const struct picture *p, int64_t x, int64_t y, int64_t width, int64_t height)
{
    return x >= 2 && y >= 2 && x + width + 2 <= p->width && y + height + 2 <= p->height;
}

/* --- rings ----------------------------------------------------------------- */

static double twotheta(const struct canvas *c, double d_A)
{
    return 2.0 * asin(fmin(1.0, c->wavelength_m / (2e-10 * d_A)));
}

static bool place_on_ring(const struct canvas *c, double twotheta_rad, double azimuth, int64_t *x,
                          int64_t *y)
{
    double direction[3];
    ray_on_cone(c->x->beam.direction, twotheta_rad, azimuth, direction);
    return place(c, direction, x, y);
}

static int64_t text_width(const struct canvas *c, const char *text)
{
    int64_t letters = 0;
    while (text[letters])
        letters++;
    return (letters * LETTER_WIDTH - 1) * c->letter;
}

/* The first place along the ring, from one a little turned for each, that holds its text. */
static bool label_ring(const struct canvas *c, double twotheta_rad, const char *text, int64_t *x,
                       int64_t *y)
{
    const int64_t width = text_width(c, text), height = LETTER_HEIGHT * c->letter;
    for (int i = 0; i < ARCS; i += 6) {
        const double azimuth = 2.0 * M_PI * (i + ARCS / 8) / ARCS;
        if (!place_on_ring(c, twotheta_rad, azimuth, x, y))
            continue;
        *x -= width / 2;
        *y -= height / 2;
        if (is_inside(c->picture, *x, *y, width, height))
            return true;
    }
    return false;
}

static void draw_ring(const struct canvas *c, double d_A)
{
    const double angle = twotheta(c, d_A);
    int64_t x0 = 0, y0 = 0, x = 0, y = 0;
    bool has = place_on_ring(c, angle, 0.0, &x0, &y0);
    for (int i = 1; i <= ARCS; i++) {
        const bool hit = place_on_ring(c, angle, 2.0 * M_PI * i / ARCS, &x, &y);
        if (hit && has && i / DASH % 2 &&
            (is_inside(c->picture, x0, y0, 0, 0) || is_inside(c->picture, x, y, 0, 0)))
            picture_line(c->picture, x0, y0, x, y, 1, INK_RING);
        has = hit;
        x0 = x;
        y0 = y;
    }
}

static void write_d(const struct canvas *c, double d_A)
{
    char text[16];
    int64_t x, y;
    (void)snprintf(text, sizeof text, d_A < 10.0 ? "%.1fA" : "%.0fA", d_A);
    if (label_ring(c, twotheta(c, d_A), text, &x, &y))
        picture_text(c->picture, x, y, text, c->letter, INK_RING);
}

/* Radius of a ring in pixels of the picture were the panel across the beam. */
static double ring_radius(const struct canvas *c, double d_A)
{
    const double angle = twotheta(c, d_A),
                 distance_m = fabs(vec_dot(c->panel->origin_m, c->panel->normal));
    return angle < 1.4 ? distance_m * tan(angle) / c->panel->pixel_m * (double)c->picture->zoom /
                             (double)c->picture->factor
                       : INFINITY;
}

/* Calls `draw` for rings of round d that leave room between each other. */
static void for_rings(const struct canvas *c, void (*draw)(const struct canvas *, double))
{
    static const double round_A[] = {100, 50,  40,  30,  20,  15,  10,  8,   6,   5,   4,
                                     3.5, 3,   2.5, 2.2, 2.0, 1.8, 1.6, 1.5, 1.4, 1.3, 1.2,
                                     1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};
    const struct picture *p = c->picture;
    const double room = (double)(p->width > p->height ? p->width : p->height) / 9.0;
    double last = 0.0;
    for (size_t i = 0; i < sizeof round_A / sizeof *round_A; i++) {
        const double radius = ring_radius(c, round_A[i]);
        if (!(radius >= last + room) || !isfinite(radius))
            continue;
        draw(c, round_A[i]);
        last = radius;
    }
}

/* --- beam and bar ---------------------------------------------------------- */

static void draw_beam(const struct canvas *c)
{
    int64_t x, y;
    const int64_t arm = 5 * c->letter + 3;
    if (!place(c, c->x->beam.direction, &x, &y))
        return;
    for (int layer = 0; layer < 2; layer++) {
        const int64_t wide = layer ? c->letter : c->letter + 2;
        const enum ink ink = layer ? INK_BEAM : INK_PAPER;
        picture_line(c->picture, x - arm, y, x + arm, y, wide, ink);
        picture_line(c->picture, x, y - arm, x, y + arm, wide, ink);
    }
}

/* The largest 1, 2 or 5 times a power of ten that is at most `most`. */
static double round_below(double most)
{
    const double ten = pow(10.0, floor(log10(most)));
    return most >= 5.0 * ten ? 5.0 * ten : most >= 2.0 * ten ? 2.0 * ten : ten;
}

static void draw_bar(const struct canvas *c)
{
    const struct picture *p = c->picture;
    const double edge_mm =
        1e3 * c->panel->pixel_m * (double)p->factor / (double)p->zoom;  // of a pixel of the picture
    const double length_mm = round_below(edge_mm * (double)p->width / 5.0);
    if (!(edge_mm > 0.0) || !isfinite(length_mm))
        return;  // pixels without a size
    const int64_t length = (int64_t)(length_mm / edge_mm + 0.5), u = c->letter;
    const int64_t left = 6 * u, bottom = p->height - 6 * u;
    char text[32];
    (void)snprintf(text, sizeof text, length_mm < 1.0 ? "%.0fum" : "%.0fmm",
                   length_mm < 1.0 ? 1e3 * length_mm : length_mm);
    picture_line(c->picture, left, bottom, left + length, bottom, 2 * u + 2, INK_PAPER);
    picture_line(c->picture, left, bottom, left + length, bottom, 2 * u, INK_BEAM);
    picture_text(c->picture, left, bottom - (LETTER_HEIGHT + 4) * u, text, u, INK_BEAM);
}

/* --- truth ----------------------------------------------------------------- */

/* Of the farthest corner; of half a wave where that is behind the sample. */
static double dmin_of(const struct experiment *x, const struct panel *p, double wavelength_m)
{
    double least = 1.0;  // cosine
    for (int corner = 0; corner < 4; corner++) {
        double at[3];
        for (int i = 0; i < 3; i++)
            at[i] = p->origin_m[i] +
                    p->pixel_m * ((corner & 1 ? (double)p->fast_pixels : 0.0) * p->fast[i] +
                                  (corner & 2 ? (double)p->slow_pixels : 0.0) * p->slow[i]);
        least = fmin(least, vec_dot(at, x->beam.direction) / vec_length(at));
    }
    if (p->curved)
        least = -1.0;
    return 0.99 * wavelength_m / (2.0 * sin(0.5 * acos(fmax(-1.0, least))) + 1e-9);
}

enum status preview_predict(const struct experiment *x, const struct panel *panel,
                            const struct recipe *r, struct reflections *list, struct error *e)
{
    return predict(x, r, dmin_of(x, panel, incident_beam(x, r).mean_m), list, e);
}

static enum status draw_truth(const struct canvas *c, const struct recipe *r, struct error *e)
{
    struct reflections list;
    const enum status s = preview_predict(c->x, c->panel, r, &list, e);
    for (size_t i = 0; i < list.count && !s; i++) {
        int64_t x, y;
        if (place(c, list.all[i].direction, &x, &y))
            picture_circle(c->picture, x, y, 4 * c->letter, INK_TRUTH);
    }
    predict_free(&list);
    return s;
}

enum status preview_mark(struct picture *p, const struct experiment *x, const struct panel *panel,
                         const struct recipe *r, bool truth, struct error *e)
{
    const int64_t edge = p->width > p->height ? p->width : p->height;
    const struct canvas c = {.picture = p,
                             .x = x,
                             .panel = panel,
                             .wavelength_m = incident_beam(x, r).mean_m,
                             .letter = edge >= 1600 ? edge / 800 : 1 + (edge >= 700)};
    for_rings(&c, draw_ring);
    const enum status s = truth ? draw_truth(&c, r, e) : STATUS_OK;
    for_rings(&c, write_d);
    draw_beam(&c);
    draw_bar(&c);
    return s;
}
