/*
 * Previews of frames.  An image of one panel, or of panels on a common grid, is shown as it is.
 * Other panels are projected onto a plane across the beam.  Marks are drawn over the picture.
 */
#include "preview.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/vec.h"
#include "io/images/picture.h"
#include "model/recipe.h"
#include "physics/detector/detector.h"
#include "physics/detector/pixel.h"
#include "physics/detector/predict.h"

#define LEAST_COSINE 0.2  // smallest cosine of the angle to the beam that is shown

/* Sets position[] (m) to the point of a panel at `fast` and `slow` pixels from its outer corner. */
static void point_of_panel(const struct panel *p, double fast, double slow, double position[3])
{
    for (int i = 0; i < 3; i++)
        position[i] = p->origin_m[i] + p->pixel_m * (fast * p->fast[i] + slow * p->slow[i]);
}

static bool is_shown(const struct experiment *x, const double position[3])
{
    return vec_dot(position, x->beam.direction) > LEAST_COSINE * vec_length(position);
}

/* The smallest and largest slopes of rays along the two axes of the plane, and the distance of
 * the plane from the sample in m. */
struct bounds {
    double low[2], high[2], distance_m;
};

static struct bounds find_bounds(const struct experiment *x, const double axes[2][3])
{
    struct bounds b = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, INFINITY};
    for (size_t i = 0; i < x->npanels; i++)
        for (int corner = 0; corner < 4; corner++) {
            const struct panel *p = &x->panels[i];
            double at[3];
            point_of_panel(p, corner & 1 ? (double)p->fast_pixels : 0.0,
                           corner & 2 ? (double)p->slow_pixels : 0.0, at);
            if (!is_shown(x, at))
                continue;
            const double depth = vec_dot(at, x->beam.direction);
            b.distance_m = fmin(b.distance_m, depth);
            for (int k = 0; k < 2; k++) {
                b.low[k] = fmin(b.low[k], vec_dot(at, axes[k]) / depth);
                b.high[k] = fmax(b.high[k], vec_dot(at, axes[k]) / depth);
            }
        }
    return b;
}

/* Makes a plane that shows all panels.  It is as far away as the nearest panel, with x of the frame
 * of the beam to the right and y up.  Its longer edge has at most `edge_max` pixels, which are not
 * smaller than those of panel 0.  Panels at more than 78 degrees from the beam are left out.  The
 * caller calls preview_plane_free, also after an error. */
