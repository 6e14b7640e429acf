#include "base/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters that need no quotes, beside letters and digits; and those that need \xHH. */
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

/* The character behind \x, or 0. */
static char escaped(const char *at)
{
    if (at[0] != '\\' || at[1] != 'x' || !isxdigit((unsigned char)at[2]) ||
        !isxdigit((unsigned char)at[3]))
        return 0;
    const char digits[] = {at[2], at[3], 0};
    return (char)strtoul(digits, NULL, 16);
}

/* Moves a quoted word, from its first character on, to *to; NULL when it does not end, else
 * what follows. */
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
        *to++ = 0;  // never beyond `at`, or the end
    }
    return true;
}
