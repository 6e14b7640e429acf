#include "io/output/frame_index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/output/frame_index_file.h"
#include "io/output/frame_index_lines.h"
#include "io/output/writer_lock.h"

/* --- the frames that this process has read or added ---------------------- */

static int compare_ids(const void *a, const void *b)
{
    const uint64_t x = ((const struct index_entry *)a)->id, y = ((const struct index_entry *)b)->id;
    return (x > y) - (x < y);
}

/* Returns a copy of an entry, with its names in the same block of memory.  The caller frees it
 * with free(). */
static struct index_entry *copy_entry(const struct index_entry *entry)
{
    const size_t length = strlen(entry->names) + 1;
    struct index_entry *copy = mem_room(sizeof *copy + length);
    *copy = *entry;
    copy->names = memcpy(copy + 1, entry->names, length);
    return copy;
}

/* Stores a copy of an entry.  Replaces the previous entry of the same frame. */
static enum status index_remember(struct frame_index *x, const struct index_entry *entry,
                                  struct error *e)
{
    struct index_entry *copy = copy_entry(entry);
    struct index_entry **found = tsearch(copy, &x->entries, compare_ids);
    if (!found) {
        free(copy);
        return error_memory(e, "the index");
    }
    if (*found != copy) {
        free(*found);
        *found = copy;
    }
    return STATUS_OK;
}

const struct index_entry *frame_index_find(const struct frame_index *x, uint64_t id)
{
    const struct index_entry key = {.id = id};
    struct index_entry *const *found = tfind(&key, &x->entries, compare_ids);
    return found ? *found : NULL;
}

bool frame_index_has(const struct frame_index *x, uint64_t id, const char *names, uint64_t bytes)
{
    const struct index_entry *found = frame_index_find(x, id);
    return found && found->bytes == bytes && strcmp(found->names, names) == 0;
}

const char *frame_index_name(const char *index, const char *path)
{
    const char *slash = strrchr(index, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - index) : 0;
    return strncmp(path, index, folder) == 0 ? path + folder : path;
}

bool frame_index_lists(const struct frame_index *x, uint64_t id, const char *path)
{
    const struct index_entry *entry = frame_index_find(x, id);
    const char *name = frame_index_name(x->path, path);
    const size_t length = strlen(name);
    for (const char *at = entry ? entry->names : ""; *at; at += *at == '\t') {
        const size_t word = strcspn(at, "\t");
        if (word == length && strncmp(at, name, length) == 0)
            return true;
        at += word;
    }
    return false;
}

static void collect_id(const void *node, VISIT visit, void *ids)
{
    const struct index_entry *const *entry = node;
    if (visit == postorder || visit == leaf)
        id_set_add(ids, (*entry)->id);
}

void frame_index_ids(const struct frame_index *x, struct id_set *ids)
{
    twalk_r(x->entries, collect_id, ids);
}

enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e)
{
    const struct index_entry *found = frame_index_find(x, id);
    if (!found || found->crc == crc)
        return STATUS_OK;
    return error_set(
        e, STATUS_FAILED,
        "%s: frame %" PRIu64 " has other pixels than before (checksum was %08" PRIx32
        ", is %08" PRIx32
        "). Equal options must give equal pixels. Did an input file or the program version change?",
        x->path, id, found->crc, crc);
}

enum { WAIT_MS = 10000, POLL_MS = 50 };  // longest wait for another run to end; interval

/* --- beginning ----------------------------------------------------------- */

/* Opens the index and registers this process as a writer.  On success, the index is locked.
 * `waits`: waits for a process of another run that may be about to end.  STATUS_FAILED: a process
 * of another run writes to the index. */
static enum status join_writers(struct frame_index *x, bool waits, struct error *e)
{
    const uint64_t begin_ns = clock_ns();
    while (true) {
        const enum status s = index_file_open(x, e);
        if (s || x->special)
            return s;
        const long stranger = writer_of_other_run(x->file, x->settings.run);
        if (!stranger)
            break;
        index_file_close(x);
        if (!waits || clock_ns() - begin_ns >= WAIT_MS * UINT64_C(1000000))
            return error_set(e, STATUS_FAILED,
                             "%s: process %ld of another run is writing these frames. Wait for it "
                             "to end, or write to another folder",
                             x->path, stranger);
        (void)usleep(POLL_MS * 1000);
    }
    x->fellows = writer_has_fellow(x->file, x->settings.run);
    writer_join_run(x->file, x->settings.run);
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

/* Reads the entries of the index, and removes an incomplete last line.  Removes the whole content
 * if there is no entry, and if the last line is incomplete or the first lines have another
 * lineage. */
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

/* Begins the index again.  Keeps the previous content in memory until a frame is added. */
static enum status start_over(struct frame_index *x, struct error *e)
{
    tdestroy(x->entries, free);
    x->entries = NULL;
    x->no_hits = x->fresh = false;
    return index_file_keep(x, e);
}

/* Reads the existing index or begins a new one, depending on the settings.  The file must be
 * locked, and this process must be registered (see `join_writers`). */
static enum status begin_index(struct frame_index *x, struct error *e)
{
    const bool overwrite = x->settings.overwrite;
    const bool anew = overwrite && !x->settings.resume && !x->fellows;
    enum status s = anew ? STATUS_OK : take_in(x, e);
    if (anew || (s && overwrite))
        s = start_over(x, e);
    return s ? s : index_file_put_head(x, e);
}

static void copy_settings(struct frame_index *x, const char *path,
                          const struct frame_index_settings *settings)
{
    *x = (struct frame_index){.settings = *settings, .file = -1};
    x->settings.lineage = mem_text("%s", settings->lineage);
    x->settings.history = mem_text("%s", settings->history);
    x->path = mem_text("%s", path);
}

enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e)
{
    struct stat st;
    copy_settings(x, path, settings);
    x->head = index_head(settings);
    if (!x->head)
        return error_memory(e, "the index");
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is a folder; expected a file", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && (!settings->overwrite || settings->resume))
        return error_set(e, STATUS_FAILED, "%s: not an ordinary file; expected the index of frames",
                         path);
    enum status s = join_writers(x, settings->resume, e);
    if (s)
        return s;
    s = begin_index(x, e);
    x->begun = s == STATUS_OK;
    index_file_unlock(x);
    return s;
}

/* --- while it is written ------------------------------------------------- */

static enum status append_entry(struct frame_index *x, const struct index_entry *entry,
                                struct error *e)
{
    const char *hit = x->no_hits ? "" : entry->hit ? INDEX_HIT : INDEX_BLANK;
    char *line = mem_text("%" PRIu64 "\t%08" PRIx32 "\t%" PRIu64 "\t%s%s\n", entry->id, entry->crc,
                          entry->bytes, hit, entry->names);
    const enum status s = index_file_append(x, line, strlen(line), e);
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
    t->status = append_entry(t->to, entry, t->e);
    t->count++;
}

/* Opens the index at the path again, or begins a new one, and adds the frames of this process
 * that are missing in it.  Warns if frames were missing. */
static enum status write_again(struct frame_index *x, struct error *e)
{
    struct frame_index now = *x;
    now.file = -1;
    now.entries = NULL;
    struct transfer t = {.to = &now, .e = e};
    enum status s = join_writers(&now, false, e);
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
        log_line(
            LOG_WARNING,
            "%s was changed by another program during the run; %zu missing frames are listed again",
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
    s = append_entry(x, entry, e);
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
