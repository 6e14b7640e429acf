/*
 * Decides which processes are restarted, and when.
 *
 * A process is restarted if it was killed, or if the source excluded it from the run.  It restarts
 * at once if it has finished a frame since its start.  Otherwise the pause doubles from one death
 * to the next; all pauses together are shorter than the time that the other processes wait.
 *
 * A process that the source excludes is killed first.  A source that does not answer is killed too.
 */
#ifndef BRAGG_RUN_RESTART_H
#define BRAGG_RUN_RESTART_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/local/process.h"
#include "run/local/source_monitor.h"

/* Detects that the system killed a process because memory ran out, with the counters of the control
 * group. */
struct oom {
    char path[PATH_MAX];  // file with a line "oom_kill N"; "": none
    uint64_t seen;        // value of N of which oom_happened has reported all kills
};

/* Finds the control group that limits the memory of this process.  `groups`: a file like
 * /proc/self/cgroup.  `root`: folder where control groups of version 1, 2 or both are mounted. */
void oom_open(struct oom *o, const char *groups, const char *root);

/* Returns true once for each process that was killed because memory ran out since oom_open. */
bool oom_happened(struct oom *o);

enum { FRUITLESS_MAX = 10 };  // this many deaths in a row without a finished frame end the run

/* State of the decisions about restarts, and of the requests to the source. */
struct restarts {
    size_t count;
    struct process *processes;  // borrowed
    struct process *source;     // one of `processes`; NULL: unknown
    struct environment *env;    // borrowed
    struct source_monitor monitor;
    struct oom oom;
    uint64_t pause_ns, source_pause_ns;  // longest pause before a restart
    uint64_t silence_ns;                 // a source that does not answer for this time is frozen
    uint64_t heard_ns;                   // latest answer of the running source; 0: none yet
    uint64_t turned_ns;                  // time of the latest restarts_turn
    bool known;                          // the source has reported the number of frames
    uint64_t total;                      // number of frames of the run, if `known`
    uint64_t acknowledged;               // acknowledged frames in the latest status
    struct given_up given_up;            // first abandoned frame
    const struct process *killed_last;   // last process that died at that frame; NULL: unknown
    const struct process *hopeless;      // ended FRUITLESS_MAX times without a frame; NULL: none
};

/* Prepares restarts of `count` processes, and finds the source among them. */
void restarts_open(struct restarts *r, struct process *processes, size_t count,
                   struct environment *env);

/* Reads the last status of the source, and disconnects. */
void restarts_close(struct restarts *r);

/* Requests and reads the status of the source, and kills frozen processes.  Must be called
 * often. */
void restarts_turn(struct restarts *r, uint64_t now_ns);

/* Internal: processes one status of the source.  Processes are identified by host and process
 * number. */
void restarts_hear(struct restarts *r, const struct run_status *s, uint64_t now_ns);

/* Returns true if the `restart` of its stage allows another restart. */
bool restarts_allow(const struct process *p);

enum restart_decision {
    RESTART_YES,    // it will be restarted; start_ns is set
    RESTART_NO,     // it has failed and will not be restarted
    RESTART_DOUBT,  // not decided yet, because the source may have excluded it: call again
};

/* Decides whether to restart a process that has failed while the run continues. */
enum restart_decision restarts_try(struct restarts *r, struct process *p, uint64_t now_ns);

/* Returns the number of frames of the run: as the source has reported, or as its --frames.
 * UINT64_MAX: unknown. */
uint64_t restarts_planned(const struct restarts *r);

/* Writes how a process ended, for messages: "was killed by signal 9". */
void restarts_fate(const struct process *p, char *text, size_t size);

#endif
