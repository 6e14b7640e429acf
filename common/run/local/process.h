/* One process of a pipeline: started, listened to, ended. */
#ifndef BRAGG_RUN_PROCESS_H
#define BRAGG_RUN_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/host.h"
#include "run/display/bar.h"
#include "run/local/keeper.h"
#include "run/pipeline/commands.h"

enum { TAIL_LINES = 40, TAIL_BYTES = 1024 };

/* What decides whether it is started again, and when (restart.h). */
struct life {
    pid_t last;             // what its number on its host was when it ended last ...
    pid_t former;           // ... and when it was started again last
    bool seen;              // since it was started the source has named it
    uint64_t frames;        // finished since it was started, as far as the source has told
    uint64_t worked_ns;     // when that was last seen to change; 0 for never
    int64_t fruitless;      // so often in a row it ended without a finished frame ...
    uint64_t fruitless_ns;  // ... since then
    uint64_t doubt_ns;      // it failed then, perhaps because it was fenced; 0: no doubt
    bool cut;               // the connection to its host broke
    bool starved;           // it was killed for lack of memory
    bool forgiven;          // how it ended is no failure of the run
    const char *reason;     // why it was killed here, or left by itself; NULL: it was not
};

struct process {
    const struct command *command;
    pid_t pid;             // also its process group; 0 when it does not run
    char host[HOST_SIZE];  // where it runs ...
    pid_t there;           // ... with that number; 0 while that is not known
    int output;            // its stdout and stderr; -1 for none
    int told;              // how it ended, as its host tells; below 0: it has not
    int orders;            // to its launcher, where it runs on another host
    uint64_t cut_ns;       // when its launcher is killed, 0: never
    int64_t restarts;      // so far
    int64_t moves;         // to the next of its hosts, so far
    uint64_t start_ns;     // when it is to be started (again); 0 for never
    uint64_t begun_ns;     // when it was started last
    bool asked;            // we have asked it to end
    bool leaving;          // it is not needed any more: it ends when it likes, and none follows
    struct life life;
    bool ready;          // clients may connect to it, or might
    bool unheard;        // it offers frames on its stdout, where no stage listens
    int status;          // as waitpid gave it, once it has ended
    uint64_t ended_ns;   // 0 while it never did
    bool complete;       // it has said that all frames of the run are acknowledged
    uint64_t spoke_ns;   // when the last line came that may be a cause; 0: none since its start
    uint64_t failed_ns;  // when the first line of error came, 0: none since its start
    size_t length, lines;
    char line[TAIL_BYTES];
    char error[TAIL_BYTES];             // that line; of programs of others the last one
    char tail[TAIL_LINES][TAIL_BYTES];  // ring of its last lines, before it was asked to end
};

/* What all have in common. */
struct environment {
    const struct keeper *keeper;
    char killed[KEEPER_FOLDER_SIZE + 16];  // the file of those that were killed from outside
    sigset_t mask;                         // of signals, as it was at the start
    bool verbose, quiet;                   // show lines as they come; say nothing
    const struct process *latest;  // whose first line of error was shown last; NULL: another
    struct bar bar;
};

/* Starts it in a group of its own. */
enum status process_start(struct process *p, const struct environment *env, struct error *e);

/* Reads what it wrote, without waiting. */
void process_listen(struct process *p, struct environment *env);

/* Asks its group to end, or tells it what the terminal did. */
void process_signal(struct process *p, int number);

/* Tells it to leave, see LEAVE_SIGNAL. */
void process_leave(struct process *p);

/* Ends it, to start it again. */
void process_kill(struct process *p);

/* True when it has just ended; then its group is gone and its output read. */
bool process_reap(struct process *p, struct environment *env);

/* Writes its first line of error to stderr, if there is one. */
void process_show_error(const struct process *p);

/* Likewise; for a program of others the last line that it said. */
void process_show_cause(const struct process *p);

/* Writes its last lines to stderr, the first line of error at the end. */
void process_show_tail(const struct process *p);

/* It ended other than with status 0. */
bool process_failed(const struct process *p);

#endif
