#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Size of the buffer in which a text is formatted before error_line shortens it.  Paths have up
 * to 4096 bytes. */
enum { WHOLE_SIZE = 3 * 4096 };

/* Returns the number of bytes of the UTF-8 character at `text`.  Returns 0 if the bytes are not
 * a valid character, or if a terminal would interpret the character: C0 and C1 controls, line
 * separators, and characters that reverse the direction of writing. */
static size_t measure_character(const unsigned char *text)
{
    const unsigned lead = text[0];
    const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length < 2)
        return lead >= ' ' && lead < 0x7f ? 1 : 0;
    if (lead > 0xf4)
        return 0;
    unsigned code = lead & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    const bool separates = code < 0xa0 || (code >= 0x2028 && code <= 0x202e) ||
                           (code >= 0x2066 && code <= 0x2069) || (code >= 0xd800 && code < 0xe000);
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    return separates || overlong || code > 0x10ffff ? 0 : length;
}

void error_line(char *text, size_t size, const char *format, va_list args)
{
    static const char gap[] = " ... ";
    char whole[WHOLE_SIZE];
    (void)vsnprintf(whole, sizeof whole, format, args);
    size_t length = strlen(whole);
    if (length >= size) {  // a message begins with the name of a file and ends with the reason
        const size_t head = size / 3, tail = size - head - sizeof gap;
        memmove(whole + head + sizeof gap - 1, whole + length - tail, tail + 1);
        memcpy(whole + head, gap, sizeof gap - 1);
        length = size - 1;
    }
    for (size_t i = 0; i < length;) {
        const size_t n = measure_character((const unsigned char *)whole + i);
        if (n)
            memcpy(text + i, whole + i, n);
        else
            text[i] = '?';
        i += n ? n : 1;
    }
    text[length] = '\0';
}

enum status error_set(struct error *e, enum status status, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        e->status = status;
        error_line(e->text, sizeof e->text, format, args);
        va_end(args);
    }
    return status;
}

enum status error_errno(struct error *e, enum status status, const char *format, ...)
{
    const int saved = errno;
    if (e) {
        va_list args;
        va_start(args, format);
        const char *cause = strerror(saved);
        e->status = status;
        error_line(e->text, sizeof e->text - strlen(cause) - sizeof ": " + 1, format, args);
        va_end(args);
        const size_t used = strlen(e->text);
        (void)snprintf(e->text + used, sizeof e->text - used, ": %s", cause);
    }
    return status;
}

enum status error_memory(struct error *e, const char *what)
{
    return error_set(e, STATUS_FAILED, "out of memory for %s", what);
}
