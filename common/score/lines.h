/* Reads the lines of a text file that an analysis program writes, also while the program is writing
 * it. */
#ifndef BRAGG_SCORE_LINES_H
#define BRAGG_SCORE_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/filetype.h"

/* How long to wait for more data at the end of a file. */
struct follow {
    double seconds;          // the wait ends after this time without a new byte
    bool (*done)(void *of);  // returns true if the wait is to end at once
    void *of;
};

struct lines {
    const char *path;  // borrowed
    FILE *in;
    const struct follow *follow;  // borrowed; NULL: the file is complete
    char *line;                   // owned: the line that was read last, without its newline
    long number;                  // number of this line, from 1
    bool half_line;               // the line has no newline before the end of the file, or is not
                                  // text
    bool ended;                   // the end of the file was reached
};

/* Opens a file.  If `follow` is given, waits for the file to exist.  The caller must call
 * lines_close, also after an error.
 *
 * STATUS_INPUT: the file cannot be opened, or is known to be of another type than `wanted`. */
enum status lines_open(struct lines *l, const char *path, enum filetype wanted,
                       const struct follow *follow, struct error *e);

/* Reads a line.  Returns false at the end of the file, for a line without a newline, and for a line
 * that is not text. */
bool lines_next(struct lines *l);

/* Returns the present Unix time in s if the file is followed: the time at which the line was
 * received.  Returns 0 otherwise. */
double lines_now(const struct lines *l);

/* Sets the error for a line that could not be read.  `where` names what is incomplete: "a chunk".
 */
enum status lines_end_early(const struct lines *l, const char *where, struct error *e);

/* Returns STATUS_INPUT and sets the message to "FILE:LINE: " and the formatted text. */
enum status lines_fail(const struct lines *l, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void lines_close(struct lines *l);

/* Items of a line, and the columns that a title line names. */

enum { ITEMS_MAX = 64 };

/* Splits a line into words at blanks, tabs and a carriage return, and ignores everything from # on.
 * The line is overwritten, and the words point into it.  Returns the number of words, or -1 if
 * there are more than ITEMS_MAX. */
int items_split(char *line, char *words[ITEMS_MAX]);

/* Returns the place of a word among words[count]; -1 if it is missing. */
int items_find(char *const words[], int count, const char *word);

#endif
