/*
 * Reads small text files of numbers: first the whole file, then line by line or token by token.
 * Errors begin with "FILE:LINE: ".
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
#include "base/filetype.h"

enum {
    TEXT_LINE_MAX = 4096,       // bytes of a line
    TEXT_WORDS_MAX = 16,        // words of a line that are kept
    TEXT_BYTES_MAX = 16 << 20,  // usual limit for the bytes of a file
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

/* Reads the whole file `path` into *t, without a byte order mark.  `path` is kept, not copied.  The
 * caller always calls text_close.  STATUS_FAILED: the file cannot be read.  STATUS_INPUT: the file
 * is recognized as another type than `wanted`, is longer than `max_bytes`, or has a zero byte. */
enum status text_open(struct text_file *t, const char *path, enum filetype wanted, size_t max_bytes,
                      struct error *e);

/* Makes *t from text in memory: copies `length` bytes.  `name` is the name of the file in
 * errors. */
enum status text_copy(struct text_file *t, const char *name, const char *bytes, size_t length,
                      struct error *e);

/* Splits the next line that has words; t->nwords = 0 at the end of the file.
 * Words are separated by any number of `separators`, which are characters below 64 in ASCII.  Text
 * after the character `comment` is skipped (0: there are no comments).  Overwrites separators in
 * t->bytes.  STATUS_INPUT: a line of TEXT_LINE_MAX bytes or more. */
enum status text_line(struct text_file *t, const char *separators, char comment, struct error *e);

/* Checks lines that have not been split yet for decimal commas.  For lists in which commas also
 * separate words.  STATUS_INPUT: a line has several words, separated by white space or one of
 * `;:!`, and one of the words consists of digits, one comma and digits. */
enum status text_check_commas(const struct text_file *t, char comment, struct error *e);

/* Finds a word in the comments before the first line of numbers, for example a unit.  No line may
 * have been split yet.  Returns the first place; NULL: not found.  Upper and lower case are
 * equivalent.  A part of a longer word of letters does not count. */
const char *text_find_in_head(const struct text_file *t, char comment, const char *word);

/* Reads word number i (from 0, which must exist) as a finite number within [min, max].  `what` is
 * the name of the number in errors. */
enum status text_real(const struct text_file *t, int i, const char *what, double min, double max,
                      double *value, struct error *e);

/* Reads a word as a whole number, like text_real. */
enum status text_int(const struct text_file *t, int i, const char *what, int64_t min, int64_t max,
                     int64_t *value, struct error *e);

/* Sets *e to "FILE:LINE: " and the formatted text.  Returns STATUS_INPUT. */
enum status text_error(const struct text_file *t, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void text_close(struct text_file *t);

/* Returns the number, from 1, of the line that holds the byte before `at`. */
long text_line_of(const struct text_file *t, const char *at);

/* Returns `text` without TEXT_SPACE at both ends.  Overwrites `text`. */
char *text_trim(char *text);

/* Read a number like scanf of the C library, as nanoBragg does: skip white space and use the
 * longest prefix that is a number.  *at moves to the end of the number.  Return false, and leave
 * *value unchanged, if there is no number or a whole number does not fit. */
bool text_scan_real(const char **at, double *value);
bool text_scan_int(const char **at, int *value);

#endif
