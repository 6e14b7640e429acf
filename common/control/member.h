/* A process other than the source: its connection to the source.  See member.c. */
#ifndef BRAGG_CONTROL_MEMBER_H
#define BRAGG_CONTROL_MEMBER_H

#include "link/links.h"

enum { ACK_MS = 10 };  // acknowledgements wait for each other so long at most

struct member {
    struct run *run;
    struct links *links;
    size_t nwords;      // options and operands in the command line
    bool identified;    // the source knows our identity class
    bool welcomed;      // by the source
    bool worked;        // the source knows that a frame was finished here
    uint64_t heard_ns;  // when a message of the source came last
    uint64_t beat_ns;   // when the last heartbeat was sent
    uint64_t made;      // sink: how many frames it has made durable
    uint64_t acked_ns;  // sink: when it was last acknowledged, 0 for never
};

/* Takes all messages of the source; false when there were none. */
bool member_receive(struct member *me);

/* Sink: acknowledges frames that have become durable, if that is due. */
void member_settle(struct member *me, uint64_t now_ns);

/* The turn of the member: connects to the source, says hello, sends the reports that are due. */
void member_pump(struct member *me, uint64_t now_ns);

/* Says bye to the source. */
void member_say_bye(struct member *me, enum status status);

/* --- restart.c: a source that was started again opens another run -------------- */

/* Executes the program of this process again; returns only after an error, which ends it. */
void restart(struct member *me);

/* The run of this process before it executed its program again; 0 for none. */
uint64_t restart_former_run(void);

/* Adds the ids of the frames that this process had acknowledged before.  STATUS_INPUT if they were
 * of another lineage. */
enum status restart_remember(const char *lineage, struct id_set *ids, struct error *e);

#endif
