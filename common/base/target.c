#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/steady.h"

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
        return error_set(e, STATUS_FAILED, "%s: is a folder, must be a file", path);
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

enum status target_check_in_place(const char *path, struct error *e)
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
                : error_set(e, STATUS_FAILED, "%s: is there and is no %s; remove it first", path,
                            what);
}

/* A named pipe without a reader. */
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
        return error_set(e, STATUS_FAILED, "%s: nobody reads this pipe", path);
    if (*file < 0 || fcntl(*file, F_SETFL, fcntl(*file, F_GETFL) & ~O_NONBLOCK))
        return error_errno(e, STATUS_FAILED, "%s: cannot create", path);
    return STATUS_OK;
}

static enum status cannot_write(const char *path, struct error *e)
{
    return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

/* Writes all and closes; -1 with errno when that fails. */
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
    // nothing, rather than a half; the error is already known, so a second one changes nothing
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

/* Takes the `part` of a line away that is the end of the file, unless somebody has written since;
 * and the file with it, if this process made it for the line. */
static void take_away(int file, const char *path, off_t part, bool made)
{
    struct stat st;
    if (fstat(file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < part)
        return;
    if (part > 0 && steady_truncate(file, st.st_size - part) != 0)
        return;
    if (made && st.st_size == part)
        (void)unlink(path);
}

enum status target_append(const char *path, const char *line, size_t length, struct error *e)
{
    int file;
    const bool made = access(path, F_OK) != 0;
    if (target_open(path, O_CREAT | O_APPEND, &file, e))
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
