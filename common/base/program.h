/*
 * Functions about the process that every program uses: its start, the folder of its executable, its
 * file descriptors, the name of its host, and the creation of threads.  This header also has the
 * version of all programs, and the table of the programs.
 */
#ifndef BRAGG_BASE_PROGRAM_H
#define BRAGG_BASE_PROGRAM_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { HOST_SIZE = 65 };  // bytes of the name of a host, with the terminator

enum { PROGRAM_STACK_KIB = 512 };  // least stack of the first thread and of compute threads

/* Sets the name of the program in messages (the text is stored, not copied).  If the stack
 * cannot grow to PROGRAM_STACK_KIB, ends the program with a message of one line and status 1;
 * otherwise a signal would end it later. */
void program_open(const char *name);

/* Writes the folder of the executable to `folder`, with a slash at the end.  Returns false if the
 * folder cannot be found. */
bool program_folder(char folder[PATH_MAX]);

/* Closes the file descriptors of this process from `first` to `last`.  May be called after fork. */
void program_close_files(unsigned first, unsigned last);

/* Marks all open file descriptors from `first` on, so that exec closes them.  Returns false if the
 * system does not list them. */
bool program_close_at_exec(unsigned first);

/* Allows this process as many file descriptors as the system permits, because libzmq aborts when it
 * gets no more of them.  Returns STATUS_FAILED if they are fewer than `least`. */
enum status program_take_descriptors(unsigned least, struct error *e);

/* Returns the name of this host: never "", without blanks and control characters.  With its pid a
 * process is identified among those of several hosts.  Valid until the process ends. */
const char *host_name(void);

/* Call first in programs whose threads compute frame after frame: idle threads then sleep.  By
 * default OpenMP threads spin for some milliseconds first, and take CPU time from the other
 * programs of a pipeline.  OpenMP reads its settings before main, so the program restarts itself
 * once.  It does not if OMP_WAIT_POLICY or GOMP_SPINCOUNT is set, or under valgrind, which would
 * lose it. */
void program_sleeps(char *const *argv);

/* Creates a thread like pthread_create, for callers that report a failure themselves.  Returns 0 or
 * an errno.
 *
 * Libraries create all other threads.  If the system allows no more threads, libzmq aborts, and
 * OpenMP ends the program with a message of its own.  Therefore pthread_create of our programs ends
 * the program with one line and status 1. */
int program_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument);

/* The number of threads that the calling thread may use for work on large memory, such as checksums
 * and compression: 1 until the calling thread sets it.  The result of such work never depends on
 * it. */
int program_threads(void);

/* The largest number of threads that sinks start by default for such work.  Each compresses about
 * 1 GB/s, so that more of them are only woken for each image, and find nothing to do. */
enum { PROGRAM_THREADS_OF_SINK = 16 };
void program_set_threads(int threads);

/* The version of all programs, and the version of the physics.  PHYSICS_VERSION is increased
 * when the same recipe may give other bytes than before.  It is part of the lineage. */
#define BRAGG_VERSION "0.1.0"
#define PHYSICS_VERSION 8

/* A program of braggpipe.  There is one table of programs for `braggpipe list`, for hints about
 * unknown options, and for the programs that bragg-replay --recompute may start. */
struct listed_program {
    const char *name;     // as in `braggpipe NAME`; the executable is bragg-NAME
    const char *summary;  // one line of `braggpipe list`
    /* An unknown option of another program gets the hint that this program has it.  The first
     * program in the table is named, so the table has the order of a pipe. */
    bool hints;
    /* bragg-replay --recompute may start the program for a file from an unknown source.  With
     * --restrict the program cannot start others or write files. */
    bool recomputes;
};

extern const struct listed_program program_list[];
extern const size_t program_list_length;

/* Finds the row of an executable such as "bragg-orient".  NULL: the table has no such program. */
const struct listed_program *program_list_find(const char *executable);

#endif
