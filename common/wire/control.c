#include "wire/control.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/fields.h"

#define OBJECT neighbour
static const struct field neighbour_fields[] = {MEMBER_TEXT(uuid)};
TABLE(neighbour);
#undef OBJECT

#define OBJECT hello
static const struct field hello_fields[] = {
    MEMBER_TEXT(control),
    MEMBER(downstream, BOOL),
    MEMBER(downstreams, LIST, .table = &neighbour_table, .flags = FIELD_ABSENT,
           .count_offset = offsetof(struct hello, ndownstreams),
           .present_offset = offsetof(struct hello, names_downstreams)),
    MEMBER(durable, BOOL),
    MEMBER(gives, ENUM, .limit = 3),
    MEMBER_TEXT(group),
    MEMBER(host, TEXT, .count = HOST_SIZE, .flags = FIELD_ABSENT),
    MEMBER_TEXT(identity),
    MEMBER(in_memory, BOOL, .flags = FIELD_ABSENT),
    MEMBER(order, BOOL, .flags = FIELD_ABSENT),
    MEMBER(pid, I64),
    MEMBER_TEXT(stage),
    MEMBER(upstreams, LIST, .table = &neighbour_table,
           .count_offset = offsetof(struct hello, nupstreams)),
    MEMBER_TEXT(uuid),
    MEMBER(wants, ENUM, .limit = 4),
};
TABLE(hello);
#undef OBJECT

#define OBJECT id_range
static const struct field range_fields[] = {MEMBER(first, U64), MEMBER(last, U64)};
TABLE(range);
#undef OBJECT

#define OBJECT group_name
static const struct field group_fields[] = {MEMBER_TEXT(name)};
TABLE(group);
#undef OBJECT

#define OBJECT work
static const struct field work_fields[] = {
    MEMBER(bytes_in, U64),
    MEMBER(bytes_out, U64),
    MEMBER(codec_ns, U64),
    MEMBER(compute_ns, U64),
    MEMBER(cpu_ns, U64),
    MEMBER(frames, U64),
    MEMBER(refused, U64, .flags = FIELD_ABSENT),
    MEMBER(time_ns, U64),
    MEMBER(wait_in_ns, U64),
    MEMBER(wait_out_ns, U64),
};
TABLE(work);
#undef OBJECT

#define OBJECT process_status
static const struct field process_fields[] = {
    MEMBER(durable, BOOL),
    MEMBER_TEXT(group),
    MEMBER(held, U64),
    MEMBER(hops, U32),
    MEMBER(host, TEXT, .count = HOST_SIZE, .flags = FIELD_ABSENT),
    MEMBER(pid, I64),
    MEMBER_TEXT(stage),
    MEMBER(work, MAP, .table = &work_table),
};
TABLE(process);
#undef OBJECT

#define OBJECT fenced_status
static const struct field fenced_fields[] = {
    MEMBER(ago_ns, U64),
    MEMBER(frames, U64),
    MEMBER(host, TEXT, .count = HOST_SIZE, .flags = FIELD_ABSENT),
    MEMBER(pid, I64),
    MEMBER_TEXT(reason),
};
TABLE(fenced);
#undef OBJECT

#define OBJECT given_up
static const struct field given_up_fields[] = {
    MEMBER(deaths, U64),
    MEMBER(frame, U64),
    MEMBER(host, TEXT, .count = HOST_SIZE, .flags = FIELD_ABSENT),
    MEMBER(pid, I64),
};
TABLE(given_up);
#undef OBJECT

#define OBJECT run_status
static const struct field status_fields[] = {
    MEMBER(acknowledged, U64),
    MEMBER(elapsed_ns, U64),
    MEMBER(fenced, LIST, .table = &fenced_table,
           .count_offset = offsetof(struct run_status, nfenced), .flags = FIELD_ABSENT),
    MEMBER(given_up, MAP, .table = &given_up_table, .flags = FIELD_ABSENT),
    MEMBER(issued, U64),
    MEMBER(known, BOOL),
    MEMBER(processes, LIST, .table = &process_table,
           .count_offset = offsetof(struct run_status, nprocesses)),
    MEMBER(total, U64),
    MEMBER(unlisted, U64),
    MEMBER(window, U64),
};
TABLE(status);
#undef OBJECT

