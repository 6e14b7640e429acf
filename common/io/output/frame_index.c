#include "io/output/frame_index.h"

#include <errno.h>
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
#include "base/files.h"
#include "base/history.h"
#include "base/log.h"
#include "io/output/writer_lock.h"

/* --- what this process knows of frames ----------------------------------- */

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

/* --- lines --------------------------------------------------------------- */

/* Values of the column HIT: a frame with lattices, and one without. */
#define INDEX_HIT "hit\t"
#define INDEX_BLANK "blank\t"
#define TITLE "bragg-index 3 "
#define TITLE_2 "bragg-index 2 "

/* Returns the first lines of a new index.  The caller frees them.  NULL: out of memory. */
static char *index_head(const struct frame_index_settings *settings)
{
    char *head = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&head, &length);
    if (!out)
        return NULL;
    fprintf(out, TITLE "%.32s\n", settings->lineage);
    for (const char *line = settings->history; *line;
         line += strcspn(line, "\n"), line += *line != 0)
        fprintf(out, "# %.*s\n", (int)strcspn(line, "\n"), line);
    (void)fclose(out);
    return head;
}

static bool skip_word(const char *line, int *used, const char *word)
{
    const bool there = strncmp(line + *used, word, strlen(word)) == 0;
    *used += there ? (int)strlen(word) : 0;
    return there;
}

/* Parses the line of a frame.  `no_hits`: the line has no column HIT.  Returns false if the text
 * is not such a line. */
static bool parse_line(const char *line, bool no_hits, struct index_entry *listed)
{
    int used = 0;
    bool hit = false;
    if (line[0] < '0' || line[0] > '9' ||
        sscanf(line, "%" SCNu64 "\t%8" SCNx32 "\t%" SCNu64 "\t%n", &listed->id, &listed->crc,
               &listed->bytes, &used) != 3 ||
        used == 0)
        return false;
    if (!no_hits && !(hit = skip_word(line, &used, INDEX_HIT)) &&
        !skip_word(line, &used, INDEX_BLANK))
        return false;
    listed->hit = hit;
    listed->names = line + used;
    return true;
}

bool index_advance(struct index_lines *l)
{
    const ssize_t n = getline(&l->line, &l->room, l->in);
    l->torn = n > 0 && l->line[n - 1] != '\n';
    if (n <= 0 || l->torn)
        return false;
    l->line[n - 1] = 0;
    l->number++;
    return true;
}

/* Sets the error that the index has another lineage.  The message names the options that differ,
 * or the two lineages if the difference is not known. */
static enum status refuse_lineage(const struct index_lines *l, const char *lineage,
                                  const char *history, const struct frame_index_settings *settings,
                                  struct error *e)
{
    char what[HISTORY_DIFFERENCE_SIZE];
    if (!history_difference(history, settings->history, what))
        (void)snprintf(what, sizeof what, "%.20s, not %.20s", lineage, settings->lineage);
    return error_set(e, settings->resume ? STATUS_INPUT : STATUS_FAILED,
                     "%s lists frames that were made with other options (%s). Use --overwrite to "
                     "replace them, or another name",
                     l->path, what);
}

/* Returns true if a line is the first line of an index with this lineage.  The line may end with
 * a line feed. */
static bool index_is_of(const char *line, const char *lineage)
{
    const size_t title = strlen(TITLE), length = strlen(lineage);
    return (strncmp(line, TITLE, title) == 0 || strncmp(line, TITLE_2, title) == 0) &&
           strncmp(line + title, lineage, length) == 0 &&
           (!line[title + length] || line[title + length] == '\n');
}

/* Returns true if a text can be the incomplete first line that a killed process has left. */
static bool is_torn_title(const char *line)
{
    const size_t length = strlen(line), title = strlen(TITLE);
    const size_t common = length < title ? length : title;
    return strncmp(line, TITLE, common) == 0 || strncmp(line, TITLE_2, common) == 0;
}

/* Reads the first lines of an index.  *more: there is a line after them, which is then the
 * current line. */
