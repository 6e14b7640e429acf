/*
 * rawpeer SEED COUNT CONTROL ENDPOINT...: sends COUNT inputs that no stage would send, directly to
 * the bound sockets of a running stream (ipc:// and tcp:// with numbers), including the control
 * endpoint of its source:
 *
 *   noise      random bytes instead of a greeting
 *   greetings  corrupt greetings of ZMTP 3.0
 *   commands   a good greeting, then corrupt handshakes and other commands
 *   messages   a good handshake, then up to 24 messages of all types: corrupt anywhere, or only
 *              inside, with right checksums; missing parts; ZMTP frames of a wrong length
 *
 * The bytes of a connection are cut in two at a random place, and other connections come and go
 * meanwhile.  Each message is an input, and so is each connection that gets no further.  From time
 * to time the source must answer a good observer.  Prints a summary.  Status 1: nothing answers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "control/watch.h"
#include "wire/codec.h"

enum { OPEN = 24, MESSAGES = 24, ROOM = 1 << 16, ASK_EVERY = 256, PATIENCE_S = 20 };

static unsigned short state[3];

/* A number from 0 to n - 1. */
static size_t draw(size_t n)
{
    return (size_t)((double)n * erand48(state));
}

/* --- what a good peer says ------------------------------------------------- */

static const char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL";
static const char ready[] = "\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06"
                            "DEALER\x08Identity\0\0\0\0";

/* What goes out on one connection. */
struct output {
    size_t size;
    uint8_t bytes[ROOM];
};

static void append(struct output *o, const void *bytes, size_t size)
{
    if (size > ROOM - o->size)
        size = ROOM - o->size;
    if (size)
        memcpy(o->bytes + o->size, bytes, size);
    o->size += size;
}

/* A frame of ZMTP; `lie`: with a length that is not its own. */
static void append_frame(struct output *o, const void *bytes, size_t size, bool more, bool lie)
{
    const uint64_t length = lie ? (uint64_t)1 << draw(63) : size;
    const bool wide = length > 255 || draw(16) == 0;
    uint8_t head[9] = {(uint8_t)(more | wide << 1)};
    for (int i = 0; i < 8; i++)
        head[8 - i] = (uint8_t)(length >> 8 * i);
    if (!wide)
        head[1] = (uint8_t)length;
    append(o, head, wide ? 9 : 2);
    append(o, bytes, size);
}

/* Changes some bytes from `start` on, if there are any. */
static void damage(uint8_t *bytes, size_t start, size_t size)
{
    for (size_t n = size > start ? 1 + draw(4) : 0; n > 0; n--) {
        uint8_t *at = &bytes[start + draw(size - start)];
        *at = (uint8_t)(draw(2) ? draw(256) : *at ^ (size_t)1 << draw(8));
    }
}

/* --- messages --------------------------------------------------------------- */

static struct message messages[MESSAGE_LAST + 1];  // by type; without routes

static bool make_message(enum message_type type, struct message *m)
{
    static double F[8] = {7};
    static struct panel panel = {
        .fast_pixels = 4, .slow_pixels = 4, .layers = 1, .roi = {0, 3, 0, 3}};
    static struct crystal crystal = {.table = {.count = {2, 2, 2}, .F = F}};
    static struct id_range ids[] = {{1, 5}, {7, 7}};
    struct experiment x = {.npanels = 1, .panels = &panel, .ncrystals = 1, .crystals = &crystal};
    struct hello h = {.uuid = "0123456789abcdef0123456789abcdef",
                      .stage = "rawpeer",
                      .wants = 3,
                      .gives = 3,
                      .identity = "any",
                      .pid = 1};
    struct frame f = {0};
    struct notice n = {.nids = 2, .ids = ids, .grant = 9, .total = 3};
    if (type == MESSAGE_HELLO)
        return control_hello_encode(&h, m, NULL) == STATUS_OK;
    if (type == MESSAGE_EXPERIMENT)
        return codec_experiment_encode(&x, m, NULL) == STATUS_OK;
    if (type == MESSAGE_STATUS)
        return control_status_encode(&(struct run_status){.known = true}, m, NULL) == STATUS_OK;
    if (type != MESSAGE_FRAME)
        return control_notice_encode(type, &n, m, NULL) == STATUS_OK;
    return image_reserve(&f.image, PIXEL_F32, UNIT_PHOTONS, 16) &&
           codec_frame_encode(&f, "", m, NULL) == STATUS_OK;
}

