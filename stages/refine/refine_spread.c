/* The model of frames whose detector has a point spread: each image is spread as they were. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/derivatives/derive.h"
#include "engine/detector/spread.h"
#include "refine.h"

struct refine_spread {
    struct psf psf;
    struct spread *spread;
    const struct experiment *x;
    /* the pixels whose light comes to those of a list */
    unsigned char *reach;  // [all]
    int64_t *near;         // [all]
    size_t count;
    double *photons;  // [all]
    float *image;     // [all]
    float *slopes;    // [room]
    size_t room;
};

enum { REACH_LISTED = 1, REACH_ROW = 2, REACH_NEAR = 4 };

enum status refine_spread_open(struct refine_spread **spread, const struct psf *psf,
                               const struct experiment *x, int threads, struct error *e)
{
    const size_t all = (size_t)experiment_pixels(x);
    struct refine_spread *s = *spread = mem_array(1, sizeof *s);
    if (!s)
        return error_memory(e, "the point spread");
    *s = (struct refine_spread){.psf = *psf,
                                .x = x,
                                .reach = mem_array(all, 1),
                                .near = mem_array(all, sizeof *s->near),
                                .photons = mem_array(all, sizeof *s->photons),
                                .image = mem_array(all, sizeof *s->image)};
    return s->reach && s->near && s->photons && s->image
               ? spread_create(&s->spread, psf, NULL, threads, e)
               : error_memory(e, "the point spread");
}

void refine_spread_close(struct refine_spread **spread)
{
    struct refine_spread *s = *spread;
    if (!s)
        return;
    spread_destroy(&s->spread);
    mem_free(s->reach);
    mem_free(s->near);
    mem_free(s->photons);
    mem_free(s->image);
    mem_free(s->slopes);
    mem_free(s);
    *spread = NULL;
}

/* Of a panel, for frames with this brightest pixel. */
static int64_t half_of(const struct refine_spread *s, const struct panel *p, double brightest)
{
    return spread_half(&s->psf, brightest, p->fast_pixels, p->slow_pixels);
}

enum status refine_spread_image(struct refine_spread *s, double brightest, float *image,
                                struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->x->npanels && !status; i++) {
        const struct panel *p = &s->x->panels[i];
        status = spread_signed(s->spread, image + p->first_pixel, p->fast_pixels, p->slow_pixels,
                               half_of(s, p, brightest), e);
    }
    return status;
}

/* ---- pixels near those of a list ---------------------------------------------------------- */

/* One way along a line of pixels: marks `to` up to `half` behind `from`. */
static void mark(unsigned char *line, int64_t count, int64_t stride, int64_t half, int from, int to)
{
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        unsigned char *at = &line[i * stride];
        left = *at & from ? half + 1 : left;
        if (left-- > 0)
            *at = (unsigned char)(*at | to);
        else
            left = 0;
    }
}

static void mark_both(unsigned char *line, int64_t count, int64_t stride, int64_t half, int from,
                      int to)
{
    mark(line, count, stride, half, from, to);
    mark(line + (count - 1) * stride, count, -stride, half, from, to);
}

static void mark_panel(struct refine_spread *s, const struct panel *p, int64_t half)
{
    unsigned char *first = s->reach + p->first_pixel;
    const int64_t fast = p->fast_pixels, slow = p->slow_pixels;
    for (int64_t row = 0; row < slow; row++)
        mark_both(first + row * fast, fast, 1, half, REACH_LISTED, REACH_ROW);
    for (int64_t column = 0; column < fast; column++)
        mark_both(first + column, slow, fast, half, REACH_ROW, REACH_NEAR);
}

static void find_near(struct refine_spread *s, const struct refine_list *list)
{
    const size_t all = (size_t)experiment_pixels(s->x);
    memset(s->reach, 0, all);
    for (size_t i = 0; i < list->count; i++)
        s->reach[list->listed[i]] = REACH_LISTED;
    for (size_t i = 0; i < s->x->npanels; i++)
        mark_panel(s, &s->x->panels[i], half_of(s, &s->x->panels[i], list->brightest));
    s->count = 0;
    for (size_t i = 0; i < all; i++)
        if (s->reach[i] & REACH_NEAR)
            s->near[s->count++] = (int64_t)i;
}

/* ---- the model ---------------------------------------------------------------------------- */

/* Room for so many slopes. */
static bool reserve(struct refine_spread *s, size_t count)
{
    if (count > s->room) {
        mem_free(s->slopes);
        s->slopes = mem_array(count, sizeof *s->slopes);
        s->room = s->slopes ? count : 0;
    }
    return count <= s->room;
}

/* Spreads what the near pixels have, of which s->image[] has those of the list then. */
static enum status spread_near(struct refine_spread *s, double brightest, const float *slopes,
                               struct error *e)
{
    memset(s->image, 0, (size_t)experiment_pixels(s->x) * sizeof *s->image);
    for (size_t i = 0; i < s->count; i++)
        s->image[s->near[i]] = slopes ? slopes[i] : (float)s->photons[i];
    return refine_spread_image(s, brightest, s->image, e);
}

enum status refine_spread_derive(struct refine_spread *s, struct refine_place *at,
                                 const struct parameters *set, const struct refine_list *list,
                                 double *means, float *slopes, struct error *e)
{
    find_near(s, list);
    if (!reserve(s, s->count * set->count))
        return error_memory(e, "the derivatives");
    const struct derive_request q = {.set = set,
                                     .listed = s->near,
                                     .npixels = s->count,
                                     .photons = s->photons,
                                     .planes = s->slopes};
    enum status status = beam_plan_derive(at->plan, &at->recipe, &q, e);
    status = status ? status : spread_near(s, list->brightest, NULL, e);
    for (size_t i = 0; i < list->count && !status; i++)
        means[i] = (double)s->image[list->listed[i]];
    for (size_t k = 0; k < set->count && !status; k++) {
        status = spread_near(s, list->brightest, s->slopes + k * s->count, e);
        for (size_t i = 0; i < list->count; i++)
            slopes[k * list->count + i] = s->image[list->listed[i]];
    }
    return status;
}