static enum status preview_plane_open(struct preview_plane *plane, const struct experiment *x,
                                      int64_t edge_max, struct error *e)
{
    double frame[9], axes[2][3];
    *plane = (struct preview_plane){0};
    struct panel *p = &plane->panel;
    panels_frame(x, frame);
    vec_copy(axes[0], frame);
    vec_scale(frame + 3, -1.0, axes[1]);
    const struct bounds b = find_bounds(x, axes);
    if (!isfinite(b.distance_m))
        return error_set(e, STATUS_INPUT, "no panel faces the beam, so there is nothing to show");
    const double edge = b.distance_m * fmax(b.high[0] - b.low[0], b.high[1] - b.low[1]);
    *p = x->panels[0];
    p->mask = NULL;
    p->pixel_m = fmax(p->pixel_m, edge / ((double)edge_max - 0.5));
    p->fast_pixels = (int64_t)ceil(b.distance_m * (b.high[0] - b.low[0]) / p->pixel_m);
    p->slow_pixels = (int64_t)ceil(b.distance_m * (b.high[1] - b.low[1]) / p->pixel_m);
    p->first_pixel = p->grid_fast = p->grid_slow = 0;
    p->curved = false;
    p->roi = (struct roi){0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
    vec_copy(p->fast, axes[0]);
    vec_copy(p->slow, axes[1]);
    vec_copy(p->normal, x->beam.direction);
    for (int i = 0; i < 3; i++)
        p->origin_m[i] =
            b.distance_m * (x->beam.direction[i] + b.low[0] * axes[0][i] + b.low[1] * axes[1][i]);
    p->mask = mem_array((size_t)p->fast_pixels, (size_t)p->slow_pixels);
    image_allocate(&plane->image, PIXEL_F32, UNIT_ADU, (size_t)(p->fast_pixels * p->slow_pixels));
    return STATUS_OK;
}

/* Projects the point `at` of a panel: sets the pixel of the plane that the ray to this point
 * meets to the maximum of its value and `value`. */
static void put_value(struct preview_plane *plane, const struct experiment *x, const double at[3],
                      float value)
{
    const struct panel *p = &plane->panel;
    float *pixels = plane->image.pixels;
    double fast, slow;
    if (!is_shown(x, at) || !ray_to_pixel(p, x->beam.direction, at, &fast, &slow))
        return;
    const int64_t f = (int64_t)floor(fast), s = (int64_t)floor(slow);
    if (f < 0 || s < 0 || f >= p->fast_pixels || s >= p->slow_pixels)
        return;
    const int64_t i = s * p->fast_pixels + f;
    if (!p->mask[i] || value > pixels[i])
        pixels[i] = value;
    p->mask[i] = 1;
}

/* Projects the image of a panel onto the plane. Each quarter of a pixel is projected separately,
 * so that there are no gaps between neighbouring pixels. */
static void put_panel(struct preview_plane *plane, const struct experiment *x,
                      const struct panel *p, const struct image *from)
{
    double at[3];
    for (int64_t s = 0; s < p->slow_pixels; s++)
        for (int64_t f = 0; f < p->fast_pixels; f++) {
            if (!panel_computes(p, f, s))
                continue;
            const float value =
                (float)image_value(from, (size_t)(p->first_pixel + s * p->fast_pixels + f));
            for (int quarter = 0; quarter < 4; quarter++) {
                point_of_panel(p, (double)f + (quarter & 1 ? 0.75 : 0.25),
                               (double)s + (quarter & 2 ? 0.75 : 0.25), at);
                put_value(plane, x, at, value);
            }
        }
}

/* Projects the image of a frame onto the plane. Each pixel of plane->image becomes the largest
 * of the pixels that it shows. */
static void preview_plane_fill(struct preview_plane *plane, const struct experiment *x,
                               const struct image *from)
{
    const size_t n = plane->image.count;
    memset(plane->panel.mask, 0, n);
    memset(plane->image.pixels, 0, n * sizeof(float));
    for (size_t i = 0; i < x->npanels; i++)
        put_panel(plane, x, &x->panels[i], from);
}

static void preview_plane_free(struct preview_plane *plane)
{
    mem_free(plane->panel.mask);
    plane->panel.mask = NULL;
    image_free(&plane->image);
}

enum { LARGE_MIN = 300 };       // longest edge, in pixels, from which pictures can have large marks
enum { ARCS = 720, DASH = 3 };  // number of arcs in a ring; in a dash and in the gap after it

/* A picture that marks are drawn on, and the panel that the picture shows. */
struct canvas {
    struct picture *picture;
    const struct experiment *x;
    const struct panel *panel;
    double wavelength_m;        // mean wavelength of the frame
    int64_t letter;             // edge length of a dot of a letter, in pixels
    int64_t line;               // width of the line of a ring, in pixels
    const struct rings *rings;  // rings that the user chose
};

/* Sets *px and *py to the pixel of the picture that a ray meets. Returns false if the ray does
 * not meet the plane of the panel, or meets the plane 1e5 or more pixels away. The pixel may be
 * outside the picture. */
static bool find_pixel(const struct canvas *c, const double direction[3], int64_t *px, int64_t *py)
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

/* A rectangle of the picture, in pixels. Width 0: no rectangle. */
struct box {
    int64_t x, y, width, height;
};

static bool place_on_ring(const struct canvas *c, double twotheta_rad, double azimuth, int64_t *x,
                          int64_t *y)
{
    double direction[3];
    ray_on_cone(c->x->beam.direction, twotheta_rad, azimuth, direction);
    return find_pixel(c, direction, x, y);
}

static int64_t text_width(const struct canvas *c, const char *text)
{
    int64_t letters = 0;
    while (text[letters])
        letters++;
    return (letters * LETTER_WIDTH - 1) * c->letter;
}

/* Writes a d spacing with its unit: round values with one decimal, others as they were typed. */
static void format_d(double d_A, char text[24])
{
    const bool whole = d_A == floor(d_A) && d_A < 1e5;
    (void)snprintf(text, 24, whole ? "%.1f A" : "%.5g A", d_A);
}

/* Finds the first place along the ring that has room for its text.  The search begins at another
 * angle for each ring. */
static struct box label_ring(const struct canvas *c, double twotheta_rad, const char *text)
{
    struct box b = {.width = text_width(c, text), .height = LETTER_HEIGHT * c->letter};
    const int64_t above = LETTER_ABOVE * c->letter;
    for (int i = 0; i < ARCS; i += 6) {
        const double azimuth = 2.0 * M_PI * (i + ARCS / 8) / ARCS;
        if (!place_on_ring(c, twotheta_rad, azimuth, &b.x, &b.y))
            continue;
        b.x -= b.width / 2;
        b.y -= b.height / 2;
        if (is_inside(c->picture, b.x, b.y - above, b.width, b.height + above))
            return b;
    }
    return (struct box){0};
}

/* Returns true if a point is inside a box or nearer to the box than `margin` pixels. */
static bool is_near(const struct box *b, int64_t x, int64_t y, int64_t margin)
{
    return b->width > 0 && x >= b->x - margin && x < b->x + b->width + margin &&
           y >= b->y - margin && y < b->y + b->height + margin;
}

/* Draws a dashed ring, with a gap where its label is. */
static void draw_ring(const struct canvas *c, double d_A)
{
    char text[24];
    const double angle = twotheta(c, d_A);
    int64_t x0 = 0, y0 = 0, x = 0, y = 0;
    format_d(d_A, text);
    const struct box label = label_ring(c, angle, text);
    bool has = place_on_ring(c, angle, 0.0, &x0, &y0);
    for (int i = 1; i <= ARCS; i++) {
        const bool hit = place_on_ring(c, angle, 2.0 * M_PI * i / ARCS, &x, &y);
        const bool clear =
            !is_near(&label, x0, y0, 3 * c->letter) && !is_near(&label, x, y, 3 * c->letter);
        if (hit && has && clear && i / DASH % 2 &&
            (is_inside(c->picture, x0, y0, 0, 0) || is_inside(c->picture, x, y, 0, 0)))
            picture_line(c->picture, x0, y0, x, y, c->line, INK_RING);
        has = hit;
        x0 = x;
        y0 = y;
    }
}

/* Writes the d spacing of a ring into the gap of the ring. */
static void write_d(const struct canvas *c, double d_A)
{
    char text[24];
    format_d(d_A, text);
    const struct box label = label_ring(c, twotheta(c, d_A), text);
    if (label.width)
        picture_text(c->picture, label.x, label.y, text, c->letter, INK_RING);
}

/* Returns the radius of a ring in pixels of the picture, as if the panel were normal to the beam.
 */
static double ring_radius(const struct canvas *c, double d_A)
{
    const double angle = twotheta(c, d_A),
                 distance_m = fabs(vec_dot(c->panel->origin_m, c->panel->normal));
    return angle < 1.4 ? distance_m * tan(angle) / c->panel->pixel_m * (double)c->picture->zoom /
                             (double)c->picture->factor
                       : INFINITY;
}

/* Calls `draw` for each ring: those that the user chose, or round values of d with some room
 * between them. */
static void for_rings(const struct canvas *c, void (*draw)(const struct canvas *, double))
{
    static const double round_A[] = {100, 50,  40,  30,  20,  15,  10,  8,   6,   5,   4,
                                     3.5, 3,   2.5, 2.2, 2.0, 1.8, 1.6, 1.5, 1.4, 1.3, 1.2,
                                     1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};
    const struct picture *p = c->picture;
    for (int i = 0; i < c->rings->count; i++)
        if (2e-10 * c->rings->d_A[i] >= c->wavelength_m)
            draw(c, c->rings->d_A[i]);
    if (c->rings->count)
        return;
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
    if (!find_pixel(c, c->x->beam.direction, &x, &y))
        return;
    for (int layer = 0; layer < 2; layer++) {
        const int64_t wide = layer ? c->letter : c->letter + 2;
        const enum ink ink = layer ? INK_BEAM : INK_PAPER;
        picture_line(c->picture, x - arm, y, x + arm, y, wide, ink);
        picture_line(c->picture, x, y - arm, x, y + arm, wide, ink);
    }
}

/* Returns the largest number of the form 1, 2 or 5 times a power of ten that is at most `most`. */
static double round_below(double most)
{
    const double ten = pow(10.0, floor(log10(most)));
    return most >= 5.0 * ten ? 5.0 * ten : most >= 2.0 * ten ? 2.0 * ten : ten;
}

static void draw_bar(const struct canvas *c)
{
    const struct picture *p = c->picture;
    const double edge_mm = 1e3 * c->panel->pixel_m * (double)p->factor /
                           (double)p->zoom;  // edge of a pixel of the picture
    const double length_mm = round_below(edge_mm * (double)p->width / 5.0);
    if (!(edge_mm > 0.0) || !isfinite(length_mm))
        return;  // the size of the pixels is not known
    const int64_t length = (int64_t)(length_mm / edge_mm + 0.5), u = c->letter;
    const int64_t left = 6 * u, bottom = p->height - 6 * u;
    char text[32];
    (void)snprintf(text, sizeof text, length_mm < 1.0 ? "%.0f um" : "%.0f mm",
                   length_mm < 1.0 ? 1e3 * length_mm : length_mm);
    picture_line(c->picture, left, bottom, left + length, bottom, 2 * u + 2, INK_PAPER);
    picture_line(c->picture, left, bottom, left + length, bottom, 2 * u, INK_BEAM);
    picture_text(c->picture, left, bottom - (LETTER_HEIGHT + 4) * u, text, u, INK_BEAM);
}

/* --- truth ----------------------------------------------------------------- */

/* Returns 0.99 times the smallest d spacing, in m, at the corners of a panel. For a curved
 * panel, returns 0.99 times half the wavelength. */
static double dmin_of(const struct experiment *x, const struct panel *p, double wavelength_m)
{
    double least = 1.0;  // smallest cosine of the angle to the beam
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

/* Lists the reflections of the recipe that physics/detector/predict.h expects up to the farthest
 * corner of the panel.  The caller frees *list. */
static void preview_predict(const struct experiment *x, const struct panel *panel,
                            const struct recipe *r, struct reflections *list)
{
    predict(x, r, dmin_of(x, panel, incident_beam(x, r).mean_m), list);
}

/* Computes the position of a point of a panel, flat or curved, in m from the sample. */
static void point_of_any_panel(const struct experiment *x, const struct panel *p, double fast,
                               double slow, double position[3])
{
    if (p->curved)
        pixel_curve(p, x->beam.direction, fast * p->pixel_m - p->beam_fast_m,
                    slow * p->pixel_m - p->beam_slow_m, position);
    else
        point_of_panel(p, fast, slow, position);
}

/* Sets *m to the position where a ray meets the picture. Returns false if the ray does not meet
 * the picture. */
static bool mark_ray(const struct experiment *x, const struct panel *shown,
                     const double direction[3], struct preview_spot *m)
{
    return ray_to_pixel(shown, x->beam.direction, direction, &m->fast, &m->slow) && m->fast >= 0 &&
           m->slow >= 0 && m->fast <= (double)shown->fast_pixels &&
           m->slow <= (double)shown->slow_pixels;
}

static size_t mark_true(const struct experiment *x, const struct panel *shown,
                        const struct reflection_table *t, double least_z, size_t most,
                        struct preview_spot *spots)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count && n < most; i++) {
        const struct reflection_row *row = &t->rows[i];
        double position[3];
        if (row->panel < 0 || (size_t)row->panel >= x->npanels ||
            (least_z > 0.0 && !((double)row->z > least_z)))
            continue;
        point_of_any_panel(x, &x->panels[row->panel], row->fast, row->slow, position);
        spots[n] = (struct preview_spot){.photons = row->photons, .lattice = row->lattice};
        memcpy(spots[n].hkl, row->hkl, sizeof row->hkl);
        n += mark_ray(x, shown, position, &spots[n]);
    }
    return n;
}

