#include "wire/message.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "wire/msgpack.h"

static void part_release(struct part *part)
{
    if (part->release)
        part->release(part->owner);
}

enum status message_add(struct message *m, struct part part, struct error *e)
{
    if (m->nparts == MESSAGE_PARTS_MAX) {
        part_release(&part);
        return error_set(e, STATUS_FAILED, "the message needs more than %d parts",
                         MESSAGE_PARTS_MAX);
    }
    m->parts = mem_grow(m->parts, m->nparts, 1, sizeof *m->parts, &m->capacity);
    m->parts[m->nparts++] = part;
    return STATUS_OK;
}

struct part message_take(struct message *m, size_t i)
{
    const struct part part = m->parts[i];
    m->parts[i].release = NULL;
    m->parts[i].owner = NULL;
    return part;
}

size_t message_size(const struct message *m)
{
    size_t size = 0;
    for (size_t i = 0; i < m->nparts; i++)
        size += m->parts[i].size;
    return size;
}

bool message_sum_ahead(struct message *m, size_t bytes)
{
    struct crc32c_piece *ahead = &m->ahead;
    const size_t left = m->nparts > 2 && !m->has_sum ? m->parts[2].size - ahead->bytes : 0;
    const size_t more = left < bytes ? left : bytes;
    if (more)
        ahead->sum = crc32c(ahead->sum, (const char *)m->parts[2].data + ahead->bytes, more);
    ahead->bytes += more;
    return more;
}

void message_free(struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        part_release(&m->parts[i]);
    part_release(&m->chunk);
    mem_free(m->parts);
    memset(m, 0, sizeof *m);
}

/* --- the route ----------------------------------------------------------- */

enum { ROUTE_ITEMS = 11 };

const char *message_type_name(enum message_type type)
{
    switch (type) {
#define X(symbol, code, text) \
    case MESSAGE_##symbol:    \
        return text;
        MESSAGE_MAP(X)
#undef X
    }
    return "?";
}

/* Returns the checksum of the payload.  *first is that of its first part: of the pixels, if there
 * are any. */
static uint32_t payload_sum(const struct message *m, uint32_t *first)
{
    *first = m->has_sum ? m->sum : 0;
    if (m->nparts > 2 && !m->has_sum)
        *first = crc32c(m->ahead.sum, (const char *)m->parts[2].data + m->ahead.bytes,
                        m->parts[2].size - m->ahead.bytes);
    uint32_t sum = *first;
    for (size_t i = 3; i < m->nparts; i++)
        sum = crc32c(sum, m->parts[i].data, m->parts[i].size);
    return sum;
}

bool route_sum_matches_first(const struct route *r, const struct message *m, uint32_t *first)
{
    return payload_sum(m, first) == r->payload_crc;
}

uint32_t route_sum_of_first(const struct route *r, const struct message *m)
{
    struct crc32c_piece rest = {0};
    for (size_t i = 3; i < m->nparts; i++) {
        rest.sum = crc32c(rest.sum, m->parts[i].data, m->parts[i].size);
        rest.bytes += m->parts[i].size;
    }
    return crc32c_before(r->payload_crc, rest);
}

bool route_sum_matches(const struct route *r, const struct message *m)
{
    uint32_t first;
    return route_sum_matches_first(r, m, &first);
}

static void write_route(const struct route *r, struct writer *w)
{
    writer_array(w, ROUTE_ITEMS);
    writer_uint(w, WIRE_VERSION);
    writer_uint(w, r->type);
    writer_uint(w, r->run);
    writer_uint(w, r->incarnation);
    writer_uint(w, r->frame);
    writer_uint(w, r->attempt);
    writer_text(w, r->stage);
    writer_uint(w, r->flags);
    writer_uint(w, r->payload_count);
    writer_uint(w, r->payload_crc);
}

/* Returns the checksum of part 0, without its last item, and part 1.  The result is never 0,
 * because 0 means that there is no checksum. */
static uint32_t head_sum(const void *items, size_t size, const struct part *metadata)
{
    const uint32_t sum = crc32c(crc32c(0, items, size), metadata->data, metadata->size);
    return sum ? sum : 1;
}

struct part route_encode(const struct route *r, const struct part *metadata)
{
    struct writer w = {0};
    write_route(r, &w);
    writer_uint(&w, head_sum(w.bytes, w.size, metadata));
    return part_written(&w);
}

void route_seal(struct route *r, struct message *m)
{
    uint32_t first;
    r->payload_count = (uint32_t)(m->nparts - 2);
    r->payload_crc = payload_sum(m, &first);
    part_release(&m->parts[0]);
    m->parts[0] = route_encode(r, &m->parts[1]);
}

/* Reads an unsigned item of at most 32 bits. */
static bool read_u32(struct reader *r, uint32_t max, uint32_t *value)
{
    uint64_t x;
    if (!reader_uint(r, max, &x))
        return false;
    *value = (uint32_t)x;
    return true;
}

enum status route_open(struct route *r, const struct message *m, struct error *e)
{
    *r = (struct route){0};
    if (m->nparts < 2 || m->nparts > MESSAGE_PARTS_MAX || m->parts[0].size > MESSAGE_ROUTE_MAX ||
        m->parts[1].size > MESSAGE_METADATA_MAX)
        return error_set(e, STATUS_INPUT, "a malformed message: %zu parts or a header too large",
                         m->nparts);
    struct reader in = reader_over(m->parts[0].data, m->parts[0].size);
    uint32_t items, version, type = 0, sum = 0;
    size_t summed = 0;
    if (!reader_array(&in, 64, &items) || items < 1 || !read_u32(&in, UINT32_MAX, &version))
        return error_set(e, STATUS_INPUT, "a malformed message: the route is missing");
    if (version != WIRE_VERSION)
        return error_set(
            e, STATUS_INPUT,
            "a message of version %u of the stream format; this program supports version %d",
            version, WIRE_VERSION);
    bool good =
        items == ROUTE_ITEMS && read_u32(&in, MESSAGE_LAST, &type) && type >= MESSAGE_HELLO &&
        reader_uint(&in, UINT64_MAX, &r->run) && read_u32(&in, UINT32_MAX, &r->incarnation) &&
        reader_uint(&in, UINT64_MAX, &r->frame) && read_u32(&in, UINT32_MAX, &r->attempt) &&
        reader_text(&in, r->stage, sizeof r->stage) && read_u32(&in, UINT32_MAX, &r->flags) &&
        read_u32(&in, MESSAGE_PARTS_MAX, &r->payload_count) &&
        read_u32(&in, UINT32_MAX, &r->payload_crc);
    if (good)
        summed = m->parts[0].size - (size_t)(in.end - in.at);
    good = good && read_u32(&in, UINT32_MAX, &sum) && reader_done(&in) &&
           (!sum || sum == head_sum(m->parts[0].data, summed, &m->parts[1]));
    r->type = (enum message_type)type;
    if (!good || r->payload_count != m->nparts - 2)
        return error_set(e, STATUS_INPUT, "a malformed message: the route is corrupt");
    return STATUS_OK;
}
