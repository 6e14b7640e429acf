/* Which words of a command line decide what frames hold. */
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "base/words.h"

/* The option of a word; NULL when it is none of the table. */
static const struct opt *find(const struct opt *table, const char *word, size_t length)
{
    for (const struct opt *o = table; o && (o->name || o->doc); o++)
        if (o->name && strlen(o->name) == length && strncmp(o->name, word, length) == 0)
            return o;
    return NULL;
}

bool opt_matters(const struct opt *o)
{
    return o->flags & (OPT_BYTES | OPT_CONTENT);
}

/* "--NAME VALUE" as one word; false when it is too long. */
static bool join(char *text, size_t size, const char *name, const char *value)
{
    char word[4096];
    const int n = snprintf(word, sizeof word, value ? "%s=%s" : "%s", name, value ? value : "");
    return (size_t)n < sizeof word && words_append(text, size, word);
}

bool opt_words(const struct opt *table, int argc, char *const *argv, char *text, size_t size)
{
    text[0] = 0;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        const char *word = argv[i];
        const size_t length = strcspn(word + 2, "=");
        const struct opt *o = find(table, word + 2, length);
        const bool two = !word[2 + length] && o && o->type != OPT_FLAG;
        if (o && opt_matters(o) && !join(text, size, word, two ? argv[i + 1] : NULL))
            return false;
        i += two;
    }
    return true;
}

enum status opt_restrict(const struct opt *table, const char *also, int argc, char *const *argv,
                         struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
        const struct opt *o = length ? find(table, word + 2, length) : NULL;
        bool good = o && opt_matters(o);
        for (const char *name = also; !good && *name; name += strspn(name, " ")) {
            good = length && strcspn(name, " ") == length && !strncmp(name, word + 2, length);
            name += strcspn(name, " ");
        }
        if (!good)
            return error_set(e, STATUS_USAGE,
                             "--restrict: '%.60s' does not decide what frames hold", word);
    }
    return STATUS_OK;
}
