/*
 * Errors: a status, which is also the exit status of a program, and one line of text.
 *
 * A function that can fail takes a `struct error *` as its last argument, fills it in once and
 * returns its status.  Callers pass both on unchanged.
 */
#ifndef BRAGG_BASE_ERROR_H
#define BRAGG_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

/* One line per status: symbol, exit status, and meaning. */
#define STATUS_MAP(X)                                              \
    X(OK, 0, "done")                                               \
    X(FAILED, 1, "failure while running (disk, peer, permission)") \
    X(USAGE, 2, "usage")                                           \
    X(INPUT, 3, "bad input data")                                  \
    X(INTERRUPTED, 130, "interrupted")

enum status {
#define X(symbol, code, text) STATUS_##symbol = code,
    STATUS_MAP(X)
#undef X
};

struct error {
    enum status status;
    char text[512];  // one line, without the name of the program and without a newline
};

/* Formats one line of at most size - 1 bytes (size > 64).  If the text is longer, its middle is
 * removed, so that the name at its start and the reason at its end stay.  Bytes that are not
 * valid UTF-8, and characters that a terminal would interpret or that begin a new line, become
 * '?', because a file may have any name. */
void error_line(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Fills *e with a status and the line of error_line. e may be NULL.  Returns the status, so that
 * a caller can write `return error_set(...)`. */
enum status error_set(struct error *e, enum status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Does the same as error_set, and appends ": " and the text of errno.  A long line is shortened
 * so that the text of errno fits. */
enum status error_errno(struct error *e, enum status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Sets *e to STATUS_FAILED and "out of memory for WHAT".  Returns STATUS_FAILED. */
enum status error_memory(struct error *e, const char *what) __attribute__((cold));

#endif
