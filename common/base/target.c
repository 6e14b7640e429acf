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

enum status target_check(const char *path, struct error *e)
{
    struct stat st;
    char copy[PATH_MAX];
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is a folder, must be a file", path);
    if (exists && !S_ISREG(st.st_mode) && access(path, W_OK) == 0)
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
