#include "io/text/textfile.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/files.h"
#include "base/opt.h"
#include "base/text.h"

enum { CHUNK = 1 << 14 };

/* Makes room in t->bytes for CHUNK more bytes and the terminator.  *room is the size of
 * t->bytes. */
static enum status grow(struct text_file *t, size_t *room, struct error *e)
{
    if (*room - t->length > CHUNK)
        return STATUS_OK;
    *room = *room * 2 + 2 * CHUNK;
    char *bytes = realloc(t->bytes, *room);
    if (!bytes)
        return error_memory(e, t->path);
    t->bytes = bytes;
    return STATUS_OK;
}

static enum status read_all(struct text_file *t, FILE *stream, enum filetype wanted,
                            size_t max_bytes, struct error *e)
{
    size_t room = 0;
    enum status s;
    for (;;) {
        if (grow(t, &room, e))
            return STATUS_FAILED;
        errno = 0;
        const size_t got = fread(t->bytes + t->length, 1, CHUNK, stream);
        if (t->length == 0 && (s = filetype_check(t->path, filetype_of(t->bytes, got), wanted, e)))
            return s;
        if (memchr(t->bytes + t->length, 0, got))
            return error_set(e, STATUS_INPUT, "%s: contains zero bytes; expected text", t->path);
        t->length += got;
        if (t->length > max_bytes)
            return error_set(e, STATUS_INPUT, "%s: too long; expected at most %zu bytes", t->path,
                             max_bytes);
        if (got < CHUNK && ferror(stream))
            return error_errno(e, STATUS_FAILED, "%s: cannot read", t->path);
        if (got < CHUNK)
            break;
    }
    t->bytes[t->length] = 0;
    /* some editors put a byte order mark before UTF-8 */
    if (strncmp(t->bytes, "\xef\xbb\xbf", 3) == 0)
        memmove(t->bytes, t->bytes + 3, (t->length -= 3) + 1);
    t->next = t->bytes;
    return STATUS_OK;
}

enum status text_open(struct text_file *t, const char *path, enum filetype wanted, size_t max_bytes,
                      struct error *e)
{
    *t = (struct text_file){.path = path};
    FILE *stream = input_open(path);
    if (!stream)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    const enum status s = read_all(t, stream, wanted, max_bytes, e);
    (void)fclose(stream);
    return s;
}

enum status text_copy(struct text_file *t, const char *name, const char *bytes, size_t length,
                      struct error *e)
{
    *t = (struct text_file){.path = name, .bytes = malloc(length + 1), .length = length};
    if (!t->bytes)
        return error_memory(e, name);
    memcpy(t->bytes, bytes, length);
    t->bytes[length] = 0;
    t->next = t->bytes;
    return STATUS_OK;
}

/* Returns true if a character is in a set.  The set has one bit for each character below 64. */
static bool is_in(uint64_t set, char c)
{
    return (unsigned char)c < 64 && set >> c & 1;
}

static void split(struct text_file *t, char *at, const char *separators)
{
    uint64_t set = 0;
    for (const char *c = separators; *c; c++)
        set |= UINT64_C(1) << *c;
    for (;; *at++ = 0) {
        while (is_in(set, *at))
            at++;
        if (!*at)
            return;
        if (t->nwords < TEXT_WORDS_MAX)
            t->word[t->nwords] = at;
        t->nwords++;
        while (*at && !is_in(set, *at))
            at++;
        if (!*at)
            return;
    }
}

enum status text_line(struct text_file *t, const char *separators, char comment, struct error *e)
{
    t->nwords = 0;
    while (t->nwords == 0 && *t->next) {
        char *line = t->next, *end = strchrnul(line, '\n');
        t->line++;
        if (end - line >= TEXT_LINE_MAX)
            return text_error(t, e, "a line of %zu bytes; expected at most %d",
                              (size_t)(end - line), TEXT_LINE_MAX - 1);
        t->next = *end ? end + 1 : end;
        *end = 0;
        if (comment)
            *strchrnul(line, comment) = 0;
        split(t, line, separators);
    }
    return STATUS_OK;
}

#define WORD_GAPS TEXT_SPACE ";:!"

/* Returns true if a word is a number with a decimal comma: digits, one comma and digits.  A sign
 * and an exponent are allowed. */
