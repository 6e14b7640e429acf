/* Reading mini-CBF: one image of signed 32-bit integers as byte offsets. */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "io/images/byte_offset.h"
#include "io/images/cbf.h"

/* ---- MD5 (RFC 1321), which a file says of its packed pixels --------------------------- */

enum { MD5_BLOCK = 64, MD5_BYTES = 16, BASE64_CHARS = 24 };

static uint32_t rotate(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static void md5_block(uint32_t state[4], const uint32_t sines[MD5_BLOCK], const uint8_t *block)
{
    static const int turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    static const uint32_t step[4] = {1, 5, 3, 7}, start[4] = {0, 1, 5, 0};
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (uint32_t i = 0; i < MD5_BLOCK; i++) {
        const uint32_t round = i / 16;
        const uint32_t f = round == 0   ? (b & c) | (~b & d)
                           : round == 1 ? (d & b) | (~d & c)
                           : round == 2 ? b ^ c ^ d
                                        : c ^ (b | ~d);
        uint32_t word;
        memcpy(&word, block + 4 * ((step[round] * i + start[round]) % 16), sizeof word);
        const uint32_t sum = a + f + sines[i] + le32toh(word);
        a = d;
        d = c;
        c = b;
        b += rotate(sum, turns[round][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* As Content-MD5 has it: base64 of the sixteen bytes. */
static void md5_text(const uint8_t *bytes, size_t size, char text[BASE64_CHARS + 1])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t last[2 * MD5_BLOCK] = {0}, sum[MD5_BYTES + 2] = {0};
    uint32_t sines[MD5_BLOCK];
    for (int i = 0; i < MD5_BLOCK; i++)
        sines[i] = (uint32_t)floor(fabs(sin(i + 1.0)) * 4294967296.0);
    const size_t whole = size / MD5_BLOCK * MD5_BLOCK, rest = size - whole;
    const size_t end = rest < MD5_BLOCK - 8 ? MD5_BLOCK : 2 * MD5_BLOCK;
    const uint64_t bits = htole64(8 * (uint64_t)size);
    for (size_t i = 0; i < whole; i += MD5_BLOCK)
        md5_block(state, sines, bytes + i);
    memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    memcpy(last + end - sizeof bits, &bits, sizeof bits);
    for (size_t i = 0; i < end; i += MD5_BLOCK)
        md5_block(state, sines, last + i);
    for (int i = 0; i < MD5_BYTES; i++)
        sum[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
    for (int i = 0; i < BASE64_CHARS; i++) {
        const uint8_t *three = sum + i / 4 * 3;
        const uint32_t group = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];
        text[i] = digits[group >> (18 - 6 * (i % 4)) & 63];
    }
    memcpy(text + BASE64_CHARS - 2, "==", 3);
}

/* ---- what the text in front of the binary part says ------------------------------------ */

struct layout {
    size_t bytes, padding, count, fast, slow;
};

/* A value without quotes and blanks; the text is NULL where there is none. */
struct value {
    const char *text;
    size_t length;
};

/* Behind "KEY:" or "KEY=", with which a line begins, or a word behind a blank; in any capitals, as
 * MIME has it. */
static struct value find_value(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = text; (at = strcasestr(at, key)); at++) {
        if (at > text && !strchr(" \t\r\n;", at[-1]))
            continue;
        const char *value = at + length + strspn(at + length, " \t:=\"");
        return (struct value){value, strcspn(value, " \"\r\n;")};
    }
    return (struct value){0};
}

static bool is_word(struct value v, const char *word)
{
    return v.text && v.length == strlen(word) && strncasecmp(v.text, word, v.length) == 0;
}

/* The whole number behind a key; *said: the key is there. */
static enum status find_number(const char *path, const char *text, const char *key, bool *said,
                               size_t *value, struct error *e)
{
    const struct value v = find_value(text, key);
    char *end = NULL;
    *said = v.text;
    if (!v.text)
        return STATUS_OK;
    errno = 0;
    const unsigned long number = strtoul(v.text, &end, 10);
    if (*v.text < '0' || *v.text > '9' || end != v.text + v.length || errno ||
        number >= SIZE_MAX / 16)
        return error_set(e, STATUS_INPUT, "%s: %s: %.*s is not a whole number", path, key,
                         (int)v.length, v.text);
    *value = number;
    return STATUS_OK;
}

/* The same of a key that must be there with a number above 0. */
static enum status need_number(const char *path, const char *text, const char *key, size_t *value,
                               struct error *e)
{
    bool said;
    const enum status s = find_number(path, text, key, &said, value, e);
    if (!s && (!said || !*value))
        return error_set(e, STATUS_INPUT, "%s: %s is %s; expected a number above 0", path, key,
                         said ? "0" : "missing");
    return s;
}

/* One kind of pixels can be read: what is said to be another one is named. */
static enum status check_kind(const char *path, const char *text, struct error *e)
{
    static const char type_key[] = "X-Binary-Element-Type";
    static const struct {
        const char *key, *expected;
        bool must;
    } words[] = {
        {"conversions", "x-CBF_BYTE_OFFSET", true},
        {"Content-Transfer-Encoding", "BINARY", false},
        {"X-Binary-Element-Byte-Order", "LITTLE_ENDIAN", false},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct value v = find_value(text, words[i].key);
        if (v.text ? !is_word(v, words[i].expected) : words[i].must)
            return error_set(e, STATUS_INPUT,
                             "%s: %s is %.*s; expected %s, which alone can be read", path,
                             words[i].key, v.text ? (int)v.length : 7, v.text ? v.text : "missing",
                             words[i].expected);
    }
    const struct value type = find_value(text, type_key);
    const size_t length = type.text ? strcspn(type.text, "\"\r\n") : 0;
    if (!is_word((struct value){type.text, length}, "signed 32-bit integer"))
        return error_set(e, STATUS_INPUT,
                         "%s: %s is '%.*s'; expected 'signed 32-bit integer', which alone can be "
                         "read",
                         path, type_key, (int)length, type.text ? type.text : "");
    return STATUS_OK;
}

/* What is said of the number of pixels must agree. */
static enum status check_count(const char *path, const char *text, const struct layout *l,
                               struct error *e)
{
    static const char elements[] = "X-Binary-Number-of-Elements",
                      third[] = "X-Binary-Size-Third-Dimension";
    bool said;
    size_t number = 0;
    enum status s = find_number(path, text, elements, &said, &number, e);
    if (!s && said && number != l->count)
        s = error_set(e, STATUS_INPUT, "%s: %s is %zu, but the image has %zu x %zu pixels", path,
                      elements, number, l->fast, l->slow);
    s = s ? s : find_number(path, text, third, &said, &number, e);
    if (!s && said && number > 1)
        s = error_set(e, STATUS_INPUT, "%s: %s is %zu; expected one image", path, third, number);
    return s;
}

/* Several images or arrays in a file: none of them is the image. */
static enum status check_single(const char *path, const char *behind, size_t left, struct error *e)
{
    return memmem(behind, left, "\x0c\x1a\x04\xd5", 4)
               ? error_set(e, STATUS_INPUT,
                           "%s: has several binary sections; expected one image in a file", path)
               : STATUS_OK;
}

static enum status check_md5(const char *path, const char *text, const char *data, size_t bytes,
                             struct error *e)
{
    char sum[BASE64_CHARS + 1];
    const struct value v = find_value(text, "Content-MD5");
    if (!v.text || !v.length)
        return STATUS_OK;
    md5_text((const uint8_t *)data, bytes, sum);
    return v.length == BASE64_CHARS && memcmp(v.text, sum, BASE64_CHARS) == 0
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: the pixels are corrupt: Content-MD5 is %.*s, but that of the %zu "
                           "bytes is %s",
                           path, (int)v.length, v.text, bytes, sum);
}

static enum status read_layout(const char *text, size_t left, const char *path, struct layout *l,
                               struct error *e)
{
    bool said;
    *l = (struct layout){0};
    enum status s = check_kind(path, text, e);
    s = s ? s : need_number(path, text, "X-Binary-Size", &l->bytes, e);
    s = s ? s : need_number(path, text, "X-Binary-Size-Fastest-Dimension", &l->fast, e);
    s = s ? s : need_number(path, text, "X-Binary-Size-Second-Dimension", &l->slow, e);
    s = s ? s : find_number(path, text, "X-Binary-Size-Padding", &said, &l->padding, e);
    if (s)
        return s;
    if (l->bytes > left)
        return error_set(e, STATUS_INPUT, "%s: too short: %zu bytes of pixels, must be %zu", path,
                         left, l->bytes);
    if (l->padding > left - l->bytes)
        return error_set(e, STATUS_INPUT, "%s: too short: %zu bytes behind the pixels, must be %zu",
                         path, left - l->bytes, l->padding);
    /* No pixel takes less than a byte. */
    if (!size_multiply(l->fast, l->slow, &l->count) || l->count > l->bytes)
        return error_set(e, STATUS_INPUT, "%s: %zu x %zu pixels cannot be in %zu bytes", path,
                         l->fast, l->slow, l->bytes);
    return check_count(path, text, l, e);
}

/* The MIME header of the binary part, which alone says what the pixels are; the text in front of
 * it is free. */
static const char *find_section(const char *content)
{
    static const char begin[] = "--CIF-BINARY-FORMAT-SECTION--";
    const char *found = content;
    for (const char *at = content; (at = strstr(at, begin)); at++)
        found = at;
    return found;
}

/* `content` is a whole file, followed by a 0. */
static enum status parse(char *content, size_t size, const char *path, struct image_file *f,
                         struct error *e)
{
    static const char marker[] = "\x0c\x1a\x04\xd5";
    struct layout l;
    struct error cause = {0};
    char *mark = memmem(content, size, marker, 4);
    if (size < 6 || memcmp(content, "###CBF", 6) != 0 || !mark)
        return error_set(e, STATUS_INPUT, "%s: no CBF: no ###CBF or no binary part", path);
    *mark = 0;
    const char *data = mark + 4, *text = find_section(content);
    const size_t left = size - (size_t)(data - content);
    enum status s = read_layout(text, left, path, &l, e);
    s = s ? s : check_single(path, data + l.bytes, left - l.bytes, e);
    s = s ? s : check_md5(path, text, data, l.bytes, e);
    if (s)
        return s;
    if (!image_reserve(&f->image, PIXEL_I32, UNIT_ADU, l.count))
        return error_memory(e, path);
    f->fast = (int64_t)l.fast;
    f->slow = (int64_t)l.slow;
    s = byte_offset_decode((const uint8_t *)data, l.bytes, f->image.pixels, l.count, &cause);
    return s ? error_set(e, s, "%s: %s", path, cause.text) : STATUS_OK;
}

enum status cbf_read(FILE *in, const char *path, size_t size, struct image_file *f, struct error *e)
{
    char *content = mem_array(size + 1, 1);
    if (!content)
        return error_memory(e, path);
    const enum status s = fread(content, 1, size, in) == size
                              ? parse(content, size, path, f, e)
                              : error_errno(e, STATUS_INPUT, "%s: cannot read", path);
    mem_free(content);
    if (s)
        image_free(&f->image);
    return s;
}
