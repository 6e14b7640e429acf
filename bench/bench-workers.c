/*
 * bench-workers COUNT DATA CONTROL REPORT: COUNT minimal workers of a source in one thread.  They
 * do what bragg-wire(5) requires of a sink and nothing else: they receive recipes, acknowledge them
 * and return their credit every few milliseconds.
 *
 * At the end the program appends a line to the file REPORT, as bench-hop does: "workers"; ns of CPU
 * time and of wall time per frame; KiB of its largest resident memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "link/port.h"
#include "wire/control.h"

enum { COUNT_MAX = 4000, CREDIT = 8, FLUSH_MS = 2, BEAT_MS = 500, MS = 1000000 };

struct worker {
    struct port data, control;
    char uuid[UUID_SIZE];
    uint64_t messages, frames;  // that came: with the experiment, and without
    uint32_t grant;             // credit to return
    struct id_set done;         // frames to acknowledge
    bool over;
};

struct crowd {
    size_t count, met, over;
    struct worker *workers;
    zmq_pollitem_t *items;  // data, control of each
    const char *endpoint;   // of the source
    uint64_t run, beats, frames, first_ns, last_ns;
};

static void send_as(const struct crowd *c, struct port *port, enum message_type type,
                    struct message *m, enum status s)
{
    static const struct address source = {0};
    struct route r = {.type = type, .run = c->run, .incarnation = 1, .stage = "bare"};
    if (!s)
        route_seal(&r, m);
    if (s || !port_send(port, &source, m, NULL)) {
        (void)fprintf(stderr, "bench-workers: cannot send a %s\n", message_type_name(type));
        exit(STATUS_FAILED);
    }
    message_free(m);
}

static void say(const struct crowd *c, struct port *port, enum message_type type, struct notice n)
{
    struct message m = {0};
    const enum status s = control_notice_encode(type, &n, &m, NULL);
    send_as(c, port, type, &m, s);
}

/* Says hello. `up` is the uuid of the process before the worker, for the source; "": on the data
 * plane. */
static void say_hello(const struct crowd *c, const struct worker *w, struct port *port,
                      const char *up)
{
    struct neighbour source;
    struct message m = {0};
    struct hello h = {.wants = 2,
                      .downstream = !*up,
                      .durable = true,
                      .pid = getpid(),
                      .stage = "bare",
                      .group = "bare",
                      .identity = "any",
                      .nupstreams = *up != 0,
                      .upstreams = &source};
    (void)snprintf(source.uuid, sizeof source.uuid, "%s", up);
    (void)snprintf(h.uuid, sizeof h.uuid, "%s", w->uuid);
    (void)snprintf(h.control, sizeof h.control, "%s", c->endpoint);
    const enum status s = control_hello_encode(&h, &m, NULL);
    send_as(c, port, MESSAGE_HELLO, &m, s);
}

static void meet(struct crowd *c, struct worker *w, const struct route *r, const struct message *m)
{
    struct hello h;
    c->run = r->run;
    if (control_hello_decode(&h, m, NULL) == STATUS_OK)
        say_hello(c, w, &w->control, h.uuid);
    hello_free(&h);
}

static void take(struct crowd *c, struct worker *w, const struct route *r)
{
    if (!c->frames++)
        c->first_ns = clock_ns();
    c->last_ns = clock_ns();
    w->frames++;
    w->grant++;
    id_set_add(&w->done, r->frame);
}

/* All are there: frames may come. */
static void begin(struct crowd *c)
{
    for (size_t i = 0; i < c->count; i++)
        say(c, &c->workers[i].data, MESSAGE_CREDIT, (struct notice){.grant = CREDIT});
}

static void fail(const char *text)
{
    (void)fprintf(stderr, "bench-workers: %s\n", text);
    exit(STATUS_FAILED);
}

static void on_message(struct crowd *c, struct worker *w, const struct route *r,
                       const struct message *m)
{
    switch (r->type) {
    case MESSAGE_HELLO:
        meet(c, w, r, m);
        break;
    case MESSAGE_EXPERIMENT:
        w->messages++;
        say(c, &w->control, MESSAGE_HAVE, (struct notice){.known = true});
        if (++c->met == c->count)
            begin(c);
        break;
    case MESSAGE_FRAME:
        w->messages++;
        take(c, w, r);
        break;
    case MESSAGE_HEARTBEAT:  // how much has come?
        say(c, &w->data, MESSAGE_HEARTBEAT, (struct notice){.progress = w->messages});
        break;
    case MESSAGE_FREE:
        say(c, &w->control, MESSAGE_BYE,
            (struct notice){.counts_durable = true, .durable = w->frames});
        c->over += !w->over;
        w->over = true;
        break;
    case MESSAGE_BYE:
        if (!w->over)
            fail("the source has ended the run");
        break;
    default:
        break;
    }
}