static size_t mark_predicted(const struct experiment *x, const struct panel *seen,
                             const struct reflections *list, size_t most,
                             struct preview_spot *spots)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count && n < most; i++) {
        const struct reflection *r = &list->all[i];
        spots[n] = (struct preview_spot){.lattice = (int32_t)r->lattice};
        for (int k = 0; k < 3; k++)
            spots[n].hkl[k] = (int32_t)r->hkl[k];
        n += mark_ray(x, seen, r->direction, &spots[n]);
    }
    return n;
}

void preview_spots(const struct experiment *x, const struct panel *shown, const struct frame *f,
                   double least_z, size_t most, struct preview_spot **spots, size_t *count)
{
    struct reflections list = {0};
    struct panel seen = *shown;  // the panel at its place in this frame
    panel_shift(x, &seen, f->recipe.shift_m);
    const bool exact = f->reflections.present;
    *spots = NULL;
    *count = 0;
    if (!exact)
        preview_predict(x, &seen, &f->recipe, &list);
    const size_t n = exact ? f->reflections.count : list.count;
    if (n)
        *spots = mem_array((n < most ? n : most) + 1, sizeof **spots);
    if (*spots)
        *count = exact ? mark_true(x, shown, &f->reflections, least_z, most, *spots)
                       : mark_predicted(x, &seen, &list, most, *spots);
    predict_free(&list);
}

