#include "control/watch.h"

#include <stdio.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/log.h"

static const struct address source = {0};

enum status watch_open(struct watch *w, const char *endpoint, const char *keys, bool insecure,
                       struct error *e)
{
    *w = (struct watch){0};
    const enum status s = curve_open(&w->curve, keys, insecure, KEYS_WATCH, e);
    if (s)
        return s;
    (void)snprintf(w->port.endpoint, sizeof w->port.endpoint, "%s", endpoint);
    w->context = zmq_ctx_new();
    if (!w->context)
        return error_memory(e, "sockets");
    return port_open(&w->port, w->context, &w->curve, PORT_WORDS_MAX, e);
}

void watch_close(struct watch *w)
{
    port_drop(&w->port);
    if (w->context)
        (void)zmq_ctx_term(w->context);
    curve_close(&w->curve);
    *w = (struct watch){0};
}

void watch_ask(struct watch *w)
{
    struct hello h = {.pid = getpid()};
    struct route r = {.type = MESSAGE_HELLO, .incarnation = 1};
    struct message m = {0};
    (void)snprintf(h.uuid, sizeof h.uuid, "%032lx", (unsigned long)getpid());
    (void)snprintf(h.identity, sizeof h.identity, "any");
    (void)snprintf(h.stage, sizeof h.stage, "%.31s", log_program());
    (void)snprintf(r.stage, sizeof r.stage, "%.31s", log_program());
    if (control_hello_encode(&h, &m, NULL) == STATUS_OK) {
        route_seal(&r, &m);
        (void)port_send(&w->port, &source, &m, NULL);
    }
    message_free(&m);
}

void watch_wait(struct watch *w, int fd, int ms)
{
    zmq_pollitem_t items[] = {{.socket = w->port.socket, .fd = -1, .events = ZMQ_POLLIN},
                              {.fd = fd, .events = ZMQ_POLLIN}};
    (void)zmq_poll(items, fd < 0 ? 1 : 2, ms);
}

bool watch_is_refused(struct watch *w, const char **why)
{
    (void)port_happened(&w->port);
    *why = curve_verdict(&w->curve, &w->port.trial, clock_ns());
    return w->port.trial.nobody;
}

/* Decodes an answer of the source.  WATCH_NOTHING: the message is not an answer. */
static enum watch_got decode(const struct message *m, struct run_status *r, enum status *ended)
{
    struct route route;
    struct notice n = {0};
    enum watch_got got = WATCH_NOTHING;
    if (route_open(&route, m, NULL) != STATUS_OK)
        return got;
    if (route.type == MESSAGE_STATUS) {
        got = control_status_decode(r, m, NULL) == STATUS_OK ? WATCH_STATUS : WATCH_NOTHING;
        if (got == WATCH_NOTHING)
            run_status_free(r);
    } else if (route.type == MESSAGE_FREE &&
               control_notice_decode(MESSAGE_FREE, &n, m, NULL) == STATUS_OK) {
        *ended = (enum status)n.status;
        got = WATCH_END;
    }
    notice_free(&n);
    return got;
}

enum watch_got watch_receive(struct watch *w, struct run_status *r, enum status *ended)
{
    struct address from;
    struct message m;
    enum watch_got got = WATCH_NOTHING;
    for (enum port_got port; got == WATCH_NOTHING; message_free(&m)) {
        port = port_receive(&w->port, &from, &m);
        if (port == PORT_NOTHING)
            break;
        if (port == PORT_MESSAGE)
            got = decode(&m, r, ended);
    }
    return got;
}
