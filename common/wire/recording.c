/*
 * Reads and writes recordings: the messages of a stream as records of one file, which bragg-replay
 * sends again.  recording.h has the layout.
 *
 * A recording only grows at its end.  An index of the frames and an end mark follow the last
 * record.  If the writing process is killed, the index is missing, and the file has complete
 * records and at most one incomplete record.  A reader then reads all records, up to the last
 * complete one, and the next writer removes the incomplete record.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/filetype.h"
#include "base/history.h"
#include "wire/codec.h"
#include "wire/recording.h"

static void add_entry(struct recording_list *l, struct recording_entry entry)
{
    l->entries = mem_grow(l->entries, l->count, 1, sizeof *l->entries, &l->capacity);
    l->entries[l->count++] = entry;
}

/* --- reading and writing bytes of the file ------------------------------- */

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
    if (r->size >= sizeof h && !read_at(r, &h, sizeof h, 0))
        return cannot_read(r, e);
    if (r->size < sizeof h || memcmp(h.magic, LAYOUT_HEADER_MAGIC, sizeof h.magic) != 0)
        return error_set(e, STATUS_INPUT,
                         "%s: neither a recording of bragg-tap nor an image (got %" PRIu64
                         " bytes of another format)",
                         r->path, r->size);
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
    struct recording_entry *list = mem_try_array(n, sizeof *list);
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
        if (!first)
            add_entry(&r->frames, entry);
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
    void *data = mem_try_room((size_t)size);
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

/* --- writing ----------------------------------------------------------------------- */

static enum status write_error(const struct recorder *r, struct error *e)
{
    return error_errno(e, STATUS_FAILED, "%s: cannot write", r->temporary ? r->temporary : r->path);
}

static bool write_bytes(struct recorder *r, const void *data, size_t size)
{
    return size == 0 || fwrite(data, size, 1, r->stream) == 1;
}

/* Writes zeros after `size` bytes, up to the next multiple of LAYOUT_UNIT. */
static bool write_padding(struct recorder *r, uint64_t size)
{
    static const char zeros[LAYOUT_UNIT];
    return write_bytes(r, zeros, (size_t)(layout_round(size) - size));
}

/* Flushes `size` bytes of records to the kernel and, if r->sync is set, to the disk.  Returns
 * false, with errno, if that fails. */
static bool commit_records(struct recorder *r, uint64_t size)
{
    if (fflush(r->stream) || (r->sync && steady_sync_data(r->file) && errno != EINVAL))
        return false;
    r->size += size;
    return true;
}

/* Writes a message as a record.  The caller has set type, id and time of *head.  This function
 * sets the lengths and checksums.  Returns false if the record cannot be written. */
static bool write_message(struct recorder *r, struct layout_head *head, const struct message *m)
{
    uint64_t sizes[MESSAGE_PARTS_MAX];
    const size_t bytes = m->nparts * sizeof *sizes;
    head->length = layout_round(sizeof *head + bytes);
    head->nparts = (uint32_t)m->nparts;
    for (size_t i = 0; i < m->nparts; i++) {
        sizes[i] = m->parts[i].size;
        head->length += layout_round(sizes[i]);
    }
    head->crc_meta = crc32c(0, sizes, bytes);
    for (int i = 0; i < 2; i++)
        head->crc_meta = crc32c(head->crc_meta, m->parts[i].data, m->parts[i].size);
    head->crc = layout_sum(head);
    bool good = write_bytes(r, head, sizeof *head) && write_bytes(r, sizes, bytes) &&
                write_padding(r, sizeof *head + bytes);
    for (size_t i = 0; good && i < m->nparts; i++)
        good = write_bytes(r, m->parts[i].data, m->parts[i].size) &&
               write_padding(r, m->parts[i].size);
    return good;
}

static struct layout_head head_of_record(const struct recorder *r, uint32_t type, uint64_t id)
{
    return (struct layout_head){.magic = LAYOUT_RECORD_MAGIC,
                                .time_ns = r->base_ns + (clock_ns() - r->start_ns),
                                .id = id,
                                .type = type};
}

