#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

/* --- calls that a signal does not interrupt -------------------------------- */

int steady_open(const char *path, int flags, mode_t mode)
{
    int file;
    while ((file = open(path, flags, mode)) < 0 && errno == EINTR)
        continue;
    return file;
}

/* Makes a temporary file as mkstemp does.  A failed attempt leaves a name in the template, so
 * the template is restored before the next attempt. */
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

/* Returns the file descriptor of a stream.  The pointer contains the descriptor itself, so there
 * is nothing to free. */
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

/* Writes all bytes to the file of a stream.  Returns 0 on an error, as the C library expects. */
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

/* Closes the file of a stream.  Returns -1 on an error other than EINTR: a close that was
 * interrupted has closed the file. */
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

/* --- files that are read --------------------------------------------------- */

enum { PATIENCE_MS = 1000 };

/* A path that `join_path` has made, in a list. */
struct made {
    struct made *next;
    size_t given_at;  // offset of the given name in `path`
    char path[];
};

static _Thread_local struct made *all;

/* Returns the path FOLDER/GIVEN, which is never freed; NULL: out of memory. */
static const char *join_path(const char *folder, const char *given)
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
    const char *path = from && *from ? join_path(from, given) : given;
    if (!path || !beside || !*beside || access(path, F_OK) == 0)
        return path;
    const char *other = join_path(beside, given);
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

/* Waits up to `ms` milliseconds (-1: without limit) until the file has data or its writer has
 * closed it.  Returns false after that time. */
static bool await_file(int file, int ms)
{
    struct pollfd p = {.fd = file, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, ms);
    while (n < 0 && errno == EINTR);
    return n != 0;
}

/* Waits until a pipe has data or its writer has closed it.  Returns the first byte if it had to
 * be read to find this out, otherwise -1. */
static int await_writer(int file, const char *path)
{
    unsigned char byte;
    if (await_file(file, PATIENCE_MS))
        return -1;
    /* A read distinguishes the two cases: a pipe without a writer is at its end, and a pipe with
     * a slow writer has no data yet. */
    ssize_t n;
    while ((n = read(file, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (n > 0)
        return byte;
    if (n == 0)
        log_line(LOG_WARNING, "%s: no process writes into this pipe; waiting", path);
    (void)await_file(file, -1);
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
    (void)fcntl(file, F_SETFL, 0);  // reads wait for data again
    FILE *in = steady_stream(file, "rb");
    if (!in)
        (void)close(file);
    else if (first >= 0)
        (void)ungetc(first, in);
    return in;
}

/* --- files that are written ------------------------------------------------ */

bool target_is_special(const char *path)
{
    struct stat st, link;
    if (stat(path, &st) != 0)
        return false;
    const bool names_open = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
    return !S_ISREG(st.st_mode) || (names_open && lstat(path, &link) == 0 && S_ISLNK(link.st_mode));
}

enum status target_check(const char *path, struct error *e)
{
    struct stat st;
    char copy[PATH_MAX];
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s is a folder; expected a file", path);
    if (target_is_special(path) && access(path, W_OK) == 0)
        return STATUS_OK;  // a device is written in place
    if (strlen(path) >= sizeof copy)
        return error_set(e, STATUS_FAILED, "'%.60s...' is too long for a file name", path);
    (void)snprintf(copy, sizeof copy, "%s", path);
    const char *folder = dirname(copy);
    if (access(folder, W_OK | X_OK))
        return error_errno(e, STATUS_FAILED, "%s: cannot write into this folder", folder);
    return STATUS_OK;
}

/* Does the check of target_check for a file that is written in place.  If the file exists and is
 * writable, its folder is not checked. */
static enum status target_check_in_place(const char *path, struct error *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, W_OK) == 0)
        return STATUS_OK;
    return target_check(path, e);
}

enum status target_check_link(const char *path, struct error *e)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) || target_is_special(path))
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "%s: is a symbolic link; expected the name of a file. Remove the link, or "
                     "give the name of the file itself",
                     path);
}