enum { LATTICE_INKS = INK_LATTICES - INK_TRUTH, RADII = 3 };

static enum ink ink_of_lattice(const struct picture *p, uint32_t lattice)
{
    return p->lattices ? (enum ink)(INK_TRUTH + lattice % LATTICE_INKS) : INK_TRUTH;
}

/* Writes the number of each lattice in its ink into the lower right corner, if the frame has
 * several lattices and each has an ink of its own. */
static void write_lattices(const struct canvas *c, const struct frame *f)
{
    const struct picture *p = c->picture;
    const uint32_t count = (uint32_t)f->recipe.nlattices;
    const int64_t step = 2 * LETTER_WIDTH * c->letter;
    char text[2] = "0";
    for (uint32_t i = 0; i < count && p->lattices && count <= LATTICE_INKS; i++, text[0]++)
        picture_text(c->picture, p->width - (count - i) * step,
                     p->height - (LETTER_HEIGHT + 6) * c->letter, text, c->letter,
                     ink_of_lattice(p, i));
}

/* Draws a circle around each reflection.  Lattices have inks and radii of their own, so that
 * circles around overlapping reflections are not hidden. */
static void draw_truth(const struct canvas *c, const struct panel *shown, const struct frame *f,
                       double least_z)
{
    struct preview_spot *spots;
    size_t count;
    const struct picture *p = c->picture;
    const double k = (double)p->zoom / (double)p->factor;
    preview_spots(c->x, shown, f, least_z, SIZE_MAX - 1, &spots, &count);
    c->picture->lattices = f->recipe.nlattices > 1;
    for (size_t i = 0; i < count; i++) {
        const uint32_t lattice = (uint32_t)spots[i].lattice;
        picture_circle(c->picture, (int64_t)floor(spots[i].fast * k),
                       (int64_t)floor(spots[i].slow * k),
                       4 * c->letter + (c->picture->lattices ? 2 * (lattice % RADII) : 0),
                       ink_of_lattice(c->picture, lattice));
    }
    mem_free(spots);
}

