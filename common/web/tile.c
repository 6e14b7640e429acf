#include "web/tile.h"

#include <math.h>
#include <string.h>

/* One block of an image whose rows have `stride` pixels. */
struct block {
    int64_t first;  // index of its first pixel in the image
    int64_t stride;
    int64_t width, height;
};

static struct block block_at(const struct panel *p, const struct web_region *r, int64_t x,
                             int64_t y)
{
    const int64_t fast = (r->x + x) * r->factor, slow = (r->y + y) * r->factor;
    const int64_t right = p->fast_pixels - fast, below = p->slow_pixels - slow;
    return (struct block){.first = slow * p->fast_pixels + fast,
                          .stride = p->fast_pixels,
                          .width = right < r->factor ? right : r->factor,
                          .height = below < r->factor ? below : r->factor};
}

/* Finds the largest pixel.  A comparison with NaN is false, so NaN is skipped. */
#define LARGEST(name, type, least)                                       \
    static type name(const type *pixels, const struct block *b)          \
    {                                                                    \
        type most = least;                                               \
        for (int64_t s = 0; s < b->height; s++)                          \
            for (int64_t f = 0; f < b->width; f++) {                     \
                const type value = pixels[b->first + s * b->stride + f]; \
                most = value > most ? value : most;                      \
            }                                                            \
        return most;                                                     \
    }
LARGEST(largest_u16, uint16_t, 0)
LARGEST(largest_u32, uint32_t, 0)
LARGEST(largest_i32, int32_t, INT32_MIN)
LARGEST(largest_f32, float, -INFINITY)

static float mean_of(const struct image *image, const struct block *b)
{
    double sum = 0.0;
    int64_t n = 0;
    for (int64_t s = 0; s < b->height; s++)
        for (int64_t f = 0; f < b->width; f++) {
            const double value = image_value(image, (size_t)(b->first + s * b->stride + f));
            sum += isnan(value) ? 0.0 : value;
            n += !isnan(value);
        }
    return n ? (float)(sum / (double)n) : NAN;
}

/* Finds the largest pixel of real numbers.  A block of NaN leaves the start value, which is minus
 * infinity, so the first pixel decides between the two. */
static float largest_number(const float *pixels, const struct block *b)
{
    const float most = largest_f32(pixels, b);
    return isinf(most) && most < 0 && isnan(pixels[b->first]) ? NAN : most;
}

static void put_block(const struct image *image, const struct block *b, bool mean, void *to,
                      int64_t item)
{
    if (mean) {
        ((float *)to)[item] = mean_of(image, b);
        return;
    }
    switch (image->type) {
    case PIXEL_F32:
        ((float *)to)[item] = largest_number(image->pixels, b);
        break;
    case PIXEL_U16:
        ((uint16_t *)to)[item] = largest_u16(image->pixels, b);
        break;
    case PIXEL_U32:
        ((uint32_t *)to)[item] = largest_u32(image->pixels, b);
        break;
    case PIXEL_I32:
        ((int32_t *)to)[item] = largest_i32(image->pixels, b);
        break;
    }
}

/* Makes a message of a head and `bytes` bytes. */
static struct web_blob *begin(const struct web_head *head, size_t bytes)
{
    struct web_blob *b = web_blob_new(sizeof *head + bytes);
    if (b)
        memcpy(b->data, head, sizeof *head);
    return b;
}

static struct web_head head_of(enum web_what what, const struct web_frame *f)
{
    return (struct web_head){.what = what,
                             .number = f->number,
                             .id = f->id,
                             .lattices = (uint32_t)f->lattices,
                             .time_s = f->time_s,
                             .wavelength_A = f->wavelength_A};
}

static void set_region(struct web_head *head, const struct web_region *r)
{
    head->x = r->x;
    head->y = r->y;
    head->width = r->width;
    head->height = r->height;
    head->factor = r->factor;
    head->mean = r->mean;
}

/* Copies the pixels of a region whose blocks have one pixel each. */
static void copy_pixels(const struct image *image, const struct panel *panel,
                        const struct web_region *r, unsigned char *to)
{
    const size_t size = pixel_size(image->type), row = (size_t)r->width * size;
    for (int64_t y = 0; y < r->height; y++)
        memcpy(to + (size_t)y * row,
               (const char *)image->pixels +
                   (size_t)((r->y + y) * panel->fast_pixels + r->x) * size,
               row);
}

struct web_blob *web_tile(const struct web_frame *f, const struct panel *panel,
                          const struct web_region *r)
{
    struct web_head head = head_of(WEB_TILE, f);
    set_region(&head, r);
    head.type = r->mean ? PIXEL_F32 : f->image.type;
    struct web_blob *blob =
        begin(&head, (size_t)r->width * (size_t)r->height * pixel_size((enum pixel_type)head.type));
    if (blob && r->factor == 1 && !r->mean) {
        copy_pixels(&f->image, panel, r, blob->data + sizeof head);
        return blob;
    }
    for (int64_t y = 0; blob && y < r->height; y++)
        for (int64_t x = 0; x < r->width; x++) {
            const struct block b = block_at(panel, r, x, y);
            put_block(&f->image, &b, r->mean, blob->data + sizeof head, y * r->width + x);
        }
    return blob;
}

static bool is_masked(const struct panel *p, const struct block *b)
{
    const int64_t fast = b->first % p->fast_pixels, slow = b->first / p->fast_pixels;
    for (int64_t s = 0; s < b->height; s++)
        for (int64_t f = 0; f < b->width; f++)
            if (panel_computes(p, fast + f, slow + s))
                return false;
    return true;
}

struct web_blob *web_mask(const struct panel *panel, const struct web_region *r)
{
    struct web_head head = {.what = WEB_MASK};
    set_region(&head, r);
    struct web_blob *blob = begin(&head, (size_t)r->width * (size_t)r->height);
    for (int64_t y = 0; blob && y < r->height; y++)
        for (int64_t x = 0; x < r->width; x++) {
            const struct block b = block_at(panel, r, x, y);
            blob->data[sizeof head + (size_t)(y * r->width + x)] = is_masked(panel, &b);
        }
    return blob;
}

struct web_blob *web_marks(const struct web_frame *f)
{
    struct web_head head = head_of(WEB_MARKS, f);
    const size_t bytes = f->nmarks * sizeof *f->marks;
    head.items = (uint32_t)f->nmarks;
    struct web_blob *blob = begin(&head, bytes);
    if (blob && bytes)
        memcpy(blob->data + sizeof head, f->marks, bytes);
    return blob;
}

struct web_blob *web_gone(uint64_t number)
{
    const struct web_head head = {.what = WEB_GONE, .number = number};
    return begin(&head, 0);
}
