/* Hellos, notices and the status of a run as messages: round trips, and what is refused. */
#include "unit.h"

#include <string.h>

#include "wire_attack.h"

static void notices_survive(void **state)
{
    (void)state;
    struct id_range ids[] = {{0, 3}, {7, 7}, {UINT64_MAX - 1, UINT64_MAX}};
    struct notice in = {.grant = 8,
                        .progress = 9,
                        .known = true,
                        .total = 12,
                        .status = 130,
                        .pid = 5,
                        .reason = "why",
                        .uuid = "01",
                        .nids = 3,
                        .ids = ids};
    in.work.wait_out_ns = in.until = in.frame_ns = in.left_ns = in.rows = in.all_rows = UINT64_MAX;
    for (int type = MESSAGE_CREDIT; type <= MESSAGE_LAST; type++) {
        if (type == MESSAGE_STATUS)
            continue;
        struct notice out;
        struct message m = {0};
        if (strcmp(message_type_name((enum message_type)type), "?") == 0)
            continue;
        assert_int_equal(control_notice_encode((enum message_type)type, &in, &m, NULL), 0);
        seal(&m, (enum message_type)type);
        assert_int_equal(control_notice_decode((enum message_type)type, &out, &m, NULL), 0);
        if (out.nids)
            assert_memory_equal(out.ids, ids, sizeof ids);
        const bool reasons = type == MESSAGE_BYE || type == MESSAGE_FENCE;
        assert_true(out.nids == 3 || out.known || out.status == 130 || out.pid == 5 || reasons);
        assert_string_equal(out.reason, reasons ? "why" : "");
        assert_true(out.work.wait_out_ns == (type == MESSAGE_HEARTBEAT ? UINT64_MAX : 0));
        assert_true(out.frame_ns == out.work.wait_out_ns && out.left_ns == out.frame_ns);
        assert_true(out.rows == out.frame_ns && out.all_rows == out.frame_ns);
        assert_true(out.until == (type == MESSAGE_ORDER ? UINT64_MAX : 0));
        assert_string_equal(out.uuid, type == MESSAGE_LOST || type == MESSAGE_FENCE ? "01" : "");
        attack(&m, NULL);
        notice_free(&out);
        message_free(&m);
    }
}

static void statuses_survive(void **state)
{
    (void)state;
    /* static: between members there are zeros alone */
    static struct process_status p[] = {
        {.stage = "bragg-orient", .host = "n1", .pid = 5, .held = 3},
        {.stage = "bragg-write", .group = "g", .hops = 1, .durable = true}};
    static struct fenced_status f[] = {
        {.pid = 4, .host = "n3", .reason = "died", .frames = 3, .ago_ns = UINT64_MAX}};
    static struct run_status in = {.known = true,
                                   .total = 9,
                                   .issued = 8,
                                   .acknowledged = 7,
                                   .window = 32,
                                   .elapsed_ns = UINT64_MAX,
                                   .unlisted = 1,
                                   .nprocesses = 2,
                                   .nfenced = 1,
                                   .given_up = {.frame = 7, .deaths = 3, .pid = -1, .host = "n2"}};
    struct run_status out;
    struct message m = {0};
    p[1].work.frames = 7;
    in.processes = p;
    in.fenced = f;
    assert_int_equal(control_status_encode(&in, &m, NULL), 0);
    seal(&m, MESSAGE_STATUS);
    assert_int_equal(control_status_decode(&out, &m, NULL), 0);
    assert_memory_equal(out.processes, p, sizeof p);
    assert_int_equal(out.issued, 8);
    assert_true(out.elapsed_ns == UINT64_MAX);
    assert_int_equal(out.nfenced, 1);
    assert_memory_equal(out.fenced, f, sizeof f);
    assert_memory_equal(&out.given_up, &in.given_up, sizeof in.given_up);
    run_status_free(&out);
    attack(&m, NULL);
    message_free(&m);
}