/* Draws over the picture *p of `panel`: resolution rings labelled in angstrom, a cross where the
 * beam hits, a bar of known length, and with settings->truth circles at the reflections of the
 * frame. picture_ink must have been called for the picture. */
static void preview_mark(struct picture *p, const struct experiment *x, const struct panel *panel,
                         const struct frame *f, const struct preview_settings *settings)
{
    struct panel seen = *panel;  // the panel at its place in this frame
    const int64_t edge = p->width > p->height ? p->width : p->height;
    const bool large = settings->large && edge >= LARGE_MIN;
    panel_shift(x, &seen, f->recipe.shift_m);
    const struct canvas c = {.picture = p,
                             .x = x,
                             .panel = &seen,
                             .wavelength_m = incident_beam(x, &f->recipe).mean_m,
                             .rings = &settings->rings,
                             .line = 1 + large,
                             .letter = edge >= 1600 ? edge / 800 : 1 + (edge >= 700 || large)};
    for_rings(&c, draw_ring);
    if (settings->truth)
        draw_truth(&c, panel, f, settings->least_z);
    for_rings(&c, write_d);
    draw_beam(&c);
    draw_bar(&c);
    write_lattices(&c, f);
}

/* MARKED_MIN: pictures whose longer edge has fewer pixels have no room for marks. ZOOM_MAX:
 * largest number of picture pixels along the edge of an enlarged pixel. */
enum { MARKED_MIN = 128, ZOOM_MAX = 8 };

enum status preview_open(struct preview *p, const struct experiment *x, int64_t edge_max,
                         struct error *e)
{
    struct error ignored = {0};
    if (p->of == x)
        return STATUS_OK;
    preview_free(p);
    if (x->npanels > 1) {
        const enum status s = assembly_open(&p->assembly, x, &ignored);
        p->assembled = s == STATUS_OK;
        if (s) {
            assembly_free(&p->assembly);
            const enum status opened = preview_plane_open(&p->plane, x, edge_max, e);
            if (opened)
                return opened;
        }
    }
    p->of = x;
    return STATUS_OK;
}

