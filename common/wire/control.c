#include "wire/control.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/fields.h"

#define AT(member) .offset = offsetof(struct OBJECT, member)
#define TEXT(name)                                                               \
    {                                                                            \
#name, FIELD_TEXT, AT(name), .count = sizeof(((struct OBJECT *)0)->name) \
    }

#define OBJECT neighbour
static const struct field neighbour_fields[] = {TEXT(uuid)};
static const struct table neighbour_table = {"neighbour", sizeof(struct neighbour),
                                             FIELDS(neighbour_fields)};
#undef OBJECT

#define OBJECT hello
static const struct field hello_fields[] = {
    TEXT(control),
    {"downstream", FIELD_BOOL, AT(downstream)},
    {"downstreams", FIELD_LIST, AT(downstreams), .table = &neighbour_table, .flags = FIELD_ABSENT,
     .count_offset = offsetof(struct hello, ndownstreams),
     .present_offset = offsetof(struct hello, names_downstreams)},
    {"durable", FIELD_BOOL, AT(durable)},
    {"gives", FIELD_ENUM, AT(gives), .limit = 3},
    TEXT(group),
    TEXT(identity),
    {"order", FIELD_BOOL, AT(order), .flags = FIELD_ABSENT},
    {"pid", FIELD_I64, AT(pid)},
    TEXT(stage),
    {"upstreams", FIELD_LIST, AT(upstreams), .table = &neighbour_table,
     .count_offset = offsetof(struct hello, nupstreams)},
    TEXT(uuid),
    {"wants", FIELD_ENUM, AT(wants), .limit = 4},
};
static const struct table hello_table = {"hello", sizeof(struct hello), FIELDS(hello_fields)};
#undef OBJECT

#define OBJECT id_range
static const struct field range_fields[] = {{"first", FIELD_U64, AT(first)},
                                            {"last", FIELD_U64, AT(last)}};
static const struct table range_table = {"range", sizeof(struct id_range), FIELDS(range_fields)};
#undef OBJECT

#define OBJECT group_name
static const struct field group_fields[] = {TEXT(name)};
static const struct table group_table = {"group", sizeof(struct group_name), FIELDS(group_fields)};
#undef OBJECT

#define OBJECT work
#define COUNT(name)                \
    {                              \
#name, FIELD_U64, AT(name) \
    }
static const struct field work_fields[] = {
    COUNT(bytes_in),
    COUNT(bytes_out),
    COUNT(codec_ns),
    COUNT(compute_ns),
    COUNT(cpu_ns),
    COUNT(frames),
    {"refused", FIELD_U64, AT(refused), .flags = FIELD_ABSENT},
    COUNT(time_ns),
    COUNT(wait_in_ns),
    COUNT(wait_out_ns),
};
static const struct table work_table = {"work", sizeof(struct work), FIELDS(work_fields)};
#undef OBJECT

#define OBJECT process_status
static const struct field process_fields[] = {
    {"durable", FIELD_BOOL, AT(durable)},
    TEXT(group),
    COUNT(held),
    {"hops", FIELD_U32, AT(hops)},
    {"pid", FIELD_I64, AT(pid)},
    TEXT(stage),
    {"work", FIELD_MAP, AT(work), .table = &work_table},
};
static const struct table process_table = {"process", sizeof(struct process_status),
                                           FIELDS(process_fields)};
#undef OBJECT

#define OBJECT fenced_status
static const struct field fenced_fields[] = {
    COUNT(ago_ns),
    COUNT(frames),
    {"pid", FIELD_I64, AT(pid)},
    TEXT(reason),
};
static const struct table fenced_table = {"fenced", sizeof(struct fenced_status),
                                          FIELDS(fenced_fields)};
#undef OBJECT

#define OBJECT given_up
static const struct field given_up_fields[] = {
    COUNT(deaths),
    COUNT(frame),
    {"pid", FIELD_I64, AT(pid)},
};
static const struct table given_up_table = {"given_up", sizeof(struct given_up),
                                            FIELDS(given_up_fields)};
#undef OBJECT

#define OBJECT run_status
static const struct field status_fields[] = {
    COUNT(acknowledged),
    COUNT(elapsed_ns),
    {"fenced", FIELD_LIST, AT(fenced), .table = &fenced_table,
     .count_offset = offsetof(struct run_status, nfenced), .flags = FIELD_ABSENT},
    {"given_up", FIELD_MAP, AT(given_up), .table = &given_up_table, .flags = FIELD_ABSENT},
    COUNT(issued),
    {"known", FIELD_BOOL, AT(known)},
    {"processes", FIELD_LIST, AT(processes), .table = &process_table,
     .count_offset = offsetof(struct run_status, nprocesses)},
    COUNT(total),
    COUNT(unlisted),
    COUNT(window),
};
static const struct table status_table = {"status", sizeof(struct run_status),
                                          FIELDS(status_fields)};
#undef OBJECT

#define OBJECT notice
#define DEAD_AFTER                                   \
    {                                                \
        "dead_after_s", FIELD_REAL, AT(dead_after_s) \
    }
