/* What is to happen, the earliest first; of those at the same time the one that was noted first. */
#ifndef BRAGG_SIMULATE_EVENTS_H
#define BRAGG_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_TURN,     // of a process's I/O thread
    EVENT_MAIN,     // of its main thread
    EVENT_START,    // of another process in a slot
    EVENT_FAULT,    // of the plan
    EVENT_GUEST,    // who has no place in the pipeline
    EVENT_CONNECT,  // a socket tries to
    EVENT_CUT,      // one end of a connection finds that it has ended
    EVENT_ARRIVE,   // a packet
};

struct event {
    uint64_t at_ns, number;
    uint32_t which;  // slot, or index of the fault, socket or connection
    uint16_t kind;
    uint16_t side;  // of a connection
    void *packet;
};

/* Notes one; event_add_at: at an end of a connection, with a packet or NULL. */
void event_add(uint64_t at_ns, enum event_kind kind, uint32_t which);
void event_add_at(uint64_t at_ns, enum event_kind kind, uint32_t conn, unsigned side, void *packet);

/* Takes the earliest; false when there is none. */
bool event_take(struct event *event);

#endif
