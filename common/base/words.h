/*
 * Words of a command line in one line of text, as a shell takes them: plain ones bare,
 * others as 'WORD', and as $'WORD' with \xHH for what would end a line, a header or the quotes,
 * and for ~, which stands for = in headers.
 */
#ifndef BRAGG_BASE_WORDS_H
#define BRAGG_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Appends a word behind what `text` of `size` bytes holds, after a blank if that is not
 * empty; false, with `text` as it was, when there is no room. */
bool words_append(char *text, size_t size, const char *word);

/* Writes a word as any shell takes it: bare where it is plain, else as 'WORD'. */
void words_print(const char *word, FILE *out);

/* Takes `text` apart in place: the words become NUL-ended, words[0..*count-1].  False when
 * it is not of this form, or holds more than `most` words. */
bool words_split(char *text, char **words, size_t most, size_t *count);

#endif
