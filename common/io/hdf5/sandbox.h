/*
 * A sandbox for libraries that may crash, hang, print or end the program on corrupt files.
 *
 * Such a library works in a child process with limits on time and memory.  There are two ways:
 *   - `confined`: the child reads the file and sends the result back.  The parent must check the
 *     result like any input.
 *   - `trial`: the child reads the file first.  If the child succeeds, the parent reads the file
 *     again.  This is for HDF5, whose results are too large to send.
 */
#ifndef BRAGG_IO_HDF5_SANDBOX_H
#define BRAGG_IO_HDF5_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* --- confined ------------------------------------------------------------- */

/* What the child may use. */
struct confined_limits {
    double cpu_s, wall_s;
    size_t bytes;  // of memory, beyond what the process has already
};

struct confined {
    pid_t child;
    int from;  // descriptor of the data that the child sends
    uint64_t deadline_ns;
};

/* Runs work(what, to) in a child process.  `work` sends data with confined_send and ends with
 * confined_leave.  `path` is the name of the file in errors.  The caller calls confined_close
 * unless this function fails.  STATUS_FAILED: no process can be started. */
enum status confined_start(struct confined *c, const struct confined_limits *limits,
                           void (*work)(const void *what, int to), const void *what,
                           const char *path, struct error *e);

/* In the child: sends bytes to the parent. */
void confined_send(int to, const void *bytes, size_t n);

/* In the child: ends the process.  STATUS_INPUT: the content of the file makes no sense. */
_Noreturn void confined_leave(enum status s);

/* In the parent: receives n bytes into `bytes`.  Returns the number of bytes that arrived before
 * the deadline. */
size_t confined_receive(const struct confined *c, void *bytes, size_t n);

/* In the parent: ends the child.  `good`: the caller has received a valid result.  Returns NULL if
 * `good`, otherwise the reason why there is no result. */
const char *confined_close(struct confined *c, bool good);

/* --- trial ---------------------------------------------------------------- */

/* Runs read(what, e) in a child process and returns its status and error.  `read` has no other
 * effect on this process.  `path` is the name of the file in errors.  STATUS_INPUT: the child
 * crashes or exceeds its limits.  The child has only one thread, and locks of the parent's other
 * threads stay locked in it: `read` must not print. */
enum status trial_run(const char *path, enum status (*read)(void *what, struct error *e),
                      void *what, struct error *e);

/* In the child: sets the name of the file that is read next, and restarts the limits for it.  Has
 * no effect in other processes. */
void trial_reach(const char *path);

/* Returns true in the child process of a trial. */
bool trial_is_on(void);

#endif
