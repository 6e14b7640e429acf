#include "io/frame_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "io/frame_index_read.h"

enum { TAIL_MAX = 1 << 16 };  // bytes; longer than any line

static int compare(const void *a, const void *b)
{
    const uint64_t x = ((const struct listed *)a)->id, y = ((const struct listed *)b)->id;
    return (x > y) - (x < y);
}

static enum status remember(struct frame_index *x, struct listed listed, struct error *e)
{
    struct listed *entry = malloc(sizeof *entry);
    struct listed **found = NULL;
    if (entry) {
        *entry = listed;
        found = tsearch(entry, &x->entries, compare);
    }
    if (!found) {
        free(entry);
        return error_memory(e, "the index");
    }
    if (*found != entry) {
        **found = listed;
        free(entry);
    }
    return STATUS_OK;
}

/* Removes an unfinished last line of `size` bytes; the file is locked. */
static bool remove_torn(int file, off_t *size)
{
    char tail[TAIL_MAX];
    const size_t want = *size < TAIL_MAX ? (size_t)*size : TAIL_MAX;
    const ssize_t n = pread(file, tail, want, *size - (off_t)want);
    if (n != (ssize_t)want)
        return n >= 0;  // a device
    size_t torn = 0;
    while (torn < want && tail[want - 1 - torn] != '\n')
        torn++;
    *size -= (off_t)torn;
    return !torn || ftruncate(file, *size) == 0;
}

/* Appends whole lines, behind whole lines; the file is locked.  The first lines come before them in
 * a new file. */
static enum status append_locked(struct frame_index *x, const char *line, size_t length,
                                 struct error *e)
{
    struct stat st;
    if (fstat(x->file, &st) || !remove_torn(x->file, &st.st_size))
        return error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    if (!st.st_size && line != x->head) {
        const enum status s = append_locked(x, x->head, strlen(x->head), e);
        return s ? s : append_locked(x, line, length, e);
    }
    errno = 0;
    const ssize_t n = write(x->file, line, length);
    if (n == (ssize_t)length && (!x->sync || fsync(x->file) == 0))
        return STATUS_OK;
    if (n >= 0 && (size_t)n < length)
        errno = ENOSPC;
    error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    /* Should this fail too, the next reader removes the unfinished line. */
    if (n > 0 && ftruncate(x->file, st.st_size))
        errno = 0;
    return STATUS_FAILED;
}

