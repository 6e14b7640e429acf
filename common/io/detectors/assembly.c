#include "io/detectors/assembly.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/program.h"

static const double *plane_of(const struct panel *p)
{
    return p->grid_fast || p->grid_slow ? p->grid_m : p->origin_m;
}

static bool on_grid_of(const struct panel *a, const struct panel *b)
{
    bool same = a->pixel_m == b->pixel_m && !b->curved;
    for (int i = 0; i < 3; i++)
        same = same && plane_of(a)[i] == plane_of(b)[i] && a->fast[i] == b->fast[i] &&
               a->slow[i] == b->slow[i];
    return same;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the smallest ROI of the assembled panel that includes the ROIs of all panels, which
 * were cut from it.  Returns an empty ROI if all of them are empty. */
static struct roi whole_roi(const struct experiment *x)
{
    struct roi whole = {0, -1, 0, -1};
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const struct roi *r = &p->roi;
        if (r->fast_max < r->fast_min || r->slow_max < r->slow_min)
            continue;
        const bool first = whole.fast_max < whole.fast_min;
        const int64_t f0 = p->grid_fast + r->fast_min, s0 = p->grid_slow + r->slow_min;
        whole.fast_min = first || f0 < whole.fast_min ? f0 : whole.fast_min;
        whole.slow_min = first || s0 < whole.slow_min ? s0 : whole.slow_min;
        whole.fast_max = larger(whole.fast_max, p->grid_fast + r->fast_max);
        whole.slow_max = larger(whole.slow_max, p->grid_slow + r->slow_max);
    }
    return whole;
}

/* Copies the reasons why pixels are masked to the assembled panel.  Does nothing if the reasons
 * are not known. */
static enum status set_reasons(const struct experiment *x, struct assembly *a, struct error *e)
{
    const struct panel *whole = &a->panel;
    if (!x->reasons)
        return STATUS_OK;
    a->whole.reasons = mem_try_array((size_t)whole->fast_pixels, (size_t)whole->slow_pixels);
    if (!a->whole.reasons)
        return error_memory(e, "the assembled mask");
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t s = 0; s < p->slow_pixels; s++)
            memcpy(a->whole.reasons + (p->grid_slow + s) * whole->fast_pixels + p->grid_fast,
                   x->reasons + p->first_pixel + s * p->fast_pixels, (size_t)p->fast_pixels);
    return STATUS_OK;
}

/* Makes the mask of the assembled panel from the masks of the panels.  Pixels between the panels
 * are masked. */
static enum status set_mask(const struct experiment *x, struct panel *whole, struct error *e)
{
    whole->mask = mem_try_array((size_t)whole->fast_pixels, (size_t)whole->slow_pixels);
    if (!whole->mask)
        return error_memory(e, "the assembled mask");
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t s = 0; s < p->slow_pixels; s++) {
            uint8_t *to = whole->mask + (p->grid_slow + s) * whole->fast_pixels + p->grid_fast;
            if (p->mask)
                memcpy(to, p->mask + s * p->fast_pixels, (size_t)p->fast_pixels);
            else
                memset(to, 1, (size_t)p->fast_pixels);
        }
    }
    return STATUS_OK;
}

enum status assembly_open(struct assembly *a, const struct experiment *x, struct error *e)
{
    *a = (struct assembly){.whole = *x, .of = x};
    if (!x->npanels)
        return error_set(e, STATUS_INPUT, "the detector has no panel; expected one or more");
    const struct panel *first = &x->panels[0];
    a->panel = *first;
    a->panel.mask = NULL;
    a->whole.reasons = NULL;
    struct panel *whole = &a->panel;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        if (i > 0 && !on_grid_of(first, p))
            return error_set(e, STATUS_INPUT,
                             "panels 0 and %zu of %zu are not on one pixel grid, so they cannot be "
                             "assembled to one image",
                             i, x->npanels);
        whole->fast_pixels = larger(whole->fast_pixels, p->grid_fast + p->fast_pixels);
        whole->slow_pixels = larger(whole->slow_pixels, p->grid_slow + p->slow_pixels);
    }
    /* The assembled panel is panel 0, extended to the corner of the plane. */
    memcpy(whole->origin_m, plane_of(first), sizeof whole->origin_m);
    whole->beam_fast_m += whole->pixel_m * (double)first->grid_fast;
    whole->beam_slow_m += whole->pixel_m * (double)first->grid_slow;
    whole->close_fast_m += whole->pixel_m * (double)first->grid_fast;
    whole->close_slow_m += whole->pixel_m * (double)first->grid_slow;
    whole->first_pixel = whole->grid_fast = whole->grid_slow = 0;
    whole->roi = whole_roi(x);
    a->whole.npanels = 1;
    a->whole.panels = whole;
    if (whole->fast_pixels > INT32_MAX / whole->slow_pixels)
        return error_set(e, STATUS_INPUT,
                         "the assembled image of %" PRId64 " x %" PRId64 " pixels is too large",
                         whole->fast_pixels, whole->slow_pixels);
    const enum status s = set_mask(x, whole, e);
    return s ? s : set_reasons(x, a, e);
}

/* Makes room for the assembled image, with the pixel type of *like.  All pixels of a new image
 * are 0; an existing image of the same type is unchanged. */
