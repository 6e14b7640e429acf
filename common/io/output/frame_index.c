#include "io/output/frame_index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/output/frame_index_file.h"
#include "io/output/frame_index_read.h"
#include "io/output/owners.h"

enum { WAIT_MS = 10000, POLL_MS = 50 };

/* --- beginning ----------------------------------------------------------- */

/* Joins those who write the index, and has it locked. */
static enum status join(struct frame_index *x, bool waits, struct error *e)
{
    const uint64_t begin_ns = clock_ns();
    while (true) {
        const enum status s = index_file_open(x, e);
        if (s || x->special)
            return s;
        const long stranger = owners_stranger(x->file, x->settings.run);
        if (!stranger)
            break;
        index_file_close(x);
        if (!waits || clock_ns() - begin_ns >= WAIT_MS * UINT64_C(1000000))
            return error_set(e, STATUS_FAILED,
                             "%s: process %ld of another run writes these frames; let it end, or "
                             "write into another folder",
                             x->path, stranger);
        (void)usleep(POLL_MS * 1000);
    }
    x->fellows = owners_has_fellow(x->file, x->settings.run);
    owners_join(x->file, x->settings.run);
    return STATUS_OK;
}

static enum status take_entries(struct frame_index *x, struct index_lines *l, bool more,
                                struct error *e)
{
    enum status s = STATUS_OK;
    while (more && s == STATUS_OK) {
        struct index_entry entry;
        s = index_parse(l, &entry, e);
        if (s == STATUS_OK)
            s = index_remember(x, &entry, e);
        more = index_advance(l);
    }
    return s;
}

/* Reads it, and removes an unfinished end, or all of it when no frame is in it but what cannot
 * stay. */
static enum status take_in(struct frame_index *x, struct error *e)
{
    const int copy = fcntl(x->file, F_DUPFD_CLOEXEC, 0);
    struct index_lines l = {.in = copy < 0 ? NULL : fdopen(copy, "r"), .path = x->path};
    if (!l.in)
        return error_errno(e, STATUS_FAILED, "%s: cannot read", x->path);
    bool more = false;
    rewind(l.in);
    enum status s = index_begin(&l, &x->settings, &more, e);
    if (s == STATUS_OK)
        s = take_entries(x, &l, more, e);
    const bool restart = !x->entries && (l.torn || !l.ours);
    x->no_hits = l.no_hits && !restart;
    x->fresh = !l.ours && !x->fellows;
    if (s == STATUS_OK && !(restart ? index_file_clear(x) : index_file_trim(x)))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    free(l.line);
    (void)fclose(l.in);
    return s;
}

/* Begins anew, and keeps what was there until a frame is added. */
static enum status start_over(struct frame_index *x, struct error *e)
{
    tdestroy(x->entries, free);
    x->entries = NULL;
    x->no_hits = x->fresh = false;
    return index_file_keep(x, e);
}

/* The file is locked, and this process has joined. */
static enum status begin(struct frame_index *x, struct error *e)
{
    const bool overwrite = x->settings.overwrite;
    const bool anew = overwrite && !x->settings.resume && !x->fellows;
    enum status s = anew ? STATUS_OK : take_in(x, e);
    if (anew || (s && overwrite))
        s = start_over(x, e);
    return s ? s : index_file_put_head(x, e);
}

static enum status copy_settings(struct frame_index *x, const char *path,
                                 const struct frame_index_settings *settings, struct error *e)
{
    *x = (struct frame_index){.settings = *settings, .file = -1};
    x->settings.lineage = strdup(settings->lineage);
    x->settings.history = strdup(settings->history);
    x->path = strdup(path);
    x->head = index_head(settings);
    return x->path && x->head && x->settings.lineage && x->settings.history
               ? STATUS_OK
               : error_memory(e, "the index");
}

enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e)
{
    struct stat st;
    enum status s = copy_settings(x, path, settings, e);
    if (s)
        return s;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is a folder, must be a file", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && (!settings->overwrite || settings->resume))
        return error_set(e, STATUS_FAILED, "%s: is no regular file, as an index must be", path);
    s = join(x, settings->resume, e);
    if (s)
        return s;
    s = begin(x, e);
    x->begun = s == STATUS_OK;
    index_file_unlock(x);
    return s;
}

