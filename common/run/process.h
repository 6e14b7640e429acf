/* One process of a pipeline: started, listened to, ended. */
#ifndef BRAGG_RUN_PROCESS_H
#define BRAGG_RUN_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/bar.h"
#include "run/commands.h"
#include "run/keeper.h"

enum { TAIL_LINES = 20, TAIL_BYTES = 1024 };

struct process {
    const struct command *command;
    pid_t pid;          // also its process group; 0 when it does not run
    int output;         // its stdout and stderr; -1 for none
    int64_t restarts;   // so far
    uint64_t start_ns;  // when it is to be started (again); 0 for never
    bool asked;         // we have asked it to end
    bool unheard;       // it offers frames on its stdout, where no stage listens
    int status;         // as waitpid gave it, once it has ended
    uint64_t ended_ns;  // 0 while it never did
    uint64_t spoke_ns;  // when the last line of `tail` came; 0 for never
    size_t length, lines;
    char line[TAIL_BYTES];
    char tail[TAIL_LINES][TAIL_BYTES];  // ring of its last lines, before it was asked to end
};

/* What all have in common. */
struct environment {
    const struct keeper *keeper;
    sigset_t mask;  // of signals, as it was at the start
    bool verbose;   // show lines as they come
    struct bar bar;
};

/* Starts it in a group of its own. */
enum status process_start(struct process *p, const struct environment *env, struct error *e);

/* Reads what it wrote, without waiting. */
void process_listen(struct process *p, struct environment *env);

/* Sends a signal to its group. */
void process_signal(struct process *p, int number);

/* True when it has just ended; then its group is gone and its output read. */
bool process_reap(struct process *p, struct environment *env);

/* Writes its last lines to stderr. */
void process_show_tail(const struct process *p);

/* It ended other than with status 0. */
bool process_failed(const struct process *p);

#endif
