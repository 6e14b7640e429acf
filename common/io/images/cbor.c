/* libcbor is not used here: its streaming decoder calls one of 24 functions for each item and
 * leaves nesting, skipping and keys to the caller, which is more code than this file, and its other
 * decoder copies whole images and allocates what a hostile message asks for. */
#include "io/images/cbor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 32, BREAK = 0xff, ENDLESS = 31 };

/* Returns the number of n bytes, big-endian. */
static uint64_t whole_of(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

static double half_of(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double fraction = (double)(bits & 1023);
    const double size = exponent == 0    ? ldexp(fraction, -24)
                        : exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                         : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 & 1 ? -size : size;
}

/* Sets the value of a real number of n bytes. */
static void take_real(struct cbor_item *item, size_t n)
{
    const uint32_t four = (uint32_t)item->value;
    float single;
    item->is_real = n >= 2;
    if (n == 2) {
        item->real = half_of(item->value);
    } else if (n == 4) {
        memcpy(&single, &four, sizeof single);
        item->real = (double)single;
    } else if (n == 8) {
        memcpy(&item->real, &item->value, sizeof item->real);
    }
}

bool cbor_next(struct cbor *c, struct cbor_item *item)
{
    *item = (struct cbor_item){0};
    if (c->at >= c->end || *c->at == BREAK)
        return false;
    const unsigned more = *c->at & 31;
    item->major = (enum cbor_major)(*c->at++ >> 5);
    const bool holds = item->major == CBOR_ARRAY || item->major == CBOR_MAP;
    const size_t n = more < 24 ? 0 : more < 28 ? (size_t)1 << (more - 24) : 0;
    if ((more > 27 && !(more == ENDLESS && holds)) || (size_t)(c->end - c->at) < n)
        return false;
    item->endless = more == ENDLESS;
    item->value = item->endless ? 0 : n ? whole_of(c->at, n) : more;
    c->at += n;
    item->real = item->major == CBOR_NEGATIVE ? -1.0 - (double)item->value : (double)item->value;
    if (item->major == CBOR_OTHER)
        take_real(item, n);
    if (item->major != CBOR_BYTES && item->major != CBOR_TEXT)
        return true;
    if (item->value > (size_t)(c->end - c->at))
        return false;
    item->bytes = c->at;
    c->at += item->value;
    return true;
}

static bool ends(struct cbor *c)
{
    const bool end = c->at < c->end && *c->at == BREAK;
    c->at += end;
    return end;
}

/* Moves *c after an item that is `depth` items deep. */
static bool skip_at(struct cbor *c, int depth)
{
    struct cbor_item item;
    if (depth == DEPTH_MAX || !cbor_next(c, &item))
        return false;
    if (item.major == CBOR_TAG)
        return skip_at(c, depth + 1);
    if (item.major != CBOR_ARRAY && item.major != CBOR_MAP)
        return true;
    const uint64_t each = item.major == CBOR_MAP ? 2 : 1;
    for (uint64_t i = 0; item.endless ? !ends(c) : i < item.value; i++)
        for (uint64_t k = 0; k < each; k++)
            if (!skip_at(c, depth + 1))
                return false;
    return true;
}

bool cbor_skip(struct cbor *c)
{
    return skip_at(c, 0);
}

static bool is_key(const struct cbor_item *item, const char *key)
{
    return item->major == CBOR_TEXT &&
           (!key || (item->value == strlen(key) && memcmp(item->bytes, key, item->value) == 0));
}

bool cbor_find(struct cbor c, const char *key, struct cbor *value)
{
    struct cbor_item map, item;
    do {
        if (!cbor_next(&c, &map))
            return false;
    } while (map.major == CBOR_TAG);
    if (map.major != CBOR_MAP)
        return false;
    for (uint64_t i = 0; map.endless ? !ends(&c) : i < map.value; i++) {
        struct cbor after = c;
        if (!cbor_skip(&after))
            return false;
        const bool found = cbor_next(&c, &item) && is_key(&item, key);
        c = after;
        *value = after;
        if (!cbor_skip(&c))
            return false;
        if (found)
            return true;
    }
    return false;
}

bool cbor_find_real(struct cbor c, const char *key, double *value)
{
    struct cbor at;
    struct cbor_item item;
    if (!cbor_find(c, key, &at) || !cbor_next(&at, &item) ||
        (item.major > CBOR_NEGATIVE && !item.is_real) || !isfinite(item.real))
        return false;
    *value = item.real;
    return true;
}

bool cbor_find_text(struct cbor c, const char *key, char *text, size_t size)
{
    struct cbor at;
    struct cbor_item item;
    if (!cbor_find(c, key, &at) || !cbor_next(&at, &item) || item.major != CBOR_TEXT)
        return false;
    const size_t n = item.value < size ? (size_t)item.value : size - 1;
    (void)snprintf(text, size, "%.*s", (int)n, (const char *)item.bytes);
    return true;
}
