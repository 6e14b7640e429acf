#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

/*
 * Limits of the fast conversion of decimal numbers.  A whole number up to 2^53 and a power of
 * ten up to 10^22 are exact as doubles.  Their product or quotient is therefore the nearest
 * double (W.  D. Clinger, "How to read floating point numbers accurately", PLDI 1990).  All
 * other numbers are converted by the C library.
 */
#define EXACT (UINT64_C(1) << 53)
enum { POWER_MAX = 22 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the text after white space and a sign, and sets *negative to true if the sign is a
 * minus. */
static const char *skip(const char *at, bool *negative)
{
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    *negative = *at == '-';
    return at + (*at == '-' || *at == '+');
}

/* Appends the digits at `at` to *value.  Returns the text after the digits, or an earlier
 * position if *value is above EXACT. */
static const char *digits(const char *at, uint64_t *value)
{
    for (; is_digit(*at) && *value <= EXACT; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    return at;
}

/* Adds the exponent at *at to *power and moves *at to the text after it.  Does nothing if there
 * is no exponent. */
static void exponent(const char **at, int64_t *power)
{
    if (**at != 'e' && **at != 'E')
        return;
    const bool down = (*at)[1] == '-';
    const char *first = *at + 1 + (down || (*at)[1] == '+');
    uint64_t value = 0;
    const char *end = digits(first, &value);
    if (end == first)
        return;
    *at = end;
    *power += down ? -(int64_t)value : (int64_t)value;
}

double number_real(const char *text, const char **end)
{
    static const double ten[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative;
    uint64_t mantissa = 0;
    const char *first = skip(text, &negative), *at = digits(first, &mantissa);
    int64_t given = at - first, power = 0;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = digits(fraction, &mantissa);
        given += at - fraction;
        power = fraction - at;
    }
    exponent(&at, &power);
    if (!given || mantissa > EXACT || power < -POWER_MAX || power > POWER_MAX || *at == 'x' ||
        *at == 'X') {
        char *behind;
        const double value = strtod(text, &behind);
        *end = behind;
        return value;
    }
    *end = at;
    const double value = power < 0 ? (double)mantissa / ten[-power] : (double)mantissa * ten[power];
    return negative ? -value : value;
}

intmax_t number_whole(const char *text, const char **end)
{
    bool negative;
    uint64_t value = 0;
    const char *first = skip(text, &negative), *at = digits(first, &value);
    if (at == first || value > EXACT) {
        char *behind;
        const intmax_t whole = strtoimax(text, &behind, 10);
        *end = behind;
        return whole;
    }
    *end = at;
    return negative ? -(intmax_t)value : (intmax_t)value;
}

/* --- words of a command line --- */

/* Characters, besides letters and digits, that need no quotes (plain), and characters that are
 * written as \xHH (hard). */
static const char plain[] = "_@%+=:,./-", hard[] = "'\\;{}~";

static bool is_plain(unsigned char c)
{
    return isalnum(c) || (c && strchr(plain, c));
}

static bool is_hard(unsigned char c)
{
    return c < ' ' || c > '~' || strchr(hard, c);
}

bool words_append(char *text, size_t size, const char *word)
{
    const size_t used = strlen(text);
    const char *quote = "", *begin = "";
    for (const char *at = word; *at; at++) {
        if (!is_plain((unsigned char)*at) && !*quote)
            begin = quote = "'";
        if (is_hard((unsigned char)*at))
            begin = "$'";
    }
    if (!*word)
        begin = quote = "'";
    size_t n = used;
    if (size - used < strlen(word) * 4 + sizeof " $''")
        return false;
    n += (size_t)sprintf(text + n, "%s%s", used ? " " : "", begin);
    for (const char *at = word; *at; at++)
        n += (size_t)sprintf(text + n, is_hard((unsigned char)*at) ? "\\x%02x" : "%c",
                             (unsigned char)*at);
    (void)sprintf(text + n, "%s", quote);
    return true;
}

void words_print(const char *word, FILE *out)
{
    const char *at = word;
    while (is_plain((unsigned char)*at))
        at++;
    if (*word && !*at) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (at = word; *at; at++)
        if (*at == '\'')
            fputs("'\\''", out);
        else
            putc(*at, out);
    putc('\'', out);
}

/* Returns the character that \xHH at `at` means; 0: there is no such escape. */
static char escaped(const char *at)
{
    if (at[0] != '\\' || at[1] != 'x' || !isxdigit((unsigned char)at[2]) ||
        !isxdigit((unsigned char)at[3]))
        return 0;
    const char digits[] = {at[2], at[3], 0};
    return (char)strtoul(digits, NULL, 16);
}

/* Copies the characters of a quoted word, from the one after the quote on, to *to.  Returns the
 * text after the word; NULL: the word does not end, or an escape is invalid. */
static char *take_quoted(char *at, bool escapes, char **to)
{
    for (; *at && *at != '\''; at++) {
        char c = *at;
        if (escapes && c == '\\') {
            if (!(c = escaped(at)))
                return NULL;
            at += 3;
        }
        *(*to)++ = c;
    }
    return *at ? at + 1 : NULL;
}

bool words_split(char *text, char **words, size_t most, size_t *count)
{
    char *at = text, *to = text;
    for (*count = 0; *at;) {
        if (*count == most)
            return false;
        words[(*count)++] = to;
        if (*at == '\'') {
            at = take_quoted(at + 1, false, &to);
        } else if (at[0] == '$' && at[1] == '\'') {
            at = take_quoted(at + 2, true, &to);
        } else {
            if (!is_plain((unsigned char)*at))
                return false;
            while (is_plain((unsigned char)*at))
                *to++ = *at++;
        }
        if (!at || (*at && *at != ' '))
            return false;
        at += *at == ' ';
        *to++ = 0;  // `to` is before `at`, so that the text is still unread
    }
    return true;
}

/* --- names that were probably meant --- */

enum { LETTERS = 32, FAR = 80 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Returns the number of wrong, missing, additional or exchanged letters between two words
 * (optimal string alignment: L. Damerau, Comm.  ACM 7 (1964) 171). */
static int letter_distance(const char *a, const char *b)
{
    const int na = (int)strnlen(a, LETTERS), nb = (int)strnlen(b, LETTERS);
    int rows[3][LETTERS + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= nb; j++)
        before[j] = last[j] = j;
    for (int i = 1; i <= na; i++) {
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            row[j] =
                smaller(smaller(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[nb];
}

/* Returns the distance of a `name` that is a part of `typed`.  It is larger than the distance
 * for any number of wrong letters, smaller for a longer name, and smaller for a name at the end
 * of `typed`.  Returns FAR if `name` is not a part of `typed`, or so short that it may be a part
 * by chance. */
static int part_distance(const char *typed, const char *name)
{
    const char *part = strstr(typed, name);
    const int length = (int)strnlen(name, LETTERS);
    return part && length >= 4 ? FAR - 2 * length - !part[length] : FAR;
}

int suggest_name(const char *typed, const char *name, int *best)
{
    const size_t length = strlen(typed);
    const int begins = length >= 3 && strncmp(typed, name, length) == 0;
    int distance = begins ? 0 : letter_distance(typed, name);
    if (distance > smaller((int)length, (int)strlen(name)) / 3)
        distance = part_distance(typed, name);
    if (distance == FAR || distance >= *best)
        return 0;
    *best = distance;
    return 1;
}
