/* Finds programs, and the pipeline files that ship with them. */
#ifndef BRAGG_RUN_FIND_PROGRAM_H
#define BRAGG_RUN_FIND_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Finds a program in the folder of this executable, then in PATH.  A name with a slash is a path.
 * Returns the plain name if an absolute folder of PATH leads to the same file, so that printed
 * commands are short; otherwise the absolute path.  The caller frees the text with mem_free.
 * NULL: not found, or no memory. */
char *program_find(const char *program);

enum { PROGRAM_NAME_SIZE = 60 };

/* Finds the program in the folder of this executable whose name is most similar to `name`, for "Did
 * you mean".  Returns false if none is similar. */
bool program_meant(const char *name, char meant[PROGRAM_NAME_SIZE]);

/* Returns true if `program` is a program of braggpipe: its name without the folder begins with
 * bragg-. */
bool program_is_ours(const char *program);

/* Creates a child process as fork(2) does.  In the child LEAVE_SIGNAL is blocked until
 * program_signals is called. */
pid_t program_fork(void);

/* Sets the signal mask in a child of program_fork, before the child executes `program`.  For a
 * program of braggpipe LEAVE_SIGNAL stays blocked: the program unblocks the signal when it can
 * handle it. */
void program_signals(const char *program, const sigset_t *mask);

/* Returns the path of a pipeline file that ships, such as "lysozyme", in share/braggpipe/pipelines
 * next to the folder bin of this executable.  The caller frees the path with mem_free.
 * NULL: `name` is not a plain name, there is no such file, or no memory. */
char *program_pipeline(const char *name);

enum { SHIPPED_NAME_SIZE = 101 };

/* Calls `take` with `data`, name and path for each pipeline file that ships, sorted by name. */
void program_pipelines(void (*take)(void *data, const char *name, const char *path), void *data);

/* Finds the shipped pipeline whose name is most similar to `name`.  Returns false if none is
 * similar. */
bool program_pipeline_meant(const char *name, char meant[SHIPPED_NAME_SIZE]);

#endif