#define OBJECT notice
#define OPTIONAL .flags = FIELD_ABSENT
#define T(type) (1u << MESSAGE_##type)
/* Which members travel in which types of messages. */
static const struct {
    unsigned types;
    struct field field;
} notice_fields[] = {
    {T(WELCOME), MEMBER(dead_after_s, REAL)},
    {T(BYE),
     MEMBER(durable, U64, OPTIONAL, .present_offset = offsetof(struct notice, counts_durable))},
    {T(POOL), MEMBER(fd, U32)},
    {T(CREDIT), MEMBER(grant, U32)},
    {T(WELCOME) | T(TOTAL), MEMBER(groups, LIST, OPTIONAL, .table = &group_table,
                                   .count_offset = offsetof(struct notice, ngroups))},
    {T(CREDIT) | T(ACK) | T(LOST) | T(HAVE) | T(HEARTBEAT) | T(ORDER) | T(KEPT),
     MEMBER(ids, LIST, .table = &range_table, .count_offset = offsetof(struct notice, nids))},
    {T(HAVE) | T(WELCOME) | T(TOTAL), MEMBER(known, BOOL)},
    {T(BYE), MEMBER(leaves, BOOL, OPTIONAL)},
    {T(POOL), MEMBER(pid, I64)},
    {T(HEARTBEAT), MEMBER(progress, U64)},
    {T(BYE) | T(FREE) | T(FENCE), MEMBER_TEXT(reason)},
    {T(BYE), MEMBER(said, BOOL, OPTIONAL)},
    {T(CREDIT), MEMBER(shared, BOOL, OPTIONAL)},
    {T(CREDIT), MEMBER(slots, U64, OPTIONAL)},
    {T(BYE) | T(FREE) | T(FENCE) | T(LOST), MEMBER(status, ENUM, .limit = 255)},
    {T(WELCOME) | T(TOTAL) | T(FLUSH), MEMBER(total, U64)},
    {T(ORDER), MEMBER(until, U64)},
    {T(FENCE), MEMBER_TEXT(uuid)},
    {T(LOST), MEMBER(uuid, TEXT, OPTIONAL, .count = UUID_SIZE)},
    {T(WELCOME), MEMBER(window, U64, OPTIONAL)},
    {T(HEARTBEAT), MEMBER(work, MAP, OPTIONAL, .table = &work_table)},
};
#undef OBJECT

enum { NOTICE_FIELDS = sizeof notice_fields / sizeof *notice_fields };

/* Those of a type, of which there are none when it is no notice. */
struct selection {
    struct table table;
    struct field fields[NOTICE_FIELDS];
};

static void select_fields(enum message_type type, struct selection *s)
{
    s->table = (struct table){message_type_name(type), sizeof(struct notice), 0, s->fields};
    for (size_t i = 0; i < NOTICE_FIELDS; i++)
        if ((unsigned)type < 32 && notice_fields[i].types & 1u << type)
            s->fields[s->table.nfields++] = notice_fields[i].field;
}

enum status control_hello_encode(struct hello *h, struct message *m, struct error *e)
{
    return fields_encode(&hello_table, h, false, m, e);
}

enum status control_hello_decode(struct hello *h, const struct message *m, struct error *e)
{
    return fields_decode(&hello_table, h, m, e);
}

enum status control_notice_encode(enum message_type type, struct notice *n, struct message *m,
                                  struct error *e)
{
    struct selection s;
    select_fields(type, &s);
    return fields_encode(&s.table, n, false, m, e);
}

enum status control_notice_decode(enum message_type type, struct notice *n, const struct message *m,
                                  struct error *e)
{
    memset(n, 0, sizeof *n);
    struct selection of;
    select_fields(type, &of);
    if (!of.table.nfields)
        return error_set(e, STATUS_INPUT, "a %s message where none is expected",
                         message_type_name(type));
    const enum status s = fields_decode(&of.table, n, m, e);
    for (size_t i = 0; s == STATUS_OK && i < n->nids; i++)
        if (n->ids[i].first > n->ids[i].last)
            return error_set(e, STATUS_INPUT, "a range of frames that ends before it begins");
    return s;
}

enum status control_status_encode(struct run_status *r, struct message *m, struct error *e)
{
    return fields_encode(&status_table, r, false, m, e);
}

enum status control_status_decode(struct run_status *r, const struct message *m, struct error *e)
{
    return fields_decode(&status_table, r, m, e);
}

void run_status_free(struct run_status *r)
{
    mem_free(r->processes);
    mem_free(r->fenced);
    memset(r, 0, sizeof *r);
}

void hello_free(struct hello *h)
{
    mem_free(h->upstreams);
    mem_free(h->downstreams);
    memset(h, 0, sizeof *h);
}

void notice_free(struct notice *n)
{
    mem_free(n->ids);
    mem_free(n->groups);
    memset(n, 0, sizeof *n);
}
