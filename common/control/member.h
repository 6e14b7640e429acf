/* A *member*: a process of the run other than the source, and its connection to the source. */
#ifndef BRAGG_CONTROL_MEMBER_H
#define BRAGG_CONTROL_MEMBER_H

#include "link/links.h"

enum { ACK_MS = 10 };  // longest time for which an acknowledgement waits for further ones

/* The speed at which this process finishes the rows of the current frame, and the time that
 * follows for a frame. */
struct pace {
    uint64_t rows;                  // counter of finished rows when it was last read
    uint64_t begin_ns;              // when the frame was last seen without finished rows
    uint64_t first_rows, first_ns;  // counter and time of the first reading with finished rows; 0:
                                    // none yet
    uint64_t changed_ns;            // when the counter last changed
    uint64_t before_ns;             // computing time before the first frame
    uint64_t frame_ns;              // expected time of the current frame, or time of the last one;
                                    // 0: not known
};

/* The forecast of the source, as in its latest heartbeat. */
struct expected {
    uint64_t rows, all_rows;  // finished rows in the slowest stage, and rows of a frame; 0: unknown
    uint64_t left_ns;         // time to the end of the run; 0: not known
};

struct member {
    struct run *run;
    struct links *links;
    size_t nwords;      // number of words in the command line after the program name
    bool identified;    // the experiment is known, so that hellos state the identity class
    bool welcomed;      // the source has sent its welcome
    bool worked;        // a heartbeat has reported that this process has finished a frame
    uint64_t heard_ns;  // when the latest message of the source came
    uint64_t beat_ns;   // when the latest heartbeat was sent
    uint64_t made;      // sink: number of frames that it has made durable
    struct pace pace;
    bool paced;  // a heartbeat has reported `pace.frame_ns`
    struct expected expected;
    uint64_t acked_ns;  // sink: when the latest acknowledgement was sent; 0: never
};

/* Processes all messages of the source.  Returns false if there were none. */
bool member_receive(struct member *me);

/* Sinks: acknowledges frames that have become durable, if that is due. */
void member_settle(struct member *me, uint64_t now_ns);

/* One turn of the member: connects to the source, sends a hello, and sends the reports that are
 * due. */
void member_pump(struct member *me, uint64_t now_ns);

/* Sends a bye with `status` to the source. */
void member_say_bye(struct member *me, enum status status);

/* --- restart.c: a source that was started again opens another run -------------- */

/* Executes the program of this process again.  Returns only after an error, which ends this
 * process. */
void restart(struct member *me);

/* Returns the run of this process before it executed its program again; 0: there is none. */
uint64_t restart_former_run(void);

/* Adds to *ids the frames that this process acknowledged before it executed its program again.
 * STATUS_INPUT: these frames have another lineage.  STATUS_FAILED: not enough memory. */
enum status restart_remember(const char *lineage, struct id_set *ids, struct error *e);

#endif
