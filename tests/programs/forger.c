/*
 * forger FOLDER ROLE ENDPOINT: connects with the keys of a folder, in the ROLE watcher or client,
 * to the control or data endpoint of a running stage, learns the run as a watcher, and then says
 * for a second that it is a durable sink of the group test-sink/nothing and has all frames.
 * Prints how many answers came before and after that.
 */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "base/clock.h"
#include "link/port.h"
#include "wire/control.h"

static const struct address nobody = {0};

struct forger {
    void *context;
    struct port port;
    struct curve curve;
    uint64_t run;
    unsigned answers;
};

static void send_as(struct forger *f, enum message_type type, struct message *m, enum status s)
{
    struct route r = {.type = type, .run = f->run, .incarnation = 1};
    (void)snprintf(r.stage, sizeof r.stage, "test-sink");
    if (s == STATUS_OK) {
        route_seal(&r, m);
        (void)port_send(&f->port, &nobody, m, NULL);
    }
    message_free(m);
}

static void say_hello(struct forger *f, bool sink)
{
    struct hello h = {.wants = sink ? 3 : 0, .durable = sink, .downstream = sink, .pid = 1};
    struct message m = {0};
    (void)snprintf(h.uuid, sizeof h.uuid, "%032x", 1);
    (void)snprintf(h.stage, sizeof h.stage, "test-sink");
    (void)snprintf(h.group, sizeof h.group, "test-sink/nothing");
    (void)snprintf(h.identity, sizeof h.identity, "any");
    const enum status s = control_hello_encode(&h, &m, NULL);
    send_as(f, MESSAGE_HELLO, &m, s);
}

static void say(struct forger *f, enum message_type type)
{
    struct id_range all = {0, 9999};
    struct notice n = {.known = true, .nids = 1, .ids = &all, .grant = 100};
    struct message m = {0};
    const enum status s = control_notice_encode(type, &n, &m, NULL);
    send_as(f, type, &m, s);
}

static void listen(struct forger *f)
{
    struct address from;
    struct message m;
    struct route r;
    zmq_pollitem_t item = {.socket = f->port.socket, .events = ZMQ_POLLIN};
    (void)zmq_poll(&item, 1, 100);
    while (port_receive(&f->port, &from, &m) == PORT_MESSAGE) {
        if (route_open(&r, &m, NULL) == STATUS_OK) {
            f->run = r.run;
            f->answers++;
        }
        message_free(&m);
    }
}

int main(int argc, char **argv)
{
    struct forger f = {.context = zmq_ctx_new()};
    struct error e;
    if (argc != 4)
        return 2;
    (void)snprintf(f.port.endpoint, sizeof f.port.endpoint, "%s", argv[3]);
    const enum keys_role role = strcmp(argv[2], "watcher") == 0 ? KEYS_WATCH : KEYS_STAGE;
    if (curve_open(&f.curve, argv[1], false, role, &e) != STATUS_OK ||
        port_open(&f.port, f.context, &f.curve, PORT_WORDS_MAX, &e) != STATUS_OK) {
        fprintf(stderr, "forger: %s\n", e.text);
        return 1;
    }
    const uint64_t start_ns = clock_ns(), second_ns = UINT64_C(1000000000);
    while (!f.answers && clock_ns() < start_ns + 2 * second_ns) {
        say_hello(&f, false);
        listen(&f);
    }
    listen(&f);
    const unsigned before = f.answers;
    for (int i = 0; i < 10; i++) {
        say_hello(&f, true);
        say(&f, MESSAGE_HAVE);
        say(&f, MESSAGE_ACK);
        say(&f, MESSAGE_CREDIT);
        listen(&f);
    }
    printf("%s %u\n", before ? "status" : "nothing", f.answers - before);
    port_drop(&f.port);
    (void)zmq_ctx_term(f.context);
    curve_close(&f.curve);
    return 0;
}
