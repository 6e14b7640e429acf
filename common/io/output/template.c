#include "io/output/template.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MAX = 18, NUMBER_MAX = 20, TEMPORARY_MAX = 12, NAME_MAX_BYTES = 255 - TEMPORARY_MAX };

/* Parses the conversion at `text`, which begins with `%`, and sets the width and the fill
 * character.  Returns its length.  0: the conversion is not allowed. */
static size_t parse_conversion(struct template *t, const char *text)
{
    const char *c = text + 1;
    t->fill = *c == '0' ? '0' : ' ';
    c += *c == '0';
    t->width = 0;
    while (*c >= '0' && *c <= '9' && t->width <= WIDTH_MAX)
        t->width = 10 * t->width + (*c++ - '0');
    return *c == 'd' && t->width <= WIDTH_MAX ? (size_t)(c + 1 - text) : 0;
}

enum status template_parse(struct template *t, const char *text, struct error *e)
{
    *t = (struct template){.text = text};
    const char *slash = strrchr(text, '/'), *base = slash ? slash + 1 : text;
    const char *percent = strchr(text, '%');
    if (!*base)
        return error_set(e, STATUS_USAGE, "'%.60s' is not a file name", text);
    /* leave room for the largest number and for a temporary name */
    if (strlen(text) + NUMBER_MAX + TEMPORARY_MAX > TEMPLATE_PATH_MAX ||
        strlen(base) + (percent ? NUMBER_MAX : 0) > NAME_MAX_BYTES)
        return error_set(e, STATUS_USAGE, "'%.60s...' is too long for a name", text);
    if (!percent)
        return STATUS_OK;
    const size_t length = parse_conversion(t, percent);
    if (!length || percent < base || strchr(percent + 1, '%'))
        return error_set(
            e, STATUS_USAGE,
            "'%.60s' must have one number such as %%04d in the file's name, and no other %%", text);
    t->start = (size_t)(percent - text);
    t->end = t->start + length;
    return STATUS_OK;
}

void template_name(const struct template *t, uint64_t id, char *name)
{
    char number[NUMBER_MAX + 2] = "";
    if (template_is_numbered(t))
        (void)snprintf(number, sizeof number, t->fill == '0' ? "%0*" PRIu64 : "%*" PRIu64, t->width,
                       id);
    (void)snprintf(name, TEMPLATE_PATH_MAX, "%.*s%s%s", (int)t->start, t->text, number,
                   t->text + t->end);
}

bool template_number(const struct template *t, const char *name, uint64_t *number)
{
    char again[TEMPLATE_PATH_MAX];
    const size_t before = t->start;
    if (!template_is_numbered(t) || strncmp(name, t->text, before) != 0)
        return false;
    const char *digits = name + before + strspn(name + before, " ");
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *number = strtoull(digits, NULL, 10);
    template_name(t, *number, again);
    return !errno && strcmp(again, name) == 0;
}

bool template_list(const struct template *t, struct id_set *numbers)
{
    char path[TEMPLATE_PATH_MAX];
    const char *slash = strrchr(t->text, '/');
    const size_t before = slash ? (size_t)(slash + 1 - t->text) : 0;
    struct template own = *t;
    own.text += before;
    own.start -= before;
    own.end -= before;
    (void)snprintf(path, sizeof path, "%.*s.", (int)before, t->text);
    DIR *folder = opendir(path);
    bool noted = true;
    uint64_t number;
    for (const struct dirent *d; folder && noted && (d = readdir(folder));)
        noted = !template_number(&own, d->d_name, &number) || id_set_add(numbers, number);
    if (folder)
        (void)closedir(folder);
    return noted;
}

void template_stem(const struct template *t, const char *suffix, char *name)
{
    size_t length = t->start;
    while (length && template_is_numbered(t) && strchr("_-.", t->text[length - 1]))
        length--;
    const bool bare = template_is_numbered(t) && (!length || t->text[length - 1] == '/');
    (void)snprintf(name, TEMPLATE_PATH_MAX, "%.*s%s%s%s", (int)length, t->text,
                   bare ? "frames" : "", t->text + t->end, suffix);
}