static bool has_decimal_comma(const char *word, size_t length)
{
    const char *comma = memchr(word, ',', length), *end = word + length;
    if (!comma || comma == word || comma + 1 == end || !isdigit((unsigned char)comma[-1]) ||
        !isdigit((unsigned char)comma[1]))
        return false;
    return !memchr(word, '.', length) && !memchr(comma + 1, ',', (size_t)(end - comma - 1));
}

/* Finds the first word with a decimal comma in a line.  *length gets the length of the word.
 * Returns NULL if there is no such word, or if the line has only one word. */
static const char *find_decimal_comma(const char *line, const char *end, size_t *length)
{
    const char *found = NULL;
    int words = 0;
    for (const char *at = line, *next; at < end; at = next) {
        for (next = at; next < end && !strchr(WORD_GAPS, *next);)
            next++;
        words += next > at;
        if (!found && has_decimal_comma(at, (size_t)(next - at))) {
            found = at;
            *length = (size_t)(next - at);
        }
        next += next < end;
    }
    return words > 1 ? found : NULL;
}

enum status text_check_commas(const struct text_file *t, char comment, struct error *e)
{
    struct text_file at = *t;
    for (const char *line = t->next, *next; *line; line = next) {
        const char *end = strchrnul(line, '\n');
        const char *note = comment ? memchr(line, comment, (size_t)(end - line)) : NULL;
        size_t length = 0;
        const char *word = find_decimal_comma(line, note ? note : end, &length);
        at.line++;
        next = *end ? end + 1 : end;
        if (word)
            return text_error(&at, e,
                              "'%.*s' has a decimal comma; expected a decimal point, as in 0.97",
                              (int)(length < 30 ? length : 30), word);
    }
    return STATUS_OK;
}

/* Returns the first place of a word among `length` bytes, or NULL if the bytes do not contain it.
 * Upper and lower case are the same; a part of a longer word does not count. */
static const char *find_word(const char *bytes, size_t length, const char *word)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++)
        if (strncasecmp(bytes + i, word, size) == 0 &&
            (!i || !isalpha((unsigned char)bytes[i - 1])) &&
            (i + size == length || !isalpha((unsigned char)bytes[i + size])))
            return bytes + i;
    return NULL;
}

const char *text_find_in_head(const struct text_file *t, char comment, const char *word)
{
    const char *begin = t->next, *end = begin;  // after a byte order mark
    while (*end == comment || (*end && strchr(TEXT_SPACE "\n", *end)))
        end += *end == comment ? strcspn(end, "\n") : 1;
    return find_word(begin, (size_t)(end - begin), word);
}

enum status text_real(const struct text_file *t, int i, const char *what, double min, double max,
                      double *value, struct error *e)
{
    struct error cause;  // set by parse_real if it fails
    if (parse_real(t->word[i], min, max, what, value, &cause))
        return text_error(t, e, "%s", cause.text);
    return STATUS_OK;
}

enum status text_int(const struct text_file *t, int i, const char *what, int64_t min, int64_t max,
                     int64_t *value, struct error *e)
{
    struct error cause;  // set by parse_int if it fails
    if (parse_int(t->word[i], min, max, what, value, &cause))
        return text_error(t, e, "%s", cause.text);
    return STATUS_OK;
}

enum status text_error(const struct text_file *t, struct error *e, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s:%ld: %s", t->path, t->line, text);
}

void text_close(struct text_file *t)
{
    free(t->bytes);
    *t = (struct text_file){0};
}

long text_line_of(const struct text_file *t, const char *at)
{
    long line = 1;
    for (const char *c = t->bytes; c + 1 < at; c++)
        line += *c == '\n';
    return line;
}

char *text_trim(char *text)
{
    text += strspn(text, TEXT_SPACE);
    size_t length = strlen(text);
    while (length && strchr(TEXT_SPACE, text[length - 1]))
        text[--length] = 0;
    return text;
}

bool text_scan_real(const char **at, double *value)
{
    const char *end;
    const double x = number_real(*at, &end);
    if (end == *at)
        return false;
    *at = end;
    *value = x;
    return true;
}

bool text_scan_int(const char **at, int *value)
{
    const char *end;
    const intmax_t x = number_whole(*at, &end);
    if (end == *at || x < INT_MIN || x > INT_MAX)
        return false;
    *at = end;
    *value = (int)x;
    return true;
}
