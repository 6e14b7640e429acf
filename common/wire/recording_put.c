/* Records on their way into a file. */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/steady.h"
#include "wire/recording_layout.h"

enum status recorder_failed(const struct recorder *r, struct error *e)
{
    return error_errno(e, STATUS_FAILED, "%s: cannot write", r->temporary ? r->temporary : r->path);
}

bool recorder_put(struct recorder *r, const void *data, size_t size)
{
    return size == 0 || fwrite(data, size, 1, r->stream) == 1;
}

/* Zeros after `size` bytes, up to the next unit. */
static bool pad(struct recorder *r, uint64_t size)
{
    static const char zeros[LAYOUT_UNIT];
    return recorder_put(r, zeros, (size_t)(layout_round(size) - size));
}

/* What was put is out of this process, `size` bytes of records more. */
bool recorder_commit(struct recorder *r, uint64_t size)
{
    if (fflush(r->stream) || (r->sync && steady_sync_data(r->file) && errno != EINVAL))
        return false;
    r->size += size;
    return true;
}

/* Fills in what the head says of the parts, and writes the record. */
bool recorder_put_message(struct recorder *r, struct layout_head *head, const struct message *m)
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
    bool good = recorder_put(r, head, sizeof *head) && recorder_put(r, sizes, bytes) &&
                pad(r, sizeof *head + bytes);
    for (size_t i = 0; good && i < m->nparts; i++)
        good = recorder_put(r, m->parts[i].data, m->parts[i].size) && pad(r, m->parts[i].size);
    return good;
}

struct layout_head recorder_head(const struct recorder *r, uint32_t type, uint64_t id)
{
    return (struct layout_head){.magic = LAYOUT_RECORD_MAGIC,
                                .time_ns = r->base_ns + (clock_ns() - r->start_ns),
                                .id = id,
                                .type = type};
}

bool recorder_put_index(struct recorder *r)
{
    const size_t bytes = r->frames.count * sizeof *r->frames.entries;
    struct layout_head head = recorder_head(r, INDEX_TYPE, r->frames.count);
    recording_list_sort(&r->frames);
    head.length = sizeof head + layout_round(bytes);
    head.crc_meta = crc32c(0, r->frames.entries, bytes);
    head.crc = layout_sum(&head);
    struct layout_end end = {.magic = LAYOUT_END_MAGIC, .index = r->size};
    end.crc = layout_sum(&end);
    return recorder_put(r, &head, sizeof head) && recorder_put(r, r->frames.entries, bytes) &&
           pad(r, bytes) && recorder_put(r, &end, sizeof end) && fflush(r->stream) == 0 &&
           (!r->sync || steady_sync(r->file) == 0 || errno == EINVAL);
}
