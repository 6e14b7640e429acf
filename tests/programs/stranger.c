/*
 * stranger KIND CONTROL [NAME=VALUE]...: an unauthorised process that sends reports to the source
 * of a running stream.  Prints how the connection ended: "out: REASON", "free", "cut" (also if no
 * answer comes any more), or "done" if the program left by itself.
 *
 *   ack, have, lost, heartbeat
 *              sends this message about frames first= to last=, count= times.  With ranges= each
 *              message has this number of ranges, with gaps.  Then prints "said".
 *   bye        sends bye with status= and the reason why=
 *   hellos     sends hello count= times on one connection; newcomers: as another process each time
 *   knocks     sends hello count= times to data=, an endpoint of frames
 *   wrong      sends hello there as a stage that sends frames
 *   leaver     sends hello there as a stage that takes frames, then bye as above
 *   crowd      sends hello as count= processes, each on a connection of its own, and stays
 *   watchers   asks for the status count= times, and reads no answer
 *   anew       sends hello count= times as processes of another run
 *   part       sends a part of bytes= bytes to data=, whatever kind of endpoint this is
 *   sink       is a sink at data=: grants credit= frames, acknowledges each frame as shift= more,
 *              and frame number lie= as a million more.  At the end it claims that durable= frames
 *              are durable.  Prints "met" when it has the experiment.
 *
 * group= names the group (bragg-write/nothing), and name= the stage (evil).  up=1 claims that the
 * source is directly before the process, as if frames came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "link/endpoint.h"
#include "link/port.h"
#include "wire/control.h"

enum { PATIENCE_S = 60, CROWD_MAX = 20000, RANGES_MAX = 1 << 15 };

static const struct address nobody = {0};
static int nwords;
static char **words;
static void *context;
static struct port control, data;
static uint64_t run = 1, beat_ns;
static struct neighbour before[1];  // whom it calls the process before it
static bool has_before;
static char uuid[UUID_SIZE];

static const char *text(const char *name, const char *standard)
{
    const size_t length = strlen(name);
    for (int i = 0; i < nwords; i++)
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=')
            return words[i] + length + 1;
    return standard;
}

static uint64_t number(const char *name, uint64_t standard)
{
    const char *value = text(name, NULL);
    return value ? strtoull(value, NULL, 10) : standard;
}

static void finish(const char *what, const char *reason)
{
    printf("%s%s%s\n", what, *reason ? ": " : "", reason);
    (void)fflush(stdout);
    _exit(0);  // without what is still to be sent
}

static bool say(struct port *port, enum message_type type, struct message *m)
{
    struct route r = {.type = type, .run = run, .incarnation = 1};
    (void)snprintf(r.stage, sizeof r.stage, "%s", text("name", "evil"));
    route_seal(&r, m);
    const bool sent = port_send(port, &nobody, m, NULL);
    message_free(m);
    return sent;
}

static void say_notice(struct port *port, enum message_type type, struct notice n)
{
    struct message m = {0};
    if (control_notice_encode(type, &n, &m, NULL) == STATUS_OK)
        (void)say(port, type, &m);
}

static void say_hello(struct port *port, bool downstream, int wants)
{
    struct message m = {0};
    struct hello h = {.wants = wants,
                      .downstream = downstream,
                      .durable = wants > 0,
                      .pid = getpid(),
                      .nupstreams = has_before && !downstream,
                      .upstreams = before};
    memcpy(h.uuid, uuid, sizeof h.uuid);
    (void)snprintf(h.stage, sizeof h.stage, "%s", text("name", "evil"));
    (void)snprintf(h.group, sizeof h.group, "%s", text("group", "bragg-write/nothing"));
    (void)snprintf(h.identity, sizeof h.identity, "any");
    if (control_hello_encode(&h, &m, NULL) == STATUS_OK)
        (void)say(port, MESSAGE_HELLO, &m);
}

static void rename_self(void)
{
    static unsigned count;
    (void)snprintf(uuid, sizeof uuid, "%016x%016x", (unsigned)getpid(), ++count);
}

/* What the source says: ends this program when it says that all is over. */
static void listen_to(const struct route *r, const struct message *m)
{
    struct notice n = {0};
    struct hello h = {0};
    if (r->type == MESSAGE_HELLO && control_hello_decode(&h, m, NULL) == STATUS_OK)
        memcpy(before[0].uuid, h.uuid, sizeof h.uuid);
    hello_free(&h);
    if (r->run && run == 1)
        run = r->run;
    if (control_notice_decode(r->type, &n, m, NULL) != STATUS_OK)
        return;
    if (r->type == MESSAGE_FENCE && strcmp(n.uuid, uuid) == 0)
        finish("out", n.reason);
    if (r->type == MESSAGE_FREE) {
        say_notice(&control, MESSAGE_BYE,
                   (struct notice){.counts_durable = text("durable", NULL) != NULL,
                                   .durable = number("durable", 0)});
        (void)usleep(100000);  // that gets out
        finish("free", "");
    }
    notice_free(&n);
}

