/*
 * Errors: a status that is also the exit status of a program, and one line of
 * text.  A function that can fail takes a `struct error *` last, fills it once
 * and returns its status; callers pass both on unchanged.
 */
#ifndef BRAGG_BASE_ERROR_H
#define BRAGG_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

/* One line per status: symbol, exit status, what it means. */
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
    char text[512];  // one line without the program's name, no newline
};

/* Formats one line of at most size - 1 bytes (size > 64).  A longer text loses its middle, so that
 * the name at its start and the reason at its end stay.  Bytes that are no character of UTF-8, and
 * characters that a terminal obeys or that begin a line, become '?': a file may have any name. */
void error_line(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Fills *e with a status and the line of error_line.
 * e may be NULL.  Returns the status, so that `return error_set(...)` reads well. */
enum status error_set(struct error *e, enum status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* The same, with ": " and the text of errno at the end, for which a long line is shortened. */
enum status error_errno(struct error *e, enum status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* "out of memory for WHAT", STATUS_FAILED. */
enum status error_memory(struct error *e, const char *what) __attribute__((cold));

#endif
