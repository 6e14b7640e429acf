/* Messages for people, on stderr, each "program: text".  stdout is for data. */
#ifndef BRAGG_BASE_LOG_H
#define BRAGG_BASE_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* What a level shows: errors always; then what a user should know, or act on; what is being made,
 * for who watches; what happens once a run; what happens once a frame. */
enum log_level { LOG_ERROR, LOG_NOTICE, LOG_WARNING, LOG_TELL, LOG_INFO, LOG_DEBUG };

/* In the environment of a process whose lines another one shows on a terminal as they come: each
 * that is no error begins with LOG_MARK. */
#define LOG_TERMINAL "BRAGG_TERMINAL"
enum { LOG_MARK = '\1' };

/* In the environment of a process whose stderr bragg-run reads: which file that is, DEVICE:INODE,
 * as log_mark_stderr writes it.  A line that is not an error begins with LOG_ASIDE there, so that
 * bragg-run does not report it as the cause of a failure.  Elsewhere lines have no such mark. */
#define LOG_SUPERVISED "BRAGG_STDERR"
enum { LOG_ASIDE = '\2' };

/* Sets LOG_SUPERVISED in the environment for the file behind `fd`. */
void log_mark_stderr(int fd);

/* The mark at the start of a line that is not an error: LOG_ASIDE under bragg-run, else "". */
const char *log_aside(void);

/* Tells bragg-run a word that is not for people; nothing where bragg-run does not read stderr. */
void log_tell(const char *word);

/* In the environment of a process that bragg-run has started again: what it counts is not all that
 * its stage did. */
#define LOG_AGAIN "BRAGG_AGAIN"

/* Whether this process makes a part of the frames of its stage: it is one of several, or was
 * started again. */
bool log_is_part(void);

/* Says that the source has acknowledged all frames of the run, as far as this process knows. */
#define LOG_COMPLETE "complete"

/* Names the program (kept, not copied) and starts at LOG_WARNING. */
void log_open(const char *program);

/* Shows messages up to and including `level`; those of LOG_TELL, too, with LOG_WARNING on a
 * terminal. */
void log_set_level(enum log_level level);

/* Whether somebody sits at a terminal that shows messages of LOG_TELL. */
bool log_is_watched(void);

/* The name given to log_open, "bragg" before that. */
const char *log_program(void);

/* Writes one line as error_line makes it, atomically as far as stderr allows; on a terminal in
 * place of an unfinished one. */
void log_line(enum log_level level, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Reports *e as one line and returns the exit status of the program. */
int log_fail(const struct error *e);

#endif
