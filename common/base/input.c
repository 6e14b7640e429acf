#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum { PATIENCE_MS = 1000 };

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
    const ssize_t n = read(file, &byte, 1);
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
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return NULL;
    const bool pipe = fstat(file, &st) == 0 && S_ISFIFO(st.st_mode);
    const int first = pipe ? await_writer(file, path) : -1;
    (void)fcntl(file, F_SETFL, 0);  // reads wait
    FILE *in = fdopen(file, "rb");
    if (!in)
        (void)close(file);
    else if (first >= 0)
        (void)ungetc(first, in);
    return in;
}