static bool begins_so(FILE *in, const char *const *begins)
{
    char first[64];
    const size_t got = fread(first, 1, sizeof first, in);
    bool good = !got && !ferror(in);
    for (; *begins && !good; begins++)
        good = got >= strlen(*begins) && memcmp(first, *begins, strlen(*begins)) == 0;
    return good;
}

enum status target_check_kind(const char *path, const char *what, const char *const *begins,
                              struct error *e)
{
    struct stat st;
    enum status s = target_check_in_place(path, e);
    if (s == STATUS_OK)
        s = target_check_link(path, e);
    if (s || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return s;
    FILE *in = fopen(path, "rbe");
    const bool good = in && begins_so(in, begins);
    if (in)
        (void)fclose(in);
    return good ? STATUS_OK
                : error_set(e, STATUS_FAILED,
                            "%s exists and is not a %s. Remove it first, or give another name",
                            path, what);
}

/* Returns true if open(2) has just failed because `path` is a named pipe that no process reads. */
static bool is_unread(const char *path)
{
    struct stat st;
    return errno == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

enum status target_open(const char *path, int flags, int *file, struct error *e)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    flags |= O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    for (int left = 100; (*file = steady_open(path, flags, 0666)) < 0 && left && is_unread(path);
         left--)
        (void)nanosleep(&pause, NULL);
    if (*file < 0 && is_unread(path))
        return error_set(e, STATUS_FAILED, "%s: no process reads this pipe", path);
    if (*file < 0 || fcntl(*file, F_SETFL, fcntl(*file, F_GETFL) & ~O_NONBLOCK))
        return error_errno(e, STATUS_FAILED, "%s: cannot create", path);
    return STATUS_OK;
}

static enum status cannot_write(const char *path, struct error *e)
{
    return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

/* Writes all bytes and closes the file.  Returns 0, or -1 with errno on an error. */
static int write_and_close(int file, const void *bytes, size_t length)
{
    const bool written = steady_write(file, bytes, length) == (ssize_t)length;
    const int cause = errno;
    const bool closed = close(file) == 0;
    if (written)
        return closed ? 0 : -1;
    errno = cause;
    return -1;
}

static enum status write_in_place(const char *path, const void *bytes, size_t length,
                                  struct error *e)
{
    int file;
    if (target_open(path, O_TRUNC, &file, e))
        return STATUS_FAILED;
    if (write_and_close(file, bytes, length) == 0)
        return STATUS_OK;
    (void)cannot_write(path, e);
    // leaves an empty file instead of an incomplete one; an error of truncate is ignored, because
    // the first error is reported
    if (!target_is_special(path) && truncate(path, 0))
        errno = 0;
    return STATUS_FAILED;
}

enum status target_replace(const char *path, const void *bytes, size_t length, struct error *e)
{
    struct stat st;
    char name[PATH_MAX];
    if (target_is_special(path))
        return write_in_place(path, bytes, length, e);
    if ((size_t)snprintf(name, sizeof name, "%s.part-XXXXXX", path) >= sizeof name)
        return error_set(e, STATUS_FAILED, "'%.60s...' is too long for a file name", path);
    const bool exists = stat(path, &st) == 0;
    const int file = steady_make(name);
    if (file < 0 && exists && (errno == EACCES || errno == EPERM))
        return write_in_place(path, bytes, length, e);
    if (file < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot create", path);
    const mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(file, exists ? st.st_mode & 0777 : 0666 & ~mask);
    if (write_and_close(file, bytes, length) == 0 && steady_rename(name, path) == 0)
        return STATUS_OK;
    (void)cannot_write(path, e);
    (void)unlink(name);
    return STATUS_FAILED;
}

/* Locks a file against other processes that append lines to it.  Waits for at most one second, and
 * goes on without a lock where files cannot be locked. */
static void lock_lines(int file)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int left = 100; flock(file, LOCK_EX | LOCK_NB) != 0 && left; left--) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return;
        (void)nanosleep(&pause, NULL);
    }
}

/* Opens and locks a file for appending a line.  Opens the file again if another process has
 * removed it meanwhile (take_away).  *made: this process made the file. */
