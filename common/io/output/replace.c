#include "io/output/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "io/output/template.h"

/* End of a temporary name, and number of its last characters that mkstemp replaces by random
 * ones. */
#define REPLACE_SUFFIX ".part-XXXXXX"
enum { REPLACE_RANDOM = 6 };

static void forget(struct replace *r)
{
    free(r->path);
    free(r->temporary);
    *r = (struct replace){0};
}

/* Locks a new file, and returns true if another process has already removed the file.  Another
 * process may mistake a new file for a leftover until the file is locked.  The lock is a shared
 * one, because it is still held for a moment after the file has got its final name, when others
 * may read the file. */
static bool is_gone(int file)
{
    struct stat st;
    (void)flock(file, LOCK_SH);
    return fstat(file, &st) == 0 && st.st_nlink == 0;
}

/* Creates a new file with the name r->temporary, and locks it if the file system has locks.
 * Returns its descriptor, or -1 with errno. */
static int make_temporary(struct replace *r)
{
    int file;
    while (true) {
        if (asprintf(&r->temporary, "%s" REPLACE_SUFFIX, r->path) < 0) {
            r->temporary = NULL;
            return -1;
        }
        file = steady_make(r->temporary);
        if (file >= 0 && !is_gone(file))
            return file;
        free(r->temporary);
        r->temporary = NULL;
        if (file < 0)
            return -1;
        close(file);
    }
}

/* Opens a new file in the folder of the final one, with the permissions of a regular file. */
static FILE *open_temporary(struct replace *r)
{
    int file = make_temporary(r);
    if (file < 0)
        return NULL;
    mode_t mask = umask(0);
    umask(mask);
    FILE *stream = fchmod(file, 0666 & ~mask) == 0 ? steady_stream(file, "wb") : NULL;
    r->file = file;
    if (!stream) {
        int cause = errno;
        close(file);
        unlink(r->temporary);
        errno = cause;
    }
    return stream;
}

enum status replace_open(struct replace *r, const char *path, struct error *e)
{
    *r = (struct replace){.path = strdup(path)};
    if (!r->path)
        return error_memory(e, "file name");
    const bool special = target_is_special(path);
    int file = -1;
    const enum status s = special ? target_open(path, O_TRUNC, &file, e) : STATUS_OK;
    if (!s)
        r->stream = special ? steady_stream(file, "wb") : open_temporary(r);
    if (special)
        r->file = file;
    if (r->stream)
        return STATUS_OK;
    if (!s)
        error_errno(e, STATUS_FAILED, "%s: cannot create", path);
    if (file >= 0)
        (void)close(file);
    forget(r);
    return STATUS_FAILED;
}

bool replace_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int file = folder ? steady_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    free(folder);
    bool done = file >= 0 && steady_sync(file) == 0;
    if (file >= 0)
        close(file);
    return done;
}

static enum status cannot_write(const struct replace *r, struct error *e)
{
    errno = errno ? errno : EIO;
    return error_errno(e, STATUS_FAILED, "%s: cannot write", r->path);
}

enum status replace_flush(struct replace *r, struct error *e)
{
    errno = 0;
    /* after a failed write, flushing fails again and sets errno */
    r->flushed = fflush(r->stream) == 0 && !ferror(r->stream) &&
                 (!r->sync || !r->temporary || steady_sync(r->file) == 0);
    return r->flushed ? STATUS_OK : cannot_write(r, e);
}

/* Returns true if the existing file can be replaced without loss: the new file begins with the
 * whole content of the existing one. */
static bool loses_nothing(const struct replace *r)
{
    FILE *old = fopen(r->path, "rbe"), *new = fopen(r->temporary, "rbe");
    bool same = old && new;
    for (int c = 0; same && (c = getc(old)) != EOF;)
        same = c == getc(new);
    same = same && !ferror(old);
    if (old)
        (void)fclose(old);
    if (new)
        (void)fclose(new);
    return same;
}

static enum status give_name(const struct replace *r, struct error *e)
{
    errno = 0;
    if (r->guarded) {
        if (target_rename_new(r->temporary, r->path) == 0)
            return STATUS_OK;
        if (errno != EEXIST)
            return cannot_write(r, e);
        if (!loses_nothing(r))
            return replace_refuse(r->path, e);
    }
    return steady_rename(r->temporary, r->path) == 0 ? STATUS_OK : cannot_write(r, e);
}

enum status replace_refuse(const char *path, struct error *e)
{
    const enum status s = target_check(path, e);  // no folder is ever replaced
    return s ? s
             : error_set(e, STATUS_FAILED,
                         "%s exists and was not written by this run. Use --overwrite to replace "
                         "it, or another name",
                         path);
}

enum status replace_commit(struct replace *r, struct error *e)
{
    enum status s = r->flushed ? STATUS_OK : replace_flush(r, e);
    const int locked = dup(r->file);  // keeps the lock until the file has its final name
    errno = 0;
    if (fclose(r->stream) != 0 && s == STATUS_OK)
        s = cannot_write(r, e);
    if (s == STATUS_OK && r->temporary)
        s = give_name(r, e);
    if (s && r->temporary)
        unlink(r->temporary);
    if (locked >= 0)
        (void)close(locked);
    errno = 0;
    if (s == STATUS_OK && r->temporary && r->sync && !replace_sync_folder(r->path))
        s = cannot_write(r, e);
    forget(r);
    return s;
}

void replace_abort(struct replace *r)
{
    if (r->stream)
        fclose(r->stream);
    if (r->temporary)
        unlink(r->temporary);
    forget(r);
}

/* --- temporary files that killed processes left --------------------------- */

/* Returns true if `name`, a file in the folder of the template, is a temporary name of a numbered
 * file, or of a derivative image that is written with it. */
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

/* Removes a temporary file if no process holds a lock on it.  A process that writes a temporary
 * file holds such a lock. */
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
