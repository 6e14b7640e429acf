/* Creates and removes the working folder of a run. */
#include "run/hosts/workdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status workdir_make(const char *path, int *made, struct error *e)
{
    char part[4096];
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        if (snprintf(part, sizeof part, "%.*s", (int)(end - path), path) >= (int)sizeof part)
            errno = ENAMETOOLONG;
        else if (mkdir(part, 0777) == 0 && ++*made)
            continue;
        else if (errno == EEXIST)
            continue;
        return error_errno(e, STATUS_FAILED, "--workdir=%.200s", path);
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    else if (access(path, W_OK | X_OK) == 0)
        return STATUS_OK;
    return error_errno(e, STATUS_FAILED, "--workdir=%.200s", path);
}

void workdir_remove(const char *path, int made)
{
    char part[4096];
    (void)snprintf(part, sizeof part, "%s", path);
    for (size_t length = strlen(part); made > 0 && rmdir(part) == 0; made--) {
        while (length && part[length - 1] == '/')
            length--;
        while (length && part[length - 1] != '/')
            length--;
        part[length] = 0;
    }
}
