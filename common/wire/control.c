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
    MEMBER_TEXT(identity),
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
    MEMBER(pid, I64),
    MEMBER_TEXT(reason),
};
TABLE(fenced);
#undef OBJECT

#define OBJECT given_up
static const struct field given_up_fields[] = {
    MEMBER(deaths, U64),
    MEMBER(frame, U64),
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
#define GROUPS                                                         \
    MEMBER(groups, LIST, .table = &group_table, .flags = FIELD_ABSENT, \
           .count_offset = offsetof(struct notice, ngroups))
#define IDS MEMBER(ids, LIST, .table = &range_table, .count_offset = offsetof(struct notice, nids))
#define KNOWN MEMBER(known, BOOL)
#define STATUS MEMBER(status, ENUM, .limit = 255)
#define TOTAL MEMBER(total, U64)
static const struct field credit_fields[] = {MEMBER(grant, U32), IDS,
                                             MEMBER(shared, BOOL, .flags = FIELD_ABSENT),
                                             MEMBER(slots, U64, .flags = FIELD_ABSENT)};
static const struct field have_fields[] = {IDS, KNOWN};
static const struct field ids_fields[] = {IDS};
static const struct field lost_fields[] = {
    IDS, STATUS, MEMBER(uuid, TEXT, .count = UUID_SIZE, .flags = FIELD_ABSENT)};
static const struct field heartbeat_fields[] = {
    IDS, MEMBER(progress, U64), MEMBER(work, MAP, .table = &work_table, .flags = FIELD_ABSENT)};
static const struct field bye_fields[] = {
    MEMBER(durable, U64, .flags = FIELD_ABSENT,
           .present_offset = offsetof(struct notice, counts_durable)),
    MEMBER_TEXT(reason),
    MEMBER(said, BOOL, .flags = FIELD_ABSENT),
    STATUS,
};
static const struct field end_fields[] = {MEMBER_TEXT(reason), STATUS};
static const struct field fence_fields[] = {MEMBER_TEXT(reason), STATUS, MEMBER_TEXT(uuid)};
static const struct field flush_fields[] = {TOTAL};
static const struct field order_fields[] = {IDS, MEMBER(until, U64)};
static const struct field pool_fields[] = {MEMBER(fd, U32), MEMBER(pid, I64)};
static const struct field total_fields[] = {GROUPS, KNOWN, TOTAL};
static const struct field welcome_fields[] = {MEMBER(dead_after_s, REAL), GROUPS, KNOWN, TOTAL,
                                              MEMBER(window, U64, .flags = FIELD_ABSENT)};
#undef OBJECT

#define NOTICE(name)                               \
    {                                              \
#name, sizeof(struct notice), FIELDS(name) \
    }
static const struct table notice_tables[] = {
    [MESSAGE_CREDIT] = NOTICE(credit_fields),
    [MESSAGE_ACK] = NOTICE(ids_fields),
    [MESSAGE_LOST] = NOTICE(lost_fields),
    [MESSAGE_HAVE] = NOTICE(have_fields),
    [MESSAGE_HEARTBEAT] = NOTICE(heartbeat_fields),
    [MESSAGE_BYE] = NOTICE(bye_fields),
    [MESSAGE_FREE] = NOTICE(end_fields),
    [MESSAGE_FENCE] = NOTICE(fence_fields),
    [MESSAGE_POOL] = NOTICE(pool_fields),
    [MESSAGE_WELCOME] = NOTICE(welcome_fields),
    [MESSAGE_FLUSH] = NOTICE(flush_fields),
    [MESSAGE_TOTAL] = NOTICE(total_fields),
    [MESSAGE_ORDER] = NOTICE(order_fields),
    [MESSAGE_KEPT] = NOTICE(ids_fields),
};

/* NULL: no notice. */
static const struct table *notice_table(enum message_type type)
{
    const size_t n = sizeof notice_tables / sizeof *notice_tables;
    return (size_t)type < n && notice_tables[type].name ? &notice_tables[type] : NULL;
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
    return fields_encode(notice_table(type), n, false, m, e);
}

enum status control_notice_decode(enum message_type type, struct notice *n, const struct message *m,
                                  struct error *e)
{
    memset(n, 0, sizeof *n);
    const struct table *t = notice_table(type);
    if (!t)
        return error_set(e, STATUS_INPUT, "a %s message where none is expected",
                         message_type_name(type));
    const enum status s = fields_decode(t, n, m, e);
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