/* A copy of a part that ends somewhere, or has other bytes, at the given odds. */
static struct part vary(const struct part *part, size_t odds)
{
    uint8_t *copy = mem_array(part->size + 1, 1);
    if (!copy)
        exit(2);
    if (part->size)
        memcpy(copy, part->data, part->size);
    size_t size = part->size;
    if (draw(odds) == 0)
        size = draw(size + 1);
    if (draw(odds) == 0)
        damage(copy, 0, size);
    return (struct part){.data = copy, .size = size, .release = mem_free, .owner = copy};
}

/* Appends a message of another run, and never a good hello. A message of this run, or a good hello,
 * would look like a stage that was started in the wrong place, which ends a stream. */
static void append_message(struct output *o)
{
    struct message m = {0};
    const enum message_type type = (enum message_type)(1 + draw(MESSAGE_LAST));
    const struct message *good = &messages[type];
    struct route r = {.type = type, .incarnation = 1, .stage = "rawpeer"};
    r.run = draw(4) != 0;
    r.frame = draw(100);
    r.flags = (uint32_t)draw(8);
    const bool sums = type != MESSAGE_HELLO && draw(2);  // damage comes before they are formed
    for (size_t i = 0; i < good->nparts; i++)
        if (draw(50) || i < 2)
            (void)message_add(&m, vary(&good->parts[i], sums ? 2 : 8), NULL);
    route_seal(&r, &m);
    if (!sums) {
        damage(m.parts[0].data, 0, m.parts[0].size - 1);
        ((uint8_t *)m.parts[0].data)[m.parts[0].size - 1] ^= 1;
    }
    for (size_t i = 0; i < m.nparts; i++) {
        append_frame(o, m.parts[i].data, m.parts[i].size, (i + 1 < m.nparts) ^ (draw(64) == 0),
                     draw(500) == 0);
        if (draw(64) == 0)
            append_frame(o, m.parts[i].data, m.parts[i].size, draw(2), false);
    }
    message_free(&m);
}

/* --- connections ----------------------------------------------------------- */

static struct connection {
    int fd;  // 0: none
    const char *endpoint;
    bool good, met;          // the handshake is good; the other one's has come
    size_t handshake, sent;  // bytes of the output: up to the end of the handshake, so far
    struct output output;
} connections[OPEN];

/* Fills c->output; returns how many inputs that is. */
static size_t compose(struct connection *c, size_t most)
{
    struct output *o = &c->output;
    const size_t kind = draw(16), inputs = 1 + draw(most < MESSAGES ? most : MESSAGES);
    c->good = kind > 2;
    c->met = false;
    c->sent = c->handshake = o->size = 0;
    if (kind == 0) {
        o->size = 1 + draw(256);
        for (size_t i = 0; i < o->size; i++)
            o->bytes[i] = (uint8_t)draw(256);
        return 1;
    }
    append(o, greeting, sizeof greeting);
    append(o, ready, sizeof ready - 1);
    c->handshake = o->size;
    if (kind < 3)
        damage(o->bytes, kind == 1 ? 0 : sizeof greeting, kind == 1 ? sizeof greeting : o->size);
    for (size_t i = 0; i < (kind < 4 ? 1 : inputs); i++)
        append_message(o);
    if (kind == 3)
        o->bytes[c->handshake] |= 4;  // a command
    return kind < 4 ? 1 : inputs;
}

static void fail(const char *what, const char *endpoint)
{
    fprintf(stderr, "rawpeer: %s %s: %s\n", what, endpoint, strerror(errno));
    exit(1);
}

