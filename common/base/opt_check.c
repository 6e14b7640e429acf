/* Which options exclude or need each other: the columns of their tables. */
#include <stdio.h>
#include <string.h>

#include "base/opt_store.h"

const struct opt *opt_find(const struct opt *table, const char *name, size_t length)
{
    for (const struct opt *o = table; o && (o->name || o->doc); o++)
        if (o->name && strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

/* False for what stands where nothing is said: 0, off, no text. */
static bool has_value(const struct opt *o, const void *options)
{
    const void *value = (const char *)options + o->offset;
    switch (o->type) {
    case OPT_FLAG:
        return *(const bool *)value;
    case OPT_INT:
        return *(const int64_t *)value != 0;
    case OPT_CHOICE:
        return *(const int *)value != 0;
    case OPT_REAL:
    case OPT_REALS:
        for (int i = 0; i < (o->type == OPT_REAL ? 1 : o->count); i++)
            if (((const double *)value)[i] != 0.0)
                return true;
        return false;
    case OPT_INTS:
        for (int i = 0; i < o->count; i++)
            if (((const int64_t *)value)[i])
                return true;
        return false;
    case OPT_TEXT:
        return *(const char *const *)value != NULL;
    case OPT_TEXTS:
        return ((const struct opt_texts *)value)->count > 0;
    case OPT_GROUP:
    case OPT_MARKS:
        break;
    }
    return false;
}

/* Whether a choice or a text is the `length` bytes of `text`. */
static bool is_value(const struct opt *o, const void *options, const char *text, size_t length)
{
    const void *value = (const char *)options + o->offset;
    const bool none = o->type == OPT_CHOICE && *(const int *)value < 0;
    const char *is = none ? NULL : o->type == OPT_CHOICE ? o->choices : *(const char *const *)value;
    for (int i = o->type == OPT_CHOICE ? *(const int *)value : 0; i > 0; i--)
        is = strchr(is, '|') + 1;
    return is && strncmp(is, text, length) == 0 && (is[length] == '|' || !is[length]);
}

const struct opt *opt_end(const struct opt *o)
{
    while (o->name || o->doc)
        o++;
    return o;
}

/* The word of the marks that has the bit of an option; NULL where its table has none.  Rows count
 * from the end, so that a part of a table has the same marks. */
static uint64_t *marks_of(const struct opt *o, const void *options, uint64_t *bit)
{
    const struct opt *end = opt_end(o);
    const size_t row = (size_t)(end - o);
    struct opt_marks *m = (void *)((char *)(uintptr_t)options + end->offset);
    *bit = UINT64_C(1) << row % 64;
    return end->type == OPT_MARKS ? &m->bits[row / 64] : NULL;
}

bool opt_is_given(const struct opt *o, const void *options)
{
    uint64_t bit;
    const uint64_t *marks = marks_of(o, options, &bit);
    return marks ? *marks & bit : has_value(o, options);
}

void opt_mark(const struct opt *o, void *options, bool given)
{
    uint64_t bit, *marks = marks_of(o, options, &bit);
    if (marks)
        *marks = given ? *marks | bit : *marks & ~bit;
}

/* Whether one of the items of `word`, parted by |, is an option that was given, or NAME=VALUE that
 * holds; one that is `needed` must have a value too.  `names` gets them all, parted by `joint`. */
static bool any_given(const struct opt *table, const void *options, const char *word, bool needed,
                      const char *joint, char *names, size_t size)
{
    bool any = false;
    size_t used = 0;
    for (size_t length; (length = strcspn(word, "| ")); word += length + (word[length] == '|')) {
        const size_t name = strcspn(word, "=| ");
        const struct opt *o = opt_find(table, word, name);
        any = any || (o && (name < length
                                ? is_value(o, options, word + name + 1, length - name - 1)
                                : opt_is_given(o, options) && (!needed || has_value(o, options))));
        used += (size_t)snprintf(names + used, used < size ? size - used : 0, "%s%.*s",
                                 used ? joint : "", (int)length, word);
    }
    return any;
}

bool opt_given(const struct opt *table, const void *options, const char *names)
{
    char all[1];
    return any_given(table, options, names, false, "", all, sizeof all);
}

/* The next word of a column, at first its own; NULL at the end. */
static const char *next_word(const char *at)
{
    at += strcspn(at, " ");
    at += strspn(at, " ");
    return *at ? at : NULL;
}

enum status opt_exclude(const struct opt *table, const void *options, const char *name,
                        const char *excludes, struct error *e)
{
    char names[120];
    for (const char *word = excludes; word; word = next_word(word))
        if (any_given(table, options, word, false, " and --", names, sizeof names))
            return error_set(e, STATUS_USAGE, "--%s and --%s exclude each other", name, names);
    return STATUS_OK;
}

static enum status need(const struct opt *table, const void *options, const struct opt *o,
                        struct error *e)
{
    char names[120];
    for (const char *word = o->needs; word; word = next_word(word))
        if (!any_given(table, options, word, true, " or --", names, sizeof names))
            return error_set(e, STATUS_USAGE, "--%s %s --%s", o->name,
                             strchr(names, '=') ? "is for" : "needs", names);
    return STATUS_OK;
}

enum status opt_check(const struct opt *table, const struct opt *rows, const void *options,
                      struct error *e)
{
    enum status s = STATUS_OK;
    for (int pass = 0; pass < 2; pass++)
        for (const struct opt *o = rows; o && (o->name || o->doc) && !s; o++) {
            if (o->flags & OPT_KEYS)
                break;
            if (opt_is_given(o, options))
                s = pass ? need(table, options, o, e)
                         : opt_exclude(table, options, o->name, o->excludes, e);
        }
    return s;
}
