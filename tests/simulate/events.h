/* The queue of events: the earliest first.  Events at the same time keep the order in which they
 * were added. */
#ifndef BRAGG_SIMULATE_EVENTS_H
#define BRAGG_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_TURN,     // turn of the I/O thread of a process
    EVENT_MAIN,     // step of its main thread
    EVENT_START,    // start of another process in a slot
    EVENT_FAULT,    // fault of the plan
    EVENT_GUEST,    // turn of a process outside the pipeline
    EVENT_CONNECT,  // a socket tries to connect
    EVENT_CUT,      // one end of a connection notices that the connection has ended
    EVENT_ARRIVE,   // a packet arrives
};

struct event {
    uint64_t at_ns, number;
    uint32_t which;  // slot, or index of the fault, socket or connection
    uint16_t kind;
    uint16_t side;  // side of a connection
    void *packet;
};

/* Adds an event.  event_add_at: an event at one end of a connection, with a packet or NULL. */
void event_add(uint64_t at_ns, enum event_kind kind, uint32_t which);
void event_add_at(uint64_t at_ns, enum event_kind kind, uint32_t conn, unsigned side, void *packet);

/* Removes the earliest event and stores it in *event.  Returns false if there is none. */
bool event_take(struct event *event);

#endif
