#include "base/opt_store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/input.h"
#include "base/opt_value.h"

static enum status store_reals(const char *text, const struct opt *o,
                               const struct opt_number *number, double *values, struct error *e)
{
    int n = 0;
    if (o->flags & OPT_ONE_FOR_ALL)
        return opt_one_or_all(text, o->count, number, values, e);
    const enum status s = opt_numbers(text, o->count, number, values, &n, e);
    if (s == STATUS_OK && n != o->count)
        return error_set(e, STATUS_USAGE, "%s: '%.60s' must be %d numbers separated by commas",
                         number->what, text, o->count);
    return s;
}

static enum status store_ints(const char *text, const struct opt *o, struct opt_number *number,
                              int64_t *values, struct error *e)
{
    double reals[OPT_REALS_MAX];
    number->flags |= OPT_WHOLE;
    const enum status s = store_reals(text, o, number, reals, e);
    for (int i = 0; i < o->count && !s; i++)
        values[i] = (int64_t)reals[i];
    return s;
}

static void make_si(enum si si, double *values, int count)
{
    for (int i = 0; i < count && si; i++)
        values[i] = to_si(si, values[i]);
}

static enum status parse_choice(const struct opt *o, const char *what, const char *text, int *index,
                                struct error *e)
{
    const size_t length = strlen(text);
    int i = 0;
    for (const char *c = o->choices; c; c = strchr(c, '|'), c = c ? c + 1 : NULL, i++) {
        if (length && strncmp(c, text, length) == 0 && (c[length] == '|' || !c[length])) {
            *index = i;
            return STATUS_OK;
        }
    }
    return error_set(e, STATUS_USAGE, "%s: '%.60s' is unknown, must be one of %s", what, text,
                     o->choices);
}

/* A refused number with what the option takes: its metavariable is the unit. */
static enum status add_usage(const struct opt *o, struct error *e)
{
    char text[sizeof e->text];
    memcpy(text, e->text, sizeof text);
    return error_set(e, STATUS_USAGE, "%s (--%s=%s)", text, o->name, o->metavar);
}

enum status opt_store(const struct opt *o, void *options, const char *text, struct error *e)
{
    char what[80];
    (void)snprintf(what, sizeof what, "--%s", o->name);
    struct opt_number number = {what, o->min, o->max, o->flags, o->unit ? o->unit : o->metavar};
    char *value = (char *)options + o->offset;
    enum status s = STATUS_OK;
    switch (o->type) {
    case OPT_FLAG:
        *(bool *)(void *)value = true;
        break;
    case OPT_INT:
        s = opt_whole(text, &number, (int64_t *)(void *)value, e);
        break;
    case OPT_REAL:
        s = opt_real(text, &number, (double *)(void *)value, e);
        if (!s)
            make_si(o->si, (double *)(void *)value, 1);
        break;
    case OPT_REALS:
        s = store_reals(text, o, &number, (double *)(void *)value, e);
        if (!s)
            make_si(o->si, (double *)(void *)value, o->count);
        break;
    case OPT_INTS:
        s = store_ints(text, o, &number, (int64_t *)(void *)value, e);
        break;
    case OPT_TEXT:
        if (!*text)
            return error_set(e, STATUS_USAGE, "%s: the value is empty", what);
        *(const char **)(void *)value = o->flags & OPT_INPUT ? input_path(text) : text;
        if (!*(const char **)(void *)value)
            return error_memory(e, what);
        break;
    case OPT_CHOICE:
        s = parse_choice(o, what, text, (int *)(void *)value, e);
        break;
    case OPT_TEXTS: {
        struct opt_texts *texts = (struct opt_texts *)(void *)value;
        if (!*text)
            return error_set(e, STATUS_USAGE, "%s: the value is empty", what);
        if (texts->count == OPT_TEXTS_MAX)
            return error_set(e, STATUS_USAGE, "%s: at most %d times", what, OPT_TEXTS_MAX);
        texts->text[texts->count++] = text;
        break;
    }
    case OPT_GROUP:
    case OPT_MARKS:
        break;
    }
    if (s &&
        (o->type == OPT_INT || o->type == OPT_REAL || o->type == OPT_REALS || o->type == OPT_INTS))
        return add_usage(o, e);
    return s;
}

static enum status store_usual(const struct opt *o, void *options, struct error *e)
{
    void *value = (char *)options + o->offset;
    if (!o->usual || *o->usual)
        return o->usual ? opt_store(o, options, o->usual, e) : STATUS_OK;
    const int count = o->count ? o->count : 1;
    if (o->type == OPT_CHOICE)
        *(int *)value = -1;
    for (int i = 0; i < count && (o->type == OPT_INT || o->type == OPT_INTS); i++)
        ((int64_t *)value)[i] = -1;
    for (int i = 0; i < count && (o->type == OPT_REAL || o->type == OPT_REALS); i++)
        ((double *)value)[i] = (double)NAN;
    return STATUS_OK;
}

enum status opt_defaults(const struct opt *table, void *options, struct error *e)
{
    enum status s = STATUS_OK;
    for (const struct opt *o = table; !s && o && (o->name || o->doc); o++)
        s = store_usual(o, options, e);
    return s;
}
