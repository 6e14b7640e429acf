/*
 * Text that people type and files hold: decimal numbers, words of a command line with their quotes,
 * and the names that were probably meant.
 */
#ifndef BRAGG_BASE_TEXT_H
#define BRAGG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- numbers --- */

/* Reads the longest beginning of `text` that is a number and returns its value, that of strtod in
 * the C locale bit for bit, in less time: after white space, perhaps hexadecimal, infinite or NaN.
 * *end is what follows the number, or `text` when there is none (the value is 0 then).  errno is
 * set, to ERANGE, where strtod sets it. */
double number_real(const char *text, const char **end);

/* Reads a whole number of base 10 in the same way, as strtoimax does. */
intmax_t number_whole(const char *text, const char **end);

/* --- words of a command line --- */

/* A command line in one line of text, as a shell reads it: plain words bare, others as 'WORD', and
 * as
 * $'WORD' with \xHH for what would end a line, a header or the quotes, and for ~, which stands for
 * = in headers. */

/* Appends a word behind what `text` of `size` bytes holds, after a blank if that is not
 * empty; false, with `text` as it was, when there is no room. */
bool words_append(char *text, size_t size, const char *word);

/* Writes a word as any shell takes it: bare where it is plain, else as 'WORD'. */
void words_print(const char *word, FILE *out);

/* Takes `text` apart in place: the words become NUL-ended, words[0..*count-1].  False when
 * it is not of this form, or holds more than `most` words. */
bool words_split(char *text, char **words, size_t most, size_t *count);

/* --- names that were probably meant --- */

/* Returns whether `name` is a better guess than those before of what `typed` was meant to be: at
 * most a third of its letters are wrong, it begins with `typed`, or it is a part of `typed` (pixel
 * of pixel-size).  *best is the distance of the best guess so far, 99 at first, and is lowered. */
int suggest_name(const char *typed, const char *name, int *best);

#endif
