#include "page/html.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character of UTF-8 that begins here; 0 when it is none. */
static size_t utf8_length(const unsigned char *s)
{
    const size_t n = s[0] < 0x80                    ? 1
                     : s[0] >= 0xc2 && s[0] < 0xe0  ? 2
                     : s[0] >= 0xe0 && s[0] < 0xf0  ? 3
                     : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                    : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    const unsigned second = n > 2 ? s[1] : 0;
    const int overlong = (s[0] == 0xe0 && second < 0xa0) || (s[0] == 0xf0 && second < 0x90);
    const int beyond = (s[0] == 0xed && second > 0x9f) || (s[0] == 0xf4 && second > 0x8f);
    return n > 2 && (overlong || beyond) ? 0 : n;
}

void html_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        const size_t n = utf8_length(at);
        if (n == 1 && strchr("&<>\"'`", *at))
            fprintf(out, "&#%d;", *at);
        else if (!n || *at < ' ' || *at == 0x7f)
            fputs("&#65533;", out);
        else
            fwrite(at, 1, n, out);
        at += n ? n : 1;
    }
}

void html_lines(FILE *out, const char *text)
{
    while (*text) {
        char piece[256];
        const size_t length = strcspn(text, "\n\t\r");
        const size_t n = length < sizeof piece - 4 ? length : sizeof piece - 4;
        /* a cut never parts a character: at most 3 bytes of one follow */
        size_t end = n;
        while (end < length && end < n + 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
            end++;
        memcpy(piece, text, end);
        piece[end] = 0;
        html_text(out, piece);
        text += end;
        if (end == length && *text) {
            fputs(*text == '\n' ? "\n" : *text == '\t' ? " " : "", out);
            text++;
        }
    }
}

void html_base64(FILE *out, const void *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        uint32_t word = (uint32_t)bytes[i] << 16;
        word |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        word |= n > 2 ? bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            fputc(k <= n ? digits[word >> (18 - 6 * k) & 63] : '=', out);
    }
}
