/*
 * Small text files of numbers: read whole, then taken apart line by line or
 * token by token.  Errors carry "FILE:LINE: ".
 *
 *     struct text_file t;
 *     s = text_open(&t, path, FILETYPE_HKL, TEXT_BYTES_MAX, e);
 *     while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords)
 *         s = text_real(&t, 0, "h", -10, 10, &h, e);
 *     text_close(&t);
 */
#ifndef BRAGG_IO_TEXTFILE_H
#define BRAGG_IO_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/text/filetype.h"

enum {
    TEXT_LINE_MAX = 4096,       // bytes of a line
    TEXT_WORDS_MAX = 16,        // words of a line that are kept
    TEXT_BYTES_MAX = 16 << 20,  // of a file, where nothing else is said
};

#define TEXT_SPACE " \t\r\v\f"

struct text_file {
    const char *path;            // borrowed
    char *bytes;                 // owned, zero-terminated
    size_t length;               // without the terminator
    char *next;                  // first byte of the next line
    long line;                   // number of the line in word[], from 1
    int nwords;                  // words of that line, may exceed TEXT_WORDS_MAX
    char *word[TEXT_WORDS_MAX];  // point into bytes
};

/* Reads all of `path` (kept, not copied), without a byte order mark.  STATUS_FAILED when it cannot
 * be read; STATUS_INPUT when it is known to be of another type than `wanted`, is longer than
 * `max_bytes` or has a zero byte.  Always followed by text_close. */
enum status text_open(struct text_file *t, const char *path, enum filetype wanted, size_t max_bytes,
                      struct error *e);

/* The same for text in memory: copies `length` bytes, calls them `name` in errors. */
enum status text_copy(struct text_file *t, const char *name, const char *bytes, size_t length,
                      struct error *e);

/* Splits the next line that has words; t->nwords = 0 at the end of the file.
 * Words are parted by any number of `separators`, characters below 64 in ASCII; what
 * follows `comment` is skipped (0: there are no comments).  A line of TEXT_LINE_MAX bytes
 * or more is STATUS_INPUT.  Overwrites separators in t->bytes. */
enum status text_line(struct text_file *t, const char *separators, char comment, struct error *e);

/* STATUS_INPUT where a line that has not been split yet has several words between white space or
 * one of `;:!`, and one of them is digits, one comma and digits: a number with a decimal comma. For
 * lists in which commas separate words, too. */
enum status text_check_commas(const struct text_file *t, char comment, struct error *e);

/* The first place of a word in the comments and empty lines before the first line of numbers, of a
 * text of which no line has been split yet; NULL: it is not there.  Upper and lower case are the
 * same, and a part of a longer word of letters does not count.  Such comments name units. */
const char *text_find_in_head(const struct text_file *t, char comment, const char *word);

/* Word number i (from 0, must be there) as a finite number within [min, max],
 * called `what` in errors. */
enum status text_real(const struct text_file *t, int i, const char *what, double min, double max,
                      double *value, struct error *e);

/* The same for a whole number. */
enum status text_int(const struct text_file *t, int i, const char *what, int64_t min, int64_t max,
                     int64_t *value, struct error *e);

/* STATUS_INPUT with "FILE:LINE: " and the formatted text. */
enum status text_error(const struct text_file *t, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void text_close(struct text_file *t);

/* Number of the line, from 1, that holds the byte before `at`. */
long text_line_of(const struct text_file *t, const char *at);

/* `text` without TEXT_SPACE at both ends; it is overwritten. */
char *text_trim(char *text);

/* As the C library's scanf reads them (nanoBragg's way): skips white space and
 * takes the longest prefix that is a number.  *at moves behind it.  False, with
 * *value untouched, when there is none, or a whole number does not fit. */
bool text_scan_real(const char **at, double *value);
bool text_scan_int(const char **at, int *value);

#endif
