/* Writes the options that affect the bytes of frames: as lines for the lineage, and as words. */
#include "base/opt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/text.h"

/* Writes the shortest decimal number, in the typed unit, that reads back as the same value. */
static void lineage_real(FILE *out, enum si si, double value)
{
    const double near = from_si(si, value);
    const double typed[] = {near, nextafter(near, INFINITY), nextafter(near, -INFINITY)};
    char text[32];
    for (int i = 0; i < 9; i++) {
        (void)snprintf(text, sizeof text, "%.*g", 15 + i / 3, typed[i % 3]);
        if (to_si(si, strtod(text, NULL)) == value)
            break;
    }
    fputs(text, out);
}

static void lineage_choice(FILE *out, const char *choices, int choice)
{
    for (; choice > 0 && strchr(choices, '|'); choice--)
        choices = strchr(choices, '|') + 1;
    fprintf(out, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* Writes a text with its control characters as \xHH, because control characters end lines and
 * words of the lineage. */
static void lineage_text(FILE *out, const char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ')
            fprintf(out, "\\x%02x", (unsigned char)*text);
        else
            putc(*text, out);
}

static void lineage_value(FILE *out, const struct opt *o, const char *value)
{
    switch (o->type) {
    case OPT_FLAG:
        fprintf(out, "%d", *(const bool *)(const void *)value);
        break;
    case OPT_INT:
        fprintf(out, "%" PRId64, *(const int64_t *)(const void *)value);
        break;
    case OPT_CHOICE:
        lineage_choice(out, o->choices, *(const int *)(const void *)value);
        break;
    case OPT_REAL:
        lineage_real(out, o->si, *(const double *)(const void *)value);
        break;
    case OPT_REALS:
        for (int i = 0; i < o->count; i++) {
            fputs(i ? "," : "", out);
            lineage_real(out, o->si, ((const double *)(const void *)value)[i]);
        }
        break;
    case OPT_INTS:
        for (int i = 0; i < o->count; i++)
            fprintf(out, "%s%" PRId64, i ? "," : "", ((const int64_t *)(const void *)value)[i]);
        break;
    case OPT_TEXT:
        lineage_text(out, input_given(*(const char *const *)(const void *)value));
        break;
    case OPT_TEXTS: {
        const struct opt_texts *texts = (const struct opt_texts *)(const void *)value;
        for (size_t i = 0; i < texts->count; i++) {
            fputs(i ? "," : "", out);
            lineage_text(out, texts->text[i]);
        }
        break;
    }
    case OPT_GROUP:
    case OPT_MARKS:
        break;
    }
}

/* Returns true if the lineage contains the value.  The value of an option that was not given has no
 * meaning. */
static bool is_told(const struct opt *o, const void *options)
{
    return o->always || o->type == OPT_FLAG || opt_end(o)->type != OPT_MARKS ||
           opt_is_given(o, options);
}

/* Returns true if *value is the default of an option with `always`.  Returns false if the
 * program chooses the default (`usual` is ""), because such a default may differ from run to
 * run. */
static bool is_usual(const struct opt *o, const void *value)
{
    union {
        int64_t whole;
        double real[OPT_REALS_MAX];
        const char *text;
        int choice;
    } usual = {0};
    struct opt alone = *o;
    alone.offset = 0;
    if (!o->always || (o->usual && !*o->usual))
        return false;
    if (o->usual && opt_store(&alone, &usual, o->usual, NULL))
        return false;
    switch (o->type) {
    case OPT_INT:
        return *(const int64_t *)value == usual.whole;
    case OPT_REAL:
        return memcmp(value, usual.real, sizeof *usual.real) == 0;
    case OPT_REALS:
        return memcmp(value, usual.real, (size_t)o->count * sizeof *usual.real) == 0;
    case OPT_CHOICE:
        return *(const int *)value == usual.choice;
    case OPT_TEXT:
        return usual.text && strcmp(*(const char *const *)value, usual.text) == 0;
    default:
        return false;
    }
}

/* Returns true if the option was given, with a value other than its default. */
static bool is_set(const struct opt *o, const void *options)
{
    return opt_is_given(o, options) && !is_usual(o, (const char *)options + o->offset);
}

size_t opt_lineage(const struct opt *table, const void *options, char *text, size_t size)
{
    char *buffer = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&buffer, &length);
    if (!out)
        return 0;
    for (const struct opt *o = table; o && (o->name || o->doc); o++) {
        if (!(o->flags & OPT_BYTES) || (o->flags & OPT_WHEN_SET && !is_set(o, options)))
            continue;
        fprintf(out, "%s=", o->name);
        if (is_told(o, options))
            lineage_value(out, o, (const char *)options + o->offset);
        fputc('\n', out);
    }
    (void)fclose(out);
    const size_t kept = length < size ? length : size ? size - 1 : 0;
    if (size) {
        memcpy(text, buffer, kept);
        text[kept] = 0;
    }
    free(buffer);
    return length;
}

/* --- words --------------------------------------------------------------- */

/* Returns true if frames depend on an option: it has the flag OPT_BYTES or OPT_CONTENT. */
static bool opt_matters(const struct opt *o)
{
    return o->flags & (OPT_BYTES | OPT_CONTENT);
}

/* Appends the word "--NAME=VALUE" to `text`, or "--NAME" if `value` is NULL.  Returns false if
 * `text` is too small for it. */
static bool append_word(char *text, size_t size, const char *name, const char *value)
{
    char *word = mem_text(value ? "--%s=%s" : "--%s", name, value ? value : "");
    const bool good = words_append(text, size, word);
    free(word);
    return good;
}

/* Appends the word of an option that is neither a flag nor a text.  Returns false if there is no
 * room or no memory. */
static bool append_value(const struct opt *o, const void *value, char *text, size_t size)
{
    char *word = NULL;
    size_t length;
    FILE *out = open_memstream(&word, &length);
    if (!out)
        return false;
    lineage_value(out, o, value);
    (void)fclose(out);
    const bool good = word && append_word(text, size, o->name, word);
    free(word);
    return good;
}

static bool append_option(const struct opt *o, const void *options, char *text, size_t size)
{
    const void *value = (const char *)options + o->offset;
    if (!is_set(o, options))
        return true;
    if (o->type == OPT_FLAG)
        return append_word(text, size, o->name, NULL);
    if (o->type == OPT_TEXT)
        return append_word(text, size, o->name, input_given(*(const char *const *)value));
    if (o->type != OPT_TEXTS)
        return append_value(o, value, text, size);
    const struct opt_texts *texts = value;
    bool good = true;
    for (size_t i = 0; i < texts->count && good; i++)
        good = append_word(text, size, o->name, texts->text[i]);
    return good;
}

bool opt_words(const struct opt *table, const void *options, char *text, size_t size)
{
    bool good = true;
    text[0] = 0;
    for (const struct opt *o = table; good && o && (o->name || o->doc); o++)
        if (opt_matters(o))
            good = append_option(o, options, text, size);
    return good;
}

/* Returns true if `word` gives the option, as --NAME or --NAME=VALUE. */
static bool word_gives(const struct opt *o, const char *word)
{
    const size_t length = o->name ? strlen(o->name) : 0;
    return length && strncmp(word, "--", 2) == 0 && strncmp(word + 2, o->name, length) == 0 &&
           (!word[2 + length] || word[2 + length] == '=');
}

/* Writes the words of opt_words, and the values that the program chose, to text[size].  Returns
 * false if the words do not fit or if memory runs out. */
static bool merge_chosen(const struct opt *table, const void *options, char *const *words,
                         size_t count, char *text, size_t size)
{
    bool good = true;
    size_t i = 0;
    text[0] = 0;
    for (const struct opt *o = table; good && o && (o->name || o->doc); o++) {
        const bool chosen = o->chosen_without && opt_is_given(o, options) &&
                            !opt_given(table, options, o->chosen_without);
        if (chosen && !(i < count && word_gives(o, words[i])))
            good = append_option(o, options, text, size);
        while (good && i < count && word_gives(o, words[i]))
            good = words_append(text, size, words[i++]);
    }
    return good && i == count;
}

bool opt_add_chosen(const struct opt *table, const void *options, char *text, size_t size)
{
    enum { WORDS_MAX = 256 };
    char *copy = mem_copy(text, strlen(text) + 1, 1), *merged = mem_array(size, 1);
    char *words[WORDS_MAX];
    size_t count = 0;
    const bool good = (!*copy || words_split(copy, words, WORDS_MAX, &count)) &&
                      merge_chosen(table, options, words, count, merged, size);
    if (good)
        memcpy(text, merged, strlen(merged) + 1);
    mem_free(copy);
    mem_free(merged);
    return good;
}

enum status opt_restrict(const struct opt *table, const char *also, int argc, char *const *argv,
                         struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
        const struct opt *o = length ? opt_find(table, word + 2, length) : NULL;
        bool good = o && opt_matters(o);
        for (const char *name = also; !good && *name; name += strspn(name, " ")) {
            good = length && strcspn(name, " ") == length && !strncmp(name, word + 2, length);
            name += strcspn(name, " ");
        }
        if (!good)
            return error_set(e, STATUS_USAGE,
                             "--restrict does not allow '%.60s', because that option does not "
                             "decide what frames contain",
                             word);
    }
    return STATUS_OK;
}
