#include "web/request.h"

#include <string.h>

/* The part of a message that is not read yet. */
struct rest {
    const char *at;
    size_t length;
};

/* Reads a word, up to a blank.  False if the next word is another one. */
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

/* Reads a number of at most 18 digits.  False if it exceeds `most`, or for any other word. */
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

/* Reads one of two words. */
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

/* Limits a range of *count blocks that begins at block `at` to an edge of `pixels` pixels. */
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
