#include "io/output/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/output/replace.h"

/* True when `name`, in the folder of the template, is one of its names, or that of a plane beside
 * it, with a temporary end. */
static bool is_temporary(const struct template *t, const char *name)
{
    const size_t length = strlen(name), end = strlen(REPLACE_SUFFIX);
    const char *slash = strrchr(t->text, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - t->text) : 0;
    const size_t before = (template_is_numbered(t) ? t->start : strlen(t->text)) - folder;
    const char *behind = template_is_numbered(t) ? t->text + t->end : "";
    const size_t fixed = before + strlen(behind) + end;
    if (length < fixed || strncmp(name, t->text + folder, before) != 0 ||
        strncmp(name + length - end, REPLACE_SUFFIX, end - REPLACE_RANDOM) != 0 ||
        strncmp(name + length - end - strlen(behind), behind, strlen(behind)) != 0)
        return false;
    const size_t number = strspn(name + before, " 0123456789");
    return number >= length - fixed || (number > 0 && name[before + number] == '.');
}

/* Who writes to a file holds a lock on it (replace.c). */
static void remove_unlocked(int folder, const char *name)
{
    const int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    (void)close(file);
}

void leftovers_remove(const struct template *t)
{
    char path[TEMPLATE_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", t->text);
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = 0;
    DIR *folder = opendir(slash ? path : ".");
    if (!folder)
        return;
    for (const struct dirent *d; (d = readdir(folder));)
        if (is_temporary(t, d->d_name))
            remove_unlocked(dirfd(folder), d->d_name);
    (void)closedir(folder);
}
