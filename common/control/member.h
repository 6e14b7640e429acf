/* A process other than the source on the control plane. */
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
    uint64_t heard_ns;  // when the source said something last
    uint64_t beat_ns;   // when it was told last that we live
    uint64_t made;      // sink: how many frames it has made durable
    uint64_t acked_ns;  // sink: when the source was told last, 0 for never
};

/* Takes all messages of the source; false when there were none. */
bool member_receive(struct member *me);

/* Tells the source what has become durable: at once, or when that is due. */
void member_settle(struct member *me, uint64_t now_ns);

/* Its turn: connects to the source, says hello, tells it what is due. */
void member_pump(struct member *me, uint64_t now_ns);

/* The last word to the source. */
void member_say_bye(struct member *me, enum status status);

/* --- restart.c: a source that was started again opens another run -------------- */

/* Begins anew; returns only after an error, which ends this process. */
void restart(struct member *me);

/* The run before this process began anew; 0 for none. */
uint64_t restart_former_run(void);

/* Adds what this process had acknowledged before it began anew.  STATUS_INPUT when that was
 * of another lineage. */
enum status restart_remember(const char *lineage, struct id_set *ids, struct error *e);

#endif