/* --- while it is written ------------------------------------------------- */

static enum status append(struct frame_index *x, const struct index_entry *entry, struct error *e)
{
    char *line;
    const char *hit = x->no_hits ? "" : entry->hit ? INDEX_HIT : INDEX_BLANK;
    const int length = asprintf(&line, "%" PRIu64 "\t%08" PRIx32 "\t%" PRIu64 "\t%s%s\n", entry->id,
                                entry->crc, entry->bytes, hit, entry->names);
    if (length < 0)
        return error_memory(e, "a line of the index");
    const enum status s = index_file_append(x, line, (size_t)length, e);
    free(line);
    return s ? s : index_remember(x, entry, e);
}

struct transfer {
    struct frame_index *to;
    size_t count;
    enum status status;
    struct error *e;
};

static void transfer_entry(const void *node, VISIT visit, void *transfer)
{
    const struct index_entry *entry = *(const struct index_entry *const *)node;
    struct transfer *t = transfer;
    if ((visit != postorder && visit != leaf) || t->status)
        return;
    t->status = frame_index_check(t->to, entry->id, entry->crc, t->e);
    if (t->status || frame_index_find(t->to, entry->id))
        return;  // another process may have entered it after this one did
    t->status = append(t->to, entry, t->e);
    t->count++;
}

/* Reads what is at the path, or begins it, and enters what it lacks. */
static enum status write_again(struct frame_index *x, struct error *e)
{
    struct frame_index now = *x;
    now.file = -1;
    now.entries = NULL;
    struct transfer t = {.to = &now, .e = e};
    enum status s = join(&now, false, e);
    if (s)
        return s;
    s = take_in(&now, e);
    now.no_hits = now.no_hits || (x->no_hits && !now.entries);
    if (s == STATUS_OK)
        s = index_file_put_head(&now, e);
    if (s == STATUS_OK) {
        twalk_r(x->entries, transfer_entry, &t);
        s = t.status;
    }
    index_file_unlock(&now);
    if (s == STATUS_OK && t.count)
        log_line(LOG_WARNING, "%s: was changed by somebody else; %zu frames are entered again",
                 x->path, t.count);
    struct frame_index *const ends = s ? &now : x;
    index_file_close(ends);
    tdestroy(ends->entries, free);
    if (s == STATUS_OK) {
        now.fresh = x->fresh;
        *x = now;
    }
    return s;
}

enum status frame_index_hold(struct frame_index *x, struct error *e)
{
    return index_file_is_whole(x) ? STATUS_OK : write_again(x, e);
}

enum status frame_index_add(struct frame_index *x, const struct index_entry *entry, struct error *e)
{
    enum status s = frame_index_check(x, entry->id, entry->crc, e);
    if (s || frame_index_has(x, entry->id, entry->names, entry->bytes))
        return s;
    s = frame_index_hold(x, e);
    if (s)
        return s;
    s = index_file_lock(x, e);
    if (s)
        return s;
    s = append(x, entry, e);
    index_file_unlock(x);
    return s;
}

bool frame_index_is_empty(const struct frame_index *x)
{
    struct stat st;
    return !x->entries &&
           (x->special || fstat(x->file, &st) != 0 || st.st_size <= (off_t)strlen(x->head));
}

enum status frame_index_finish(struct frame_index *x, struct error *e)
{
    return x->special || !x->entries ? STATUS_OK : write_again(x, e);
}

void frame_index_close(struct frame_index *x)
{
    if (x->begun && !x->used && !x->entries)
        index_file_withdraw(x);
    index_file_close(x);
    tdestroy(x->entries, free);
    free((char *)(uintptr_t)x->settings.lineage);
    free((char *)(uintptr_t)x->settings.history);
    free(x->path);
    free(x->head);
    free(x->former);
    *x = (struct frame_index){.file = -1};
}
