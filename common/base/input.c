#include "base/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path that was put together. */
struct made {
    struct made *next;
    size_t given_at;  // where the name begins in it
    char path[];
};

static _Thread_local struct made *all;

const char *input_path(const char *given)
{
    const char *from = getenv(INPUT_FROM);
    if (!from || !*from || *given == '/')
        return given;
    const size_t size = strlen(from) + strlen(given) + 2;
    struct made *m = malloc(sizeof *m + size);
    if (!m)
        return NULL;
    *m = (struct made){.next = all, .given_at = strlen(from) + 1};
    (void)snprintf(m->path, size, "%s/%s", from, given);
    all = m;
    return m->path;
}

const char *input_given(const char *path)
{
    for (const struct made *m = all; m; m = m->next)
        if (m->path == path)
            return m->path + m->given_at;
    return path;
}
