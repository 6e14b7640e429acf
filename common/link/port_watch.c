/*
 * What a socket tells of its connections: without a limit, at which libzmq would stand still, and
 * without ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: while that is told errno changes, libzmq 4.3.4 takes
 * a damaged message for a full queue, and aborts later (!_io_error).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "link/port.h"
#include "wire/control.h"

void *port_watch(void *context, void *socket, bool bound)
{
    static const int events = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
                              ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                              ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    static const int bound_events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    static const int unlimited = 0;
    static atomic_uint count;
    char name[64];
    (void)snprintf(name, sizeof name, "inproc://watch-%u", atomic_fetch_add(&count, 1));
    if (zmq_socket_monitor(socket, name, bound ? bound_events : events) != 0)
        return NULL;
    void *watch = zmq_socket(context, ZMQ_PAIR);
    if (watch)
        (void)zmq_setsockopt(watch, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    if (watch && zmq_connect(watch, name) != 0) {
        (void)zmq_close(watch);
        watch = NULL;
    }
    if (!watch)
        (void)zmq_socket_monitor(socket, NULL, 0);
    return watch;
}

static void note_event(struct trial *t, unsigned event, bool *cut)
{
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        t->accepted++;
        break;
    case ZMQ_EVENT_CONNECT_RETRIED:
        t->nobody = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        t->admitted++;
        t->failed = t->broken = 0;
        t->failing_ns = 0;
        t->established = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        t->denied = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        t->broken++;
        break;
    default:
        t->failed += !t->established;
        t->established = false;
        *cut = true;
        break;
    }
}

/* Each event is two parts: what and which, then the endpoint. */
bool port_happened(void *watch, struct trial *t)
{
    char part[ENDPOINT_SIZE];
    bool cut = false;
    int more = 0;
    size_t size = sizeof more;
    for (bool first = true; watch && zmq_recv(watch, part, sizeof part, ZMQ_DONTWAIT) >= 0;
         first = !more) {
        uint16_t event;
        memcpy(&event, part, sizeof event);
        if (first)
            note_event(t, event, &cut);
        if (zmq_getsockopt(watch, ZMQ_RCVMORE, &more, &size) != 0)
            break;
    }
    return cut;
}
