/* Lines of a text that an analysis writes, also while it writes. */
#ifndef BRAGG_SCORE_LINES_H
#define BRAGG_SCORE_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "io/text/filetype.h"

/* How long to wait for more behind the end of a file. */
struct follow {
    double seconds;          // without a further byte
    bool (*done)(void *of);  // nothing is waited for any more
    void *of;
};

struct lines {
    const char *path;  // borrowed
    FILE *in;
    const struct follow *follow;  // borrowed; NULL: the file is complete
    char *line;                   // owned: the line that was read last, without its end
    long number;                  // of it, from 1
    bool half_line;               // the file ends in it, or it is no text
    bool ended;                   // the end of the file was met
};

/* Waits for a file that is not there yet where it is followed.  STATUS_INPUT for files that cannot
 * be opened and for those known to be of another type than `wanted`.  lines_close frees *l, also
 * after an error. */
enum status lines_open(struct lines *l, const char *path, enum filetype wanted,
                       const struct follow *follow, struct error *e);

/* Reads a line; false at the end of the file, in a line without its end, and where it is none. */
bool lines_next(struct lines *l);

/* Unix time, s, where a file is followed: when it says what was read; else 0. */
double lines_now(const struct lines *l);

/* The error of a line that could not be read in the middle of what is called `where`. */
enum status lines_end_early(const struct lines *l, const char *where, struct error *e);

/* STATUS_INPUT with "FILE:LINE: " and the formatted text. */
enum status lines_fail(const struct lines *l, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void lines_close(struct lines *l);

/* Items of a line, and the columns that a title names. */

enum { ITEMS_MAX = 64 };

/* Splits a line, which is overwritten, at blanks, tabs and a carriage return, up to #; -1: there
 * are more than ITEMS_MAX. */
int items_split(char *line, char *words[ITEMS_MAX]);

/* The place of a word, -1: it is not there. */
int items_find(char *const words[], int count, const char *word);

#endif
