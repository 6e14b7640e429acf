/*
 * Which processes are started again, and when.
 *
 * Who was killed, or taken out of the run by the source, begins again: at once when it has finished
 * a frame since it was started, else after a pause that doubles from one such death to the next.
 * All these pauses together are shorter than the others wait.  What the source takes out is killed
 * first, and so is a source that does not answer.
 */
#ifndef BRAGG_RUN_RESTART_H
#define BRAGG_RUN_RESTART_H

#include "run/local/lookout.h"
#include "run/local/oom.h"
#include "run/local/process.h"

enum { FRUITLESS_MAX = 10 };  // deaths in a row without a finished frame end the run

struct restarts {
    size_t count;
    struct process *processes;  // borrowed
    struct process *source;     // one of them; NULL when it is not known
    struct environment *env;    // borrowed
    struct lookout lookout;
    struct oom oom;
    uint64_t pause_ns, source_pause_ns;  // the longest
    uint64_t silence_ns;                 // a source that does not answer for so long is frozen
    uint64_t heard_ns;                   // when the present one answered last, 0: it has not yet
    uint64_t turned_ns;                  // when this was looked at last
    bool known;                          // the source has told how many frames there are ...
    uint64_t total;                      // ... so many
    uint64_t acknowledged;               // frames, as told last
    struct given_up given_up;
    const struct process *killed_last;  // by the frame that was given up, NULL: unknown
    const struct process *hopeless;     // it ended too often without a frame, NULL: none did
};

void restarts_open(struct restarts *r, struct process *processes, size_t count,
                   struct environment *env);

/* Takes the last words of the source in. */
void restarts_close(struct restarts *r);

/* Asks the source now and then, takes in what it says, and kills what is frozen. */
void restarts_turn(struct restarts *r, uint64_t now_ns);

/* Inside: takes in what the source says.  A process is known by host and number. */
void restarts_hear(struct restarts *r, const struct run_status *s, uint64_t now_ns);

/* True while its `restart` allows one more. */
bool restarts_allow(const struct process *p);

enum restart_verdict {
    RESTART_YES,    // start_ns is set
    RESTART_NO,     // it has failed for good
    RESTART_DOUBT,  // that is not known yet: to be asked again, with this process
};

/* A process that has failed, while the run goes on. */
enum restart_verdict restarts_try(struct restarts *r, struct process *p, uint64_t now_ns);

/* How many frames the run has, as the source has told, else as its --frames says; UINT64_MAX: not
 * known. */
uint64_t restarts_planned(const struct restarts *r);

/* How it ended, for people: "was killed by signal 9". */
void restarts_fate(const struct process *p, char *text, size_t size);

#endif
