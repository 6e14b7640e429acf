/*
 * Reads recordings.  The index at the end of the file lists the frames.  If the index is missing,
 * because the writer was killed, all records are read, up to the last complete one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/filetype.h"
#include "wire/recording_layout.h"

/* --- bytes --------------------------------------------------------------- */

/* Reads `size` bytes at `offset`.  Returns false, with errno, if reading fails, and with errno 0
 * if the file ends before that. */
static bool read_at(const struct recording *r, void *data, size_t size, uint64_t offset)
{
    const ssize_t n = steady_read_at(r->file, data, size, (off_t)offset);
    if (n == (ssize_t)size)
        return true;
    errno = n < 0 ? errno : 0;
    return false;
}

static enum status cannot_read(const struct recording *r, struct error *e)
{
    if (errno)
        return error_errno(e, STATUS_FAILED, "%s: cannot read", r->path);
    return error_set(e, STATUS_INPUT, "%s: truncated by another program while it was being read",
                     r->path);
}

/* Returns true if the length of a record is valid and the record is inside the file. */
static bool head_fits(const struct recording *r, const struct layout_head *head, uint64_t offset)
{
    return head->length >= LAYOUT_UNIT && head->length % LAYOUT_UNIT == 0 &&
           head->length <= r->size - offset;
}

static enum status damaged(const struct recording *r, uint64_t offset, struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "%s: the record at byte %" PRIu64 " is corrupt. head -c %" PRIu64
                     " saves the records before it",
                     r->path, offset, offset);
}

/* --- opening ------------------------------------------------------------- */

static enum status read_header(struct recording *r, struct error *e)
{
    struct layout_header h;
    const enum status type = filetype_check_file(r->path, FILETYPE_RECORDING, e);
    if (type)
        return type;
    if (r->size < sizeof h)
        return error_set(e, STATUS_INPUT,
                         "%s: not a recording (got %" PRIu64
                         " bytes); expected a file of bragg-tap --record",
                         r->path, r->size);
    if (!read_at(r, &h, sizeof h, 0))
        return cannot_read(r, e);
    if (memcmp(h.magic, LAYOUT_HEADER_MAGIC, sizeof h.magic) != 0)
        return error_set(e, STATUS_INPUT,
                         "%s: not a recording; expected a file of bragg-tap --record", r->path);
    if (!layout_is_good(&h, LAYOUT_HEADER_MAGIC) || h.kind < 1 || h.kind > 3)
        return error_set(e, STATUS_INPUT, "%s: corrupt recording: the header has a wrong checksum",
                         r->path);
    if (h.version != RECORDING_VERSION)
        return error_set(e, STATUS_INPUT,
                         "%s: the recording has version %" PRIu32 "; this program reads version %d",
                         r->path, h.version, RECORDING_VERSION);
    r->kind = (int)h.kind;
    r->begun = h.begun;
    r->whole = sizeof h;
    return STATUS_OK;
}

/* Reads the index.  Returns false if there is no valid index. */
static bool read_index(struct recording *r)
{
    struct layout_end end;
    struct layout_head head;
    const uint64_t end_at = r->size - sizeof end;
    if (r->size % LAYOUT_UNIT || !read_at(r, &end, sizeof end, end_at) ||
        !layout_is_good(&end, LAYOUT_END_MAGIC) || end.index % LAYOUT_UNIT ||
        end.index < LAYOUT_UNIT || end.index >= end_at ||
        !read_at(r, &head, sizeof head, end.index) || !layout_is_good(&head, LAYOUT_RECORD_MAGIC))
        return false;
    const uint64_t room = end_at - end.index - sizeof head;
    if (head.type != INDEX_TYPE || head.length != end_at - end.index ||
        head.id > room / sizeof(struct recording_entry) ||
        layout_round(head.id * sizeof(struct recording_entry)) != room)
        return false;
    const size_t n = (size_t)head.id;
    struct recording_entry *list = mem_array(n, sizeof *list);
    bool good = list && read_at(r, list, n * sizeof *list, end.index + sizeof head) &&
                crc32c(0, list, n * sizeof *list) == head.crc_meta;
    for (size_t i = 0; good && i < n; i++)
        good = (i == 0 || list[i].id > list[i - 1].id) && list[i].offset % LAYOUT_UNIT == 0 &&
               list[i].offset > LAYOUT_UNIT && list[i].offset < end.index;
    if (!good) {
        mem_free(list);
        return false;
    }
    r->frames = (struct recording_list){n, n, list};
    r->whole = end.index;
    return r->finished = true;
}