/* Opens the file first where that is due. */
static enum status append(struct frame_index *x, const char *line, size_t length, struct error *e)
{
    if (x->file < 0)
        x->file = open(x->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (x->file < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot create", x->path);
    (void)flock(x->file, LOCK_EX);  // others may share it; where it cannot be locked nobody does
    struct stat st;
    enum status s = STATUS_OK;
    if (x->anew && fstat(x->file, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(x->file, 0))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    x->anew = false;
    if (s == STATUS_OK)
        s = append_locked(x, line, length, e);
    (void)flock(x->file, LOCK_UN);
    return s;
}

/* Reads it, and removes an unfinished end, or all of it when there is only an unfinished head. */
static enum status take_locked(struct frame_index *x, const struct frame_index_settings *settings,
                               struct error *e)
{
    const int copy = fcntl(x->file, F_DUPFD_CLOEXEC, 0);
    struct index_lines l = {.in = copy < 0 ? NULL : fdopen(copy, "r"), .path = x->path};
    if (!l.in)
        return error_errno(e, STATUS_FAILED, "%s: cannot read", x->path);
    bool more = false;
    enum status s = index_begin(&l, settings, &more, e);
    while (more && s == STATUS_OK) {
        struct listed listed;
        s = index_next(&l, &listed, &more, e);
        if (s == STATUS_OK)
            s = remember(x, listed, e);
    }
    struct stat st;
    const bool restart = l.torn && !x->entries;
    x->no_hits = l.no_hits && !restart;
    if (s == STATUS_OK && l.torn &&
        (restart ? ftruncate(x->file, 0) != 0
                 : fstat(x->file, &st) || !remove_torn(x->file, &st.st_size)))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    free(l.line);
    (void)fclose(l.in);
    return s;
}

/* Takes in an existing index. */
static enum status take_in(struct frame_index *x, const struct frame_index_settings *settings,
                           struct error *e)
{
    x->file = open(x->path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (x->file < 0)
        return errno == ENOENT ? STATUS_OK
                               : error_errno(e, STATUS_FAILED, "%s: cannot open", x->path);
    (void)flock(x->file, LOCK_EX);
    const enum status s = take_locked(x, settings, e);
    (void)flock(x->file, LOCK_UN);
    return s;
}

enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e)
{
    *x = (struct frame_index){.path = strdup(path),
                              .head = index_head(settings),
                              .file = -1,
                              .anew = settings->overwrite && !settings->resume,
                              .sync = settings->sync};
    if (!x->path || !x->head)
        return error_memory(e, "the index");
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is a folder, must be a file", path);
    if (x->anew)
        return STATUS_OK;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is no regular file, as an index must be", path);
    const enum status s = take_in(x, settings, e);
    if (s == STATUS_OK || !settings->overwrite)
        return s;
    x->anew = true;
    x->no_hits = false;
    tdestroy(x->entries, free);
    x->entries = NULL;
    return STATUS_OK;
}

static const struct listed *find(const struct frame_index *x, uint64_t id)
{
    const struct listed key = {.id = id};
    struct listed *const *found = tfind(&key, &x->entries, compare);
    return found ? *found : NULL;
}

enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e)
{
    const struct listed *found = find(x, id);
    if (!found || found->crc == crc)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "%s: frame %" PRIu64 " came with other pixels before (checksum %08" PRIx32
                     ", now %08" PRIx32 "): the same recipe must give the same bytes",
                     x->path, id, found->crc, crc);
}

enum status frame_index_add(struct frame_index *x, const struct index_entry *entry, struct error *e)
{
    enum status s = frame_index_check(x, entry->id, entry->crc, e);
    if (s || frame_index_has(x, entry->id, entry->names, entry->bytes))
        return s;
    char *line;
    const char *hit = x->no_hits ? "" : entry->hit ? INDEX_HIT : INDEX_BLANK;
    const int length = asprintf(&line, "%" PRIu64 "\t%08" PRIx32 "\t%" PRIu64 "\t%s%s\n", entry->id,
                                entry->crc, entry->bytes, hit, entry->names);
    if (length < 0)
        return error_memory(e, "a line of the index");
    s = append(x, line, (size_t)length, e);
    free(line);
    const struct listed listed = {entry->id, entry->bytes, entry->crc,
                                  hash_text(HASH_START, entry->names)};
    return s ? s : remember(x, listed, e);
}

struct collector {
    struct id_set *ids;
    bool failed;
};

static void collect(const void *node, VISIT visit, void *collector)
{
    const struct listed *const *listed = node;
    struct collector *c = collector;
    if ((visit == postorder || visit == leaf) && !id_set_add(c->ids, (*listed)->id))
        c->failed = true;
}

enum status frame_index_ids(const struct frame_index *x, struct id_set *ids, struct error *e)
{
    struct collector c = {.ids = ids};
    twalk_r(x->entries, collect, &c);
    return c.failed ? error_memory(e, "the index") : STATUS_OK;
}

bool frame_index_has(const struct frame_index *x, uint64_t id, const char *names, uint64_t bytes)
{
    const struct listed *found = find(x, id);
    return found && found->bytes == bytes && found->names == hash_text(HASH_START, names);
}

void frame_index_close(struct frame_index *x)
{
    if (x->path && x->file >= 0)
        (void)close(x->file);
    tdestroy(x->entries, free);
    free(x->path);
    free(x->head);
    *x = (struct frame_index){.file = -1};
}