#define FD                      \
    {                           \
        "fd", FIELD_U32, AT(fd) \
    }
#define GRANT                         \
    {                                 \
        "grant", FIELD_U32, AT(grant) \
    }
#define GROUPS                                                                             \
    {                                                                                      \
        "groups", FIELD_LIST, AT(groups), .table = &group_table, .flags = FIELD_ABSENT,    \
                                          .count_offset = offsetof(struct notice, ngroups) \
    }
#define IDS                                                                       \
    {                                                                             \
        "ids", FIELD_LIST, AT(ids), .table = &range_table,                        \
                                    .count_offset = offsetof(struct notice, nids) \
    }
#define KNOWN                          \
    {                                  \
        "known", FIELD_BOOL, AT(known) \
    }
#define PID                       \
    {                             \
        "pid", FIELD_I64, AT(pid) \
    }
#define PROGRESS                            \
    {                                       \
        "progress", FIELD_U64, AT(progress) \
    }
#define SHARED                                                  \
    {                                                           \
        "shared", FIELD_BOOL, AT(shared), .flags = FIELD_ABSENT \
    }
#define SLOTS                                                \
    {                                                        \
        "slots", FIELD_U64, AT(slots), .flags = FIELD_ABSENT \
    }
#define STATUS                                         \
    {                                                  \
        "status", FIELD_ENUM, AT(status), .limit = 255 \
    }
#define TOTAL                         \
    {                                 \
        "total", FIELD_U64, AT(total) \
    }
#define WINDOW                                                 \
    {                                                          \
        "window", FIELD_U64, AT(window), .flags = FIELD_ABSENT \
    }
#define WORK                                                                     \
    {                                                                            \
        "work", FIELD_MAP, AT(work), .table = &work_table, .flags = FIELD_ABSENT \
    }
static const struct field credit_fields[] = {GRANT, IDS, SHARED, SLOTS};
static const struct field have_fields[] = {IDS, KNOWN};
static const struct field ids_fields[] = {IDS};
static const struct field lost_fields[] = {
    IDS, STATUS, {"uuid", FIELD_TEXT, AT(uuid), .count = UUID_SIZE, .flags = FIELD_ABSENT}};
static const struct field heartbeat_fields[] = {IDS, PROGRESS, WORK};
static const struct field bye_fields[] = {
    {"durable", FIELD_U64, AT(durable), .flags = FIELD_ABSENT,
     .present_offset = offsetof(struct notice, counts_durable)},
    TEXT(reason),
    {"said", FIELD_BOOL, AT(said), .flags = FIELD_ABSENT},
    STATUS,
};
static const struct field end_fields[] = {TEXT(reason), STATUS};
static const struct field fence_fields[] = {TEXT(reason), STATUS, TEXT(uuid)};
static const struct field flush_fields[] = {TOTAL};
static const struct field order_fields[] = {IDS, {"until", FIELD_U64, AT(until)}};
static const struct field pool_fields[] = {FD, PID};
static const struct field total_fields[] = {GROUPS, KNOWN, TOTAL};
static const struct field welcome_fields[] = {DEAD_AFTER, GROUPS, KNOWN, TOTAL, WINDOW};
#undef OBJECT

#define NOTICE(fields)                                 \
    {                                                  \
#fields, sizeof(struct notice), FIELDS(fields) \
    }
static const struct table credit_table = NOTICE(credit_fields);
static const struct table have_table = NOTICE(have_fields);
static const struct table ids_table = NOTICE(ids_fields);
static const struct table lost_table = NOTICE(lost_fields);
static const struct table heartbeat_table = NOTICE(heartbeat_fields);
static const struct table bye_table = NOTICE(bye_fields);
static const struct table end_table = NOTICE(end_fields);
static const struct table fence_table = NOTICE(fence_fields);
static const struct table flush_table = NOTICE(flush_fields);
static const struct table order_table = NOTICE(order_fields);
static const struct table pool_table = NOTICE(pool_fields);
static const struct table total_table = NOTICE(total_fields);
static const struct table welcome_table = NOTICE(welcome_fields);

static const struct table *notice_table(enum message_type type)
{
    switch (type) {
    case MESSAGE_CREDIT:
        return &credit_table;
    case MESSAGE_ACK:
    case MESSAGE_KEPT:
        return &ids_table;
    case MESSAGE_LOST:
        return &lost_table;
    case MESSAGE_HAVE:
        return &have_table;
    case MESSAGE_HEARTBEAT:
        return &heartbeat_table;
    case MESSAGE_BYE:
        return &bye_table;
    case MESSAGE_FREE:
        return &end_table;
    case MESSAGE_FENCE:
        return &fence_table;
    case MESSAGE_POOL:
        return &pool_table;
    case MESSAGE_WELCOME:
        return &welcome_table;
    case MESSAGE_FLUSH:
        return &flush_table;
    case MESSAGE_TOTAL:
        return &total_table;
    case MESSAGE_ORDER:
        return &order_table;
    default:
        return NULL;
    }
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