static enum status reserve_image(struct assembly *a, const struct image *like, struct error *e)
{
    const size_t count = (size_t)(a->panel.fast_pixels * a->panel.slow_pixels);
    a->image.unit = like->unit;
    if (a->image.pixels && a->image.type == like->type)
        return STATUS_OK;
    if (!image_reserve(&a->image, like->type, like->unit, count))
        return error_memory(e, "the assembled image");
    memset(a->image.pixels, 0, count * pixel_size(like->type));
    return STATUS_OK;
}

enum status assembly_image(struct assembly *a, const struct image *from, struct error *e)
{
    const struct experiment *x = a->of;
    const size_t size = pixel_size(from->type);
    const int64_t width = a->panel.fast_pixels;
    if ((int64_t)from->count != experiment_pixels(x))
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, but the detector has %" PRId64,
                         from->count, experiment_pixels(x));
    const enum status s = reserve_image(a, from, e);
    if (s)
        return s;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for num_threads(program_threads())
        for (int64_t row = 0; row < p->slow_pixels; row++)
            memcpy((char *)a->image.pixels +
                       (size_t)((p->grid_slow + row) * width + p->grid_fast) * size,
                   (const char *)from->pixels +
                       (size_t)(p->first_pixel + row * p->fast_pixels) * size,
                   (size_t)p->fast_pixels * size);
    }
    return STATUS_OK;
}

static bool is_partial(const struct panel *p)
{
    const struct roi *r = &p->roi;
    return p->mask || r->fast_min > 0 || r->slow_min > 0 || r->fast_max < p->fast_pixels - 1 ||
           r->slow_max < p->slow_pixels - 1;
}

bool assembly_is_partial(const struct experiment *x)
{
    bool partial = x->npanels > 1;
    for (size_t i = 0; i < x->npanels && !partial; i++)
        partial = is_partial(&x->panels[i]);
    return partial;
}

/* Adds the pixels first to end - 1 to the runs of pixels without data. */
static void add_run(struct assembly *a, int64_t first, int64_t end)
{
    struct bslz4_blanks *b = &a->blanks;
    if (first >= end)
        return;
    if (b->count && a->runs[b->count - 1].end == first) {
        a->runs[b->count - 1].end = (uint32_t)end;
        return;
    }
    a->runs = mem_grow(a->runs, b->count, 1, sizeof *a->runs, &a->room);
    a->runs[b->count++] = (struct bslz4_run){(uint32_t)first, (uint32_t)end};
}

/* Adds the masked pixels among first to end - 1. */
static void add_masked(struct assembly *a, int64_t first, int64_t end)
{
    const uint8_t *at, *mask = a->panel.mask;
    while (first < end && (at = memchr(mask + first, 0, (size_t)(end - first)))) {
        const int64_t start = at - mask;
        for (first = start + 1; first < end && !mask[first];)
            first++;
        add_run(a, start, first);
    }
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Finds the pixels of the assembled panel that are masked or outside the ROI. */
static void find_blanks(struct assembly *a)
{
    const struct roi *r = &a->panel.roi;
    for (int64_t s = 0; s < a->panel.slow_pixels; s++) {
        const int64_t left = s * a->panel.fast_pixels, right = left + a->panel.fast_pixels;
        const bool inside = s >= r->slow_min && s <= r->slow_max && r->fast_min <= r->fast_max;
        const int64_t first = inside ? within(left + r->fast_min, left, right) : right;
        const int64_t end = inside ? within(left + r->fast_max + 1, left, right) : right;
        add_run(a, left, first);
        add_masked(a, first, end);
        add_run(a, end, right);
    }
    a->blanks.runs = a->runs;
    a->found = true;
}

const struct bslz4_blanks *assembly_blanks(struct assembly *a)
{
    if (!a->found)
        find_blanks(a);
    a->blanks.byte = a->blanks_are_zero ? 0 : 0xff;
    return &a->blanks;
}

bool assembly_moves_none(const struct assembly *a)
{
    return a->of->npanels == 1 && a->panel.fast_pixels == a->of->panels->fast_pixels &&
           a->panel.slow_pixels == a->of->panels->slow_pixels;
}

/* Blanks a run of pixels of the assembled image. */
static void blank_run(struct assembly *a, struct bslz4_run run)
{
    const size_t size = pixel_size(a->image.type);
    int32_t *signed_pixels = a->image.pixels;
    if (a->image.type == PIXEL_I32 && !a->blanks_are_zero)
        for (size_t i = run.first; i < run.end; i++)
            signed_pixels[i] = INT32_MIN;
    else
        memset((char *)a->image.pixels + run.first * size, a->blanks.byte,
               (run.end - run.first) * size);
}

void assembly_blank(struct assembly *a)
{
    const struct bslz4_blanks *b = assembly_blanks(a);
#pragma omp parallel for num_threads(program_threads())
    for (size_t i = 0; i < b->count; i++)
        blank_run(a, b->runs[i]);
}

void assembly_free(struct assembly *a)
{
    mem_free(a->runs);
    a->runs = NULL;
    mem_free(a->panel.mask);
    mem_free(a->whole.reasons);
    a->panel.mask = a->whole.reasons = NULL;
    image_free(&a->image);
}
