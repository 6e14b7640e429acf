/*
 * A sandbox for libraries that may crash, hang, print or end the program on corrupt files.
 *
 * Such a library works in a child process with limits on time and memory.  There are two ways:
 * `confined` runs all of the reading in the child, which sends the result back; it must be checked
 * like any input.  `trial` only tries: the child reads the file first, and if that goes well the
 * parent reads it again.  It is for HDF5, whose results are too large to send.
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
    int from;  // what it sends
    uint64_t deadline_ns;
};

/* Runs work(what, to) in a child, which sends by confined_send and ends by confined_leave.
 * `path` names what it is about in errors: STATUS_FAILED when no process can be started.
 * Followed by confined_close unless it fails. */
enum status confined_start(struct confined *c, const struct confined_limits *limits,
                           void (*work)(const void *what, int to), const void *what,
                           const char *path, struct error *e);

/* In the child: sends bytes to the parent. */
void confined_send(int to, const void *bytes, size_t n);

/* In the child: ends it with STATUS_OK, or STATUS_INPUT: what it was to read makes no sense. */
_Noreturn void confined_leave(enum status s);

/* In the parent: fills `bytes` before the deadline; returns the number of bytes that came. */
size_t confined_receive(const struct confined *c, void *bytes, size_t n);

/* In the parent: ends the child.  NULL if the caller found what came from it `good`, else the
 * reason why it is not. */
const char *confined_close(struct confined *c, bool good);

/* --- trial ---------------------------------------------------------------- */

/* Runs read(what, e) in a child process and returns its status and error.  STATUS_INPUT if that
 * crashes, or takes longer than any sane file.  Nothing else of what `read` does has an effect
 * here. `path` names the file in errors.  The child has one thread, and the locks that others hold:
 * `read` must not print. */
enum status trial_run(const char *path, enum status (*read)(void *what, struct error *e),
                      void *what, struct error *e);

/* In the child: names the file that is read from here on, which has limits of its own.  Elsewhere
 * it does nothing. */
void trial_reach(const char *path);

/* Whether this process is such a child. */
bool trial_is_on(void);

#endif
