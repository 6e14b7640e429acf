#include "io/output/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"

/* ---- names --------------------------------------------------------------------------------- */

enum { WIDTH_MAX = 18, NUMBER_MAX = 20, TEMPORARY_MAX = 12, NAME_MAX_BYTES = 255 - TEMPORARY_MAX };

/* Parses the conversion at `text`, which begins with `%`, and sets the width and the fill
 * character.  Returns its length.  0: the conversion is not allowed. */
static size_t parse_conversion(struct template *t, const char *text)
{
    const char *c = text + 1;
    t->fill = *c == '0' ? '0' : ' ';
    c += *c == '0';
    t->width = 0;
    while (*c >= '0' && *c <= '9' && t->width <= WIDTH_MAX)
        t->width = 10 * t->width + (*c++ - '0');
    return *c == 'd' && t->width <= WIDTH_MAX ? (size_t)(c + 1 - text) : 0;
}

enum status template_parse(struct template *t, const char *text, struct error *e)
{
    *t = (struct template){.text = text};
    const char *slash = strrchr(text, '/'), *base = slash ? slash + 1 : text;
    const char *percent = strchr(text, '%');
    if (!*base)
        return error_set(e, STATUS_USAGE, "'%.60s' is not a file name", text);
    /* leave room for the largest number and for a temporary name */
    if (strlen(text) + NUMBER_MAX + TEMPORARY_MAX > TEMPLATE_PATH_MAX ||
        strlen(base) + (percent ? NUMBER_MAX : 0) > NAME_MAX_BYTES)
        return error_set(e, STATUS_USAGE, "'%.60s...' is too long for a name", text);
    if (!percent)
        return STATUS_OK;
    const size_t length = parse_conversion(t, percent);
    if (!length || percent < base || strchr(percent + 1, '%'))
        return error_set(e, STATUS_USAGE,
                         "'%.60s' is not valid; expected one number such as %%04d in the file "
                         "name, and no other %%",
                         text);
    t->start = (size_t)(percent - text);
    t->end = t->start + length;
    return STATUS_OK;
}

void template_name(const struct template *t, uint64_t id, char *name)
{
    char number[NUMBER_MAX + 2] = "";
    if (template_is_numbered(t))
        (void)snprintf(number, sizeof number, t->fill == '0' ? "%0*" PRIu64 : "%*" PRIu64, t->width,
                       id);
    (void)snprintf(name, TEMPLATE_PATH_MAX, "%.*s%s%s", (int)t->start, t->text, number,
                   t->text + t->end);
}

bool template_number(const struct template *t, const char *name, uint64_t *number)
{
    char again[TEMPLATE_PATH_MAX];
    const size_t before = t->start;
    if (!template_is_numbered(t) || strncmp(name, t->text, before) != 0)
        return false;
    const char *digits = name + before + strspn(name + before, " ");
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *number = strtoull(digits, NULL, 10);
    template_name(t, *number, again);
    return !errno && strcmp(again, name) == 0;
}

void template_list(const struct template *t, struct id_set *numbers)
{
    char path[TEMPLATE_PATH_MAX];
    const char *slash = strrchr(t->text, '/');
    const size_t before = slash ? (size_t)(slash + 1 - t->text) : 0;
    struct template own = *t;
    own.text += before;
    own.start -= before;
    own.end -= before;
    (void)snprintf(path, sizeof path, "%.*s.", (int)before, t->text);
    DIR *folder = opendir(path);
    uint64_t number;
    for (const struct dirent *d; folder && (d = readdir(folder));)
        if (template_number(&own, d->d_name, &number))
            id_set_add(numbers, number);
    if (folder)
        (void)closedir(folder);
}

void template_stem(const struct template *t, const char *suffix, char *name)
{
    size_t length = t->start;
    while (length && template_is_numbered(t) && strchr("_-.", t->text[length - 1]))
        length--;
    const bool bare = template_is_numbered(t) && (!length || t->text[length - 1] == '/');
    (void)snprintf(name, TEMPLATE_PATH_MAX, "%.*s%s%s%s", (int)length, t->text,
                   bare ? "frames" : "", t->text + t->end, suffix);
}

