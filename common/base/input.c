#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/steady.h"

enum { PATIENCE_MS = 1000 };

/* A path that was put together. */
struct made {
    struct made *next;
    size_t given_at;  // where the name begins in it
    char path[];
};

static _Thread_local struct made *all;

/* FOLDER/GIVEN; NULL when memory is out. */
static const char *join(const char *folder, const char *given)
{
    const size_t size = strlen(folder) + strlen(given) + 2;
    struct made *m = malloc(sizeof *m + size);
    if (!m)
        return NULL;
    *m = (struct made){.next = all, .given_at = strlen(folder) + 1};
    (void)snprintf(m->path, size, "%s/%s", folder, given);
    all = m;
    return m->path;
}

const char *input_path(const char *given)
{
    const char *from = getenv(INPUT_FROM), *beside = getenv(INPUT_BESIDE);
    if (*given == '/')
        return given;
    const char *path = from && *from ? join(from, given) : given;
    if (!path || !beside || !*beside || access(path, F_OK) == 0)
        return path;
    const char *other = join(beside, given);
    return other && access(other, F_OK) == 0 ? other : path;
}

const char *input_given(const char *path)
{
    for (const struct made *m = all; m; m = m->next)
        if (m->path == path)
            return m->path + m->given_at;
    return path;
}

void input_seen(const char *path, char *text, size_t size)
{
    const char *from = getenv(INPUT_FROM);
    char here[PATH_MAX];
    const size_t length = from ? strlen(from) : 0;
    if (!length || *path == '/' || !getcwd(here, sizeof here))
        (void)snprintf(text, size, "%s", path);
    else if (strncmp(here, from, length) == 0 && here[length] == '/')
        (void)snprintf(text, size, "%s/%s", here + length + 1, path);
    else
        (void)snprintf(text, size, "%s/%s", here, path);
}

/* Whether something can be read, or the writer has left, within that time; -1: for ever. */
static bool await(int file, int ms)
{
    struct pollfd p = {.fd = file, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, ms);
    while (n < 0 && errno == EINTR);
    return n != 0;
}

/* Waits until a pipe has something.  Returns its first byte if that had to be read, else -1. */
static int await_writer(int file, const char *path)
{
    unsigned char byte;
    if (await(file, PATIENCE_MS))
        return -1;
    /* without any writer a pipe is at its end; one that is slow has nothing yet */
    ssize_t n;
    while ((n = read(file, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (n > 0)
        return byte;
    if (n == 0)
        log_line(LOG_WARNING, "%s: nobody writes into this pipe; waiting", path);
    (void)await(file, -1);
    return -1;
}

FILE *input_open(const char *path)
{
    struct stat st;
    const int file = steady_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (file < 0)
        return NULL;
    const bool pipe = fstat(file, &st) == 0 && S_ISFIFO(st.st_mode);
    const int first = pipe ? await_writer(file, path) : -1;
    (void)fcntl(file, F_SETFL, 0);  // reads wait
    FILE *in = steady_stream(file, "rb");
    if (!in)
        (void)close(file);
    else if (first >= 0)
        (void)ungetc(first, in);
    return in;
}