/* The next message, if there is one. */
static bool receive(struct port *port, struct route *r, struct message *m)
{
    struct address from;
    if (port_receive(port, &from, m) != PORT_MESSAGE)
        return false;
    if (route_open(r, m, NULL) == STATUS_OK)
        return true;
    message_free(m);
    return false;
}

/* Receives all messages, and sends a heartbeat. */
static void take_part(void)
{
    struct route r;
    struct message m;
    while (receive(&control, &r, &m)) {
        listen_to(&r, &m);
        message_free(&m);
    }
    if (port_happened(&control))
        finish("cut", "");
    if (clock_ns() > beat_ns + UINT64_C(500000000)) {
        beat_ns = clock_ns();
        say_notice(&control, MESSAGE_HEARTBEAT, (struct notice){.progress = beat_ns});
    }
}

/* Takes part for so long, whatever comes: what was said before gets out. */
static void stay(int ms)
{
    zmq_pollitem_t items[] = {{.socket = control.socket, .events = ZMQ_POLLIN}};
    const uint64_t end_ns = clock_ns() + (uint64_t)ms * 1000000;
    uint64_t now_ns = clock_ns();
    do {
        (void)zmq_poll(items, 1, now_ns < end_ns ? (long)((end_ns - now_ns) / 1000000) : 0);
        take_part();
        now_ns = clock_ns();
    } while (now_ns + 1000000 <= end_ns);
}

/* Connects to an endpoint. */
static void open_port(struct port *port, const char *endpoint)
{
    static const struct curve open = {.insecure = true};
    (void)snprintf(port->endpoint, sizeof port->endpoint, "%s", endpoint);
    if (port_open(port, context, &open, PORT_PART_MAX, NULL) != STATUS_OK)
        exit(2);
}

/* Finds out the run id and the uuid of the source. The source sends both with its hello. */
static void learn_run(void)
{
    for (int i = 0; run == 1 && i < PATIENCE_S * 10; i++) {
        say_notice(&control, MESSAGE_ACK, (struct notice){0});
        stay(100);
    }
    has_before = number("up", 0) > 0;
}

static void claim(enum message_type type)
{
    static struct id_range ids[RANGES_MAX];
    const uint64_t ranges = number("ranges", 1), nids = ranges < RANGES_MAX ? ranges : RANGES_MAX;
    const struct notice n = {.nids = nids, .ids = ids, .status = 1, .known = true};
    uint64_t next = number("first", 0);
    const uint64_t more = number("last", 0) - next;
    say_hello(&control, false, 3);
    for (uint64_t i = number("count", 1); i > 0; i--) {
        for (size_t k = 0; k < nids && (ranges > 1 || i == number("count", 1)); k++) {
            ids[k] = (struct id_range){next, next + more};
            next += more + 2;
        }
        say_notice(&control, type, n);
        stay(number("count", 1) > 1000 ? 0 : 2);
    }
    printf("said\n");
    (void)fflush(stdout);
}

/* Takes frames at `data`. */
static void take(void)
{
    struct route r;
    struct message m;
    while (receive(&data, &r, &m)) {
        if (r.type == MESSAGE_HELLO) {
            struct hello h;
            if (control_hello_decode(&h, &m, NULL) == STATUS_OK)
                memcpy(before[0].uuid, h.uuid, sizeof h.uuid);
            hello_free(&h);
            has_before = true;
            say_hello(&control, false, 3);
        } else if (r.type == MESSAGE_EXPERIMENT) {
            printf("met\n");
            (void)fflush(stdout);
            say_notice(&control, MESSAGE_HAVE, (struct notice){.known = true});
            say_notice(&data, MESSAGE_CREDIT,
                       (struct notice){.grant = (uint32_t)number("credit", 2)});
        } else if (r.type == MESSAGE_FRAME) {
            static uint64_t count;
            const bool lies = ++count == number("lie", 0);
            const uint64_t id = r.frame + number("shift", 0) + (lies ? 1000000 : 0);
            struct id_range ids = {id, id}, got = {r.frame, r.frame};
            say_notice(&control, MESSAGE_ACK, (struct notice){.nids = 1, .ids = &ids});
            say_notice(&data, MESSAGE_CREDIT, (struct notice){.grant = 1, .nids = 1, .ids = &got});
        }
        message_free(&m);
    }
}