static enum status open_lines(const char *path, int *file, bool *made, struct error *e)
{
    struct stat st;
    for (int left = 3;; left--) {
        *made = access(path, F_OK) != 0;
        if (target_open(path, O_CREAT | O_APPEND, file, e))
            return STATUS_FAILED;
        lock_lines(*file);
        if (fstat(*file, &st) != 0 || st.st_nlink > 0 || !left)
            return STATUS_OK;
        (void)close(*file);
    }
}

/* Removes an incomplete line of `part` bytes from the end of the file, after writing the line
 * has failed.  The bytes stay if a process that does not lock the file has appended more.  Also
 * removes the file if this process made it for the line (`made`) and it is otherwise empty. */
static void take_away(int file, const char *path, off_t part, bool made)
{
    struct stat st;
    const off_t end = part > 0 ? lseek(file, 0, SEEK_CUR) : part;
    if (fstat(file, &st) != 0 || !S_ISREG(st.st_mode) || (part > 0 && st.st_size != end))
        return;
    if (part > 0 && steady_truncate(file, end - part) != 0)
        return;
    if (made && st.st_size == part)
        (void)unlink(path);
}

enum status target_append(const char *path, const char *line, size_t length, struct error *e)
{
    int file;
    bool made;
    if (open_lines(path, &file, &made, e))
        return STATUS_FAILED;
    const ssize_t written = steady_write(file, line, length);
    if (written != (ssize_t)length) {
        (void)cannot_write(path, e);
        take_away(file, path, written > 0 ? written : 0, made);
        (void)close(file);
        return STATUS_FAILED;
    }
    return close(file) == 0 ? STATUS_OK : cannot_write(path, e);
}

static bool lacks(int cause)
{
    return cause == ENOSYS || cause == EINVAL || cause == EOPNOTSUPP || cause == EPERM;
}

int target_rename_new(const char *from, const char *to)
{
    struct stat st;
    int renamed;
    while ((renamed = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) < 0 &&
           errno == EINTR)
        continue;
    if (renamed == 0)
        return 0;
    if (!lacks(errno))
        return -1;
    if (link(from, to) == 0)
        return unlink(from);
    if (!lacks(errno))
        return -1;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return steady_rename(from, to);
}

/* --- files that are not finished ------------------------------------------- */

struct unfinished {
    struct unfinished *next;
    pid_t owner;  // a child process inherits the list, but not the files
    char path[];
};

static struct unfinished *unfinished;
static pthread_mutex_t unfinished_lock = PTHREAD_MUTEX_INITIALIZER;

void target_unfinished(const char *path)
{
    const size_t size = strlen(path) + 1;
    struct unfinished *u = malloc(sizeof *u + size);
    if (!u)
        return;  // a next, larger request for memory will report this
    u->owner = getpid();
    memcpy(u->path, path, size);
    (void)pthread_mutex_lock(&unfinished_lock);
    u->next = unfinished;
    unfinished = u;
    (void)pthread_mutex_unlock(&unfinished_lock);
}

void target_finished(const char *path)
{
    (void)pthread_mutex_lock(&unfinished_lock);
    struct unfinished **at = &unfinished, *found;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    if ((found = *at))
        *at = found->next;
    (void)pthread_mutex_unlock(&unfinished_lock);
    free(found);
}

/* A lock that the parent held while it made this process is never released here, so that the list
 * is only tried. */
void target_drop_unfinished(void)
{
    enum { TRIES = 1000 };
    for (int i = 0; pthread_mutex_trylock(&unfinished_lock) != 0; i++)
        if (i == TRIES || usleep(1000))
            return;
    for (const struct unfinished *u = unfinished; u; u = u->next)
        if (u->owner == getpid())
            (void)unlink(u->path);
}

/* --- folders --------------------------------------------------------------- */

enum { OPEN_FILES_MAX = 16 };

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *place)
{
    (void)what;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

void folder_remove(const char *path)
{
    (void)nftw(path, remove_one, OPEN_FILES_MAX, FTW_DEPTH | FTW_PHYS);
}