const struct panel *preview_panel(const struct preview *p)
{
    if (p->of->npanels == 1)
        return p->of->panels;
    return p->assembled ? &p->assembly.panel : &p->plane.panel;
}

enum status preview_image(struct preview *p, const struct image *from, const struct image **image,
                          struct error *e)
{
    *image = from;
    if (p->of->npanels == 1)
        return STATUS_OK;
    *image = p->assembled ? &p->assembly.image : &p->plane.image;
    if (p->assembled)
        return assembly_image(&p->assembly, from, e);
    preview_plane_fill(&p->plane, p->of, from);
    return STATUS_OK;
}

/* Enlarges the picture of a small detector, and draws the marks if there is room for the marks. */
static void add_marks(struct picture *picture, int64_t edge_max, const struct experiment *x,
                      const struct panel *panel, const struct frame *f,
                      const struct preview_settings *settings)
{
    const int64_t edge = picture->width > picture->height ? picture->width : picture->height;
    const int64_t room = edge_max / edge, zoom = room < ZOOM_MAX ? room : ZOOM_MAX;
    if (zoom > 1)
        picture_enlarge(picture, zoom);
    if (edge * zoom < MARKED_MIN)
        return;
    picture_ink(picture);
    preview_mark(picture, x, panel, f, settings);
}

enum status preview_write(struct preview *p, const struct preview_settings *settings,
                          const struct picture_settings *look, const struct experiment *x,
                          const struct frame *f, FILE *out, const char *path, struct error *e)
{
    const struct image *image;
    struct picture picture = {0};
    const bool first = p->of != x;
    enum status s = preview_open(p, x, look->edge_max, e);
    if (s == STATUS_OK && first)
        rings_warn(&settings->rings, x, preview_panel(p));
    if (s == STATUS_OK)
        s = preview_image(p, &f->image, &image, e);
    if (s == STATUS_OK)
        picture_make(&picture, image, preview_panel(p), look);
    picture.colors = settings->colors;
    if (s == STATUS_OK)
        add_marks(&picture, look->edge_max, x, preview_panel(p), f, settings);
    if (s == STATUS_OK)
        s = picture_write_png(out, &picture, path, e);
    picture_free(&picture);
    return s;
}

void preview_free(struct preview *p)
{
    assembly_free(&p->assembly);
    preview_plane_free(&p->plane);
    *p = (struct preview){0};
}

/* Resolution rings that a user chooses. */

enum { AZIMUTHS = 720 };

#define RING_MIN_A 0.1
#define RING_MAX_A 1000.0

enum status rings_parse(const char *text, struct rings *r, struct error *e)
{
    *r = (struct rings){0};
    return text ? parse_list(text, RINGS_MAX, RING_MIN_A, RING_MAX_A, "A", "--rings", r->d_A,
                             &r->count, e)
                : STATUS_OK;
}

/* Returns true if a ray of the cone with half-angle twotheta_rad about `beam` meets a pixel of
 * the panel. */
static bool crosses(const struct panel *p, const double beam[3], double twotheta_rad)
{
    for (int i = 0; i < AZIMUTHS; i++) {
        double direction[3], fast, slow;
        ray_on_cone(beam, twotheta_rad, 2.0 * M_PI * i / AZIMUTHS, direction);
        if (ray_to_pixel(p, beam, direction, &fast, &slow) && fast >= 0.0 && slow >= 0.0 &&
            fast < (double)p->fast_pixels && slow < (double)p->slow_pixels)
            return true;
    }
    return false;
}

void rings_warn(const struct rings *r, const struct experiment *x, const struct panel *panel)
{
    const double half_A = 0.5e10 * x->beam.wavelength_m;
    for (int i = 0; i < r->count; i++) {
        const double d_A = r->d_A[i];
        if (d_A < half_A)
            log_line(LOG_WARNING,
                     "--rings: there is no ring of %.6g A: at a wavelength of %.6g A the "
                     "smallest d spacing is %.6g A",
                     d_A, 2.0 * half_A, half_A);
        else if (!crosses(panel, x->beam.direction, 2.0 * asin(half_A / d_A)))
            log_line(LOG_WARNING, "--rings: the ring of %.6g A is not on the detector", d_A);
    }
}
