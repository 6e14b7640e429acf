/* Builds command lines. */
#include "run/pipeline/argv.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void argv_add(struct argv *w, char *word)
{
    /* room for the NULL, and for the extra word of a restart */
    char **list = mem_grow(w->list, w->count, 3, sizeof *list, &w->capacity);
    w->list = list ? list : w->list;
    if (!word || !list || w->failed) {
        w->failed = true;
        mem_free(word);
        return;
    }
    w->list[w->count++] = word;
}

char *argv_join(const char *a, const char *b, const char *c, const char *d)
{
    const size_t size = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = mem_array(size, 1);
    if (text)
        (void)snprintf(text, size, "%s%s%s%s", a, b, c, d);
    return text;
}

void argv_add_words(struct argv *w, const char *text)
{
    while (*(text += strspn(text, " \t"))) {
        const size_t length = strcspn(text, " \t");
        char *word = mem_array(length + 1, 1);
        if (word)
            memcpy(word, text, length);
        argv_add(w, word);
        text += length;
    }
}