static int open_connection(const char *endpoint)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const struct linger reset = {.l_onoff = 1};
    const bool tcp = strncmp(endpoint, "tcp://", 6) == 0;
    (void)snprintf(local.sun_path, sizeof local.sun_path, "%s", endpoint + 6);
    in.sin_port = htons((uint16_t)strtol(strrchr(endpoint, ':') + 1, NULL, 10));
    const int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (tcp ? connect(fd, (struct sockaddr *)&in, sizeof in)
                       : connect(fd, (struct sockaddr *)&local, sizeof local)) != 0)
        fail("cannot connect to", endpoint);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (tcp && draw(8))  // mostly, so that ports do not run out
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

/* Sends the output up to byte `end`.  The other end may have closed, or takes no more. */
static void put(struct connection *c, size_t end)
{
    if (end > c->sent)
        (void)send(c->fd, c->output.bytes + c->sent, end - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    c->sent = end;
}

/* Waits for the answer to a good handshake: a greeting and a short command. Anything sent before it
 * would break the protocol. */
static void meet(const struct connection *c)
{
    uint8_t bytes[sizeof greeting + 2 + 255];
    size_t got = 0, wanted = sizeof greeting + 2;
    while (got < wanted) {
        const ssize_t n = recv(c->fd, bytes + got, wanted - got, 0);
        if (n <= 0)
            fail("no handshake from", c->endpoint);
        got += (size_t)n;
        if (wanted == sizeof greeting + 2 && got == wanted)
            wanted += bytes[got - 1];
    }
}

/* One step of a connection; true when it is over. */
static bool go_on(struct connection *c)
{
    if (c->good && !c->met) {
        c->met = true;
        meet(c);
        put(c, c->handshake + draw(c->output.size - c->handshake + 1));
        return false;
    }
    put(c, c->output.size);
    (void)close(c->fd);
    c->fd = 0;
    return true;
}

/* Milliseconds until the source has answered. */
static double ask(struct watch *w, const char *control)
{
    struct run_status status = {0};
    enum status ended;
    const uint64_t start_ns = clock_ns();
    watch_ask(w);
    while (watch_receive(w, &status, &ended) != WATCH_STATUS) {
        if (clock_ns() - start_ns > PATIENCE_S * UINT64_C(1000000000))
            fail("no answer from", control);
        watch_wait(w, -1, 1000);
    }
    run_status_free(&status);
    return (double)(clock_ns() - start_ns) / 1e6;
}

/* Begins a connection; returns how many inputs that is. */
static size_t begin(struct connection *c, const char *endpoint, size_t most)
{
    const size_t inputs = compose(c, most);
    c->endpoint = endpoint;
    c->fd = open_connection(endpoint);
    put(c, draw(c->handshake + 1));
    if (c->good)
        put(c, c->handshake);
    return inputs;
}

static void attack(char **endpoints, size_t nendpoints, size_t count, struct watch *w)
{
    size_t inputs = 0, opened = 0, asked = 0;
    double slowest_ms = 0;
    for (size_t step = 0; inputs < count; step++) {
        struct connection *c = &connections[step % OPEN];
        if (c->fd && !go_on(c))
            continue;
        inputs += begin(c, endpoints[draw(nendpoints)], count - inputs);
        opened++;
        if (inputs / ASK_EVERY > asked) {
            slowest_ms = fmax(slowest_ms, ask(w, endpoints[0]));
            asked = inputs / ASK_EVERY;
        }
    }
    for (size_t i = 0; i < OPEN; i++)
        while (connections[i].fd && !go_on(&connections[i]))
            continue;
    (void)ask(w, endpoints[0]);
    printf("%zu inputs on %zu connections, slowest answer after %.0f ms\n", inputs, opened,
           slowest_ms);
}

int main(int argc, char **argv)
{
    struct watch watch;
    if (argc < 4 || watch_open(&watch, argv[3], NULL, true, NULL) != STATUS_OK)
        return 2;
    state[0] = (unsigned short)strtol(argv[1], NULL, 10);
    for (int type = 1; type <= MESSAGE_LAST; type++)
        if (!make_message((enum message_type)type, &messages[type]))
            return 2;
    attack(argv + 3, (size_t)argc - 3, strtoul(argv[2], NULL, 10), &watch);
    watch_close(&watch);
    return 0;
}