/* ---- complete files ------------------------------------------------------------------------ */

/* End of a temporary name, and number of its last characters that mkstemp replaces by random
 * ones. */
#define REPLACE_SUFFIX ".part-XXXXXX"
#define REPLACE_LINKED ".part-linked"  // second name of an adopted file, of the same length
enum { REPLACE_RANDOM = 6 };

/* Frees *r.  Its temporary file has been renamed or removed. */
static void free_names(struct replace *r)
{
    if (r->temporary)
        target_finished(r->temporary);
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
        r->temporary = mem_text("%s" REPLACE_SUFFIX, r->path);
        file = steady_make(r->temporary);
        if (file >= 0 && !is_gone(file)) {
            target_unfinished(r->temporary);
            return file;
        }
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
    *r = (struct replace){.path = mem_text("%s", path)};
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
    free_names(r);
    return STATUS_FAILED;
}

/* Locks the file, so that no other process mistakes its second name for a leftover. */
enum status replace_adopt(struct replace *r, const char *path, const char *temporary, int file,
                          struct error *e)
{
    const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
    *r = (struct replace){
        .path = mem_text("%s", path), .temporary = mem_text("%s", temporary), .adopted = true};
    r->stream = own >= 0 ? steady_stream(own, "wb") : NULL;
    r->file = own;
    (void)flock(file, LOCK_SH);
    if (r->stream)
        return STATUS_OK;
    if (own >= 0)
        (void)close(own);
    free_names(r);
    return error_set(e, STATUS_FAILED, "%s: cannot open it again", temporary);
}

bool replace_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = mem_text("%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    int file = steady_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
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

/* Returns true if the file `longer` begins with the whole content of the file `shorter`. */
static bool begins_with(const char *longer, const char *shorter)
{
    FILE *whole = fopen(longer, "rbe"), *start = fopen(shorter, "rbe");
    bool same = whole && start;
    for (int c = 0; same && (c = getc(start)) != EOF;)
        same = c == getc(whole);
    same = same && !ferror(start);
    if (whole)
        (void)fclose(whole);
    if (start)
        (void)fclose(start);
    return same;
}

bool replace_shortens(const struct replace *r)
{
    return r->temporary && begins_with(r->path, r->temporary) &&
           !begins_with(r->temporary, r->path);
}

/* Renames the file `from` to the final name. */
static enum status rename_file(const struct replace *r, const char *from, struct error *e)
{
    errno = 0;
    if (r->guarded) {
        if (target_rename_new(from, r->path) == 0)
            return STATUS_OK;
        if (errno != EEXIST)
            return cannot_write(r, e);
        if (!begins_with(r->temporary, r->path))
            return replace_refuse(r->path, e);
    }
    return steady_rename(from, r->path) == 0 ? STATUS_OK : cannot_write(r, e);
}

/* Gives an adopted file another temporary name.  Returns that name, which the caller frees.  NULL:
 * the file system has no links. */
static char *add_name(const struct replace *r)
{
    char *name = mem_text("%s" REPLACE_LINKED, r->path);
    (void)unlink(name);
    if (link(r->temporary, name) == 0)
        return name;
    free(name);
    return NULL;
}

static enum status give_name(const struct replace *r, struct error *e)
{
    char *added = r->adopted ? add_name(r) : NULL;
    const enum status s = rename_file(r, added ? added : r->temporary, e);
    if (s && added)
        (void)unlink(added);
    free(added);
    return s;
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
    if (s && r->temporary && !r->adopted)
        unlink(r->temporary);
    if (locked >= 0)
        (void)close(locked);
    errno = 0;
    if (s == STATUS_OK && r->temporary && r->sync && !replace_sync_folder(r->path))
        s = cannot_write(r, e);
    free_names(r);
    return s;
}

void replace_abort(struct replace *r)
{
    if (r->stream)
        fclose(r->stream);
    if (r->temporary && !r->adopted)
        unlink(r->temporary);
    free_names(r);
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
