/* Messages for people, on stderr, each "program: text".  stdout is for data. */
#ifndef BRAGG_BASE_LOG_H
#define BRAGG_BASE_LOG_H

#include "base/error.h"

/* What a level shows: errors always; then what a user should know, or act on; what
 * happens once a run; what happens once a frame. */
enum log_level { LOG_ERROR, LOG_NOTICE, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Names the program (kept, not copied) and starts at LOG_WARNING. */
void log_open(const char *program);

/* Shows messages up to and including `level`. */
void log_set_level(enum log_level level);

/* The name given to log_open, "bragg" before that. */
const char *log_program(void);

/* Writes one line, atomically as far as stderr allows. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports *e as one line and returns the exit status of the program. */
int log_fail(const struct error *e);

#endif
