/* One process of a pipeline: starts it, reads its output, and ends it. */
#ifndef BRAGG_RUN_PROCESS_H
#define BRAGG_RUN_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/program.h"
#include "run/display/view.h"
#include "run/local/cleanup_guard.h"
#include "run/pipeline/commands.h"

enum { TAIL_LINES = 40, TAIL_BYTES = 1024 };

/* State that decides whether and when the process is restarted (restart.h). */
struct life {
    pid_t last;             // process number, on its host, at its latest end
    pid_t former;           // process number before its latest restart
    bool seen;              // the source has listed the process since its latest start
    uint64_t frames;        // frames finished since its start, as the source reports
    uint64_t worked_ns;     // when `frames` last changed; 0: never
    int64_t fruitless;      // number of ends in a row without a finished frame
    uint64_t fruitless_ns;  // time of the first end that `fruitless` counts
    uint64_t doubt_ns;      // time of a failure that may be an exclusion; 0: none
    bool cut;               // the connection to its host broke
    bool memory;            // it reported that its memory ran out, and ended
    bool starved;           // the system killed it because memory ran out
    bool forgiven;          // its end is not a failure of the run
    const char *reason;     // why bragg-run killed it or the source excluded it; NULL: neither
};

/* One process of the run: its state, its latest output, and its result. */
struct process {
    const struct command *command;
    pid_t pid;  // number of the process or its launcher, and of the process group; 0: not running
    char host[HOST_SIZE];  // host where it runs
    pid_t there;           // process number on that host; 0: not known yet
    int output;            // pipe with its stdout and stderr; -1: closed
    int told;              // exit status as its host reported it; below 0: not reported
    int orders;            // pipe to its launcher, if it runs on another host
    uint64_t cut_ns;       // when its launcher is to be killed; 0: never
    int64_t restarts;      // number of restarts so far
    int64_t moves;         // number of moves to another host so far
    uint64_t start_ns;     // when it is to be started or restarted; 0: never
    uint64_t begun_ns;     // time of the latest start
    bool asked;            // bragg-run has asked it to end
    bool leaving;          // removed with --remove: it ends by itself and is not restarted
    struct life life;
    bool ready;          // sink: clients can connect to it
    bool unheard;        // its output goes to stdout, where no stage reads it
    int status;          // as from waitpid, once it has ended
    uint64_t ended_ns;   // time of its latest end; 0: never
    bool complete;       // the process has reported that all frames of the run are acknowledged
    uint64_t spoke_ns;   // time of the latest line that may be a cause; 0: none since its start
    uint64_t failed_ns;  // time of the first error line; 0: none since its start
    size_t length;       // bytes of the unfinished line
    size_t lines;        // number of lines so far, for `tail`
    char line[TAIL_BYTES];
    char error[TAIL_BYTES];  // first error line; last line if the program is not part of braggpipe
    char tail[TAIL_LINES][TAIL_BYTES];  // ring of the last lines before the end was requested
};

/* State that all processes of the run share. */
struct environment {
    const struct cleanup_guard *guard;
    char killed[PRIVATE_FOLDER_SIZE + 16];  // file that lists processes killed from outside
    sigset_t mask;                          // signal mask at the start of bragg-run
    bool verbose, quiet;                    // show all lines immediately; show errors only
    const struct process *latest;  // process whose error is the latest line shown; NULL: none
    struct bar bar;
};

/* Starts the process in a process group of its own.  Uses the launcher if the command has hosts. */
enum status process_start(struct process *p, const struct environment *env, struct error *e);

/* Reads the output of the process without waiting, and processes each line. */
void process_listen(struct process *p, struct environment *env);

/* Sends a signal to the process group of a running process, on this host or on another one. */
void process_signal(struct process *p, int number);

/* Asks the process to leave the run without an error, see LEAVE_SIGNAL. */
void process_leave(struct process *p);

/* Kills a process that is to be restarted.  Unlike process_signal, does not set `asked`. */
void process_kill(struct process *p);

/* Returns true if the process has just ended.  In this case also kills its process group, reads
 * the rest of its output, and sets p->status. */
bool process_reap(struct process *p, struct environment *env);

/* Prints the first error line of the process to stderr, if there is one. */
void process_show_error(const struct process *p);

/* Prints the line that may be the cause of a failure to stderr: the first error line of the
 * process, or the last line of a program that is not part of braggpipe. */
void process_show_cause(const struct process *p);

/* Prints the last lines of the process to stderr, with the first error line at the end. */
void process_show_tail(const struct process *p);

/* Prints the last `count` lines of the process to stderr, at most TAIL_LINES. */
void process_show_last(const struct process *p, size_t count);

/* Returns true if the process has ended with a status other than 0. */
bool process_failed(const struct process *p);

#endif