static void receive(struct crowd *c, struct worker *w, struct port *port)
{
    struct address from;
    struct message m;
    struct route r;
    while (port_receive(port, &from, &m) == PORT_MESSAGE) {
        if (route_open(&r, &m, NULL) == STATUS_OK)
            on_message(c, w, &r, &m);
        message_free(&m);
    }
}

static void flush(struct crowd *c, struct worker *w)
{
    if (!w->grant)
        return;
    struct notice n = {.grant = w->grant, .nids = w->done.count, .ids = w->done.ranges};
    say(c, &w->control, MESSAGE_ACK, n);
    say(c, &w->data, MESSAGE_CREDIT, n);
    w->grant = 0;
    id_set_clear(&w->done);
}

static void connect_to(struct port *port, void *context, const char *endpoint)
{
    void *socket = zmq_socket(context, ZMQ_DEALER);
    const int none = 0;
    if (!socket || zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none) != 0 ||
        zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none) != 0 ||
        zmq_connect(socket, endpoint) != 0)
        fail(zmq_strerror(zmq_errno()));
    port->socket = socket;
}

static void open_crowd(struct crowd *c, void *context, const char *data)
{
    c->workers = mem_array(c->count, sizeof *c->workers);
    c->items = mem_array(2 * c->count, sizeof *c->items);
    if (!c->workers || !c->items)
        fail("out of memory");
    (void)zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 2 * COUNT_MAX);
    for (size_t i = 0; i < c->count; i++) {
        struct worker *w = &c->workers[i];
        (void)snprintf(w->uuid, sizeof w->uuid, "%016lx%016zx", (long)getpid(), i);
        connect_to(&w->data, context, data);
        connect_to(&w->control, context, c->endpoint);
        c->items[2 * i] = (zmq_pollitem_t){.socket = w->data.socket, .events = ZMQ_POLLIN};
        c->items[2 * i + 1] = (zmq_pollitem_t){.socket = w->control.socket, .events = ZMQ_POLLIN};
        say_hello(c, w, &w->data, "");
    }
}

static void run(struct crowd *c)
{
    uint64_t flushed_ns = 0, beat_ns = clock_ns();
    while (c->over < c->count) {
        (void)zmq_poll(c->items, (int)(2 * c->count), FLUSH_MS);
        for (size_t i = 0; i < 2 * c->count; i++) {
            struct worker *w = &c->workers[i / 2];
            if (c->items[i].revents)
                receive(c, w, i % 2 ? &w->control : &w->data);
        }
        const uint64_t now_ns = clock_ns();
        const bool due = now_ns >= flushed_ns + FLUSH_MS * MS;
        const bool beats = c->run && now_ns >= beat_ns + BEAT_MS * (uint64_t)MS;
        for (size_t i = 0; i < c->count && (due || beats); i++) {
            struct worker *w = &c->workers[i];
            flush(c, w);
            if (beats && !w->over)
                say(c, &w->control, MESSAGE_HEARTBEAT, (struct notice){.progress = c->beats});
        }
        flushed_ns = due ? now_ns : flushed_ns;
        beat_ns = beats ? now_ns : beat_ns;
        c->beats += beats;
    }
}

static void report(const struct crowd *c, const char *path)
{
    struct rusage r;
    FILE *out = getrusage(RUSAGE_SELF, &r) == 0 ? fopen(path, "a") : NULL;
    if (!out || !c->frames)
        fail("cannot report");
    const double cpu_ns = 1e9 * (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
                          1e3 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
    (void)fprintf(out, "workers %.0f %.0f %ld\n", cpu_ns / (double)c->frames,
                  (double)(c->last_ns - c->first_ns) / (double)c->frames, r.ru_maxrss);
    if (fclose(out) != 0)
        fail("cannot report");
}

int main(int argc, char **argv)
{
    struct crowd c = {.count = argc == 5 ? strtoul(argv[1], NULL, 10) : 0};
    struct rlimit files;
    if (!c.count || c.count > COUNT_MAX)
        return STATUS_USAGE;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    void *context = zmq_ctx_new();
    c.endpoint = argv[3];
    open_crowd(&c, context, argv[2]);
    run(&c);
    report(&c, argv[4]);
    for (size_t i = 0; i < 2 * c.count; i++)
        (void)zmq_close(c.items[i].socket);
    (void)zmq_ctx_term(context);
    mem_free(c.items);
    mem_free(c.workers);
    return 0;
}
