#include "wire/control.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/fields.h"

#define OPTIONAL .flags = FIELD_ABSENT
#define SPARSE .flags = FIELD_ABSENT | FIELD_SPARSE

#define OBJECT neighbour
static const struct field neighbour_fields[] = {MEMBER_TEXT(uuid)};
TABLE(neighbour);
#undef OBJECT

#define OBJECT hello
static const struct field hello_fields[] = {
    MEMBER_TEXT(control),
    MEMBER(downstream, BOOL),
    MEMBER(downstreams, LIST, .table = &neighbour_table, OPTIONAL,
           .count_offset = offsetof(struct hello, ndownstreams),
           .present_offset = offsetof(struct hello, names_downstreams)),
    MEMBER(durable, BOOL),
    MEMBER(gives, ENUM, .limit = 3),
    MEMBER_TEXT(group),
    MEMBER(host, TEXT, .count = HOST_SIZE, SPARSE),
    MEMBER_TEXT(identity),
    MEMBER(in_memory, BOOL, SPARSE),
    MEMBER(order, BOOL, SPARSE),
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
    MEMBER(host, TEXT, .count = HOST_SIZE, OPTIONAL),
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
    MEMBER(host, TEXT, .count = HOST_SIZE, OPTIONAL),
    MEMBER(pid, I64),
};
TABLE(given_up);
#undef OBJECT

#define OBJECT run_status
static const struct field status_fields[] = {
    MEMBER(acknowledged, U64),
    MEMBER(elapsed_ns, U64),
    MEMBER(fenced, LIST, .table = &fenced_table,
           .count_offset = offsetof(struct run_status, nfenced), OPTIONAL),
    MEMBER(given_up, MAP, .table = &given_up_table, OPTIONAL),
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
#define T(type) (1u << MESSAGE_##type)
/* NOTICE: a member of struct notice, with the types of messages that contain it. */
#define NOTICE(types, name, ...) MEMBER(name, __VA_ARGS__, .which = types)
#define NOTICE_TEXT(types, name, ...) \
    NOTICE(types, name, TEXT, .count = sizeof(((struct OBJECT *)0)->name), __VA_ARGS__)
static const struct field notice_fields[] = {
    NOTICE(T(HEARTBEAT), all_rows, U64, SPARSE),
    NOTICE_TEXT(T(CREDIT), card, SPARSE),
    NOTICE(T(WELCOME), dead_after_s, REAL),
    NOTICE(T(BYE), durable, U64, OPTIONAL,
           .present_offset = offsetof(struct notice, counts_durable)),
    NOTICE(T(POOL), fd, U32),
    NOTICE(T(HEARTBEAT), frame_ns, U64, SPARSE),
    NOTICE(T(CREDIT), grant, U32),
    NOTICE(T(WELCOME), groups, LIST, OPTIONAL, .table = &group_table,
           .count_offset = offsetof(struct notice, ngroups)),
    NOTICE(T(CREDIT) | T(ACK) | T(LOST) | T(HAVE) | T(HEARTBEAT) | T(ORDER), ids, LIST,
           .table = &range_table, .flags = FIELD_PAIRS,
           .count_offset = offsetof(struct notice, nids)),
    NOTICE(T(HAVE) | T(WELCOME), known, BOOL),
    NOTICE(T(BYE), leaves, BOOL, SPARSE),
    NOTICE(T(HEARTBEAT), left_ns, U64, SPARSE),
    NOTICE(T(CREDIT), packed, BOOL, SPARSE),
    NOTICE(T(POOL), pid, I64),
    NOTICE(T(HEARTBEAT), progress, U64),
    NOTICE_TEXT(T(BYE) | T(FENCE), reason, .flags = 0),
    NOTICE(T(HEARTBEAT), rows, U64, SPARSE),
    NOTICE(T(BYE), said, BOOL, SPARSE),
    NOTICE(T(CREDIT), shared, BOOL, SPARSE),
    NOTICE(T(CREDIT), slots, U64, SPARSE),
    NOTICE(T(BYE) | T(FREE) | T(LOST), status, ENUM, .limit = 255),
    NOTICE(T(WELCOME), total, U64),
    NOTICE(T(ORDER), until, U64),
    NOTICE_TEXT(T(FENCE), uuid, .flags = 0),
    NOTICE_TEXT(T(LOST), uuid, SPARSE),
    NOTICE(T(WELCOME), window, U64, SPARSE),
    NOTICE(T(HEARTBEAT), work, MAP, OPTIONAL, .table = &work_table),
};
#undef OBJECT

/* Returns the fields that notices of a type contain, as bits.  0: the type is not that of a
 * notice. */
static uint64_t fields_of(enum message_type type)
{
    static atomic_uint_fast64_t known[MESSAGE_LAST + 1];  // 0: not computed yet; all threads
                                                          // compute the same value
    if ((unsigned)type > MESSAGE_LAST)
        return 0;
    uint64_t has = atomic_load_explicit(&known[type], memory_order_relaxed);
    if (has)
        return has;
    for (size_t i = 0; i < COUNT(notice_fields); i++)
        has |= (uint64_t)(notice_fields[i].which >> type & 1) << i;
    atomic_store_explicit(&known[type], has, memory_order_relaxed);
    return has;
}

/* Returns the table with the fields of a type. */
static struct table notice_table(enum message_type type)
{
    return (struct table){message_type_name(type), sizeof(struct notice), COUNT(notice_fields),
                          notice_fields, fields_of(type)};
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
    const struct table t = notice_table(type);
    return fields_encode(&t, n, false, m, e);
}

enum status control_notice_decode(enum message_type type, struct notice *n, const struct message *m,
                                  struct error *e)
{
    const struct table t = notice_table(type);
    if (!t.has) {
        memset(n, 0, sizeof *n);
        return error_set(e, STATUS_INPUT, "an unexpected message of type %s; expected a notice",
                         message_type_name(type));
    }
    const enum status s = fields_decode(&t, n, m, e);
    for (size_t i = 0; s == STATUS_OK && i < n->nids; i++)
        if (n->ids[i].first > n->ids[i].last)
            return error_set(e, STATUS_INPUT,
                             "a malformed message: a range of frames ends before its first frame");
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
    n->nids = n->ngroups = 0;
    n->ids = NULL;
    n->groups = NULL;
}
