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
#include "base/history.h"

#define TITLE "bragg-index 2 "

enum { TAIL_MAX = 1 << 16 };  // bytes; longer than any line

struct listed {
    uint64_t id, bytes;
    uint32_t crc;
    uint64_t names;  // hash
};

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

/* Reads a line of the index; false when it is none. */
static bool parse_line(const char *line, struct listed *listed)
{
    int used = 0;
    if (line[0] < '0' || line[0] > '9' ||
        sscanf(line, "%" SCNu64 "\t%8" SCNx32 "\t%" SCNu64 "\t%n", &listed->id, &listed->crc,
               &listed->bytes, &used) != 3 ||
        used == 0)
        return false;
    listed->names = hash_text(HASH_START, line + used);
    return true;
}

/* Whole lines, one after the other. */
struct lines {
    FILE *in;
    char *line;  // without its end
    size_t room;
    long number;
    bool torn;  // the last one has no end
};

static bool next_line(struct lines *l)
{
    const ssize_t n = getline(&l->line, &l->room, l->in);
    l->torn = n > 0 && l->line[n - 1] != '\n';
    if (n <= 0 || l->torn)
        return false;
    l->line[n - 1] = 0;
    l->number++;
    return true;
}

/* Another lineage: says what differs, where that is known. */
static enum status refuse_lineage(const struct frame_index *x, const char *lineage,
                                  const char *history, const struct frame_index_settings *settings,
                                  struct error *e)
{
    char what[HISTORY_DIFFERENCE_SIZE];
    if (!history_difference(history, settings->history, what))
        (void)snprintf(what, sizeof what, "%.20s, not %.20s", lineage, settings->lineage);
    return error_set(e, settings->resume ? STATUS_INPUT : STATUS_FAILED,
                     "%s: frames of another lineage are there (%s); --overwrite replaces them",
                     x->path, what);
}

/* What a killed process may leave of the first line. */
static bool is_torn_title(const char *line)
{
    const size_t length = strlen(line), title = strlen(TITLE);
    return strncmp(line, TITLE, length < title ? length : title) == 0;
}

/* Reads the first lines; the one behind them is then at hand, if *more. */
static enum status take_head(struct frame_index *x, struct lines *l,
                             const struct frame_index_settings *settings, bool *more,
                             struct error *e)
{
    char lineage[64], *history = NULL;
    size_t length = 0;
    if (strncmp(l->line, TITLE, strlen(TITLE)) != 0)
        return error_set(e, STATUS_FAILED, "%s: exists and is no index; --overwrite replaces it",
                         x->path);
    (void)snprintf(lineage, sizeof lineage, "%.40s", l->line + strlen(TITLE));
    FILE *out = open_memstream(&history, &length);
    if (!out)
        return error_memory(e, "the index");
    while ((*more = next_line(l)) && l->line[0] == '#')
        fprintf(out, "%s\n", l->line + 1 + (l->line[1] == ' '));
    (void)fclose(out);
    const enum status s = strcmp(lineage, settings->lineage) == 0
                              ? STATUS_OK
                              : refuse_lineage(x, lineage, history, settings, e);
    free(history);
    return s;
}

static enum status take_lines(struct frame_index *x, struct lines *l,
                              const struct frame_index_settings *settings, struct error *e)
{
    bool more = next_line(l);
    if (!more && (!l->line || is_torn_title(l->line)))
        return STATUS_OK;
    enum status s = take_head(x, l, settings, &more, e);
    for (; more && s == STATUS_OK; more = next_line(l)) {
        struct listed listed;
        if (parse_line(l->line, &listed))
            s = remember(x, listed, e);
        else
            s = error_set(e, STATUS_FAILED,
                          "%s:%ld: no line of an index; --overwrite begins a new one", x->path,
                          l->number);
    }
    return s;
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
    struct lines l = {.in = copy < 0 ? NULL : fdopen(copy, "r")};
    if (!l.in)
        return error_errno(e, STATUS_FAILED, "%s: cannot read", x->path);
    enum status s = take_lines(x, &l, settings, e);
    struct stat st;
    if (s == STATUS_OK && l.torn &&
        (x->entries ? fstat(x->file, &st) || !remove_torn(x->file, &st.st_size)
                    : ftruncate(x->file, 0) != 0))
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

/* The first line, and the history behind "# ". */
static char *make_head(const struct frame_index_settings *settings)
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

enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e)
{
    *x = (struct frame_index){.path = strdup(path),
                              .head = make_head(settings),
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
    const enum status s = take_in(x, settings, e);
    if (s == STATUS_OK || !settings->overwrite)
        return s;
    x->anew = true;
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

enum status frame_index_add(struct frame_index *x, uint64_t id, uint32_t crc, const char *names,
                            uint64_t bytes, struct error *e)
{
    enum status s = frame_index_check(x, id, crc, e);
    if (s || frame_index_has(x, id, names, bytes))
        return s;
    char *line;
    const int length =
        asprintf(&line, "%" PRIu64 "\t%08" PRIx32 "\t%" PRIu64 "\t%s\n", id, crc, bytes, names);
    if (length < 0)
        return error_memory(e, "a line of the index");
    s = append(x, line, (size_t)length, e);
    free(line);
    return s ? s : remember(x, (struct listed){id, bytes, crc, hash_text(HASH_START, names)}, e);
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
