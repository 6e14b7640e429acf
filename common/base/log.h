/* Prints messages for users to stderr, in the form "program: text". stdout is for data. */
#ifndef BRAGG_BASE_LOG_H
#define BRAGG_BASE_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* Levels of messages: errors, which are always shown; notices that a user should know or act on;
 * warnings; progress, for a user at a terminal (LOG_TELL); events of a run; events of a frame. */
enum log_level { LOG_ERROR, LOG_NOTICE, LOG_WARNING, LOG_TELL, LOG_INFO, LOG_DEBUG };

/* Environment variable of a process whose lines another process shows on a terminal at once.  Each
 * line that is not an error then begins with LOG_MARK.  bragg-run shows notices at once, also
 * without a terminal, so that they always begin with LOG_MARK. */
#define LOG_TERMINAL "BRAGG_TERMINAL"
enum { LOG_MARK = '\1' };

/* Environment variable of a process whose stderr bragg-run reads: the file, as DEVICE:INODE, which
 * log_mark_stderr writes.  In that file a line that is not an error begins with LOG_ASIDE, so that
 * bragg-run does not report it as the cause of a failure.  Other files have no such mark. */
#define LOG_SUPERVISED "BRAGG_STDERR"
enum { LOG_ASIDE = '\2' };

/* Sets LOG_SUPERVISED in the environment for the file behind `fd`. */
void log_mark_stderr(int fd);

/* Returns the mark of a line that is not an error: LOG_ASIDE under bragg-run, else "". */
const char *log_aside(void);

/* Sends bragg-run a word that users do not see.  Does nothing if bragg-run does not read stderr. */
void log_tell(const char *word);

/* Environment variable of a process that bragg-run has restarted.  The counts of such a process do
 * not include all work of its stage. */
#define LOG_AGAIN "BRAGG_AGAIN"

/* Returns true if this process makes only a part of the frames of its stage, because it is one of
 * several processes or was restarted. */
bool log_is_part(void);

/* Environment variable of a process that works for another program: the name of that program, which
 * the user called and which messages begin with. */
#define LOG_NAME "BRAGG_NAME"

/* A word for log_tell: the source has acknowledged all frames of the run, as far as known here. */
#define LOG_COMPLETE "complete"

/* A word for log_tell: this process ends now because its memory ran out. */
#define LOG_MEMORY "memory"

/* Sets the name of the program in messages (the text is stored, not copied), unless LOG_NAME is
 * set.  The level is LOG_WARNING until log_set_level is called. */
void log_open(const char *program);

/* Shows messages up to and including `level`.  On a terminal the level LOG_WARNING also shows
 * messages of LOG_TELL. */
void log_set_level(enum log_level level);

/* Returns true if messages of LOG_TELL are shown: on a terminal, or with --verbose. */
bool log_is_watched(void);

/* Returns the name that log_open got, or "bragg". */
const char *log_program(void);

/* Writes one line in the form of error_line, atomically as far as stderr allows.  On a terminal the
 * line replaces an unfinished one. */
void log_line(enum log_level level, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Reports *e as one line and returns the exit status of the program. */
int log_fail(const struct error *e);

#endif
