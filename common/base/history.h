/*
 * What made some output: a line of text per stage, from the first one on, of
 * tab-separated words.  The first word is the stage's name, each further one
 * NAME=VALUE: the options that affect bytes, and what is no option but
 * does ("identity class", with a blank in its name), and "options given", words that
 * give them again (base/text.h), which tell nothing more but the names of files.
 */
#ifndef BRAGG_BASE_HISTORY_H
#define BRAGG_BASE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

enum { HISTORY_DIFFERENCE_SIZE = 256 };

/* The name of the words that give the options again. */
#define HISTORY_GIVEN "options given"

/* Appends `name` and `more`, lines of NAME=VALUE, as one line to `history` (of `size`
 * bytes).  What finds no room is left out: the last line then ends in "...". */
void history_append(char *history, size_t size, const char *name, const char *more);

/* The value of `name` in a line, into `value` (of `size` bytes); false when it is not there
 * or has no room. */
bool history_value(const char *line, const char *name, char *value, size_t size);

/* A line without its options, as `text` (of `size` bytes, no newline): the stage, the options
 * given, and all else that is no option.  From many of these the frames can be made again.
 * False when it has no room. */
bool history_brief(const char *line, char *text, size_t size);

/* Says in `text` what differs first between two histories ("bragg-orient: --seed was 7, is
 * 8"); false when they are equal. */
bool history_difference(const char *was, const char *is, char text[HISTORY_DIFFERENCE_SIZE]);

#endif
