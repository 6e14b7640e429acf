#include "io/hdf5/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/hash.h"
#include "io/output/output_file.h"
#include "io/output/writer_lock.h"

#define HEADER_MAGIC "braggspl"

/* Header of the file, after SPOOL_FRONT bytes. */
struct header {
    char magic[8];
    char lineage[24];
    uint64_t run;  // number of the run that wrote to the file last
};

/* Offsets of the number of the run, and of the first record. */
enum {
    SPOOL_RUN = SPOOL_FRONT + offsetof(struct header, run),
    SPOOL_BEGIN = SPOOL_FRONT + sizeof(struct header)
};

/* Head of a record. */
struct head {
    uint64_t id, size;  // number of the frame; bytes of the content, which follows the head
    uint32_t crc;       // checksum of the content
    uint32_t check;     // checksum of the members above
};

char *spool_name(const char *path)
{
    return mem_text("%s.part", path);
}

enum status spool_damaged(const struct spool *s, struct error *e)
{
    return error_set(e, STATUS_FAILED, "%s: corrupt. Remove it and run again", s->path);
}

static enum status failed(const struct spool *s, const char *what, struct error *e)
{
    errno = errno ? errno : EIO;
    return error_errno(e, STATUS_FAILED, "%s: cannot %s", s->path, what);
}

