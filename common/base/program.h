/*
 * This process: what every program does first, where its executable is, what its host is called,
 * and where its threads come from.
 */
#ifndef BRAGG_BASE_PROGRAM_H
#define BRAGG_BASE_PROGRAM_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

enum { HOST_SIZE = 65 };  // of a host's name, with the terminator

enum { PROGRAM_STACK_KIB = 512 };  // of the first thread and of those that compute, at least

/* Names the program (kept, not copied) in messages.  Ends it with one line and status 1 if its
 * stack may not grow as large as it must: later it would end in a signal. */
void program_open(const char *name);

/* Where the executable of this process is, with a slash at the end; false if that cannot be told.
 */
bool program_folder(char folder[PATH_MAX]);

/* The name that the system has for this host, never "", without blanks and control characters. With
 * the number of a process it names that process among those of several hosts.  Lasts until the
 * process ends. */
const char *host_name(void);

/* First of all in programs whose threads compute frame after frame: those without work sleep.  By
 * default threads of OpenMP spin for some milliseconds before they do, which other programs of a
 * pipeline lack.  OpenMP reads its settings before main, so the program begins anew, once; not
 * where OMP_WAIT_POLICY or GOMP_SPINCOUNT are set, nor under valgrind, which would lose it. */
void program_sleeps(char *const *argv);

/* pthread_create, for who can tell of a failure himself: returns 0 or an errno.
 *
 * All other threads are made by libraries.  When the system allows no more, libzmq aborts and
 * OpenMP ends the program in words of its own; so in our programs pthread_create ends them, with
 * one line and status 1. */
int program_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument);

#endif