static void the_largest_status_fits(void **state)
{
    (void)state;
    static struct process_status p[STATUS_PROCESSES_MAX];
    static struct fenced_status f[STATUS_FENCED_MAX];
    struct run_status r = {.nprocesses = STATUS_PROCESSES_MAX,
                           .processes = p,
                           .nfenced = STATUS_FENCED_MAX,
                           .fenced = f};
    struct message m = {0};
    for (size_t i = 0; i < STATUS_PROCESSES_MAX; i++) {
        memset(&p[i], 0xff, sizeof p[i]);
        memset(p[i].stage, 'x', sizeof p[i].stage - 1);
        memset(p[i].group, 'x', sizeof p[i].group - 1);
        memset(p[i].host, 'x', sizeof p[i].host - 1);
        p[i].stage[sizeof p[i].stage - 1] = p[i].group[sizeof p[i].group - 1] = 0;
        p[i].host[sizeof p[i].host - 1] = 0;
        p[i].pid = INT64_MIN;
        p[i].durable = true;
    }
    for (size_t i = 0; i < STATUS_FENCED_MAX; i++) {
        f[i] = (struct fenced_status){.pid = INT64_MIN, .frames = UINT64_MAX, .ago_ns = UINT64_MAX};
        memset(f[i].host, 'x', sizeof f[i].host - 1);
        memset(f[i].reason, 'x', sizeof f[i].reason - 1);
    }
    assert_int_equal(control_status_encode(&r, &m, NULL), 0);
    message_free(&m);
}

static enum status decode_heartbeat(const char *map, size_t size, struct notice *n)
{
    struct message m = {0};
    assert_int_equal(message_add(&m, (struct part){0}, NULL), 0);
    assert_int_equal(message_add(&m, (struct part){(void *)(uintptr_t)map, size, NULL, NULL}, NULL),
                     0);
    const enum status s = control_notice_decode(MESSAGE_HEARTBEAT, n, &m, NULL);
    message_free(&m);
    return s;
}

/* Heartbeats of stages that do not report their work, such as those in other languages. */
static void what_is_optional_may_be_missing(void **state)
{
    (void)state;
    static const char plain[] = "\x82\xa3ids\x90\xa8progress\x05",
                      newer[] = "\x84\xa3ids\x90\xa8progress\x05\xa1w\xc0\xa1z\x01",
                      lacks[] = "\x81\xa3ids\x90";
    struct notice n;
    assert_int_equal(decode_heartbeat(plain, sizeof plain - 1, &n), 0);
    assert_int_equal(n.progress, 5);
    assert_true(n.work.time_ns == 0);
    assert_int_equal(decode_heartbeat(newer, sizeof newer - 1, &n), 0);
    assert_int_equal(n.progress, 5);
    static const char status[] = "\x88\xac"
                                 "acknowledged\x01\xaa"
                                 "elapsed_ns\x01\xa6issued\x01\xa5known\xc3\xa9processes\x90"
                                 "\xa5total\x01\xa8unlisted\x00\xa6window\x01";
    struct run_status r;
    struct message m = {0};
    assert_int_equal(message_add(&m, (struct part){0}, NULL), 0);
    assert_int_equal(
        message_add(&m, (struct part){(void *)(uintptr_t)status, sizeof status - 1, NULL, NULL},
                    NULL),
        0);
    assert_int_equal(control_status_decode(&r, &m, NULL), STATUS_OK);
    assert_true(r.total == 1 && !r.nfenced && !r.given_up.deaths);
    run_status_free(&r);
    message_free(&m);
    assert_int_equal(decode_heartbeat(lacks, sizeof lacks - 1, &n), STATUS_INPUT);
}

static void hellos_survive(void **state)
{
    (void)state;
    struct neighbour up[] = {{"one"}, {"two"}};
    static struct hello in = {.host = "n2",
                              .uuid = "0123",
                              .stage = "bragg-x",
                              .wants = 2,
                              .gives = 3,
                              .group = "g",
                              .identity = "any",
                              .control = "ipc:///x",
                              .downstream = true,
                              .durable = true,
                              .pid = 42,
                              .nupstreams = 2};
    in.upstreams = up;
    struct hello out;
    struct message m = {0};
    assert_int_equal(control_hello_encode(&in, &m, NULL), 0);
    seal(&m, MESSAGE_HELLO);
    assert_int_equal(control_hello_decode(&out, &m, NULL), 0);
    assert_string_equal(out.upstreams[1].uuid, "two");
    mem_free(out.upstreams);
    out.upstreams = up;
    assert_memory_equal(&out, &in, sizeof in);
    attack(&m, NULL);
    message_free(&m);
}