static void sink(void)
{
    open_port(&data, text("data", ""));
    say_hello(&data, true, 3);
    for (;;) {
        take();
        stay(1);
    }
}

static void knock(void)
{
    open_port(&data, text("data", ""));
    for (uint64_t i = number("count", 1); i > 0; i--)
        say_hello(&data, true, 3);
}

/* Says hello at the wrong end, or as a sink that fails. */
static void meet(bool downstream)
{
    struct notice n = {.status = (int)number("status", 1)};
    (void)snprintf(n.reason, sizeof n.reason, "%s", text("why", ""));
    open_port(&data, text("data", ""));
    say_hello(&data, downstream, 3);
    if (!downstream)
        return;
    stay(100);
    say_notice(&data, MESSAGE_BYE, n);
    stay(500);
    finish("done", "");
}

static void crowd(void)
{
    static struct port ports[CROWD_MAX];
    const uint64_t count = number("count", 100);
    for (uint64_t i = 0; i < count && i < CROWD_MAX; i++) {
        rename_self();
        open_port(&ports[i], words[0]);
        say_hello(&ports[i], false, 3);
    }
    rename_self();
}

static void send_part(void)
{
    const size_t bytes = number("bytes", 1 << 20);
    struct message m = {0};
    void *memory = mem_array(bytes, 1);
    if (!memory ||
        message_add(&m, (struct part){memory, bytes, mem_free, memory}, NULL) != STATUS_OK)
        exit(2);
    const uint64_t start_ns = clock_ns();
    if (!port_send(&control, &nobody, &m, NULL))
        exit(2);
    message_free(&m);
    while (!port_happened(&control)) {
        (void)usleep(10000);
        if (clock_ns() > start_ns + UINT64_C(1000000) * number("ms", 1000))
            finish("taken", "");
    }
    finish("cut", "");
}

static void act(const char *kind)
{
    static const enum message_type claims[] = {MESSAGE_ACK, MESSAGE_HAVE, MESSAGE_LOST,
                                               MESSAGE_HEARTBEAT};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        if (strcmp(kind, message_type_name(claims[i])) == 0)
            claim(claims[i]);
    if (strcmp(kind, "sink") == 0)
        sink();
    if (strcmp(kind, "knocks") == 0)
        knock();
    if (strcmp(kind, "wrong") == 0 || strcmp(kind, "leaver") == 0)
        meet(*kind == 'l');
    if (strcmp(kind, "crowd") == 0)
        crowd();
    for (uint64_t i = 0; i < number("count", 1); i++) {
        const uint64_t ours = run;
        const bool changes = strcmp(kind, "newcomers") == 0 || strcmp(kind, "anew") == 0;
        if (changes)
            rename_self();
        run = strcmp(kind, "anew") == 0 ? 2 : ours;
        if (changes || strcmp(kind, "hellos") == 0)
            say_hello(&control, false, 3);
        else if (strcmp(kind, "watchers") == 0)
            say_hello(&control, false, 0);
        run = ours;
    }
    if (strcmp(kind, "bye") == 0) {
        struct notice n = {.status = (int)number("status", 1)};
        (void)snprintf(n.reason, sizeof n.reason, "%s", text("why", ""));
        say_hello(&control, false, 3);
        say_notice(&control, MESSAGE_BYE, n);
        stay(500);
        finish("done", "");
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    nwords = argc - 2;
    words = argv + 2;
    context = zmq_ctx_new();
    (void)zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4 * CROWD_MAX);
    open_port(&control, words[0]);
    if (strcmp(argv[1], "part") == 0)
        send_part();
    rename_self();
    learn_run();
    act(argv[1]);
    for (const uint64_t start_ns = clock_ns();
         clock_ns() < start_ns + PATIENCE_S * UINT64_C(1000000000);)
        stay(100);
    finish("done", "");
}