static bool write_index(struct recorder *r)
{
    const size_t bytes = r->frames.count * sizeof *r->frames.entries;
    struct layout_head head = head_of_record(r, INDEX_TYPE, r->frames.count);
    recording_list_sort(&r->frames);
    head.length = sizeof head + layout_round(bytes);
    head.crc_meta = crc32c(0, r->frames.entries, bytes);
    head.crc = layout_sum(&head);
    struct layout_end end = {.magic = LAYOUT_END_MAGIC, .index = r->size};
    end.crc = layout_sum(&end);
    return write_bytes(r, &head, sizeof head) && write_bytes(r, r->frames.entries, bytes) &&
           write_padding(r, bytes) && write_bytes(r, &end, sizeof end) && fflush(r->stream) == 0 &&
           (!r->sync || steady_sync(r->file) == 0 || errno == EINVAL);
}

#define EXISTS "%s: exists. Use --overwrite to replace it, or --resume to continue it"

/* --- opening ------------------------------------------------------------- */

enum status recorder_check(const char *path, enum recorder_mode mode, struct error *e)
{
    struct stat st;
    if (stat(path, &st))
        return STATUS_OK;
    if (S_ISDIR(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: is a folder; expected a file", path);
    if (S_ISREG(st.st_mode) && mode == RECORDER_NEW)
        return error_set(e, STATUS_FAILED, EXISTS, path);
    return STATUS_OK;
}

/* Writes the header and the experiment of a new file. */
static enum status begin_recording(struct recorder *r, const struct route *route,
                                   const struct message *experiment, struct error *e)
{
    r->ours = true;
    struct layout_header header = {.magic = LAYOUT_HEADER_MAGIC,
                                   .version = RECORDING_VERSION,
                                   .kind = route->flags & ROUTE_KIND_MASK,
                                   .begun = (int64_t)clock_unix_ns()};
    header.crc = layout_sum(&header);
    struct layout_head head = head_of_record(r, MESSAGE_EXPERIMENT, 0);
    if (!write_bytes(r, &header, sizeof header) || !write_message(r, &head, experiment) ||
        !commit_records(r, sizeof header + head.length))
        return write_error(r, e);
    return STATUS_OK;
}

static bool same_part(const struct part *a, const struct part *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* Returns true if two experiments have the same lineage.  Writes their first difference, as far as
 * their histories contain it, to `text`. */
static bool same_lineage(const struct message *was, const struct message *is,
                         char text[HISTORY_DIFFERENCE_SIZE])
{
    struct experiment x = {0}, y = {0};
    const bool good = codec_experiment_decode(&x, was, NULL) == STATUS_OK &&
                      codec_experiment_decode(&y, is, NULL) == STATUS_OK;
    const bool same = good && strcmp(x.lineage, y.lineage) == 0;
    if (!good || !history_difference(x.history, y.history, text))
        (void)snprintf(text, HISTORY_DIFFERENCE_SIZE, "another experiment");
    experiment_free(&x);
    experiment_free(&y);
    return same;
}

/* Compares the experiment of the existing file with the new one.  STATUS_FAILED: they differ. */
static enum status compare_experiment(const struct recorder *r, const struct route *route,
                                      const struct message *experiment, struct error *e)
{
    struct route first;
    struct message m;
    char what[HISTORY_DIFFERENCE_SIZE] = "another experiment";
    enum status s = recording_experiment(&r->before, &first, &m, e);
    const bool same =
        !s && (first.flags & ROUTE_KIND_MASK) == (route->flags & ROUTE_KIND_MASK) &&
        first.payload_crc == route->payload_crc &&
        (same_part(&m.parts[1], &experiment->parts[1]) || same_lineage(&m, experiment, what));
    if (!s && !same)
        s = error_set(e, STATUS_FAILED,
                      "%s: has frames that were made with other options (%s). Use --overwrite to "
                      "replace them",
                      r->temporary, what);
    message_free(&m);
    return s;
}

/* Continues the existing file after its last whole record. */
static enum status resume(struct recorder *r, const struct route *route,
                          const struct message *experiment, struct error *e)
{
    struct error cause;
    enum status s = recording_open(&r->before, r->temporary, &cause);
    if (s)
        return error_set(e, STATUS_FAILED, "%s. Use --overwrite to begin again", cause.text);
    s = compare_experiment(r, route, experiment, e);
    if (s)
        return s;
    const int64_t since = (int64_t)clock_unix_ns() - r->before.begun;
    r->base_ns = since > 0 ? (uint64_t)since : 0;
    for (size_t i = 0; i < r->before.frames.count; i++) {
        const struct recording_entry entry = r->before.frames.entries[i];
        if (r->base_ns < entry.time_ns)
            r->base_ns = entry.time_ns;
        add_entry(&r->frames, entry);
    }
    r->ours = true;
    r->size = r->before.whole;
    if (steady_truncate(r->file, (off_t)r->size) || fseeko(r->stream, (off_t)r->size, SEEK_SET))
        return write_error(r, e);
    return STATUS_OK;
}

/* Opens PATH.part and locks it, so that no two processes write to it. */
static enum status open_temporary(struct recorder *r, enum recorder_mode mode, struct error *e)
{
    r->temporary = mem_text("%s.part", r->path);
    r->renamed = mode == RECORDER_RESUME && access(r->temporary, F_OK) != 0 &&
                 steady_rename(r->path, r->temporary) == 0;
    /* the user did not type this name, so a link that another user has made must not be followed */
    const int follow = r->renamed ? 0 : O_NOFOLLOW;
    const int file =
        steady_open(r->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | follow, 0666);
    struct stat st = {0};
    enum status s = STATUS_OK;
    r->file = file;
    if (file < 0 && errno == ELOOP)
        s = error_set(e, STATUS_FAILED, "%s: is a link; expected a file", r->temporary);
    else if (file < 0 || fstat(file, &st))
        s = error_errno(e, STATUS_FAILED, "%s: cannot create", r->temporary);
    else if (!S_ISREG(st.st_mode))
        s = error_set(e, STATUS_FAILED, "%s: not an ordinary file", r->temporary);
    else if (!r->renamed && (st.st_uid != geteuid() || st.st_nlink != 1))
        s = error_set(
            e, STATUS_FAILED,
            "%s: belongs to another user, or has a second name (hard link). Remove it first",
            r->temporary);
    else if (flock(file, LOCK_EX | LOCK_NB))
        s = error_set(e, STATUS_FAILED, "%s: another process is writing to this file",
                      r->temporary);
    else if (!(r->stream = steady_stream(file, "r+b")))
        s = error_memory(e, "a file");
    if (s && file >= 0)
        (void)close(file);
    return s;
}

enum status recorder_open(struct recorder *r, const char *path, enum recorder_mode mode,
                          const struct route *route, const struct message *experiment,
                          struct error *e)
{
    struct stat st;
    *r = (struct recorder){.path = mem_text("%s", path),
                           .start_ns = clock_ns(),
                           .before.file = -1,
                           .replaces = mode == RECORDER_REPLACE};
    enum status s = recorder_check(path, mode, e);
    if (s)
        return s;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        int file;
        if ((s = target_open(path, 0, &file, e)) != STATUS_OK)
            return s;
        r->file = file;
        if ((r->stream = steady_stream(file, "wb")))
            return begin_recording(r, route, experiment, e);
        (void)close(file);
        return write_error(r, e);
    }
    s = open_temporary(r, mode, e);
    if (s)
        return s;
    if (mode != RECORDER_REPLACE && fseeko(r->stream, 0, SEEK_END) == 0 && ftello(r->stream) > 0)
        return resume(r, route, experiment, e);
    if (steady_truncate(r->file, 0) || fseeko(r->stream, 0, SEEK_SET))
        return write_error(r, e);
    return begin_recording(r, route, experiment, e);
}

/* --- frames -------------------------------------------------------------- */

/* Compares the payload of a frame with that in an earlier record.  STATUS_FAILED: they differ. */
static enum status compare_payload(const struct recorder *r, const struct recording_entry *entry,
                                   const struct route *route, struct error *e)
{
    struct route recorded;
    struct message m;
    enum status s = recording_frame(&r->before, entry, &recorded, &m, e);
    message_free(&m);
    if (s == STATUS_OK && recorded.payload_crc != route->payload_crc)
        s = error_set(e, STATUS_FAILED,
                      "%s: frame %" PRIu64
                      " has other bytes than before. Equal options must give equal bytes. Did an "
                      "input file or the program version change?",
                      r->temporary, route->frame);
    return s;
}

/* Records a frame whose flags have bits besides the kind.  These bits describe how the frame was
 * transported, so they are removed from the recorded route. */
static enum status add_plain(struct recorder *r, const struct route *route,
                             const struct message *frame, struct error *e)
{
    struct route plain = *route;
    struct message m = {.nparts = frame->nparts,
                        .parts = mem_copy(frame->parts, frame->nparts, sizeof *frame->parts)};
    m.parts[0] = (struct part){0};
    plain.flags &= ROUTE_KIND_MASK;
    enum status s = STATUS_OK;
    route_seal(&plain, &m);
    if (plain.payload_crc != route->payload_crc)
        s = error_set(e, STATUS_FAILED, "frame %" PRIu64 " changed while it was being recorded",
                      route->frame);
    if (s == STATUS_OK)
        s = recorder_add(r, &plain, &m, e);
    mem_free(m.parts[0].data);
    mem_free(m.parts);
    return s;
}

enum status recorder_add(struct recorder *r, const struct route *route, const struct message *frame,
                         struct error *e)
{
    if (route->flags & ~(uint32_t)ROUTE_KIND_MASK)
        return add_plain(r, route, frame, e);
    const struct recording_entry *known = recording_list_find(&r->before.frames, route->frame);
    if (known)
        return compare_payload(r, known, route, e);
    struct layout_head head = head_of_record(r, MESSAGE_FRAME, route->frame);
    const struct recording_entry entry = {route->frame, r->size, head.time_ns};
    add_entry(&r->frames, entry);
    if (write_message(r, &head, frame) && commit_records(r, head.length))
        return STATUS_OK;
    r->frames.count--;
    return write_error(r, e);
}

void recorder_withdraw(struct recorder *r, size_t count)
{
    if (count >= r->frames.count)
        return;
    r->size = r->frames.entries[count].offset;
    r->frames.count = count;
    if (r->temporary &&
        (fseeko(r->stream, (off_t)r->size, SEEK_SET) || steady_truncate(r->file, (off_t)r->size)))
        errno = 0;  // recorder_close removes this record later
}

/* --- the end ------------------------------------------------------------- */

enum status recorder_finish(struct recorder *r, struct error *e)
{
    if (!write_index(r))
        return write_error(r, e);
    FILE *stream = r->stream;
    r->stream = NULL;
    errno = 0;
    const int named = fclose(stream)  ? -1
                      : !r->temporary ? 0
                      : r->replaces   ? steady_rename(r->temporary, r->path)
                                      : target_rename_new(r->temporary, r->path);
    if (named && errno == EEXIST)
        return error_set(e, STATUS_FAILED, EXISTS ". The frames are in %s", r->path, r->temporary);
    return named ? write_error(r, e) : STATUS_OK;
}

bool recorder_close(struct recorder *r)
{
    const bool unfinished = r->stream && r->temporary && r->ours;
    const bool kept = unfinished && r->frames.count;
    if (r->stream)
        (void)fclose(r->stream);  // may write a part of a record that did not fit
    if (r->renamed && !r->ours && steady_rename(r->temporary, r->path))
        errno = 0;  // the file can be read by either name
    if (unfinished && (kept ? truncate(r->temporary, (off_t)r->size) : unlink(r->temporary)))
        errno = 0;  // readers ignore the incomplete record
    recording_close(&r->before);
    recording_list_clear(&r->frames);
    free(r->temporary);
    free(r->path);
    *r = (struct recorder){.before.file = -1};
    return kept;
}