/* A process that does not report a number is not assumed to have 0. */
static void what_is_not_said_is_no_zero(void **state)
{
    (void)state;
    struct neighbour after[] = {{"one"}, {"two"}};
    for (int says = 0; says < 2; says++) {
        struct hello hello = {.uuid = "0", .names_downstreams = says, .downstreams = after}, h;
        struct notice bye = {.counts_durable = says, .said = says}, n;
        struct message m = {0};
        hello.ndownstreams = says ? 2 : 0;
        assert_int_equal(control_hello_encode(&hello, &m, NULL), 0);
        assert_int_equal(control_hello_decode(&h, &m, NULL), 0);
        assert_int_equal(h.names_downstreams, says);
        assert_int_equal(h.ndownstreams, says ? 2 : 0);
        assert_true(!says || strcmp(h.downstreams[1].uuid, "two") == 0);
        hello_free(&h);
        message_free(&m);
        assert_int_equal(control_notice_encode(MESSAGE_BYE, &bye, &m, NULL), 0);
        assert_int_equal(control_notice_decode(MESSAGE_BYE, &n, &m, NULL), 0);
        assert_true(n.counts_durable == says && n.said == says && !n.durable);
        message_free(&m);
    }
}

static void groups_are_told(void **state)
{
    (void)state;
    struct group_name groups[] = {{"bragg-write/nothing"}, {"other"}};
    struct notice total = {.known = true, .total = 5, .ngroups = 2, .groups = groups}, n;
    struct message m = {0};
    assert_int_equal(control_notice_encode(MESSAGE_WELCOME, &total, &m, NULL), 0);
    assert_int_equal(control_notice_decode(MESSAGE_WELCOME, &n, &m, NULL), 0);
    assert_true(n.total == 5 && n.ngroups == 2);
    assert_memory_equal(n.groups, groups, sizeof groups);
    notice_free(&n);
    attack(&m, NULL);
    message_free(&m);
}

/* What a stage that cannot read shared memory says, and what a later one may add. */
static void keys_may_be_absent(void **state)
{
    (void)state;
    static uint8_t plain[] = "\x82\xa5grant\x02\xa3ids\x90",
                   one[] = "\x83\xa5grant\x02\xa3ids\x90\xa5slots\x06",
                   foreign[] = "\x84\xa5grant\x02\xa3ids\x90\xa6sender\x01\xa6shared\xc3",
                   wrong[] = "\x83\xa5grant\x02\xa3ids\x90\xa6shared\x01",
                   longer[] = "\x84\xa5grant\x02\xa6grants\xc0\xa3ids\x90\xa5slots\x06",
                   late[] = "\x83\xa3ids\x90\xa5grant\x02\xa5slots\x06",
                   lacks[] = "\x82\xa3ids\x90\xa5slots\x06";
    struct message m = {0};
    struct notice n;
    for (int i = 0; i < 2; i++)
        assert_int_equal(message_add(&m, (struct part){0}, NULL), 0);
    m.parts[1] = (struct part){.data = plain, .size = sizeof plain - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_int_equal(n.grant, 2);
    assert_false(n.shared || n.slots);
    struct message same = {0};  // as it is written here, too
    assert_int_equal(control_notice_encode(MESSAGE_CREDIT, &n, &same, NULL), STATUS_OK);
    assert_int_equal(same.parts[1].size, sizeof plain - 1);
    assert_memory_equal(same.parts[1].data, plain, sizeof plain - 1);
    message_free(&same);
    m.parts[1] = (struct part){.data = one, .size = sizeof one - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_true(!n.shared && n.slots == 6);
    m.parts[1] = (struct part){.data = foreign, .size = sizeof foreign - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_true(n.shared && !n.slots);
    m.parts[1] = (struct part){.data = longer, .size = sizeof longer - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_true(n.grant == 2 && n.slots == 6);
    const struct part refused[] = {{.data = wrong, .size = sizeof wrong - 1},
                                   {.data = late, .size = sizeof late - 1},
                                   {.data = lacks, .size = sizeof lacks - 1}};
    for (size_t i = 0; i < 3; i++) {
        m.parts[1] = refused[i];
        assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_INPUT);
        notice_free(&n);
    }
    message_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_survive),
        cmocka_unit_test(statuses_survive),
        cmocka_unit_test(the_largest_status_fits),
        cmocka_unit_test(what_is_optional_may_be_missing),
        cmocka_unit_test(hellos_survive),
        cmocka_unit_test(what_is_not_said_is_no_zero),
        cmocka_unit_test(groups_are_told),
        cmocka_unit_test(keys_may_be_absent),
    };
    return unit_run(tests);
}