static enum status sort_entries(struct recording *r, struct error *e)
{
    recording_list_sort(&r->frames);
    const struct recording_entry *list = r->frames.entries;
    for (size_t i = 1; i < r->frames.count; i++)
        if (list[i].id == list[i - 1].id)
            return error_set(e, STATUS_INPUT,
                             "%s: corrupt recording: frame %" PRIu64 " occurs twice", r->path,
                             list[i].id);
    return STATUS_OK;
}

/* Reads all heads, up to the index or the first incomplete record. */
static enum status scan(struct recording *r, struct error *e)
{
    uint64_t offset = LAYOUT_UNIT;
    while (r->size - offset >= sizeof(struct layout_head)) {
        struct layout_head head;
        if (!read_at(r, &head, sizeof head, offset))
            return cannot_read(r, e);
        const bool first = offset == LAYOUT_UNIT;
        if (!layout_is_good(&head, LAYOUT_RECORD_MAGIC) ||
            (head.type != MESSAGE_FRAME && head.type != MESSAGE_EXPERIMENT &&
             head.type != INDEX_TYPE) ||
            first != (head.type == MESSAGE_EXPERIMENT))
            return damaged(r, offset, e);
        if (head.type == INDEX_TYPE || !head_fits(r, &head, offset))
            break;
        const struct recording_entry entry = {head.id, offset, head.time_ns};
        if (!first && !recording_list_add(&r->frames, entry))
            return error_memory(e, "the frames of a recording");
        offset += head.length;
    }
    r->whole = offset;
    if (offset == LAYOUT_UNIT)
        return error_set(e, STATUS_INPUT, "%s: truncated before the end of its experiment",
                         r->path);
    return sort_entries(r, e);
}

