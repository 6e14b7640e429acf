/*
 * Libraries that may crash, hang, print or end the program work in a child process with limits on
 * time and memory.  What it sends back is read here, and is to be checked as any input.
 */
#ifndef BRAGG_IO_CONFINED_H
#define BRAGG_IO_CONFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What the child has. */
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

/* --- in the child --- */

void confined_send(int to, const void *bytes, size_t n);

/* STATUS_OK, or STATUS_INPUT: what it was to read makes no sense. */
_Noreturn void confined_leave(enum status s);

/* --- in the parent --- */

/* Fills `bytes` before the deadline; the number that came. */
size_t confined_receive(const struct confined *c, void *bytes, size_t n);

/* Ends the child.  Why what came from it is not `good`; NULL when it is. */
const char *confined_close(struct confined *c, bool good);

#endif
