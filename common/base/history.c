#include "base/history.h"

#include <stdio.h>
#include <string.h>

/* --- append -------------------------------------------------------------- */

void history_append(char *history, size_t size, const char *name, const char *more)
{
    static const char cut[] = "...\n";
    const size_t used = strlen(history);
    if (used + sizeof cut > size)
        return;
    int length = snprintf(history + used, size - used, "%s\t%s", name, more);
    const bool fits = (size_t)length + 1 < size - used;
    if (!fits) {
        length = (int)(size - used - sizeof cut);
        memcpy(history + used + length, cut, sizeof cut);
    }
    for (char *at = history + used; at < history + used + length; at++)
        if (*at == '\n')
            *at = '\t';
    if (!fits)
        return;
    /* the last tab becomes the newline */
    if (history[used + (size_t)length - 1] == '\t')
        history[used + (size_t)length - 1] = '\n';
    else if (history[used + (size_t)length] == 0)
        memcpy(history + used + length, "\n", 2);
}

/* --- words ---------------------------------------------------------------- */

/* A part of a text, without a terminator.  `at` is NULL if there is none. */
struct word {
    const char *at;
    size_t length;
};

static bool equal(struct word a, struct word b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* Removes the text up to the first of the characters `ends` from the front of *rest, and returns
 * it.  The character itself is removed as well, but not returned. */
static struct word take_word(struct word *rest, const char *ends)
{
    struct word w = {rest->at, 0};
    while (w.length < rest->length && !strchr(ends, w.at[w.length]))
        w.length++;
    const size_t skip = w.length + (w.length < rest->length);
    rest->at += skip;
    rest->length -= skip;
    return w;
}

/* Returns the value of `name` in a line; its `at` is NULL if the line does not have that name. */
static struct word find_value(struct word line, struct word name)
{
    while (line.length) {
        struct word value = take_word(&line, "\t");
        if (equal(take_word(&value, "="), name))
            return value;
    }
    return (struct word){0};
}

/* Returns the first line of `text`, without its newline. */
static struct word first_line(const char *text)
{
    return (struct word){text, strcspn(text, "\n")};
}

bool history_value(const char *line, const char *name, char *value, size_t size)
{
    const struct word found = find_value(first_line(line), (struct word){name, strlen(name)});
    if (!found.at || found.length >= size)
        return false;
    memcpy(value, found.at, found.length);
    value[found.length] = 0;
    return true;
}

bool history_brief(const char *line, char *text, size_t size)
{
    struct word rest = first_line(line);
    size_t used = 0;
    for (bool first = true; rest.length; first = false) {
        const struct word word = take_word(&rest, "\t");
        struct word value = word;
        const struct word name = take_word(&value, "=");
        if (!first && !memchr(name.at, ' ', name.length))
            continue;
        if (size - used < word.length + 2)
            return false;
        if (!first)
            text[used++] = '\t';
        memcpy(text + used, word.at, word.length);
        text[used += word.length] = 0;
    }
    return used > 0;
}

/* --- compare ------------------------------------------------------------- */

/* Returns true if `name` is HISTORY_GIVEN.  The words in which options were given make no
 * difference between two histories. */
static bool is_words(struct word name)
{
    return equal(name, (struct word){HISTORY_GIVEN, strlen(HISTORY_GIVEN)});
}

static bool has_stage(struct word history, struct word name)
{
    while (history.length) {
        struct word line = take_word(&history, "\n");
        if (equal(take_word(&line, "\t"), name))
            return true;
    }
    return false;
}

static void say_value(char text[HISTORY_DIFFERENCE_SIZE], struct word stage, struct word name,
                      struct word was, struct word is)
{
    const char *dashes = memchr(name.at, ' ', name.length) ? "" : "--";
    const int was_length = was.length < 60 ? (int)was.length : 60,
              is_length = is.length < 60 ? (int)is.length : 60;
    (void)snprintf(text, HISTORY_DIFFERENCE_SIZE, "%.*s: %s%.*s was %.*s, is %.*s",
                   (int)stage.length, stage.at, dashes, (int)name.length, name.at,
                   was.length ? was_length : 7, was.length ? was.at : "not set",
                   is.length ? is_length : 7, is.length ? is.at : "not set");
}

/* Compares two lines of the same stage, first the values of the new line `is`, then the values
 * that only `was` has.  Returns true, and writes the first difference to `text`, if they differ. */
static bool line_difference(struct word stage, struct word was, struct word is, char *text)
{
    for (struct word rest = is; rest.length;) {
        struct word value = take_word(&rest, "\t");
        const struct word name = take_word(&value, "="), before = find_value(was, name);
        if (!equal(before, value) && !is_words(name)) {
            say_value(text, stage, name, before, value);
            return true;
        }
    }
    for (struct word rest = was; rest.length;) {
        struct word value = take_word(&rest, "\t");
        const struct word name = take_word(&value, "=");
        if (value.length && !find_value(is, name).at && !is_words(name)) {
            say_value(text, stage, name, value, (struct word){0});
            return true;
        }
    }
    return false;
}

bool history_difference(const char *was, const char *is, char text[HISTORY_DIFFERENCE_SIZE])
{
    struct word old = {was, strlen(was)}, new = {is, strlen(is)};
    text[0] = 0;
    while (old.length || new.length) {
        const struct word old_rest = old;
        struct word old_line = take_word(&old, "\n"), new_line = take_word(&new, "\n");
        const struct word old_stage = take_word(&old_line, "\t"),
                          new_stage = take_word(&new_line, "\t");
        if (!equal(old_stage, new_stage)) {
            const bool gone =
                old_stage.length && (!new_stage.length || has_stage(old_rest, new_stage));
            const struct word stage = gone ? old_stage : new_stage;
            (void)snprintf(text, HISTORY_DIFFERENCE_SIZE, "%.*s %s", (int)stage.length, stage.at,
                           gone ? "is no longer in the pipeline" : "is new in the pipeline");
            return true;
        }
        if (line_difference(new_stage, old_line, new_line, text))
            return true;
    }
    return false;
}
