#include "io/output/frame_index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "io/output/frame_index_lines.h"
#include "io/output/writer_lock.h"

enum {
    TAIL_MAX = 1 << 16,  // bytes; longer than any line of a frame
    TITLE_MAX = 64,      // bytes; longer than any first line
    VERSION_AT = 12,     // position of the version in the first line
};

/* --- the file and its lock ----------------------------------------------- */

/* Returns true if the file at the path is the one that is open. */
static bool is_in_place(const struct frame_index *x)
{
    struct stat at, open;
    return stat(x->path, &at) == 0 && fstat(x->file, &open) == 0 && at.st_dev == open.st_dev &&
           at.st_ino == open.st_ino;
}

void index_file_close(struct frame_index *x)
{
    if (x->file >= 0)
        (void)close(x->file);
    x->file = -1;
}

enum status index_file_open(struct frame_index *x, struct error *e)
{
    static bool warned;
    struct stat st;
    while (true) {
        x->file = steady_open(x->path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (x->file < 0 && errno == ELOOP)  // a link may lead to a file of another program
            return error_set(e, STATUS_FAILED, "%s: is a link; expected a file", x->path);
        if (x->file < 0 || fstat(x->file, &st))
            return error_errno(e, STATUS_FAILED, "%s: cannot open", x->path);
        x->special = !S_ISREG(st.st_mode);
        const enum writer_lock lock = x->special ? WRITER_LOCKED : writer_lock(x->file, x->path, e);
        if (lock == WRITER_BUSY) {
            index_file_close(x);
            return STATUS_FAILED;
        }
        if (lock == WRITER_UNLOCKED && !warned) {
            warned = true;
            log_line(LOG_WARNING,
                     "%s: this file system has no locks. Make sure that no two runs write the same "
                     "frames",
                     x->path);
        }
        if (x->special || is_in_place(x))
            return STATUS_OK;
        index_file_close(x);
    }
}

enum status index_file_lock(struct frame_index *x, struct error *e)
{
    return x->special || writer_lock(x->file, x->path, e) != WRITER_BUSY ? STATUS_OK
                                                                         : STATUS_FAILED;
}

void index_file_unlock(struct frame_index *x)
{
    if (!x->special && x->file >= 0)
        writer_unlock(x->file);
}

bool index_file_is_whole(const struct frame_index *x)
{
    char title[TITLE_MAX];
    struct stat st;
    if (x->special)
        return true;
    if (!is_in_place(x) || fstat(x->file, &st) || st.st_size < x->size)
        return false;
    const ssize_t n = steady_read_at(x->file, title, sizeof title - 1, 0);
    title[n > 0 ? n : 0] = 0;
    return index_is_of(title, x->settings.lineage);
}

/* --- the content of the file ------------------------------------------------------- */

bool index_file_clear(struct frame_index *x)
{
    x->size = 0;
    return x->special || steady_truncate(x->file, 0) == 0;
}

bool index_file_trim(struct frame_index *x)
{
    char tail[TAIL_MAX];
    struct stat st;
    if (x->special)
        return true;
    if (fstat(x->file, &st))
        return false;
    const size_t want = st.st_size < TAIL_MAX ? (size_t)st.st_size : TAIL_MAX;
    if (steady_read_at(x->file, tail, want, st.st_size - (off_t)want) != (ssize_t)want)
        return false;
    size_t torn = 0;
    while (torn < want && tail[want - 1 - torn] != '\n')
        torn++;
    x->size = st.st_size - (off_t)torn;
    return !torn || steady_truncate(x->file, x->size) == 0;
}

enum status index_file_keep(struct frame_index *x, struct error *e)
{
    struct stat st;
    if (x->special)
        return STATUS_OK;
    if (fstat(x->file, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", x->path);
    x->former_size = (size_t)st.st_size;
    x->former = malloc(x->former_size + 1);
    if (!x->former)
        return error_memory(e, "the index");
    if (steady_read_at(x->file, x->former, x->former_size, 0) != st.st_size)
        return error_errno(e, STATUS_FAILED, "%s: cannot read", x->path);
    return index_file_clear(x) ? STATUS_OK
                               : error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
}

enum status index_file_append(struct frame_index *x, const char *line, size_t length,
                              struct error *e)
{
    if (!index_file_trim(x))
        return error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    const off_t before = x->size;
    errno = 0;
    const ssize_t n = steady_write(x->file, line, length);
    if (n == (ssize_t)length && (!x->settings.sync || steady_sync(x->file) == 0)) {
        x->size += x->special ? 0 : n;
        return STATUS_OK;
    }
    if (n >= 0 && (size_t)n < length && !errno)
        errno = ENOSPC;
    error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    /* if this fails too, the next reader removes the incomplete line */
    if (n > 0 && !x->special && steady_truncate(x->file, before))
        errno = 0;
    return STATUS_FAILED;
}

enum status index_file_put_head(struct frame_index *x, struct error *e)
{
    struct stat st;
    x->head[VERSION_AT] = x->no_hits ? '2' : '3';
    if (!x->special && fstat(x->file, &st) == 0 && st.st_size)
        return STATUS_OK;
    return index_file_append(x, x->head, strlen(x->head), e);
}

void index_file_withdraw(struct frame_index *x)
{
    struct stat st;
    if (index_file_lock(x, NULL))
        return;
    if (!x->special && (x->fresh || x->fellows || x->former) && is_in_place(x) &&
        !writer_has_fellow(x->file, x->settings.run) && fstat(x->file, &st) == 0 &&
        st.st_size <= (off_t)strlen(x->head)) {
        const bool put_back =
            x->former_size && steady_truncate(x->file, 0) == 0 &&
            steady_write(x->file, x->former, x->former_size) == (ssize_t)x->former_size;
        if (!put_back)
            (void)unlink(x->path);
    }
    index_file_unlock(x);
}
