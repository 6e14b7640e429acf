#include "preview_plane.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "physics/detector/panels.h"

#define LEAST_COSINE 0.2  // of the angle to the beam, of what is shown

/* A point of a panel, in pixels from its outer corner. */
static void place(const struct panel *p, double fast, double slow, double position[3])
{
    for (int i = 0; i < 3; i++)
        position[i] = p->origin_m[i] + p->pixel_m * (fast * p->fast[i] + slow * p->slow[i]);
}

static bool is_shown(const struct experiment *x, const double position[3])
{
    return vec_dot(position, x->beam.direction) > LEAST_COSINE * vec_length(position);
}

/* The least and the largest of slopes along the plane's axes, and its distance in m. */
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
            place(p, corner & 1 ? (double)p->fast_pixels : 0.0,
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

enum status preview_plane_open(struct preview_plane *plane, const struct experiment *x,
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
        return error_set(e, STATUS_INPUT, "no panel is before the beam: there is nothing to show");
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
    if (!p->mask || !image_reserve(&plane->image, PIXEL_F32, UNIT_ADU,
                                   (size_t)(p->fast_pixels * p->slow_pixels)))
        return error_memory(e, "the preview");
    return STATUS_OK;
}

/* Into the pixel that the ray through a point of a panel meets. */
static void put(struct preview_plane *plane, const struct experiment *x, const double at[3],
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

/* Quarters of a pixel leave no hole between neighbours. */
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
                place(p, (double)f + (quarter & 1 ? 0.75 : 0.25),
                      (double)s + (quarter & 2 ? 0.75 : 0.25), at);
                put(plane, x, at, value);
            }
        }
}

void preview_plane_fill(struct preview_plane *plane, const struct experiment *x,
                        const struct image *from)
{
    const size_t n = plane->image.count;
    memset(plane->panel.mask, 0, n);
    memset(plane->image.pixels, 0, n * sizeof(float));
    for (size_t i = 0; i < x->npanels; i++)
        put_panel(plane, x, &x->panels[i], from);
}

void preview_plane_free(struct preview_plane *plane)
{
    mem_free(plane->panel.mask);
    plane->panel.mask = NULL;
    image_free(&plane->image);
}
