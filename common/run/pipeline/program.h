/* Where executables are, and what ships with them. */
#ifndef BRAGG_RUN_PROGRAM_H
#define BRAGG_RUN_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* What to execute for `program`, found beside this executable, else in PATH: a plain name when
 * a folder of PATH that is no relative one leads to the right one, so that printed commands are
 * short, else its absolute path.  A name with a slash is a path.  NULL when there is none, or no
 * memory; the caller frees it with mem_free. */
char *program_find(const char *program);

enum { PROGRAM_NAME_SIZE = 60 };

/* The program beside this one that `name` probably means; false when it resembles none. */
bool program_meant(const char *name, char meant[PROGRAM_NAME_SIZE]);

/* True for one of these, bragg-NAME, in whatever folder. */
bool program_is_ours(const char *program);

/* As fork; LEAVE_SIGNAL waits in the child until program_signals. */
pid_t program_fork(void);

/* In that child, about to become `program`: signals are blocked as in `mask`, and for one of ours
 * LEAVE_SIGNAL, too, which waits until that can hear it. */
void program_signals(const char *program, const sigset_t *mask);

/* The pipeline file that ships with the programs under this name, such as "lysozyme": in
 * share/braggpipe/pipelines beside the bin of this executable.  NULL for what is no plain name,
 * when there is none, or no memory; the caller frees it with mem_free. */
char *program_pipeline(const char *name);

enum { SHIPPED_NAME_SIZE = 101 };

/* Calls `take` with `data` for each pipeline file that ships, by name: its name, its path. */
void program_pipelines(void (*take)(void *data, const char *name, const char *path), void *data);

/* The name of the shipped pipeline that `name` probably means; false when it resembles none. */
bool program_pipeline_meant(const char *name, char meant[SHIPPED_NAME_SIZE]);

#endif