static bool read_at(const struct spool *s, void *to, size_t size, uint64_t offset)
{
    for (size_t got = 0; got < size;) {
        const ssize_t n = pread(s->file, (char *)to + got, size - got, (off_t)(offset + got));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_at(const struct spool *s, const void *from, size_t size, uint64_t offset)
{
    for (size_t put = 0; put < size;) {
        const ssize_t n =
            pwrite(s->file, (const char *)from + put, size - put, (off_t)(offset + put));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        put += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Largest number of bytes of one write, and of its pieces.  The system allocates memory for a write
 * in blocks up to its size.  Blocks of 2 MiB may be slow to get: a virtual machine may have
 * returned them to its host. */
enum { WRITE_MAX = 1 << 20, WRITE_PIECES = 16 };

/* Pieces that are being written: the first byte that is left is byte `done` of the first piece. */
struct rest {
    const struct iovec *pieces;
    int count;
    size_t done;
};

/* Takes the bytes for the next write into out[], at most WRITE_MAX.  Returns the number of its
 * pieces; 0: no bytes are left. */
static int take_pieces(struct rest *r, struct iovec out[WRITE_PIECES])
{
    int n = 0;
    for (size_t room = WRITE_MAX; r->count > 0 && room > 0 && n < WRITE_PIECES;) {
        const size_t left = r->pieces->iov_len - r->done, some = left < room ? left : room;
        if (some)
            out[n++] = (struct iovec){(char *)r->pieces->iov_base + r->done, some};
        room -= some;
        r->done += some;
        if (r->done == r->pieces->iov_len) {
            r->pieces++, r->count--;
            r->done = 0;
        }
    }
    return n;
}

/* Writes all pieces to the file, one after the other, from `offset` on.  Returns false if
 * writing fails. */
static bool write_pieces(const struct spool *s, const struct iovec *pieces, int count,
                         uint64_t offset)
{
    struct rest rest = {pieces, count, 0};
    struct iovec some[WRITE_PIECES];
    for (int n; (n = take_pieces(&rest, some));) {
        ssize_t put;
        do
            put = pwritev(s->file, some, n, (off_t)offset);
        while (put < 0 && errno == EINTR);
        if (put <= 0)
            return false;
        for (int i = 0; i < n; i++) {
            const size_t part = (size_t)put < some[i].iov_len ? (size_t)put : some[i].iov_len;
            put -= (ssize_t)part;
            if (!write_at(s, (char *)some[i].iov_base + part, some[i].iov_len - part,
                          offset + part))
                return false;
            offset += some[i].iov_len;
        }
    }
    return true;
}

static bool read_head(const struct spool *s, uint64_t offset, struct head *h)
{
    return read_at(s, h, sizeof *h, offset) &&
           h->check == crc32c(0, h, offsetof(struct head, check));
}

/* Adds the records after s->end, which other processes have appended, to the entries.  Stops at
 * the first incomplete record. */
static enum status scan(struct spool *s, struct error *e)
{
    struct stat st;
    struct head h;
    if (fstat(s->file, &st) != 0)
        return failed(s, "read", e);
    if ((uint64_t)st.st_size < s->end)
        return error_set(
            e, STATUS_FAILED,
            "%s: another program truncated the file while it was in use. Remove the file and run "
            "again",
            s->path);
    while (s->end + sizeof h <= (uint64_t)st.st_size && read_head(s, s->end, &h) &&
           h.size <= (uint64_t)st.st_size - s->end - sizeof h) {
        s->entries = mem_grow(s->entries, s->count, 1, sizeof *s->entries, &s->room);
        s->entries[s->count++] = (struct spool_entry){h.id, s->end};
        s->end += sizeof h + h.size;
    }
    return STATUS_OK;
}

/* --- opening --------------------------------------------------------------- */

/* Verifies that no process of another run writes to the spool. */
static enum status refuse_other_run(const struct spool *s, struct error *e)
{
    const long stranger = writer_of_other_run(s->file, s->run);
    return stranger ? error_set(e, STATUS_FAILED,
                                "%s: process %ld of another run is writing these frames. Wait for "
                                "it to end, or write to another folder",
                                s->path, stranger)
                    : STATUS_OK;
}

/* Returns true if the file still has the name of the spool.  *names: how many names it has. */
static bool is_named(const struct spool *s, nlink_t *names)
{
    struct stat file, path;
    *names = 0;
    if (fstat(s->file, &file) != 0)
        return false;
    *names = file.st_nlink;
    return lstat(s->path, &path) == 0 && path.st_dev == file.st_dev && path.st_ino == file.st_ino;
}

/* Replaces the spool by a copy.  The file has another name, too: a process that died had given it
 * its final name, and nothing may change it any more. */
static enum status copy_spool(const struct spool *s, struct error *e)
{
    char bytes[65536];
    struct stat st;
    struct replace copy;
    enum status status = refuse_other_run(s, e);
    if (!status && fstat(s->file, &st) != 0)
        status = failed(s, "read", e);
    if (!status)
        status = replace_open(&copy, s->path, e);
    if (status)
        return status;
    const uint64_t size = (uint64_t)st.st_size;
    for (uint64_t at = 0, n; at < size && !status; at += n) {
        n = size - at < sizeof bytes ? size - at : sizeof bytes;
        errno = 0;
        if (!read_at(s, bytes, n, at))
            status = failed(s, "read", e);
        else if (fwrite(bytes, 1, n, copy.stream) != n)
            status = failed(s, "write", e);
    }
    if (!status)
        return replace_commit(&copy, e);
    replace_abort(&copy);
    return status;
}

/* Opens and locks the file.  Tries again if another process has removed the file in between, or if
 * the file had to be copied. */
static enum status open_locked(struct spool *s, struct error *e)
{
    while (true) {
        struct stat st;
        nlink_t names;
        s->file = steady_open(s->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (s->file < 0 && errno == ELOOP)  // a link may lead to a file of another program
            return error_set(e, STATUS_FAILED, "%s: is a link; expected a file", s->path);
        if (s->file < 0 || fstat(s->file, &st) != 0)
            return failed(s, "open", e);
        if (!S_ISREG(st.st_mode))
            return error_set(e, STATUS_FAILED, "%s: not an ordinary file", s->path);
        if (writer_lock(s->file, s->path, e) == WRITER_BUSY)
            return STATUS_FAILED;
        const bool named = is_named(s, &names);
        if (named && names == 1)
            return STATUS_OK;
        const enum status status = named ? copy_spool(s, e) : STATUS_OK;
        (void)close(s->file);
        s->file = -1;
        if (status)
            return status;
    }
}

/* Returns true if the content of record number i has the checksum that its head stores. */
static bool is_whole(const struct spool *s, size_t i)
{
    char bytes[4096];
    struct head h;
    uint32_t crc = 0;
    const uint64_t at = s->entries[i].offset;
    bool good = read_head(s, at, &h);
    for (uint64_t done = 0; good && done < h.size;) {
        const size_t n = h.size - done < sizeof bytes ? (size_t)(h.size - done) : sizeof bytes;
        good = read_at(s, bytes, n, at + sizeof h + done);
        crc = crc32c(crc, bytes, n);
        done += n;
    }
    return good && crc == h.crc;
}

/* Verifies the records of a previous run, and removes the last one if it is incomplete.  After a
 * power failure, the file may have the head of the last record without all of its bytes.  Such a
 * record was never acknowledged, so that it may be removed.  Only the first process of a run may do
 * this, because later all records are valid.  STATUS_FAILED: another record is corrupt, or writing
 * fails. */
static enum status check_records(struct spool *s, struct error *e)
{
    for (size_t i = 0; i < s->count; i++) {
        if (is_whole(s, i))
            continue;
        if (i + 1 < s->count)
            return spool_damaged(s, e);
        s->end = s->entries[--s->count].offset;
        if (steady_truncate(s->file, (off_t)s->end) != 0)
            return failed(s, "write", e);
    }
    return STATUS_OK;
}

/* Writes the header.  If that fails, removes the file of a new spool. */
static enum status begin_header(struct spool *s, const struct header *ours, bool goes_on,
                                struct error *e)
{
    errno = 0;
    if ((goes_on || steady_truncate(s->file, 0) == 0) &&
        write_at(s, ours, sizeof *ours, SPOOL_FRONT))
        return STATUS_OK;
    (void)failed(s, "write", e);
    if (!goes_on)
        (void)unlink(s->path);
    return STATUS_FAILED;
}

static enum status begin_spool(struct spool *s, const struct spool_settings *settings,
                               struct error *e)
{
    struct header ours = {.magic = HEADER_MAGIC, .run = settings->run}, there = {0};
    struct stat st;
    (void)snprintf(ours.lineage, sizeof ours.lineage, "%s", settings->lineage);
    if (fstat(s->file, &st) != 0)
        return failed(s, "read", e);
    const bool same = read_at(s, &there, sizeof there, SPOOL_FRONT) &&
                      memcmp(&ours, &there, offsetof(struct header, run)) == 0;
    if (st.st_size > 0 && !same && !settings->replace)
        return error_set(e, STATUS_FAILED,
                         "%s exists and was not written by this run. Use --overwrite to replace "
                         "it, or another name",
                         s->path);
    s->end = SPOOL_BEGIN;
    const bool goes_on = same && (settings->resume || there.run == settings->run);
    enum status status = refuse_other_run(s, e);
    if (!status && goes_on)
        status = scan(s, e);
    if (!status && goes_on && there.run != settings->run)
        status = check_records(s, e);
    return status ? status : begin_header(s, &ours, goes_on, e);
}

enum status spool_open(struct spool *s, const char *path, const struct spool_settings *settings,
                       struct error *e)
{
    *s = (struct spool){.path = spool_name(path), .file = -1, .run = settings->run};
    errno = 0;
    if (!s->path)
        return error_memory(e, "a file name");
    enum status status = open_locked(s, e);
    if (status == STATUS_OK)
        status = begin_spool(s, settings, e);
    if (status == STATUS_OK) {
        writer_join_run(s->file, s->run);
        writer_unlock(s->file);
    } else {
        spool_close(s);
    }
    return status;
}

void spool_close(struct spool *s)
{
    if (s->file >= 0 && s->path)
        (void)close(s->file);
    free(s->path);
    mem_free(s->entries);
    mem_free(s->record);
    *s = (struct spool){.file = -1};
}

/* Removes the number of the run from a file that has got its final name, so that equal runs make
 * equal files.  Keeps the time of the last change, by which other processes notice that a file was
 * replaced. */
static void forget_run(const struct spool *s)
{
    const uint64_t none = 0;
    struct stat st;
    if (fstat(s->file, &st) == 0 && write_at(s, &none, sizeof none, SPOOL_RUN))
        (void)futimens(s->file, (struct timespec[]){{.tv_nsec = UTIME_OMIT}, st.st_mtim});
}

void spool_remove(struct spool *s)
{
    nlink_t names;
    if (s->path) {
        forget_run(s);
        if (is_named(s, &names))
            (void)unlink(s->path);
    }
    spool_close(s);
}

/* --- records --------------------------------------------------------------- */

enum status spool_hold(struct spool *s, bool *gone, struct error *e)
{
    nlink_t names;
    if (writer_lock(s->file, s->path, e) == WRITER_BUSY)
        return STATUS_FAILED;
    *gone = !is_named(s, &names) || names > 1;
    const enum status status = scan(s, e);
    if (status)
        writer_unlock(s->file);
    return status;
}

void spool_release(struct spool *s)
{
    writer_unlock(s->file);
}

/* Writes the spool to the disk.  After the first record this includes the entry of the file in
 * its folder.  Returns false if this fails. */
static bool is_on_disk(const struct spool *s)
{
    return steady_sync(s->file) == 0 && (s->end > SPOOL_BEGIN || replace_sync_folder(s->path));
}

struct spool_record spool_record_of(uint64_t id, const struct iovec *pieces, int count)
{
    struct spool_record r = {.id = id, .pieces = pieces, .count = count};
    for (int i = 0; i < count; i++) {
        r.size += pieces[i].iov_len;
        r.crc = crc32c(r.crc, pieces[i].iov_base, pieces[i].iov_len);
    }
    return r;
}

/* First removes an incomplete record of a process that died.  The head is written last, because
 * a record without a valid head does not exist. */
enum status spool_append(struct spool *s, const struct spool_record *r, bool sync, struct error *e)
{
    struct head h = {.id = r->id, .size = r->size, .crc = r->crc};
    h.check = crc32c(0, &h, offsetof(struct head, check));
    errno = 0;
    if (steady_truncate(s->file, (off_t)s->end) == 0 &&
        write_pieces(s, r->pieces, r->count, s->end + sizeof h) &&
        write_at(s, &h, sizeof h, s->end) && (!sync || is_on_disk(s)))
        return scan(s, e);
    (void)failed(s, "write", e);
    (void)!steady_truncate(s->file, (off_t)s->end);
    return STATUS_FAILED;
}

enum status spool_add(struct spool *s, uint64_t id, void *bytes, size_t size, bool sync,
                      struct error *e)
{
    const struct iovec piece = {bytes, size};
    const struct spool_record record = spool_record_of(id, &piece, 1);
    bool gone;
    enum status status = spool_hold(s, &gone, e);
    if (status)
        return status;
    status = gone ? error_set(e, STATUS_FAILED,
                              "%s: another program removed the file while it was in use. Run again",
                              s->path)
                  : spool_append(s, &record, sync, e);
    spool_release(s);
    return status;
}

static int by_id(const void *a, const void *b)
{
    const struct spool_entry *x = a, *y = b;
    return x->id != y->id ? x->id < y->id ? -1 : 1
                          : (x->offset > y->offset) - (x->offset < y->offset);
}

enum status spool_gather(struct spool *s, bool *last, struct error *e)
{
    if (writer_lock(s->file, s->path, e) == WRITER_BUSY)
        return STATUS_FAILED;
    const enum status status = scan(s, e);
    size_t kept = 0;
    if (s->count)
        qsort(s->entries, s->count, sizeof *s->entries, by_id);
    for (size_t i = 0; i < s->count; i++)
        if (i + 1 == s->count || s->entries[i].id != s->entries[i + 1].id)
            s->entries[kept++] = s->entries[i];
    s->count = kept;
    *last = !writer_has_fellow(s->file, s->run);
    return status;
}

uint64_t spool_place(const struct spool *s, size_t i, uint64_t offset)
{
    return s->entries[i].offset + sizeof(struct head) + offset;
}

enum status spool_peek(const struct spool *s, size_t i, uint64_t offset, void *to, size_t size,
                       struct error *e)
{
    struct head h;
    errno = 0;
    if (!read_head(s, s->entries[i].offset, &h))
        return failed(s, "read", e);
    if (offset > h.size || size > h.size - offset)
        return spool_damaged(s, e);
    return read_at(s, to, size, spool_place(s, i, offset)) ? STATUS_OK : failed(s, "read", e);
}

static enum status read_record(void *state, size_t i, const void **bytes, size_t *size,
                               struct error *e)
{
    struct spool *s = state;
    struct head h;
    const uint64_t offset = s->entries[i].offset;
    errno = 0;
    if (!read_head(s, offset, &h))
        return failed(s, "read", e);
    s->record = mem_grow(s->record, 0, h.size, 1, &s->record_room);
    if (!read_at(s, s->record, h.size, offset + sizeof h))
        return failed(s, "read", e);
    if (crc32c(0, s->record, h.size) != h.crc)
        return spool_damaged(s, e);
    *bytes = s->record;
    *size = h.size;
    return STATUS_OK;
}

struct records spool_records(struct spool *s)
{
    return (struct records){s, s->count, read_record};
}

void spool_ids(const struct spool *s, struct id_set *ids)
{
    for (size_t i = 0; i < s->count; i++)
        id_set_add(ids, s->entries[i].id);
}