static enum status take_head(struct index_lines *l, const struct frame_index_settings *settings,
                             bool *more, struct error *e)
{
    char lineage[64], *history = NULL;
    size_t length = 0;
    l->no_hits = strncmp(l->line, TITLE_2, strlen(TITLE_2)) == 0;
    if (!l->no_hits && strncmp(l->line, TITLE, strlen(TITLE)) != 0)
        return error_set(e, STATUS_FAILED,
                         "%s exists and is not an index of frames. Use --overwrite to replace it, "
                         "or another name",
                         l->path);
    (void)snprintf(lineage, sizeof lineage, "%.40s", l->line + strlen(TITLE));
    FILE *out = open_memstream(&history, &length);
    if (!out)
        return error_memory(e, "the index");
    while ((*more = index_advance(l)) && l->line[0] == '#')
        fprintf(out, "%s\n", l->line + 1 + (l->line[1] == ' '));
    (void)fclose(out);
    l->ours = strcmp(lineage, settings->lineage) == 0;
    const enum status s =
        l->ours || !*more ? STATUS_OK : refuse_lineage(l, lineage, history, settings, e);
    free(history);
    return s;
}

enum status index_begin(struct index_lines *l, const struct frame_index_settings *settings,
                        bool *more, struct error *e)
{
    *more = index_advance(l);
    if (!*more && (!l->torn || is_torn_title(l->line)))
        return STATUS_OK;
    return take_head(l, settings, more, e);
}

enum status index_parse(const struct index_lines *l, struct index_entry *entry, struct error *e)
{
    if (parse_line(l->line, l->no_hits, entry))
        return STATUS_OK;
    return error_set(
        e, STATUS_FAILED,
        "%s:%ld: not a line of an index of frames. Use --overwrite to begin a new index", l->path,
        l->number);
}

enum { WAIT_MS = 10000, POLL_MS = 50 };  // longest wait for another run to end; interval
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

/* Closes the file.  The process is no longer registered as a writer. */
static void index_file_close(struct frame_index *x)
{
    if (x->file >= 0)
        (void)close(x->file);
    x->file = -1;
}

/* Opens the file at the path and locks it.  Creates the file if it does not exist. */
static enum status index_file_open(struct frame_index *x, struct error *e)
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

static enum status index_file_lock(struct frame_index *x, struct error *e)
{
    return x->special || writer_lock(x->file, x->path, e) != WRITER_BUSY ? STATUS_OK
                                                                         : STATUS_FAILED;
}

static void index_file_unlock(struct frame_index *x)
{
    if (!x->special && x->file >= 0)
        writer_unlock(x->file);
}

/* Returns true if the index is unchanged: it is at its path, has the first line of this lineage,
 * and is not shorter than at the last access. */
static bool index_file_is_whole(const struct frame_index *x)
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

/* Removes the whole content of the file, which must be locked.  Returns false if that fails. */
static bool index_file_clear(struct frame_index *x)
{
    x->size = 0;
    return x->special || steady_truncate(x->file, 0) == 0;
}

/* Removes an incomplete last line of the file, which must be locked.  Returns false if that
 * fails. */
static bool index_file_trim(struct frame_index *x)
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

/* Removes the whole content of the file, which must be locked.  Keeps the content in memory, so
 * that index_file_withdraw can restore it. */
static enum status index_file_keep(struct frame_index *x, struct error *e)
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

/* Appends complete lines to the file, which must be locked.  Removes an incomplete last line
 * before that. */
static enum status index_file_append(struct frame_index *x, const char *line, size_t length,
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

/* Writes the first lines if the file is empty.  The file must be locked. */
static enum status index_file_put_head(struct frame_index *x, struct error *e)
{
    struct stat st;
    x->head[VERSION_AT] = x->no_hits ? '2' : '3';
    if (!x->special && fstat(x->file, &st) == 0 && st.st_size)
        return STATUS_OK;
    return index_file_append(x, x->head, strlen(x->head), e);
}

/* If no process has added a frame, removes the index or restores its previous content. */
static void index_file_withdraw(struct frame_index *x)
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