enum status recording_open(struct recording *r, const char *path, struct error *e)
{
    struct stat st;
    *r = (struct recording){.path = mem_copy(path, strlen(path) + 1, 1), .file = -1};
    if (!r->path)
        return error_memory(e, "a file name");
    r->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->file < 0 || fstat(r->file, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: not an ordinary file; expected a recording", path);
    r->size = (uint64_t)st.st_size;
    const enum status s = read_header(r, e);
    return s || read_index(r) ? s : scan(r, e);
}

void recording_close(struct recording *r)
{
    if (r->path && r->file >= 0)
        (void)close(r->file);
    recording_list_clear(&r->frames);
    mem_free(r->path);
    *r = (struct recording){.file = -1};
}

/* --- records ------------------------------------------------------------- */

/* Returns true if the sizes of the parts add up to that of the record, and parts 0 and 1 are not
 * larger than their limits. */
static bool sizes_fit(const struct layout_head *head, const uint64_t *sizes)
{
    uint64_t at = layout_round(sizeof *head + head->nparts * sizeof *sizes);
    for (uint32_t i = 0; i < head->nparts; i++) {
        if (at > head->length || sizes[i] > head->length - at)
            return false;
        at += layout_round(sizes[i]);
    }
    return at == head->length && sizes[0] <= MESSAGE_ROUTE_MAX && sizes[1] <= MESSAGE_METADATA_MAX;
}

/* Appends one part to the message, and moves *at to the end of the part. */
static enum status read_part(const struct recording *r, uint64_t size, uint64_t *at,
                             struct message *m, struct error *e)
{
    void *data = mem_room((size_t)size);
    if (!data)
        return error_memory(e, "a part of a recording");
    if (!read_at(r, data, (size_t)size, *at)) {
        mem_free(data);
        return cannot_read(r, e);
    }
    *at += layout_round(size);
    return message_add(m, (struct part){data, (size_t)size, mem_free, data}, e);
}

static enum status read_record(const struct recording *r, uint64_t offset,
                               const struct layout_head *head, struct message *m, struct error *e)
{
    uint64_t sizes[MESSAGE_PARTS_MAX];
    const size_t bytes = head->nparts * sizeof *sizes;
    if (head->length < sizeof *head + bytes)
        return damaged(r, offset, e);
    if (!read_at(r, sizes, bytes, offset + sizeof *head))
        return cannot_read(r, e);
    if (!sizes_fit(head, sizes))
        return damaged(r, offset, e);
    uint64_t at = offset + layout_round(sizeof *head + bytes);
    enum status s = STATUS_OK;
    for (uint32_t i = 0; s == STATUS_OK && i < head->nparts; i++) {
        s = read_part(r, sizes[i], &at, m, e);
        if (s == STATUS_OK && i == 1) {
            uint32_t crc = crc32c(0, sizes, bytes);
            crc = crc32c(crc, m->parts[0].data, m->parts[0].size);
            crc = crc32c(crc, m->parts[1].data, m->parts[1].size);
            s = crc == head->crc_meta ? s : damaged(r, offset, e);
        }
    }
    return s;
}

/* Reads the message at `offset`.  STATUS_INPUT: the record is corrupt, or has another type or
 * frame number. */
static enum status read_message(const struct recording *r, uint64_t offset, enum message_type type,
                                uint64_t id, struct route *route, struct message *m,
                                struct error *e)
{
    struct layout_head head;
    *m = (struct message){0};
    if (!read_at(r, &head, sizeof head, offset))
        return cannot_read(r, e);
    if (!layout_is_good(&head, LAYOUT_RECORD_MAGIC) || !head_fits(r, &head, offset) ||
        head.type != type || head.id != id || head.nparts < 2 || head.nparts > MESSAGE_PARTS_MAX)
        return damaged(r, offset, e);
    enum status s = read_record(r, offset, &head, m, e);
    if (s)
        return s;
    struct error cause;
    if (route_open(route, m, &cause) != STATUS_OK)
        return error_set(e, STATUS_INPUT, "%s: byte %" PRIu64 ": %s", r->path, offset, cause.text);
    if (route->type != type || route->frame != id ||
        (route->flags & ROUTE_KIND_MASK) != (uint32_t)r->kind || !route_sum_matches(route, m))
        s = damaged(r, offset, e);
    return s;
}

enum status recording_experiment(const struct recording *r, struct route *route, struct message *m,
                                 struct error *e)
{
    return read_message(r, LAYOUT_UNIT, MESSAGE_EXPERIMENT, 0, route, m, e);
}

enum status recording_frame(const struct recording *r, const struct recording_entry *entry,
                            struct route *route, struct message *m, struct error *e)
{
    return read_message(r, entry->offset, MESSAGE_FRAME, entry->id, route, m, e);
}

/* --- the list of frames, for reader and writer ----------------------------- */

bool recording_list_add(struct recording_list *l, struct recording_entry entry)
{
    struct recording_entry *entries =
        mem_grow(l->entries, l->count, 1, sizeof *entries, &l->capacity);
    if (!entries)
        return false;
    l->entries = entries;
    l->entries[l->count++] = entry;
    return true;
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = ((const struct recording_entry *)a)->id,
                   y = ((const struct recording_entry *)b)->id;
    return (x > y) - (x < y);
}

void recording_list_sort(struct recording_list *l)
{
    if (l->count)
        qsort(l->entries, l->count, sizeof *l->entries, by_id);
}

const struct recording_entry *recording_list_find(const struct recording_list *l, uint64_t id)
{
    const struct recording_entry key = {.id = id};
    return l->count ? bsearch(&key, l->entries, l->count, sizeof key, by_id) : NULL;
}

void recording_list_clear(struct recording_list *l)
{
    mem_free(l->entries);
    *l = (struct recording_list){0};
}
