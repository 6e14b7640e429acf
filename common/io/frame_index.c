#include "io/frame_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define TITLE "bragg-index 1 "

struct listed {
    uint64_t id;
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
        sscanf(line, "%" SCNu64 "\t%8" SCNx32 "\t%n", &listed->id, &listed->crc, &used) != 2 ||
        used == 0)
        return false;
    listed->names = hash_text(HASH_START, line + used);
    return true;
}

/* Takes in the lines behind the first; *whole gets the bytes of complete lines. */
static enum status read_lines(struct frame_index *x, FILE *in, off_t *whole, struct error *e)
{
    char *line = NULL;
    size_t room = 0;
    long number = 1;
    enum status s = STATUS_OK;
    for (ssize_t n; s == STATUS_OK && (n = getline(&line, &room, in)) > 0;) {
        struct listed listed;
        if (line[n - 1] != '\n')
            break;
        line[n - 1] = 0;
        number++;
        if (parse_line(line, &listed))
            s = remember(x, listed, e);
        else
            s = error_set(e, STATUS_FAILED,
                          "%s:%ld: no line of an index; --overwrite begins a new one", x->path,
                          number);
        *whole += n;
    }
    free(line);
    return s;
}

/* Takes in an existing index and removes an unfinished last line. */
static enum status take_in(struct frame_index *x, FILE *in, const char *lineage, struct error *e)
{
    char first[64];
    if (!fgets(first, sizeof first, in))
        return STATUS_OK;  // empty, as a killed process may leave it
    const size_t length = strlen(first), title = strlen(TITLE);
    if (length < strlen(x->first) && strncmp(first, x->first, length) == 0)
        return truncate(x->path, 0) ? error_errno(e, STATUS_FAILED, "%s: cannot write", x->path)
                                    : STATUS_OK;  // likewise
    const bool ours = strncmp(first, TITLE, title) == 0 && first[length - 1] == '\n';
    first[length - 1] = 0;
    if (!ours)
        return error_set(e, STATUS_FAILED, "%s: exists and is no index; --overwrite replaces it",
                         x->path);
    if (strcmp(first + title, lineage) != 0)
        return error_set(e, STATUS_FAILED,
                         "%s: frames of another lineage (%.20s, not %s) are there; --overwrite "
                         "replaces them",
                         x->path, first + title, lineage);
    off_t whole = (off_t)length;
    const enum status s = read_lines(x, in, &whole, e);
    if (s == STATUS_OK && truncate(x->path, whole))
        return error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    return s;
}

static enum status append(struct frame_index *x, const char *line, size_t length, struct error *e)
{
    struct stat st;
    errno = 0;
    const off_t size = fstat(x->file, &st) ? 0 : st.st_size;
    const ssize_t n = write(x->file, line, length);
    if (n == (ssize_t)length && (!x->sync || fsync(x->file) == 0))
        return STATUS_OK;
    if (n >= 0 && (size_t)n < length)
        errno = ENOSPC;
    error_errno(e, STATUS_FAILED, "%s: cannot write", x->path);
    /* Should this fail too, the next reader removes the unfinished line. */
    if (n > 0 && ftruncate(x->file, size))
        errno = 0;
    return STATUS_FAILED;
}

enum status frame_index_open(struct frame_index *x, const char *path, const char *lineage,
                             bool overwrite, bool sync, struct error *e)
{
    *x = (struct frame_index){
        .path = strdup(path), .file = -1, .overwrite = overwrite, .sync = sync};
    (void)snprintf(x->first, sizeof x->first, TITLE "%.32s\n", lineage);
    if (!x->path)
        return error_memory(e, "a file name");
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is a folder, must be a file", path);
    FILE *in = overwrite ? NULL : fopen(path, "re");
    if (!in)
        return overwrite || errno == ENOENT
                   ? STATUS_OK
                   : error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    const enum status s = take_in(x, in, lineage, e);
    (void)fclose(in);
    return s;
}

/* Before the first line: opens the file, and begins it if it is new. */
static enum status begin(struct frame_index *x, struct error *e)
{
    const int anew = x->overwrite ? O_TRUNC : 0;
    struct stat st;
    x->file = open(x->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | anew, 0666);
    if (x->file < 0 || fstat(x->file, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot create", x->path);
    return st.st_size ? STATUS_OK : append(x, x->first, strlen(x->first), e);
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
                            struct error *e)
{
    const struct listed *found = find(x, id);
    const struct listed listed = {id, crc, hash_text(HASH_START, names)};
    enum status s = frame_index_check(x, id, crc, e);
    if (s || (found && found->names == listed.names) || (x->file < 0 && (s = begin(x, e))))
        return s;
    char *line;
    const int length = asprintf(&line, "%" PRIu64 "\t%08" PRIx32 "\t%s\n", id, crc, names);
    if (length < 0)
        return error_memory(e, "a line of the index");
    s = append(x, line, (size_t)length, e);
    free(line);
    return s ? s : remember(x, listed, e);
}

void frame_index_close(struct frame_index *x)
{
    if (x->path && x->file >= 0)
        (void)close(x->file);
    tdestroy(x->entries, free);
    free(x->path);
    *x = (struct frame_index){.file = -1};
}
