#include "base/steady.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int steady_open(const char *path, int flags, mode_t mode)
{
    int file;
    while ((file = open(path, flags, mode)) < 0 && errno == EINTR)
        continue;
    return file;
}

/* A failed try leaves a name in the template: the next one must begin as the first did. */
int steady_make(char *template)
{
    static const char end[] = "XXXXXX";
    const size_t length = strlen(template);
    int file;
    while ((file = mkstemp(template)) < 0 && errno == EINTR)
        memcpy(template + length - (sizeof end - 1), end, sizeof end - 1);
    return file;
}

int steady_sync(int file)
{
    int result;
    while ((result = fsync(file)) < 0 && errno == EINTR)
        continue;
    return result;
}

int steady_sync_data(int file)
{
    int result;
    while ((result = fdatasync(file)) < 0 && errno == EINTR)
        continue;
    return result;
}

int steady_truncate(int file, off_t size)
{
    int result;
    while ((result = ftruncate(file, size)) < 0 && errno == EINTR)
        continue;
    return result;
}

int steady_rename(const char *from, const char *to)
{
    int result;
    while ((result = rename(from, to)) < 0 && errno == EINTR)
        continue;
    return result;
}

ssize_t steady_write(int file, const void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = write(file, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return done ? (ssize_t)done : -1;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t steady_read_at(int file, void *to, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = pread(file, (char *)to + done, size - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* --- streams --------------------------------------------------------------- */

/* The number of a file stands in the pointer itself: nothing is to be freed. */
static int file_of(void *cookie)
{
    return (int)(intptr_t)cookie;
}

static ssize_t stream_read(void *cookie, char *to, size_t size)
{
    ssize_t n;
    while ((n = read(file_of(cookie), to, size)) < 0 && errno == EINTR)
        continue;
    return n;
}

/* Such a function says 0 for an error. */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
    const ssize_t n = steady_write(file_of(cookie), bytes, size);
    return n == (ssize_t)size ? n : 0;
}

static int stream_seek(void *cookie, off64_t *offset, int whence)
{
    *offset = lseek(file_of(cookie), *offset, whence);
    return *offset < 0 ? -1 : 0;
}

/* An interrupted close has closed the file. */
static int stream_close(void *cookie)
{
    return close(file_of(cookie)) < 0 && errno != EINTR ? -1 : 0;
}

FILE *steady_stream(int file, const char *mode)
{
    const cookie_io_functions_t functions = {
        .read = stream_read, .write = stream_write, .seek = stream_seek, .close = stream_close};
    return fopencookie((void *)(intptr_t)file, mode, functions);
}
