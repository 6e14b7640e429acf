#include "web/request.h"

#include <math.h>
#include <string.h>

/* --- requests ------------------------------------------------------------------ */

/* The part of a message that has not been read yet. */
struct rest {
    const char *at;
    size_t length;
};

/* Reads `word` and the blank after it.  Returns false if the next word is another one. */
static bool take_word(struct rest *r, const char *word)
{
    const size_t n = strlen(word);
    if (r->length < n || memcmp(r->at, word, n) != 0 || (r->length > n && r->at[n] != ' '))
        return false;
    const size_t used = r->length > n ? n + 1 : n;
    r->at += used;
    r->length -= used;
    return true;
}

/* Reads a number of at most 18 digits and the blank after it.  Returns false if the number
 * exceeds `most`, or if the next word is not a number. */
static bool take_number(struct rest *r, int64_t most, int64_t *value)
{
    size_t n = 0;
    *value = 0;
    for (; n < r->length && r->at[n] >= '0' && r->at[n] <= '9'; n++) {
        if (n == 18)
            return false;
        *value = *value * 10 + (r->at[n] - '0');
    }
    if (!n || *value > most || (n < r->length && r->at[n] != ' '))
        return false;
    const size_t used = n < r->length ? n + 1 : n;
    r->at += used;
    r->length -= used;
    return true;
}

static bool take_int(struct rest *r, int32_t *value)
{
    int64_t wide;
    const bool good = take_number(r, INT32_MAX, &wide);
    *value = good ? (int32_t)wide : 0;
    return good;
}

static bool take_frame(struct rest *r, uint64_t *number)
{
    int64_t wide;
    const bool good = take_number(r, INT64_MAX, &wide);
    *number = good ? (uint64_t)wide : 0;
    return good;
}

static bool take_region(struct rest *r, struct web_region *to)
{
    return take_int(r, &to->x) && take_int(r, &to->y) && take_int(r, &to->width) &&
           take_int(r, &to->height) && take_int(r, &to->factor) && to->factor > 0;
}

/* Reads one of two words, and sets *is to whether it is `yes`.  Returns false for any other
 * word. */
static bool take_choice(struct rest *r, const char *no, const char *yes, bool *is)
{
    *is = take_word(r, yes);
    return *is || take_word(r, no);
}

bool web_request_read(const char *text, size_t length, struct web_request *r)
{
    struct rest rest = {text, length};
    bool good = false;
    *r = (struct web_request){0};
    if (length > WEB_REQUEST_MAX || !length || text[length - 1] == ' ')
        return false;
    if (take_word(&rest, "tile")) {
        r->verb = WEB_ASK_TILE;
        good = take_frame(&rest, &r->number) && take_region(&rest, &r->region) &&
               take_choice(&rest, "max", "mean", &r->region.mean);
    } else if (take_word(&rest, "mask")) {
        r->verb = WEB_ASK_MASK;
        good = take_region(&rest, &r->region);
    } else if (take_word(&rest, "marks")) {
        r->verb = WEB_ASK_MARKS;
        good = take_frame(&rest, &r->number);
    } else if (take_word(&rest, "look")) {
        r->verb = WEB_LOOK;
        good = take_choice(&rest, "no", "yes", &r->looks);
    }
    return good && rest.length == 0;
}

/* Shortens a range of *count blocks of `factor` pixels, which begins at block `at`, so that it
 * ends within `pixels` pixels.  Returns false if no block is left. */
static bool cut(int32_t at, int32_t *count, int64_t factor, int64_t pixels)
{
    const int64_t left = (pixels + factor - 1) / factor - at;
    if (left < *count)
        *count = left > 0 ? (int32_t)left : 0;
    return *count > 0;
}

bool web_region_cut(struct web_region *r, int64_t fast_pixels, int64_t slow_pixels)
{
    return cut(r->x, &r->width, r->factor, fast_pixels) &&
           cut(r->y, &r->height, r->factor, slow_pixels) &&
           (int64_t)r->width * r->height <= WEB_BLOCKS_MAX;
}

bool web_region_equal(const struct web_region *a, const struct web_region *b)
{
    return a->x == b->x && a->y == b->y && a->width == b->width && a->height == b->height &&
           a->factor == b->factor && a->mean == b->mean;
}

/* --- answers ------------------------------------------------------------------- */

/* One block of an image whose rows have `stride` pixels each. */
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

/* Returns the largest pixel of a block.  A comparison with NaN is false, so that NaN is skipped. */
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

/* Returns the largest pixel of a block of real numbers; NaN if the block contains no number.
 * largest_f32 returns its start value, minus infinity, for a block of NaN and for a block whose
 * largest number is minus infinity.  The first pixel decides between the two. */
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

/* Allocates a message with a copy of the head and room for `bytes` bytes after it. */
static struct web_blob *begin_message(const struct web_head *head, size_t bytes)
{
    struct web_blob *b = web_blob_new(sizeof *head + bytes);
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

/* Copies the pixels of a region whose blocks have one pixel each to `to`. */
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
    struct web_blob *blob = begin_message(&head, (size_t)r->width * (size_t)r->height *
                                                     pixel_size((enum pixel_type)head.type));
    if (r->factor == 1 && !r->mean) {
        copy_pixels(&f->image, panel, r, blob->data + sizeof head);
        return blob;
    }
    for (int64_t y = 0; y < r->height; y++)
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
    struct web_blob *blob = begin_message(&head, (size_t)r->width * (size_t)r->height);
    for (int64_t y = 0; y < r->height; y++)
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
    struct web_blob *blob = begin_message(&head, bytes);
    if (bytes)
        memcpy(blob->data + sizeof head, f->marks, bytes);
    return blob;
}

struct web_blob *web_gone(uint64_t number)
{
    const struct web_head head = {.what = WEB_GONE, .number = number};
    return begin_message(&head, 0);
}
