/*
 * Text that people type and that files contain: decimal numbers, the words of a command line, and
 * suggestions for misspelt names.
 */
#ifndef BRAGG_BASE_TEXT_H
#define BRAGG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- numbers --- */

/* Reads the number at the beginning of `text`, after white space, and returns the same double as
 * strtod in the C locale, in less time.  Hexadecimal numbers, infinities and NaN are numbers, too.
 * *end is the text after the number.  If there is no number, *end is `text` and the result is 0.
 * errno is ERANGE for numbers that are too large or too small, and otherwise unchanged. */
double number_real(const char *text, const char **end);

/* Reads a whole number of base 10, as strtoimax does.  *end and errno are as in number_real. */
intmax_t number_whole(const char *text, const char **end);

/* --- words of a command line ---
 *
 * A command line is stored as one line of text, in which words are separated by one blank.  A shell
 * reads this text as the same words.  A plain word is bare, and another one is quoted as 'WORD'. It
 * is quoted as $'WORD' if it contains characters that would end a line, a header or the quotes:
 * these are written as \xHH.  So is ~, because ~ replaces = in headers. */

/* Appends a word to `text` of `size` bytes, after a blank unless `text` is empty.  Returns false,
 * with `text` unchanged, if the word does not fit. */
bool words_append(char *text, size_t size, const char *word);

/* Writes a word so that any shell reads it: bare if it is plain, and otherwise as 'WORD'. */
void words_print(const char *word, FILE *out);

/* Splits `text` into its words: words[0] to words[*count - 1] point to NUL-terminated strings in
 * `text`, which is changed.  Returns false if `text` does not have the form above, or has more than
 * `most` words. */
bool words_split(char *text, char **words, size_t most, size_t *count);

/* --- suggestions for misspelt names --- */

/* Returns non-zero if `name` is a better guess for the misspelt name `typed` than all names of
 * the previous calls.  A guess has at most a third of its letters wrong, begins with `typed`, or
 * is a part of `typed` (such as pixel of pixel-size).  *best is the distance of the best guess
 * so far.  It must be 99 before the first call; a better guess lowers it. */
int suggest_name(const char *typed, const char *name, int *best);

#endif
